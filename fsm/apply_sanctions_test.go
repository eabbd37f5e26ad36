package fsm

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// randomCauses returns up to three causes of few.
func randomCauses(random *rand.Rand) (causes []wire.Cause) {
	of := []wire.Cause{wire.PartyCause(1), wire.PartyCause(2), wire.PlaceCause("IR"), wire.PlaceCause("UA-43")}
	for _, at := range random.Perm(len(of))[:random.IntN(4)] {
		causes = append(causes, of[at])
	}
	return causes
}

// caseStep tries a step of a case, mostly one that is possible.
func (w *world) caseStep(random *rand.Rand, common wire.Common) {
	b := &wire.SanctionsCase{Common: common, Leaf: random.Uint64N(w.m.size + 1), From: uint8(random.IntN(6)), To: uint8(random.IntN(7)), Kind: uint8(random.IntN(4))}
	if n := w.m.desk.cases.Len(); n > 0 && random.IntN(8) > 0 {
		row := w.m.desk.cases.At(w.m.desk.cases.First() + random.Uint64N(uint64(n)))
		b.Leaf, b.From = row.Leaf, row.State
		if next := SanctionsNext(row.State); len(next) > 0 {
			b.To = next[random.IntN(len(next))]
		}
	}
	switch b.To {
	case wire.SanctionsTrueMatch:
		if b.Kind == wire.SanctionsProperty {
			b.Property = someProperty()
		}
	case wire.SanctionsReported:
		b.Kind, b.Reference = 0, "R-1"
	default:
		b.Kind = 0
	}
	if random.IntN(6) == 0 {
		b = &wire.SanctionsCase{Common: common, Leaf: random.Uint64N(w.m.size), Opens: &wire.PaidPayment{
			Agent: engine.AgentSlot(random.IntN(6)), Cause: wire.PartyCause(uint32(random.IntN(3))), Amount: engine.Dollar, Newest: random.Uint64N(w.m.size + 1),
		}}
	}
	w.do(wire.KindSanctions, b)
}

func someProperty() *wire.BlockedProperty {
	return &wire.BlockedProperty{Party: "BANK MELLI", Description: "a USDC payment", Location: "omnibus wallet 3", Authority: "31 CFR part 560", Value: 7 * engine.Dollar}
}

// blocked screens a payment that the list blocks.
func (w *world) blocked(slot engine.AgentSlot, dollars engine.USD, causes ...wire.Cause) wire.Result {
	return w.do(wire.KindScreen, w.blocking(slot, dollars, causes...))
}

func (w *world) blocking(slot engine.AgentSlot, dollars engine.USD, causes ...wire.Cause) *wire.Screen {
	s := w.screening(slot, dollars*engine.Dollar)
	s.Mask, s.Subs, s.Causes = 1<<engine.RulePartyName, []byte{1}, causes
	return s
}

func (w *world) sanctionsCases() (rows []SanctionsRow) {
	w.m.Freeze().SanctionsCases(0, true, func(row SanctionsRow) bool {
		rows = append(rows, row)
		return true
	})
	return rows
}

func (w *world) moveCase(b wire.SanctionsCase) wire.Result { return w.do(wire.KindSanctions, &b) }

// trueMatch finds that a case is a match of a rejected transaction.
func (w *world) trueMatch(opened uint64) wire.Result {
	return w.moveCase(wire.SanctionsCase{Leaf: opened, From: wire.SanctionsOpen, To: wire.SanctionsTrueMatch, Kind: wire.SanctionsRejected})
}

var melli, iran = wire.PartyCause(7777), wire.PlaceCause("IR")

// TestABlockOpensACase: one for each pair of a root and what it hit, in the entry of the verdict;
// later BLOCKs join it, those of a delegate too.
func TestABlockOpensACase(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	other, _ := w.register("other")
	child, _ := w.register("child", parent(root))
	first := w.blocked(root, 5, melli)
	require.Equal(t, "BLOCK", between(shown(first.Data), `"verdict":"`, `"`))
	last := len(w.out.Leaves) - 1
	require.Equal(t, first.Leaf+1, w.out.FirstLeaf+uint64(last), "the case stands behind its record")
	require.Equal(t, []SanctionsRow{{
		Leaf: first.Leaf + 1, At: w.now, DueAt: engine.ReportDue(w.now), Root: wire.AlertSubject(wire.TargetAgent, uint64(root)), Cause: melli, First: first.Leaf, Last: first.Leaf,
		Count: 1, Amount: 5 * engine.Dollar, Later: first.Leaf + 1, State: wire.SanctionsOpen, Owner: Owner(w.operatorSlot("acme inc")),
	}}, w.sanctionsCases())
	opened := string(w.out.Leaves[last].Data)
	require.Contains(t, opened, `"kind":"sanctions.opened"`)
	require.Contains(t, opened, `"uid":7777,"txnId":"`+w.m.ids.TxnID(first.Leaf)+`"`)
	require.NotContains(t, opened, "agentSequence", "an operator counts the leaves of its agents")
	agent := engine.FilterKey(engine.FilterAgent, w.m.ids.AgentID(uint32(root)))
	require.NotContains(t, w.out.Leaves[last].Filters, agent)
	pair := engine.FilterKey(engine.FilterCase, CasePair(w.m.ids, wire.AlertSubject(wire.TargetAgent, uint64(root)), melli))
	require.Contains(t, w.out.Leaves[last-1].Filters, pair, "the case's records are found")

	joined := w.blocked(child, 3, melli)
	require.NotContains(t, string(w.out.Leaves[len(w.out.Leaves)-1].Data), "sanctions.")
	require.Contains(t, w.out.Leaves[len(w.out.Leaves)-1].Filters, pair)
	row := w.sanctionsCases()[0]
	require.Equal(t, []any{joined.Leaf, uint64(2), 8 * engine.Dollar, first.Leaf}, []any{row.Last, row.Count, row.Amount, row.First})

	w.blocked(other, 1, melli)
	w.blocked(root, 1, iran, melli, wire.PartyCause(8))
	require.Contains(t, string(w.leaves[len(w.leaves)-2]), `"place":"IR"`)
	w.blocked(root, 1)
	rows := w.sanctionsCases()
	require.Len(t, rows, 5, "another root, a place, another party, and what has no name")
	require.EqualValues(t, 3, rows[0].Count)
	requireSameShares(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// TestWhatOpensNoCase: a REVIEW, another rule's BLOCK, and a call that is answered from its key.
func TestWhatOpensNoCase(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for _, mask := range []uint32{1 << engine.RulePossibleName, 1 << engine.RuleMixer, 1 << engine.RuleCredentialContext, 1 << engine.RuleNoCredential} {
		s := w.screening(slot, engine.Dollar)
		s.Mask, s.Subs, s.Causes = mask, []byte{1}, []wire.Cause{melli}
		require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code)
	}
	require.Empty(t, w.sanctionsCases())
	s := w.blocking(slot, 1, melli)
	s.Idem = &wire.Idem{Key: [16]byte{1}}
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code)
	require.Equal(t, wire.Replayed, w.do(wire.KindScreen, s).Code)
	require.EqualValues(t, 1, w.sanctionsCases()[0].Count)

	for rule := engine.RuleID(3); rule <= 7; rule++ {
		s := w.screening(slot, engine.Dollar)
		s.Mask, s.Subs, s.Causes = 1<<rule, []byte{1}, []wire.Cause{wire.PartyCause(uint32(rule))}
		require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code)
	}
	s = w.screening(slot, engine.Dollar)
	s.Mask, s.Subs, s.Causes = 1<<24|1<<engine.RuleMixer, []byte{1, 1}, []wire.Cause{iran}
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code)
	require.Len(t, w.sanctionsCases(), 7)
	for _, causes := range [][]wire.Cause{{melli, melli}, {5}, {melli, 0}, {melli | 1<<40}} {
		require.Equal(t, wire.RefusedMalformed, w.blocked(slot, 1, causes...).Refusal, causes)
	}
}

// TestStepsOfACase tries every step from every state.
func TestStepsOfACase(t *testing.T) {
	allowed := map[[2]uint8]bool{
		{1, 2}: true, {1, 3}: true, {2, 3}: true, {2, 4}: true, {2, 5}: true, {3, 1}: true, {4, 5}: true,
	}
	with := func(b *wire.SanctionsCase) wire.SanctionsCase {
		switch b.To {
		case wire.SanctionsTrueMatch:
			b.Kind = wire.SanctionsRejected
		case wire.SanctionsReported:
			b.Reference = "RPT-1"
		}
		return *b
	}
	path := map[uint8][]uint8{1: {}, 2: {2}, 3: {3}, 4: {2, 4}, 5: {2, 4, 5}}
	for from := uint8(1); from <= 5; from++ {
		for to := uint8(1); to <= 5; to++ {
			w := newWorld(t)
			slot, _ := w.register("a")
			w.blocked(slot, 1, melli)
			opened, state := w.sanctionsCases()[0].Leaf, wire.SanctionsOpen
			for _, next := range path[from] {
				require.Equal(t, wire.Applied, w.moveCase(with(&wire.SanctionsCase{Leaf: opened, From: state, To: next})).Code)
				state = next
			}
			r := w.moveCase(with(&wire.SanctionsCase{Leaf: opened, From: from, To: to}))
			if !allowed[[2]uint8{from, to}] {
				require.Equal(t, wire.RefusedTransition, r.Refusal, "%d to %d", from, to)
				require.Equal(t, from, w.sanctionsCases()[0].State)
				continue
			}
			require.Equal(t, wire.Applied, r.Code, "%d to %d", from, to)
			require.Contains(t, string(r.Data), `"from":"`+SanctionsState(from)+`","to":"`+SanctionsState(to)+`"`)
			requireSameShares(t, w.m)
			require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
		}
	}
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	opened := w.sanctionsCases()[0].Leaf
	require.Equal(t, wire.RefusedNotFound, w.moveCase(wire.SanctionsCase{Leaf: opened - 1, From: 1, To: 3}).Refusal)
	for _, b := range []wire.SanctionsCase{
		{From: 1, To: 2}, {From: 1, To: 2, Kind: 3}, {From: 1, To: 2, Kind: 1, Property: someProperty()}, {From: 1, To: 2, Kind: 2}, {From: 1, To: 2, Kind: 2, Property: &wire.BlockedProperty{}},
		{From: 1, To: 3, Kind: 1}, {From: 1, To: 3, Reference: "x"}, {From: 2, To: 4}, {From: 2, To: 4, Reference: strings.Repeat("x", 257)}, {From: 1, To: 0}, {From: 1, To: 9},
	} {
		b.Leaf = opened
		require.Equal(t, wire.RefusedMalformed, w.moveCase(b).Refusal, "%+v", b)
	}
}

// TestNotThePartyLiftsNothing: the next payment of the pair is blocked and joins the case, which
// says so once. A new finding tells it once more.
func TestNotThePartyLiftsNothing(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	opened := w.sanctionsCases()[0].Leaf
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: opened, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty}).Code)
	require.Equal(t, "BLOCK", between(shown(w.blocked(slot, 2, melli).Data), `"verdict":"`, `"`))
	require.Len(t, w.out.Leaves, 2)
	again := string(w.out.Leaves[1].Data)
	require.Contains(t, again, `"kind":"sanctions.blocked_again"`)
	require.Contains(t, again, `"count":2`)
	w.m = restoredFrom(t, w.m)
	w.blocked(slot, 3, melli)
	require.Len(t, w.out.Leaves, 1, "explained once")
	row := w.sanctionsCases()[0]
	require.Equal(t, []any{uint64(3), 6 * engine.Dollar, wire.SanctionsNotTheParty}, []any{row.Count, row.Amount, row.State})
	w.moveCase(wire.SanctionsCase{Leaf: opened, From: wire.SanctionsNotTheParty, To: wire.SanctionsOpen})
	w.moveCase(wire.SanctionsCase{Leaf: opened, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty})
	w.blocked(slot, 1, melli)
	require.Len(t, w.out.Leaves, 2)
	require.Len(t, w.sanctionsCases(), 1)
}

// TestAReportedCaseTakesNoMore: the next BLOCK of the pair is an action with a report of its own.
func TestAReportedCaseTakesNoMore(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	first := w.sanctionsCases()[0].Leaf
	w.trueMatch(first)
	w.blocked(slot, 1, melli)
	require.EqualValues(t, 2, w.sanctionsCases()[0].Count)
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: first, From: wire.SanctionsTrueMatch, To: wire.SanctionsReported, Reference: "RPT-1"}).Code)
	require.Equal(t, "RPT-1", w.sanctionsCases()[0].Facts.Reference)
	w.now += 3 * engine.DayLength
	w.blocked(slot, 1, melli)
	rows := w.sanctionsCases()
	require.Len(t, rows, 2)
	require.Equal(t, []any{uint64(2), first, uint64(1), engine.ReportDue(w.now)}, []any{rows[0].Count, rows[1].Before, rows[1].Count, rows[1].DueAt})
	require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"caseBefore":"`+w.m.ids.CaseID(first)+`"`)
	w.m = restoredFrom(t, w.m)
	w.blocked(slot, 1, melli)
	require.EqualValues(t, 2, w.sanctionsCases()[1].Count)
}

// TestReportsFallDue: a leaf two days before, a leaf and an alert when the tenth business day is
// over, once each, and none for what was reported or is not the party.
func TestReportsFallDue(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	w.blocked(slot, 1, wire.PartyCause(2))
	w.blocked(slot, 1, wire.PartyCause(3))
	rows := w.sanctionsCases()
	w.trueMatch(rows[1].Leaf)
	w.moveCase(wire.SanctionsCase{Leaf: rows[1].Leaf, From: wire.SanctionsTrueMatch, To: wire.SanctionsReported, Reference: "R"})
	w.moveCase(wire.SanctionsCase{Leaf: rows[2].Leaf, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty})
	told := func(kind string) (n int) {
		w.tick()
		for _, l := range w.out.Leaves {
			if between(l.Data, `"type":"`, `"`) == kind {
				require.Contains(t, string(l.Data), `"caseId":"`+w.m.ids.CaseID(rows[0].Leaf)+`"`)
				n++
			}
		}
		return n
	}
	due := rows[0].DueAt
	require.Equal(t, "2026-04-04T04:00:00.000Z", due.String(), "Saturday evening in New York is the 21st; the tenth business day is Friday, 3 April")
	w.now = due - 2*engine.DayLength - 1
	require.Zero(t, told("sanctions.due_soon"))
	require.Equal(t, 0, w.m.Freeze().SanctionsOpen().Soon)
	w.now++
	require.Equal(t, 1, told("sanctions.due_soon"))
	require.Equal(t, 1, w.m.Freeze().SanctionsOpen().Soon)
	w.m = restoredFrom(t, w.m)
	require.Zero(t, told("sanctions.due_soon"))
	w.now = due - 1
	require.Zero(t, told("sanctions.overdue"))
	require.Equal(t, SanctionsCounts{Open: 1, Soon: 1}, w.m.Freeze().SanctionsOpen())
	w.now++
	require.Equal(t, 1, told("sanctions.overdue"))
	alert := string(w.leaves[len(w.leaves)-1])
	require.Contains(t, alert, `"alert":"sanctions_report"`)
	require.Contains(t, alert, `"txnId":"`+w.m.ids.TxnID(rows[0].First)+`"`)
	require.Equal(t, 1, w.m.Freeze().AlertsOpen()[wire.AlertReport])
	require.Zero(t, told("sanctions.overdue"))
	require.Equal(t, SanctionsCounts{Open: 1, Late: 1}, w.m.Freeze().SanctionsOpen())

	w.moveCase(wire.SanctionsCase{Leaf: rows[2].Leaf, From: wire.SanctionsNotTheParty, To: wire.SanctionsOpen})
	require.Equal(t, 2, w.m.Freeze().SanctionsOpen().Late, "what was opened again keeps its day")
}

// TestAReopenedCaseIsToldOf: a case that was opened again before its time falls due.
func TestAReopenedCaseIsToldOf(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	row := w.sanctionsCases()[0]
	w.moveCase(wire.SanctionsCase{Leaf: row.Leaf, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty})
	w.now = row.DueAt - engine.DayLength
	w.tick()
	require.Zero(t, w.counted(`"sanctions.due_soon"`))
	w.moveCase(wire.SanctionsCase{Leaf: row.Leaf, From: wire.SanctionsNotTheParty, To: wire.SanctionsOpen})
	w.now = row.DueAt
	w.tick()
	require.Equal(t, 1, w.counted(`"type":"sanctions.overdue"`))
}

// TestCasesAreBounded: an owner's BLOCKs beyond its share are refused until officers end some;
// another owner has its own part, and what joins a case needs no room.
func TestCasesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.makeKey(nil, "ann", wire.RoleReviewer)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.SanctionsCases = 8 })
	uid := uint32(0)
	for w.m.hasRoom(wire.TableCases, w.m.desk.ownerOfSubject(wire.AlertSubject(wire.TargetAgent, uint64(slot))), oneRow) {
		uid++
		require.Equal(t, wire.Applied, w.blocked(slot, 1, wire.PartyCause(uid)).Code)
	}
	require.NotZero(t, uid)
	size := w.m.size
	r := w.blocked(slot, 1, wire.PartyCause(uid+1))
	require.Equal(t, []any{wire.RefusedShare, uint64(wire.TableCases), size}, []any{r.Refusal, r.Value, w.m.size}, "nothing happened")
	require.Equal(t, wire.Applied, w.blocked(slot, 1, wire.PartyCause(1)).Code)
	require.Equal(t, wire.RefusedShare, w.blocked(slot, 1, wire.PartyCause(1), wire.PartyCause(uid+1)).Refusal)
	for _, row := range w.sanctionsCases() {
		w.moveCase(wire.SanctionsCase{Leaf: row.Leaf, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty})
	}
	for range 40 { // What needs no work any more makes room for ever.
		uid++
		require.Equal(t, wire.Applied, w.blocked(slot, 1, wire.PartyCause(uid)).Code)
		w.moveCase(wire.SanctionsCase{Leaf: w.m.desk.cases.At(w.m.desk.cases.Next() - 1).Leaf, From: wire.SanctionsOpen, To: wire.SanctionsNotTheParty})
		require.LessOrEqual(t, w.m.desk.cases.Len(), 16)
		requireSameShares(t, w.m)
	}
	require.Len(t, w.m.desk.caseAt, w.m.desk.cases.Len())
}

// TestBlockedPropertyOutlivesItsLeaves: the register keeps it until it is released, and as long as
// the annual report after that needs it.
func TestBlockedPropertyOutlivesItsLeaves(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, wire.PartyCause(1))
	w.blocked(slot, 7, melli)
	rows := w.sanctionsCases()
	w.trueMatch(rows[0].Leaf)
	w.moveCase(wire.SanctionsCase{Leaf: rows[0].Leaf, From: wire.SanctionsTrueMatch, To: wire.SanctionsReported, Reference: "R"})
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: rows[1].Leaf, From: wire.SanctionsOpen, To: wire.SanctionsTrueMatch, Kind: wire.SanctionsProperty, Property: someProperty()}).Code)
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: rows[1].Leaf, From: wire.SanctionsTrueMatch, To: wire.SanctionsReported, Reference: "B"}).Code)
	w.live(100 * engine.DayLength)
	w.tickWithNote()
	rows = w.sanctionsCases()
	require.Len(t, rows, 1, "a reported transaction goes with its leaves")
	require.Equal(t, SanctionsFacts{Reference: "B", Property: someProperty()}, *rows[0].Facts)
	require.Equal(t, 1, w.m.Freeze().SanctionsOpen().Blocked)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: rows[0].Leaf, From: wire.SanctionsReported, To: wire.SanctionsClosed}).Code)
	closed := w.now
	w.live(100 * engine.DayLength)
	w.tickWithNote()
	rows = w.sanctionsCases()
	require.Len(t, rows, 1)
	require.True(t, rows[0].BlockedAt(closed-1))
	require.False(t, rows[0].BlockedAt(closed))
	w.now += registerKept
	w.tickWithNote()
	w.tickWithNote()
	require.Empty(t, w.sanctionsCases())
}

// TestTwoPersonsEndACase: under the act sanctions.close the second person confirms the same kind,
// reference and reason, and the proposal names the case and no record.
func TestTwoPersonsEndACase(t *testing.T) {
	w := bank(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	opened := w.sanctionsCases()[0].Leaf
	move := func(key uint32, from, to uint8, said byte) wire.Result {
		b := wire.SanctionsCase{Common: w.by(key), Leaf: opened, From: from, To: to, Said: [32]byte{said}}
		if to == wire.SanctionsTrueMatch {
			b.Kind = wire.SanctionsRejected
		}
		return w.moveCase(b)
	}
	proposed := move(reviewRosa, wire.SanctionsOpen, wire.SanctionsNotTheParty, 1)
	proposal := w.proposed(proposed)
	require.Contains(t, string(proposed.Data), `"act":"sanctions.moved"`)
	require.Contains(t, string(proposed.Data), `"caseId":"`+w.m.ids.CaseID(opened)+`","from":"OPEN","to":"NOT_THE_PARTY"`)
	require.NotContains(t, string(proposed.Data), `"agentId"`)
	require.Equal(t, wire.SanctionsOpen, w.sanctionsCases()[0].State)
	require.Equal(t, wire.RefusedSamePerson, move(reviewRosa, wire.SanctionsOpen, wire.SanctionsNotTheParty, 1).Refusal)
	require.Equal(t, wire.RefusedProposed, move(reviewRon, wire.SanctionsOpen, wire.SanctionsNotTheParty, 2).Refusal, "another reason")
	require.Contains(t, string(w.confirm(reviewRon, proposal).Data), `"twoPersons":["sanctions.close"],"persons":["person:rosa","person:ron"]`)
	require.Equal(t, wire.SanctionsNotTheParty, w.sanctionsCases()[0].State)
	require.Contains(t, string(move(reviewRosa, wire.SanctionsNotTheParty, wire.SanctionsOpen, 0).Data), `"kind":"sanctions.moved"`, "one person looks again")
	require.Contains(t, string(move(reviewRosa, wire.SanctionsOpen, wire.SanctionsTrueMatch, 0).Data), `"kind":"sanctions.moved"`)
}

// TestEveryNodeHasTheSameCases: the same log has exactly one open case of a pair on every node,
// across a change of leader whose old entries are fenced, and after a restart from a snapshot.
func TestEveryNodeHasTheSameCases(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.blocked(slot, 1, melli)
	late := w.entry(w.record(wire.KindScreen, w.blocking(slot, 2, melli)))
	w.term++ // The old leader's entry is taken under the new term: nothing of it happens.
	w.apply(late)
	require.Equal(t, wire.Fenced, w.out.Results[0].Code)
	w.m = restoredFrom(t, w.m)
	w.blocked(slot, 2, melli)
	w.blocked(slot, 4, iran)
	follower, out := New(), Effects{}
	for i, entry := range w.entries {
		follower.Apply(uint64(i+1), w.terms[i], entry, &out)
	}
	require.Equal(t, w.m.Freeze().Digest(), follower.Freeze().Digest())
	rows := w.sanctionsCases()
	require.Len(t, rows, 2)
	require.Equal(t, []any{uint64(2), 3 * engine.Dollar}, []any{rows[0].Count, rows[0].Amount})
}
