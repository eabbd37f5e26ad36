package fsm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func (w *world) moveSAR(record uint64, from, to uint8) wire.Result {
	return w.do(wire.KindSAR, w.sarMove(record, from, to))
}

// sarMove is a step of a report whose narrative the caller saw.
func (w *world) sarMove(record uint64, from, to uint8) *wire.SAR {
	row, _ := w.m.Freeze().SAROf(record)
	return &wire.SAR{Common: wire.Common{Fragment: []byte(`"by":"ann"`)}, Op: wire.SARMove, Leaf: record, From: from, To: to, Seen: row.Narrative}
}

// writeSAR writes a narrative, a byte of whose hash is given, over the one that stands there.
func (w *world) writeSAR(record uint64, text byte, finished bool) wire.Result {
	row, _ := w.m.Freeze().SAROf(record)
	return w.do(wire.KindSAR, &wire.SAR{
		Common: wire.Common{Fragment: []byte(`"by":"ann","narrative":"n"`)}, Op: wire.SARWrite, Leaf: record, Seen: row.Narrative, Narrative: [32]byte{text}, Finished: finished,
	})
}

func (w *world) openSAR(record uint64) wire.Result {
	return w.do(wire.KindSAR, &wire.SAR{Common: wire.Common{Fragment: []byte(`"openedBy":"ann","reason":"r"`)}, Op: wire.SAROpen, Leaf: record})
}

// TestEscalationOpensAReport: the report is due in 30 days, and people move it one step at a
// time.
func TestEscalationOpensAReport(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	rejected, b := w.held(slot, 20, 0, 0), w.held(slot, 20, 0, 0)
	require.Equal(t, wire.Applied, w.decide(rejected, w.makeKey(nil, "ann", wire.RoleReviewer), wire.Rejected).Code)
	require.Equal(t, wire.RefusedNotFound, w.moveSAR(rejected.Leaf, wire.SARDraft, wire.SARReady).Refusal)
	require.Equal(t, wire.RefusedNotFound, w.moveSAR(b.Leaf, wire.SARDraft, wire.SARReady).Refusal)
	opened := w.decide(b, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR)
	row, found := w.m.Freeze().SAR(opened.Leaf)
	require.True(t, found)
	require.Equal(t, SARRow{Leaf: b.Leaf, Later: opened.Leaf, DueAt: w.now + 30*engine.DayLength, First: opened.Leaf, State: wire.SARDraft}, row)

	for _, refused := range [][2]uint8{{wire.SARDraft, wire.SARFiled}, {wire.SARReady, wire.SARFiled}, {wire.SARDraft, wire.SARDraft}, {0, wire.SARReady}, {wire.SARDraft, 9}} {
		r := w.moveSAR(b.Leaf, refused[0], refused[1])
		require.Equal(t, wire.RefusedTransition, r.Refusal, refused)
		require.EqualValues(t, wire.SARDraft, r.Value, "the state it is in")
	}
	require.Equal(t, wire.RefusedUnfinished, w.moveSAR(b.Leaf, wire.SARDraft, wire.SARReady).Refusal, "nobody has written anything")
	require.Equal(t, wire.Applied, w.writeSAR(b.Leaf, 1, false).Code)
	require.Equal(t, wire.RefusedUnfinished, w.moveSAR(b.Leaf, wire.SARDraft, wire.SARReady).Refusal, "questions are left open")
	require.Equal(t, wire.Applied, w.writeSAR(b.Leaf, 2, true).Code)
	for _, step := range [][2]uint8{{wire.SARDraft, wire.SARReady}, {wire.SARReady, wire.SARDraft}, {wire.SARDraft, wire.SARReady}, {wire.SARReady, wire.SARFiled}, {wire.SARFiled, wire.SARClosed}} {
		open, _ := w.m.Freeze().SARsOpen()
		require.Equal(t, step[0] != wire.SARFiled, open == 1)
		r := w.moveSAR(b.Leaf, step[0], step[1])
		require.Equal(t, wire.Applied, r.Code)
		require.Contains(t, string(r.Data), `"from":"`+SARState(step[0])+`","to":"`+SARState(step[1])+`"`)
		m := restoredFrom(t, w.m)
		require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	}
	require.Equal(t, wire.RefusedTransition, w.moveSAR(b.Leaf, wire.SARClosed, wire.SARDraft).Refusal)
}

// TestReportsAreToldOfBeforeTheirTime: a leaf tells of each report that is not filed by then,
// once.
func TestReportsAreToldOfBeforeTheirTime(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	filed, late := w.held(slot, 20, 0, 0), w.held(slot, 20, 0, 0)
	for _, b := range []wire.Hold{filed, late} {
		require.Equal(t, wire.Applied, w.decide(b, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR).Code)
	}
	w.writeSAR(filed.Leaf, 1, true)
	w.moveSAR(filed.Leaf, wire.SARDraft, wire.SARReady)
	w.moveSAR(filed.Leaf, wire.SARReady, wire.SARFiled)
	told := func() (txns []string) {
		w.tick()
		for _, l := range w.out.Leaves {
			if between(l.Data, `"type":"`, `"`) == "sar.due_soon" {
				txns = append(txns, between(l.Data, `"txnId":"`, `"`))
			}
		}
		return txns
	}
	w.now += 25*engine.DayLength - engine.Hour
	require.Empty(t, told())
	w.now += engine.Hour
	require.Equal(t, []string{w.m.ids.TxnID(late.Leaf)}, told())
	last := w.m.desk.sars.At(w.m.desk.sars.Next() - 1)
	require.Equal(t, w.out.FirstLeaf+uint64(len(w.out.Leaves)-1), last.Later, "the next leaf about the report names the reminder")
	require.EqualValues(t, wire.SARDraft, w.moveSAR(late.Leaf, wire.SARReady, wire.SARFiled).Value)
	w.m = restoredFrom(t, w.m)
	require.Empty(t, told(), "once")
	open, overdue := w.m.Freeze().SARsOpen()
	require.Equal(t, [2]int{1, 0}, [2]int{open, overdue})
	w.now += 5 * engine.DayLength
	require.Empty(t, told())
	_, overdue = w.m.Freeze().SARsOpen()
	require.Equal(t, 1, overdue)
	w.live(115 * engine.DayLength)
	w.tickWithNote()
	require.Zero(t, w.m.desk.sars.Len(), "gone with its leaf")
}

// TestReportsBeyondTheBound: a report that is done makes room, an open one does not.
func TestReportsBeyondTheBound(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	w.narrow(func(l *engine.Limits) { l.SARs = 1 })
	first, second, third := w.held(slot, 20, 0, 0), w.held(slot, 20, 0, 0), w.held(slot, 20, 0, 0)
	w.decide(first, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR)
	require.Zero(t, w.out.SARsUnlisted)
	require.Equal(t, wire.Applied, w.decide(second, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR).Code)
	require.Equal(t, 1, w.out.SARsUnlisted)
	w.moveSAR(first.Leaf, wire.SARDraft, wire.SARClosed)
	w.decide(third, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR)
	require.Zero(t, w.out.SARsUnlisted)
	require.Equal(t, wire.Applied, w.writeSAR(third.Leaf, 1, true).Code)
	require.Equal(t, wire.RefusedFull, w.openSAR(second.Leaf).Refusal)
}

// TestAnOfficerOpensAReport: of whatever record, and of each one at a time. No operator can count its
// leaves: they are none of those about the record or the agent.
func TestAnOfficerOpensAReport(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	paid := w.screen(slot, 1)
	require.Contains(t, verdict(paid), "PROCEED")
	opened := w.openSAR(paid.Leaf)
	require.Equal(t, wire.Applied, opened.Code)
	row, found := w.m.Freeze().SAROf(paid.Leaf)
	require.True(t, found)
	require.Equal(t, SARRow{Leaf: paid.Leaf, Later: opened.Leaf, DueAt: w.now + 30*engine.DayLength, First: opened.Leaf, State: wire.SARDraft}, row)
	require.Contains(t, string(opened.Data), `"openedBy":"ann","reason":"r"`)
	again := w.openSAR(paid.Leaf)
	require.Equal(t, [2]any{wire.RefusedExists, uint64(wire.SARDraft)}, [2]any{again.Refusal, again.Value})
	require.Equal(t, wire.RefusedMalformed, w.openSAR(w.m.size+7).Refusal)
	written, next := w.writeSAR(paid.Leaf, 1, true), w.screen(slot, 1)
	moved := w.moveSAR(paid.Leaf, wire.SARDraft, wire.SARReady)
	for before, r := range map[uint64]wire.Result{0: opened, opened.Leaf: written, written.Leaf: moved} {
		require.Contains(t, string(r.Data), fmt.Sprint(`"reportLeaf":`, opened.Leaf))
		require.NotContains(t, string(r.Data), `"agent`)
		if before != 0 {
			require.Contains(t, string(r.Data), fmt.Sprint(`"reportPrevious":`, before))
		}
	}
	require.Equal(t, linkOf(t, w.leaves, w.leaves[paid.Leaf]).AgentSequence+1, linkOf(t, w.leaves, w.leaves[next.Leaf]).AgentSequence, "no number is missing")
	require.Equal(t, paid.Leaf, w.m.desk.newestAbout(paid.Leaf))

	require.Equal(t, wire.RefusedExists, w.openSAR(paid.Leaf).Refusal)
	require.Equal(t, wire.Applied, w.moveSAR(paid.Leaf, wire.SARReady, wire.SARClosed).Code)
	w.m = restoredFrom(t, w.m)
	reopened := w.openSAR(paid.Leaf)
	require.Equal(t, wire.Applied, reopened.Code, "it is closed, so there may be another")
	row, _ = w.m.Freeze().SAROf(paid.Leaf)
	require.Equal(t, reopened.Leaf, row.First)
	require.Zero(t, row.Narrative, "of another report")
}

// TestEscalationTakesTheOpenReport: what an officer has opened of an open review, its escalation
// goes on with.
func TestEscalationTakesTheOpenReport(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	b := w.held(slot, 20, 0, 0)
	opened := w.openSAR(b.Leaf)
	require.Equal(t, wire.Applied, opened.Code)
	require.Equal(t, wire.Applied, w.decide(b, w.makeKey(nil, "ann", wire.RoleReviewer), wire.EscalateSAR).Code)
	row, _ := w.m.Freeze().SAROf(b.Leaf)
	require.Equal(t, opened.Leaf, row.First)
	require.Equal(t, 1, w.m.desk.sars.Len())
}

// TestANarrativeIsNotOverwritten: who saw another one changes and moves nothing; a ready report's leaves
// nothing open; a filed one's stays.
func TestANarrativeIsNotOverwritten(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	paid := w.screen(slot, 1)
	require.Equal(t, wire.RefusedNotFound, w.writeSAR(paid.Leaf, 1, true).Refusal)
	w.openSAR(paid.Leaf)
	require.Equal(t, wire.RefusedMalformed, w.writeSAR(paid.Leaf, 0, true).Refusal)
	require.Equal(t, wire.Applied, w.writeSAR(paid.Leaf, 1, true).Code)
	late := &wire.SAR{Op: wire.SARWrite, Leaf: paid.Leaf, Narrative: [32]byte{2}, Finished: true}
	require.Equal(t, wire.RefusedVersion, w.do(wire.KindSAR, late).Refusal, "it was written for an empty one")
	blind := w.sarMove(paid.Leaf, wire.SARDraft, wire.SARReady)
	blind.Seen = [32]byte{9}
	require.Equal(t, wire.RefusedVersion, w.do(wire.KindSAR, blind).Refusal)
	require.Equal(t, wire.Applied, w.moveSAR(paid.Leaf, wire.SARDraft, wire.SARReady).Code)
	require.Equal(t, wire.RefusedUnfinished, w.writeSAR(paid.Leaf, 3, false).Refusal)
	require.Contains(t, string(w.writeSAR(paid.Leaf, 4, true).Data), `"state":"READY","narrativeSha256":"04`)
	require.Equal(t, wire.Applied, w.moveSAR(paid.Leaf, wire.SARReady, wire.SARFiled).Code, "there is no second person")
	filed := w.writeSAR(paid.Leaf, 5, true)
	require.Equal(t, [2]any{wire.RefusedTransition, uint64(wire.SARFiled)}, [2]any{filed.Refusal, filed.Value})
}
