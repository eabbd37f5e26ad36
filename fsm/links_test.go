package fsm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// linked is what a leaf says about its place among others.
type linked struct {
	Kind, Type, AgentID          string
	AgentSequence, AgentPrevious uint64
	ScreenedLeaf, ReviewedLeaf   *uint64
	RecordPrevious               *uint64
}

// linkOf reads the place of a leaf. A screening record names its agent in its profile.
func linkOf(t testing.TB, leaves [][]byte, data []byte) linked {
	var l linked
	switch leaf.FormOf(data) {
	case leaf.FormScreen:
		var s leaf.Screen
		require.NoError(t, leaf.DecodeScreen(data, &s))
		l.Kind, l.AgentSequence, l.AgentPrevious = leaf.KindScreen, s.Sequence, s.Previous
		if s.LevelCount > 0 {
			p, err := leaf.DecodeProfile(leaves[s.Profile.Leaf])
			require.NoError(t, err)
			l.AgentID = p.AgentIDs[0]
		}
	case leaf.FormEvent:
		require.NoError(t, json.Unmarshal(data, &l))
	}
	return l
}

// In every history each leaf about an agent has the next number and names the one before it,
// and each leaf about a record names the one before it about that record.
func TestLeavesAreChained(t *testing.T) {
	type place struct{ sequence, at uint64 }
	kinds := map[string]int{}
	for seed := range uint64(12) {
		w := history(t, seed, 350)
		if seed >= 8 {
			w = payments(t, seed, 600)
		}
		view := w.m.Freeze()
		agents, records, proposed := map[string]place{}, map[uint64]uint64{}, map[uint64]int{}
		for i, data := range w.leaves {
			l, at := linkOf(t, w.leaves, data), uint64(i)
			about := l.ScreenedLeaf
			if about == nil {
				about = l.ReviewedLeaf
			}
			if about != nil && l.Kind != leaf.KindAlertOpened && l.Kind != leaf.KindRetroHit && !strings.HasPrefix(l.Kind, "sanctions.") && !aboutReport(l.Kind, l.Type) {
				before, known := records[*about]
				if !known {
					before = *about
				}
				require.NotNil(t, l.RecordPrevious, "%s", data)
				_, queued := view.Review(*about)
				if queued || proposed[*about] == 0 { // See newestAbout.
					require.Equal(t, before, *l.RecordPrevious, "%s", data)
				}
				if l.Kind == leaf.KindProposed || l.Kind == leaf.KindActProposed {
					proposed[*about]++
				}
				records[*about] = at
				if of := linkOf(t, w.leaves, w.leaves[*about]); queued && l.AgentSequence != 0 {
					require.Equal(t, of.AgentID, l.AgentID, "%s", data)
				}
			}
			if l.AgentSequence == 0 {
				continue
			}
			before := agents[l.AgentID]
			require.Equal(t, before.sequence+1, l.AgentSequence, "%s", data)
			require.Equal(t, before.at, l.AgentPrevious, "%s", data)
			agents[l.AgentID] = place{l.AgentSequence, at}
			kinds[l.Kind+l.Type]++
		}
	}
	structs := map[reflect.Type]int{}
	for _, kind := range leaf.Kinds {
		structs[reflect.TypeOf(kind.Members)] += kinds[kind.Name]
	}
	for _, kind := range leaf.Kinds {
		switch kind.Members.(type) {
		case leaf.Settled, leaf.Payment, leaf.Dispositioned, leaf.Proposed, leaf.Claimed, leaf.Credential, leaf.Reissued, leaf.AgentChanged, leaf.Attested, leaf.Ownership:
			require.Positive(t, structs[reflect.TypeOf(kind.Members)], "no leaf of a kind like %s in any history", kind.Name)
		}
	}
	require.Positive(t, kinds[leaf.KindDue+leaf.DueHold.String()])
	require.Positive(t, kinds["agent.suspended"])
}

// The chains of a case go on across a snapshot: escalation, comments.
func TestChainsGoOnAfterRestore(t *testing.T) {
	w := newWorld(t)
	slot, registered := w.register("bot", dailyLimit(100))
	review := w.screen(slot, 101)
	require.Contains(t, verdict(review), "REVIEW")
	comment := func() wire.Result {
		return w.do(wire.KindQueue, &wire.Queue{Op: wire.QueueComment, Leaves: []uint64{review.Leaf}})
	}
	first := comment()
	escalated := w.do(wire.KindDisposition, &wire.Disposition{Leaf: review.Leaf, Agent: slot, Disposition: wire.EscalateSAR, Amount: 101 * engine.Dollar})
	w.m = restoredFrom(t, w.m)
	require.Equal(t, wire.Applied, w.writeSAR(review.Leaf, 1, true).Code, "a leaf about the report is none about the record")
	second := comment()
	chain := []wire.Result{first, escalated, second}
	before, sequence := review.Leaf, linkOf(t, w.leaves, w.leaves[review.Leaf]).AgentSequence
	for _, r := range chain {
		require.Equal(t, wire.Applied, r.Code)
		l := linkOf(t, w.leaves, r.Data)
		sequence++
		require.Equal(t, before, *l.RecordPrevious, "%s", r.Data)
		require.Equal(t, [2]uint64{sequence, before}, [2]uint64{l.AgentSequence, l.AgentPrevious}, "%s", r.Data)
		before = r.Leaf
	}
	require.EqualValues(t, 1, linkOf(t, w.leaves, w.leaves[registered.Leaf]).AgentSequence, "the chain begins with the registration")
}

// aboutReport tells whether a leaf is about a report: those have a chain of their own.
func aboutReport(kind, due string) bool {
	return strings.HasPrefix(kind, "sar.") || strings.HasPrefix(kind, "act.") || due == leaf.DueAct.String() || due == leaf.DueSAR.String()
}
