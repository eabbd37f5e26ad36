package fsm

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/engine"
	"railguard/fsm/wire"
)

func sha(data []byte) [32]byte { return sha256.Sum256(data) }

func TestScreenSpendsOnlyWhatProceeds(t *testing.T) {
	w := newWorld(t)
	slot, r := w.register("a", dailyLimit(1000))
	require.Equal(t, wire.Applied, r.Code)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 600)))
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 600)))
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 400)), "landing on the limit passes")
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.do(wire.KindScreen, w.screening(slot, 1))))
	row, _, _ := w.m.Freeze().Agent(slot)
	require.Equal(t, 1000*engine.Dollar, row.Spend.Spent)
}

func TestDayTurnsAtMidnightUTC(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	w.now = start.Day().Start() + engine.DayLength - engine.Millisecond
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 100)))
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 1)))
	w.now += engine.Millisecond
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 100)))
	w.now -= engine.DayLength // A leader whose clock is behind must not bring yesterday back.
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(slot, 100)))
}

func TestDelegatesDebitEveryAncestor(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root", dailyLimit(100))
	one, r := w.register("one", dailyLimit(100), parent(root))
	require.Equal(t, wire.Applied, r.Code)
	two, _ := w.register("two", dailyLimit(100), parent(root))
	require.Equal(t, `PROCEED null`, verdict(w.screen(one, 60)))
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(two, 60)))
	require.Equal(t, `PROCEED null`, verdict(w.screen(two, 40)))
	child, _ := w.register("2", parent(two))
	grandchild, r := w.register("3", parent(child))
	require.Equal(t, wire.Applied, r.Code)
	_, r = w.register("4", parent(grandchild))
	require.Equal(t, wire.RefusedDepth, r.Refusal)
	require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"depth":3`)
}

func TestFleetLimitIsAtomicWithTheAgents(t *testing.T) {
	w := newWorld(t)
	body := &wire.Fleet{Profile: engine.FleetProfile{FleetName: "f", OperatorLegalName: "Acme Inc", DailyLimit: 100 * engine.Dollar}, Operator: named("acme inc")}
	require.Equal(t, wire.Applied, w.do(wire.KindFleet, body).Code)
	inFleet := func(p *engine.AgentProfile) { p.Fleet = 1 }
	a, _ := w.register("a", dailyLimit(1000), inFleet)
	b, _ := w.register("b", dailyLimit(1000))
	require.Equal(t, wire.Applied, w.do(wire.KindAssign, &wire.Assign{Fleet: 1, Agents: []engine.AgentSlot{b}}).Code)
	require.Equal(t, `PROCEED null`, verdict(w.screen(a, 70)))
	require.Equal(t, `REVIEW "R12_FLEET_DAILY_LIMIT"`, verdict(w.screen(b, 70)))
	row, _, _ := w.m.Freeze().Agent(b)
	require.Zero(t, row.Spend.Spent, "R12 leaves the agent's own counter alone")
	fleet, _, _ := w.m.Freeze().Fleet(1)
	require.Equal(t, 70*engine.Dollar, fleet.Spend.Spent)
	require.EqualValues(t, 2, fleet.Agents)
}

func TestApprovalBooksOnceAndIsNeverRefused(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	r := w.screen(slot, 50)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(r))
	body := &wire.Disposition{Leaf: r.Leaf, Disposition: wire.Approved, Agent: slot, Amount: 50 * engine.Dollar}
	done := w.do(wire.KindDisposition, body)
	require.Equal(t, wire.Applied, done.Code)
	require.Contains(t, string(done.Data), `"overLimitApproved":true`)
	again := w.do(wire.KindDisposition, body)
	require.Equal(t, wire.RefusedDispositioned, again.Refusal)
	require.Equal(t, done.Leaf, again.Value)
	row, _, _ := w.m.Freeze().Agent(slot)
	require.Equal(t, 50*engine.Dollar, row.Spend.Held)
	require.Zero(t, w.m.Freeze().OpenReviews())
}

func TestApprovalAboveAFleetsLimitSaysSo(t *testing.T) {
	w := newWorld(t)
	body := &wire.Fleet{Profile: engine.FleetProfile{FleetName: "f", OperatorLegalName: "Acme Inc", DailyLimit: 100 * engine.Dollar}, Operator: named("acme inc")}
	require.Equal(t, wire.Applied, w.do(wire.KindFleet, body).Code)
	slot, _ := w.register("a", dailyLimit(1000), func(p *engine.AgentProfile) { p.Fleet = 1 })
	for _, c := range []struct {
		amount engine.USD
		says   string
	}{{60, `"overLimitApproved":false`}, {41, `"overLimitApproved":true`}} {
		r := w.screen(slot, 101)
		require.Equal(t, `REVIEW "R12_FLEET_DAILY_LIMIT"`, verdict(r))
		done := w.do(wire.KindDisposition, &wire.Disposition{Leaf: r.Leaf, Disposition: wire.Approved, Agent: slot, Fleet: 1, Amount: c.amount * engine.Dollar})
		require.Equal(t, wire.Applied, done.Code)
		require.Contains(t, string(done.Data), c.says)
	}
	fleet, _, _ := w.m.Freeze().Fleet(1)
	require.Equal(t, 101*engine.Dollar, fleet.Spend.Held)
}

func TestRevokedAgentBlocks(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	child, _ := w.register("child", parent(root))
	status := func(to engine.Status) wire.Result {
		return w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: uint32(root), To: to})
	}
	require.Equal(t, wire.Applied, status(engine.Suspended).Code)
	require.Equal(t, wire.Unchanged, status(engine.Suspended).Code)
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.screen(child, 1)), "a suspended parent blocks its delegates")
	require.Equal(t, wire.Applied, status(engine.Active).Code)
	require.Equal(t, `PROCEED null`, verdict(w.screen(child, 1)))
	require.Equal(t, wire.Applied, status(engine.Revoked).Code)
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.screen(root, 1)))
	require.Equal(t, wire.RefusedTransition, status(engine.Active).Refusal)
	_, r := w.register("late", parent(root))
	require.Equal(t, wire.RefusedParent, r.Refusal)
}

func TestExpiredTokenBlocks(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.now += engine.AgentValidity + engine.Second
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.screen(slot, 1)))
}

func TestStaleBasisIsRefusedWithoutTrace(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	s := w.screening(slot, engine.Dollar)
	w.activateList([]byte("another list"))
	size := w.m.size
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, s).Code)
	unknown := w.screening(slot+1, engine.Dollar)
	unknown.Mask, unknown.Subs = 2, []byte{1}
	w.register("b")
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, unknown).Code, "an agent the edge did not know yet")
	lapsed := w.screening(slot, engine.Dollar)
	lapsed.ValidUntil = w.now
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, lapsed).Code)
	require.Equal(t, size+1, w.m.size)
}

func TestUnknownIsRecorded(t *testing.T) {
	w := newWorld(t)
	s := w.screening(0, engine.Dollar)
	s.Mask, s.Subs = 2, []byte{1}
	require.Equal(t, `UNKNOWN "R1_NO_CREDENTIAL"`, verdict(w.do(wire.KindScreen, s)))
}

func TestUserAloneIsBlocked(t *testing.T) {
	w := newWorld(t)
	body := &wire.User{Profile: engine.UserProfile{LegalName: "Nia"}}
	body.Basis.List = w.m.settings.ListVersion
	require.Equal(t, wire.Applied, w.do(wire.KindUser, body).Code)
	s := w.screening(0, engine.Dollar)
	s.User, s.UserVersion, s.UserExpires = 1, 1, w.now+engine.Hour
	s.Basis.Fold(engine.RevUser, 1, 1)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindScreen, s).Refusal, "without R23 it could proceed")
	s.Mask, s.Subs = 1<<23, []byte{7}
	require.Equal(t, `BLOCK "R23_CREDENTIAL_CONTEXT"`, verdict(w.do(wire.KindScreen, s)))
	w.do(wire.KindStatus, &wire.Status{Target: wire.TargetUser, Slot: 1, To: engine.Revoked})
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.do(wire.KindScreen, s)))
}

func TestTokenOfARevokedKeyBlocks(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	s := w.screening(slot, engine.Dollar)
	s.Version = 0
	r := w.do(wire.KindScreen, s)
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(r))
	require.Equal(t, engine.NewestRules.Reason(2, engine.SubKeyRevoked, 0), between(shown(r.Data), `"reason":"`, `"`))
}

// TestOldKeysAreFoundByTheEdge: the state keeps the newest keys. A record about another key says
// what its edge found of it, and up to where it looked; if that is too little, it is stale.
func TestOldKeysAreFoundByTheEdge(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.narrow(func(l *engine.Limits) { l.Idempotency = 2 })
	keyed := func(idem wire.Idem) wire.Result {
		s := w.screening(slot, 1)
		s.Idem = &idem
		return w.do(wire.KindScreen, s)
	}
	first := keyed(wire.Idem{Key: [16]byte{1}, Body: [16]byte{1}})
	at := w.now
	require.Equal(t, wire.Applied, first.Code)
	require.Equal(t, []uint64{engine.KeyedFilter([16]byte{1})}, keyedFilters(w.out.Leaves[len(w.out.Leaves)-1].Filters))
	w.now += engine.Second
	require.Equal(t, wire.Applied, keyed(wire.Idem{Key: [16]byte{2}}).Code)
	require.Zero(t, w.out.KeysFrom)
	require.Equal(t, wire.Applied, keyed(wire.Idem{Key: [16]byte{3}}).Code)
	require.Equal(t, first.Leaf+1, w.out.KeysFrom, "the first key is in the files alone")

	size := w.m.size
	again := wire.Idem{Key: [16]byte{1}, Body: [16]byte{1}}
	stale := keyed(again)
	require.Equal(t, wire.Stale, stale.Code)
	require.Equal(t, first.Leaf+1, stale.Value)
	again.Looked, again.Found, again.FoundAt = first.Leaf+1, first.Leaf+1, at
	replayed := keyed(again)
	require.Equal(t, wire.Replayed, replayed.Code)
	require.Equal(t, first.Leaf, replayed.Leaf)
	require.Equal(t, at, replayed.Time)
	again.Differs = true
	require.Equal(t, wire.Conflict, keyed(again).Code)
	again.Found = size + 1
	require.Equal(t, wire.RefusedMalformed, keyed(again).Refusal, "that leaf is not written")
	require.Equal(t, wire.Replayed, keyed(wire.Idem{Key: [16]byte{3}, Looked: size, Found: first.Leaf + 1}).Code, "the state knows better")
	require.Equal(t, size, w.m.size)
	require.Equal(t, wire.Stale, keyed(wire.Idem{Key: [16]byte{4}, Looked: first.Leaf}).Code)
	require.Equal(t, wire.Applied, keyed(wire.Idem{Key: [16]byte{4}, Looked: size}).Code)

	restored := restoredFrom(t, w.m)
	require.Equal(t, w.m.keysFrom, restored.keysFrom)
}

func keyedFilters(filters []uint64) (keyed []uint64) {
	for _, filter := range filters {
		if engine.IsKeyedFilter(filter) {
			keyed = append(keyed, filter)
		}
	}
	return keyed
}

// The answer to a repeated keyed call includes the time of the first one.
func TestReplayTellsTheTimeOfItsCall(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	suspend := &wire.Status{Common: wire.Common{Idem: &wire.Idem{Key: [16]byte{7}}}, Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Suspended}
	require.Equal(t, wire.Applied, w.do(wire.KindStatus, suspend).Code)
	at := w.now
	w.now += engine.Minute
	again := w.do(wire.KindStatus, suspend)
	require.Equal(t, wire.Replayed, again.Code)
	require.Equal(t, at, again.Time)
}

func TestIdempotencyKeyGivesTheOneOutcome(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	s := w.screening(slot, 80*engine.Dollar)
	s.Idem = &wire.Idem{Key: [16]byte{1}, Body: [16]byte{2}}
	first := w.do(wire.KindScreen, s)
	require.Equal(t, wire.Applied, first.Code)
	again := w.do(wire.KindScreen, s)
	require.Equal(t, wire.Replayed, again.Code)
	require.Equal(t, first.Leaf, again.Leaf)
	s.Idem.Body[0]++
	require.Equal(t, wire.Conflict, w.do(wire.KindScreen, s).Code)
	row, _, _ := w.m.Freeze().Agent(slot)
	require.Equal(t, 80*engine.Dollar, row.Spend.Spent)
	w.now += engine.IdempotencyKept
	w.tick()
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, s).Code, "keys are forgotten after a day of log time")
}

func TestFencedEntryDoesNothing(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	before := w.m.Freeze().Digest()
	entry := w.entry(w.record(wire.KindScreen, w.screening(slot, 1)))
	w.index++
	w.m.Apply(w.index, w.term+1, entry, &w.out)
	require.Equal(t, wire.Fenced, w.out.Results[0].Code)
	w.m.index, w.m.term = w.index-1, w.term
	require.Equal(t, before, w.m.Freeze().Digest())
}

func TestOwnershipTransferBlocksUntilReissue(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", autonomous)
	old := w.screening(slot, engine.Dollar)
	require.Equal(t, wire.Applied, w.do(wire.KindOwnership, &wire.Ownership{Agent: slot, Operator: named("new"), EffectiveAt: w.now + engine.Hour}).Code)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 1)))
	w.now += engine.Hour
	require.Equal(t, `BLOCK "R8_OWNERSHIP_TRANSFER"`, verdict(w.screen(slot, 1)))
	profile := **w.m.registry.profiles.At(uint64(slot))
	r := w.do(wire.KindReissue, &wire.Reissue{Agent: slot, Profile: profile, BaseRev: profile.Rev, Operator: named("other ltd"), List: w.m.settings.ListVersion, Plain: true, Overlap: engine.Hour})
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"superseded":true`)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 1)))
	old.Basis.Revs = w.screening(slot, 1).Basis.Revs
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.do(wire.KindScreen, old)), "the old token does not pass")
}

func TestPlainRenewalOverlaps(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	old := w.screening(slot, engine.Dollar)
	profile := **w.m.registry.profiles.At(uint64(slot))
	r := w.do(wire.KindReissue, &wire.Reissue{Agent: slot, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion, Plain: true, Overlap: engine.Hour})
	require.Contains(t, string(r.Data), `"superseded":false`)
	old.Basis.Revs = w.screening(slot, 1).Basis.Revs
	require.Equal(t, `PROCEED null`, verdict(w.do(wire.KindScreen, old)))
	w.now += engine.Hour
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.do(wire.KindScreen, old)))
}

func TestStaleAttestationReviewsAboveTenThousand(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", autonomous)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 10_000)))
	require.Equal(t, `REVIEW "R22_ATTESTATION"`, verdict(w.screen(slot, 10_001)))
	require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: slot, AttestedBy: "a@b.c"}).Code)
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 10_001)))
	require.Len(t, w.m.Freeze().Attestations(slot), 1)
	w.now += engine.AttestationValidity
	require.Equal(t, `REVIEW "R22_ATTESTATION"`, verdict(w.screen(slot, 10_001)))
	w.now += engine.Hour
	w.tick()
	require.Empty(t, w.m.Freeze().Attestations(slot))
}

func TestUsersAreErasedAfterTheirDays(t *testing.T) {
	w := newWorld(t)
	body := &wire.User{Profile: engine.UserProfile{LegalName: "Nia"}}
	body.Basis.List = w.m.settings.ListVersion
	require.Equal(t, wire.Applied, w.do(wire.KindUser, body).Code)
	w.now += engine.UserStored - engine.Second
	w.tick()
	_, _, held := w.m.Freeze().User(1)
	require.True(t, held, "readable on day 31")
	w.now += engine.Second
	w.tick()
	_, _, held = w.m.Freeze().User(1)
	require.False(t, held)
	require.Equal(t, []engine.UserSlot{1}, w.out.UsersGone)
}

func TestRetentionMovesByDays(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	old := w.m.size
	w.live(engine.DayLength)
	w.screen(slot, 1)
	w.live(engine.Retention - engine.Hour)
	require.Equal(t, old, w.out.Oldest, "the first day is gone, the second is not")
}

func TestQueueClaims(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	one, two := w.screen(slot, 5), w.screen(slot, 6)
	claim := func(op uint8, who string, leaves ...uint64) wire.Result {
		return w.do(wire.KindQueue, &wire.Queue{Op: op, Leaves: leaves, Who: who})
	}
	require.Equal(t, one.Leaf, claim(wire.QueueClaim, "carla", one.Leaf, two.Leaf).Value)
	require.Equal(t, two.Leaf, claim(wire.QueueClaim, "omar", one.Leaf, two.Leaf).Value)
	require.Equal(t, wire.RefusedClaimed, claim(wire.QueueClaim, "omar", one.Leaf).Refusal)
	require.Equal(t, wire.RefusedClaimed, claim(wire.QueueRelease, "omar", one.Leaf).Refusal)
	require.Equal(t, wire.Applied, claim(wire.QueueComment, "omar", one.Leaf).Code)
	w.now += engine.ClaimLease
	require.Equal(t, one.Leaf, claim(wire.QueueClaim, "omar", one.Leaf).Value, "a lease lapses with log time")
	row, found := w.m.Freeze().Review(one.Leaf)
	require.True(t, found)
	require.Len(t, row.Claim.Comments, 1)
	require.Equal(t, wire.RefusedNotOpen, claim(wire.QueueClaim, "omar", 0).Refusal)
}

// A key fills its own room alone: whoever comes later can still comment the case, even where
// others have used up the common room.
func TestCommentsOfEachKeyHaveRoom(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	record := w.screen(slot, 5).Leaf
	comment := func(by wire.Common) wire.Result {
		return w.do(wire.KindQueue, &wire.Queue{Common: by, Op: wire.QueueComment, Leaves: []uint64{record}})
	}
	full := 0
	for full < w.m.limits.Comments {
		by := w.key("", wire.RoleReviewer)
		for range min(w.m.limits.CommentsOfKey, w.m.limits.Comments-full) {
			require.Equal(t, wire.Applied, comment(by).Code)
			full++
		}
		if full < w.m.limits.Comments {
			require.Equal(t, wire.RefusedFull, comment(by).Refusal, "a key's own room is full")
		}
	}
	for range 2 {
		later := w.key("", wire.RoleReviewer)
		require.Equal(t, wire.Applied, comment(later).Code, "a later officer")
		require.Equal(t, wire.RefusedFull, comment(later).Refusal, "the common room is full")
	}
	row, _ := w.m.Freeze().Review(record)
	require.Len(t, row.Claim.Comments, w.m.limits.Comments+2)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

func TestSampleNeedsDev(t *testing.T) {
	w := &world{t: t, m: New(), term: 2, now: start}
	genesis := testGenesis()
	genesis.Dev, genesis.TestClock = false, false
	w.do(wire.KindGenesis, genesis)
	require.Equal(t, wire.RefusedGenesis, w.do(wire.KindGenesis, genesis).Refusal)
	data := []byte("sample")
	info := &wire.ListInfo{Digest: sha(data), Sample: true}
	require.Equal(t, wire.Applied, w.do(wire.KindListChunk, &wire.ListChunk{Digest: sha(data), Total: 6, Data: data, Info: info}).Code)
	require.Equal(t, wire.RefusedNotDev, w.do(wire.KindListActivate, &wire.ListActivate{Digest: sha(data)}).Refusal)
	require.Equal(t, wire.RefusedNotDev, w.do(wire.KindClock, &wire.Clock{Advance: engine.Hour}).Refusal)
}

func TestEveryLeafIsJSONAndInTheTree(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a\"\\\u0001", dailyLimit(1))
	w.screen(slot, 5)
	w.do(wire.KindClock, &wire.Clock{Advance: engine.Hour})
	frontier := ranges.NewEmptyRange(0)
	salts := map[string]bool{}
	for i, leaf := range w.leaves {
		var object struct {
			Kind, Salt string
			Leaf       int
		}
		require.NoError(t, json.Unmarshal(shown(leaf), &object), string(leaf))
		require.Equal(t, i, object.Leaf)
		require.Len(t, object.Salt, 32)
		salts[object.Salt] = true
		require.NoError(t, frontier.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil))
	}
	require.Len(t, salts, len(w.leaves))
	root, err := frontier.GetRootHash(nil)
	require.NoError(t, err)
	view := w.m.Freeze()
	require.Equal(t, root, view.Root[:])
	require.EqualValues(t, len(w.leaves), view.Size)
}

// TestEffectsOutliveTheNextEntry: waiters and history keep results and leaves, so what these
// point to must not change.
func TestEffectsOutliveTheNextEntry(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	s := w.screening(slot, 5*engine.Dollar)
	s.Filters = []uint64{1, 2, 3}
	r := w.do(wire.KindScreen, s)
	leaf := w.out.Leaves[len(w.out.Leaves)-1]
	data, filters := string(leaf.Data), append([]uint64(nil), leaf.Filters...)
	for range 300 {
		s := w.screening(slot, 5*engine.Dollar)
		s.Filters = []uint64{7, 8, 9, 10}
		w.do(wire.KindScreen, s)
	}
	require.Equal(t, data, string(leaf.Data))
	require.Equal(t, data, string(r.Data))
	require.Equal(t, filters, leaf.Filters)
}
