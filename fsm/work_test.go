package fsm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func (w *world) work(op uint8, subject uint64, who string, force bool) wire.Result {
	return w.do(wire.KindWork, &wire.Work{Common: wire.Common{Fragment: []byte(`"by":"` + who + `"`)}, Op: op, Subject: subject, Who: who, Force: force})
}

// anAlert opens an alert about an agent and returns its leaf.
func (w *world) anAlert(slot engine.AgentSlot) uint64 {
	r := w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, Subject: wire.AlertSubject(wire.TargetAgent, uint64(slot)), List: 1})
	require.Equal(w.t, wire.Applied, r.Code, "%+v", r)
	return r.Leaf
}

// A claim of an alert holds for its time against others, and lapses; it survives a snapshot.
func TestAlertsHaveOwners(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	alert := wire.WorkSubject(wire.WorkAlert, w.anAlert(slot))
	require.Nil(t, w.m.Freeze().WorkOn(alert))
	r := w.work(wire.QueueClaim, alert, "ann", false)
	require.Contains(t, string(r.Data), `"op":"claimed"`)
	require.Equal(t, wire.RefusedClaimed, w.work(wire.QueueClaim, alert, "bob", false).Refusal)
	require.Equal(t, wire.RefusedClaimed, w.work(wire.QueueRelease, alert, "bob", false).Refusal)
	require.Equal(t, wire.Applied, w.work(wire.QueueComment, alert, "bob", false).Code, "a comment is no claim")
	claim := restoredFrom(t, w.m).Freeze().WorkOn(alert)
	require.Equal(t, "ann", claim.Assignee)
	require.Equal(t, w.now+engine.ClaimLease, claim.LeaseUntil)
	require.Len(t, claim.Comments, 1)
	w.now += engine.ClaimLease
	require.Equal(t, wire.Applied, w.work(wire.QueueClaim, alert, "bob", false).Code, "the lease is over")
	require.Equal(t, wire.Applied, w.work(wire.QueueAssign, alert, "cy", true).Code)
	claim = w.m.Freeze().WorkOn(alert)
	require.Equal(t, "cy", claim.Assignee)
	require.Zero(t, claim.LeaseUntil)
	require.Len(t, claim.Comments, 1, "they stay")
	require.Equal(t, wire.Applied, w.work(wire.QueueRelease, alert, "ann", true).Code)
	require.Empty(t, w.m.Freeze().WorkOn(alert).Assignee)
	_, leaf := wire.SplitWork(alert)
	w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertAcknowledge, Leaf: leaf})
	require.Equal(t, wire.RefusedNotOpen, w.work(wire.QueueClaim, alert, "ann", false).Refusal)
	require.Equal(t, wire.Applied, w.work(wire.QueueComment, alert, "ann", false).Code)
}

// What does not exist has no owner, and an open review has its own.
func TestWorkOnNothing(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	for _, refused := range []struct {
		subject uint64
		why     wire.Refusal
	}{
		{wire.WorkSubject(wire.WorkAlert, 1), wire.RefusedNotFound}, {wire.WorkSubject(wire.WorkCase, 1), wire.RefusedNotFound},
		{wire.WorkSubject(wire.WorkReport, 1), wire.RefusedNotFound}, {wire.WorkSubject(wire.WorkRecord, 1<<40), wire.RefusedTransition},
		{wire.WorkSubject(9, 1), wire.RefusedMalformed},
	} {
		require.Equal(t, refused.why, w.work(wire.QueueClaim, refused.subject, "ann", false).Refusal)
	}
	b := w.held(slot, 20, 0, 0)
	subject := wire.WorkSubject(wire.WorkRecord, b.Leaf)
	require.Equal(t, wire.RefusedTransition, w.work(wire.QueueClaim, subject, "ann", false).Refusal)
	w.do(wire.KindQueue, &wire.Queue{Op: wire.QueueClaim, Leaves: []uint64{b.Leaf}, Who: "ann"})
	require.Equal(t, "ann", w.m.Freeze().WorkOn(subject).Assignee)
	require.Equal(t, wire.RefusedMalformed, w.work(9, subject, "ann", false).Refusal)
}

// A full table gives way for claims that nobody holds, and refuses where all are held.
func TestClaimsHaveRoom(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Works = 2 })
	var alerts []uint64
	for range 4 {
		slot, _ := w.register("a")
		alerts = append(alerts, wire.WorkSubject(wire.WorkAlert, w.anAlert(slot)))
	}
	w.work(wire.QueueClaim, alerts[0], "ann", false)
	w.work(wire.QueueAssign, alerts[1], "bob", false)
	require.Equal(t, wire.RefusedFull, w.work(wire.QueueClaim, alerts[2], "cy", false).Refusal)
	w.now += engine.ClaimLease
	require.Equal(t, wire.Applied, w.work(wire.QueueClaim, alerts[2], "cy", false).Code)
	view := w.m.Freeze()
	require.Nil(t, view.WorkOn(alerts[0]))
	require.Equal(t, "bob", view.WorkOn(alerts[1]).Assignee)
	require.Equal(t, "cy", view.WorkOn(alerts[2]).Assignee)
	require.Equal(t, wire.Applied, w.work(wire.QueueRelease, alerts[1], "bob", false).Code, "the rows that moved are found")
}

func (w *world) draft(key uint32, name, text string) wire.Result {
	b := &wire.Draft{Common: w.by(key), Name: name}
	if text != "" {
		b.Said = &wire.DraftText{Text: text, Fields: []wire.DraftField{{Name: "disposition", Value: "APPROVED"}}}
	}
	return w.do(wire.KindDraft, b)
}

// A draft is its person's alone, whichever key it was sent with; it leaves no leaf, and is gone in time.
func TestDraftsAreOnesOwn(t *testing.T) {
	w, _, _ := fourEyes(t, engine.FourEyes{}) // The keys 1 and 4 are Ann's, 2 is Bob's.
	of := func(row uint32) []Draft { return w.m.Freeze().Drafts(w.m.settings.Keys[row-1].Subject()) }
	size := w.m.size
	require.Equal(t, wire.Unchanged, w.draft(1, "sar:txn_1", "layering").Code)
	require.Equal(t, size, w.m.size)
	require.Equal(t, "layering", of(4)[0].Said.Text, "both keys are Ann's")
	require.Empty(t, of(2))
	w.draft(2, "sar:txn_1", "mine")
	w.draft(4, "sar:txn_1", "layering, I think")
	require.Len(t, of(1), 1)
	require.Equal(t, "layering, I think", of(1)[0].Said.Text)
	require.Equal(t, of(1), restoredFrom(t, w.m).Freeze().Drafts(w.m.settings.Keys[0].Subject()))
	w.draft(1, "sar:txn_1", "")
	require.Empty(t, of(1))
	require.Equal(t, "mine", of(2)[0].Said.Text)
	w.live(w.m.limits.DraftKept)
	require.Empty(t, of(2))
	require.Zero(t, w.m.desk.drafts.Len(), "and the rows are gone")
	require.Empty(t, w.m.desk.draftAt)
}

// The oldest draft of a person gives way, and the oldest of all where the table is full.
func TestDraftsHaveRoom(t *testing.T) {
	w, _, _ := fourEyes(t, engine.FourEyes{})
	w.narrow(func(l *engine.Limits) { l.DraftsOfPerson, l.Drafts = 3, 4 })
	names := func(row uint32) (names []string) {
		for _, draft := range w.m.Freeze().Drafts(w.m.settings.Keys[row-1].Subject()) {
			names = append(names, draft.Name)
		}
		return names
	}
	for i := range 5 {
		w.draft(1, fmt.Sprint("a", i), "x")
	}
	require.Equal(t, []string{"a4", "a3", "a2"}, names(1))
	w.draft(2, "b0", "x")
	w.draft(2, "b1", "x")
	require.Equal(t, []string{"a4", "a3"}, names(1))
	for i := range 100 {
		w.draft(2, "b1", strings.Repeat("x", i+1))
	}
	require.LessOrEqual(t, w.m.desk.drafts.Len(), 2*w.m.limits.Drafts)
	require.Equal(t, []string{"a4", "a3"}, names(1))
	require.Equal(t, []string{"b1", "b0"}, names(2))
	restoredFrom(t, w.m)
	for _, wrong := range []string{"", "a b", "ä", strings.Repeat("x", 129)} {
		require.Equal(t, wire.RefusedMalformed, w.draft(1, wrong, "x").Refusal)
	}
	require.Equal(t, wire.RefusedMalformed, w.draft(1, "a", strings.Repeat("x", w.m.limits.DraftBytes+1)).Refusal)
}
