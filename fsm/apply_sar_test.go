package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func (w *world) moveSAR(record uint64, from, to uint8) wire.Result {
	return w.do(wire.KindSAR, &wire.SAR{Common: wire.Common{Fragment: []byte(`"by":"ann"`)}, Leaf: record, From: from, To: to})
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
	require.Equal(t, w.out.FirstLeaf+uint64(len(w.out.Leaves)-1), last.Later, "the next leaf about the record names the reminder, whether or not the review has a row")
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
	require.Equal(t, wire.Applied, w.moveSAR(third.Leaf, wire.SARDraft, wire.SARReady).Code)
}
