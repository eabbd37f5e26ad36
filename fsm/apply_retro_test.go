package fsm

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// retroStep makes a leader's report of a retro-screening, valid or not.
func (w *world) retroStep(random *rand.Rand) {
	body := &wire.Retro{Common: randomCommon(random), Op: uint8(1 + random.IntN(4)), Run: wire.RetroRun{
		List: random.Uint64N(w.m.settings.ListVersion + 2), Against: random.Uint64N(w.m.settings.ListVersion + 1),
		Leaf: random.Uint64N(w.m.size + 2), Asked: random.IntN(3) > 0,
	}}
	if run := w.m.settings.Retro; run != nil {
		body.Run = *run
		body.Run.Leaf += random.Uint64N(4)
		body.Run.Agent += random.Uint32N(2)
		if run.EndedAt != 0 {
			body.Op, body.Run.Asked = wire.RetroBegin, true
		}
		for range random.IntN(3) {
			body.Hits = append(body.Hits, wire.RetroHit{
				Target: wire.Target(random.IntN(5)), Leaf: random.Uint64N(w.m.size), Slot: random.Uint32N(9), Entries: []uint32{random.Uint32N(99)},
				Amount: engine.Dollar, Listed: random.IntN(2) == 0,
			})
		}
	}
	if body.Op != wire.RetroBegin {
		body.Idem = nil // A report needs no key: its cursor makes it unique.
	}
	w.do(wire.KindRetro, body)
}

func (w *world) retro(op uint8, run wire.RetroRun, hits ...wire.RetroHit) wire.Result {
	return w.do(wire.KindRetro, &wire.Retro{Op: op, Run: run, Hits: hits})
}

// leavesOf are the newest entry's leaves of a kind.
func (w *world) leavesOf(kind string) (all []string) {
	for _, l := range w.out.Leaves {
		if text := string(l.Data); strings.HasPrefix(text, `{"kind":"`+kind+`"`) {
			all = append(all, text)
		}
	}
	return all
}

// TestRetroMovesOn: reports are taken in order, and each place and each hit once.
func TestRetroMovesOn(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	paid := w.screen(slot, 40)
	list := w.m.settings.ListVersion
	require.NotZero(t, list)
	begun := w.retro(wire.RetroBegin, wire.RetroRun{List: list})
	require.Equal(t, wire.Applied, begun.Code)
	require.Contains(t, string(begun.Data), `"retroId":"`+w.m.ids.EventID(begun.Leaf, 0)+`"`)
	run := *w.m.settings.Retro
	require.Equal(t, begun.Leaf, run.Begun)
	require.Equal(t, list, run.Covered)
	require.Equal(t, begun.Leaf, run.Until)
	require.Equal(t, [3]uint32{1, 1, 1}, [3]uint32{run.Operator, run.Agent, run.User})
	second := w.retro(wire.RetroBegin, wire.RetroRun{List: list, Asked: true})
	require.Equal(t, wire.RefusedTransition, second.Refusal, "one at a time")
	require.Equal(t, begun.Leaf, second.Value)

	record := wire.RetroHit{Leaf: paid.Leaf, Entries: []uint32{7, 8}, Amount: 40 * engine.Dollar, At: w.now, Wallet: true, Listed: true}
	agent := wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(slot), Entries: []uint32{9}, Listed: true}
	run.Agent++
	require.Equal(t, wire.Unchanged, w.retro(wire.RetroAdvance, run, agent).Code, "no leaf of its own")
	require.Equal(t, run.Agent, w.m.settings.Retro.Agent)
	require.Len(t, w.leavesOf("retro.hit"), 1)
	require.Len(t, w.alerts(), 1)
	require.Equal(t, wire.Unchanged, w.retro(wire.RetroAdvance, run, agent).Code, "told already")
	require.Empty(t, w.out.Leaves)
	behind := run
	behind.Agent--
	behind.Leaf += 5
	require.Equal(t, wire.Unchanged, w.retro(wire.RetroAdvance, behind, record).Code, "behind in a part")

	run.Leaf = paid.Leaf + 1
	w.retro(wire.RetroAdvance, run, record, agent)
	hits := w.leavesOf("retro.hit")
	require.Len(t, hits, 1, "the agent has its alert")
	require.Contains(t, hits[0], `"txnId":"`+w.m.ids.TxnID(paid.Leaf)+`"`)
	require.Contains(t, hits[0], `"amount":40,"entries":[7,8],"wallet":true,"listed":true`)
	require.Contains(t, w.alerts()[0], `"alert":"retro_hit"`)
	require.EqualValues(t, 2, w.m.settings.Retro.Hits)
	require.Equal(t, engine.Active, w.m.registry.agents.At(uint64(slot)).Status, "nobody asked to suspend")

	end := w.retro(wire.RetroEnd, run)
	require.Equal(t, wire.Applied, end.Code)
	require.Contains(t, string(end.Data), `"hits":2`)
	require.NotZero(t, w.m.settings.Retro.EndedAt)
	require.Equal(t, wire.Unchanged, w.retro(wire.RetroEnd, run).Code)
	require.Equal(t, wire.Unchanged, w.retro(wire.RetroBegin, wire.RetroRun{List: list}).Code, "another leader was first")
	require.Equal(t, wire.Applied, w.retro(wire.RetroBegin, wire.RetroRun{List: list, Asked: true}).Code)
	require.Equal(t, list, w.m.settings.Retro.Covered)
	again := *w.m.settings.Retro
	again.Leaf = paid.Leaf + 1
	w.retro(wire.RetroAdvance, again, record)
	require.Equal(t, again.Leaf, w.m.settings.Retro.Leaf)
	require.Empty(t, w.leavesOf("retro.hit"), "the same list, the same record")

	var snapshot bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&snapshot)
	require.NoError(t, err)
	restored, err := Restore(&snapshot)
	require.NoError(t, err)
	require.Equal(t, w.m.settings.Retro, restored.settings.Retro)
}

// TestRetroSuspends: listed parties are suspended if the policy says so, and no others.
func TestRetroSuspends(t *testing.T) {
	w := newWorld(t)
	one, _ := w.register("a")
	two, _ := w.register("b")
	policy := *engine.DefaultPolicy()
	policy.RetroSuspend = true
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	w.retro(wire.RetroBegin, wire.RetroRun{List: w.m.settings.ListVersion})
	run := *w.m.settings.Retro
	run.Agent = 9
	w.retro(wire.RetroAdvance, run,
		wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(one), Entries: []uint32{9}, Listed: true},
		wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(two), Entries: []uint32{9}},
		wire.RetroHit{Target: wire.TargetUser, Slot: 900, Entries: []uint32{9}, Listed: true})
	require.Len(t, w.leavesOf("retro.hit"), 2, "a user who is not there is passed over")
	require.Len(t, w.leavesOf("agent.suspended"), 1)
	require.Equal(t, engine.Suspended, w.m.registry.agents.At(uint64(one)).Status)
	require.True(t, w.m.registry.agents.At(uint64(one)).Institutions, "its operator does not lift it")
	require.Equal(t, engine.Active, w.m.registry.agents.At(uint64(two)).Status)

	operator := uint32((*w.m.registry.profiles.At(uint64(one))).Operator)
	run.Operator = operator + 1
	w.retro(wire.RetroAdvance, run, wire.RetroHit{Target: wire.TargetOperator, Slot: operator, Entries: []uint32{9}, Listed: true})
	suspended := w.leavesOf("operator.suspended")
	require.Len(t, suspended, 1)
	require.Contains(t, suspended[0], `"operatorLegalName":"acme inc"`)
	require.True(t, w.m.registry.operators.At(uint64(operator)).Suspended)
	require.True(t, w.m.registry.operators.At(uint64(operator)).Institutions, "it does not lift it itself")
}

func TestRetroIsRefused(t *testing.T) {
	w := newWorld(t)
	w.register("a")
	list := w.m.settings.ListVersion
	for name, run := range map[string]wire.RetroRun{
		"no list": {}, "a list to come": {List: list + 1}, "against itself": {List: list, Against: list}, "a leaf to come": {List: list, Leaf: w.m.size + 1},
	} {
		require.Equal(t, wire.RefusedMalformed, w.retro(wire.RetroBegin, run).Refusal, name)
	}
	require.Equal(t, wire.RefusedMalformed, w.retro(wire.RetroAdvance, wire.RetroRun{List: list}).Refusal, "nothing runs")
	w.retro(wire.RetroBegin, wire.RetroRun{List: list})
	run := *w.m.settings.Retro
	run.Leaf++
	for name, hit := range map[string]wire.RetroHit{
		"no entry": {Leaf: 1}, "a leaf to come": {Leaf: w.m.size, Entries: []uint32{1}}, "no such agent": {Target: wire.TargetAgent, Slot: 99, Entries: []uint32{1}},
		"no such target": {Target: 9, Entries: []uint32{1}}, "too many entries": {Leaf: 1, Entries: make([]uint32, wire.RetroEntriesMost+1)},
		"less than nothing": {Leaf: 1, Entries: []uint32{1}, Amount: -1}, "no such verdict": {Leaf: 1, Entries: []uint32{1}, Verdict: 9},
	} {
		require.Equal(t, wire.RefusedMalformed, w.retro(wire.RetroAdvance, run, hit).Refusal, name)
	}
	require.Equal(t, wire.RefusedMalformed, w.retro(4, run).Refusal)
	run.Begun++
	require.Equal(t, wire.RefusedMalformed, w.retro(wire.RetroAdvance, run).Refusal, "another run")
}
