package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// These tests are about things that change by log time alone: overlaps of versions, retention,
// keys.

func (w *world) reissue(slot engine.AgentSlot, overlap engine.Time) wire.Result {
	profile := **w.m.registry.profiles.At(uint64(slot))
	return w.do(wire.KindReissue, &wire.Reissue{
		Agent: slot, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"),
		List: w.m.settings.ListVersion, Plain: true, Overlap: overlap,
	})
}

// version screens a call with the token of one credential version.
func (w *world) version(slot engine.AgentSlot, version uint16) string {
	s := w.screening(slot, engine.Dollar)
	s.Version = version
	return verdict(w.do(wire.KindScreen, s))
}

const (
	clear      = `PROCEED null`
	superseded = `BLOCK "R2_CREDENTIAL_STATUS"`
)

func TestSupersededTokenNeverComesBack(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	require.Equal(t, wire.Applied, w.reissue(slot, engine.Hour).Code)
	require.Equal(t, clear, w.version(slot, 1))
	w.now += engine.Hour
	require.Equal(t, superseded, w.version(slot, 1), "its overlap is over")
	require.Equal(t, wire.Applied, w.reissue(slot, engine.Hour).Code)
	require.Equal(t, superseded, w.version(slot, 1), "the next renewal's overlap is not its own")
	require.Equal(t, clear, w.version(slot, 2))
	require.Equal(t, clear, w.version(slot, 3))
	require.Equal(t, wire.Applied, w.reissue(slot, 2*engine.Hour).Code)
	for version, want := range map[uint16]string{0: superseded, 1: superseded, 2: clear, 3: clear, 4: clear, 5: superseded} {
		require.Equal(t, want, w.version(slot, version), "version %d", version)
	}
	w.now += 2 * engine.Hour
	require.Equal(t, superseded, w.version(slot, 3))
	require.Equal(t, wire.Applied, w.reissue(slot, 0).Code)
	require.Equal(t, superseded, w.version(slot, 4), "no overlap asked for")
}

func TestSupersededUserTokenNeverComesBack(t *testing.T) {
	w := newWorld(t)
	body := &wire.User{Profile: engine.UserProfile{LegalName: "Nia"}}
	body.Basis.List = w.m.settings.ListVersion
	require.Equal(t, wire.Applied, w.do(wire.KindUser, body).Code)
	renew := func(rev uint32) {
		require.Equal(t, wire.Applied, w.do(wire.KindUserReissue, &wire.UserReissue{User: 1, BaseRev: rev, Overlap: engine.Hour}).Code)
	}
	renew(1)
	require.EqualValues(t, 1, w.m.registry.users.At(1).MinVersion)
	renew(2)
	require.EqualValues(t, 1, w.m.registry.users.At(1).MinVersion, "version 1 was still good")
	w.now += engine.Hour
	renew(3)
	require.EqualValues(t, 3, w.m.registry.users.At(1).MinVersion)
}

func TestOwnershipTransferCannotBePutOff(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	flag := func(at engine.Time) wire.Result {
		return w.do(wire.KindOwnership, &wire.Ownership{Agent: slot, Operator: named("new"), EffectiveAt: at})
	}
	require.Equal(t, wire.Applied, flag(0).Code)
	require.Equal(t, `BLOCK "R8_OWNERSHIP_TRANSFER"`, verdict(w.screen(slot, 1)))
	flag(w.now + engine.Hour)
	require.Equal(t, `BLOCK "R8_OWNERSHIP_TRANSFER"`, verdict(w.screen(slot, 1)), "only a cancelling or a re-issue lifts it")
	require.Equal(t, wire.Applied, w.do(wire.KindOwnership, &wire.Ownership{Agent: slot, Cancel: true}).Code)
	require.Equal(t, clear, verdict(w.screen(slot, 1)))
	flag(w.now + engine.Hour)
	flag(w.now + engine.Minute)
	w.now += engine.Minute
	require.Equal(t, `BLOCK "R8_OWNERSHIP_TRANSFER"`, verdict(w.screen(slot, 1)), "it may come sooner")
}

// TestDispositionOutlivesItsLeaf: a leaf is readable until the end of the UTC day 90 days
// later. As long as that, nobody may decide and book it a second time.
func TestDispositionOutlivesItsLeaf(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	w.now = start.Day().Start() + engine.Hour
	w.now += engine.DayLength
	review := w.screen(slot, 50)
	body := &wire.Disposition{Leaf: review.Leaf, Disposition: wire.Approved, Agent: slot, Amount: 50 * engine.Dollar}
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, body).Code)
	w.live(engine.Retention + engine.Minute)
	require.LessOrEqual(t, w.out.Oldest, review.Leaf, "still readable")
	require.Equal(t, wire.RefusedDispositioned, w.do(wire.KindDisposition, body).Refusal)
	w.liveUntil(w.now.Day().Start() + engine.DayLength)
	require.Greater(t, w.out.Oldest, review.Leaf)
	w.tick()
	require.Zero(t, w.m.desk.dispositions.Len())
	require.Empty(t, w.m.desk.disposedBy)
}

func TestReviewsStayInTheQueueWithTheirLeaf(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	w.now = start.Day().Start() + engine.DayLength + engine.Hour
	one, two := w.screen(slot, 5), w.screen(slot, 6)
	decide := func(leaf uint64) {
		require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: leaf, Disposition: wire.Rejected}).Code)
	}
	decide(one.Leaf)
	row, found := w.m.Freeze().Review(one.Leaf)
	require.True(t, found, "decided, and the oldest: still listed")
	require.Equal(t, ReviewDone, row.State)
	require.Equal(t, wire.Applied, w.do(wire.KindQueue, &wire.Queue{Op: wire.QueueComment, Leaves: []uint64{one.Leaf}, Who: "carla"}).Code)
	w.live(engine.Retention + engine.Hour)
	require.Equal(t, 1, w.m.Freeze().OpenReviews(), "readable, so it can be decided")
	decide(two.Leaf)
	w.live(engine.DayLength)
	w.tick()
	require.Zero(t, w.m.Freeze().OpenReviews())
	require.Zero(t, w.m.desk.reviews.Len())
}

// TestRetentionNeedsNoNewLeaves: a day's leaves expire 90 days after its end, also if the
// next leaf came much later, or never.
func TestRetentionNeedsNoNewLeaves(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	first := w.m.size
	w.liveUntil(start.Day().Start() + 40*engine.DayLength)
	w.screen(slot, 1)
	w.liveUntil((start.Day() + 1).Start() + engine.Retention - engine.Millisecond)
	require.Zero(t, w.out.Oldest)
	w.now += engine.Millisecond
	w.tick()
	require.Equal(t, first, w.out.Oldest)
	w.live(300 * engine.DayLength) // Leaves of reminders written meanwhile expire too.
	require.Equal(t, w.m.size, w.out.Oldest, "nothing was written since")
	replayAgrees(t, w, 1)
	w.screen(slot, 1)
	require.Equal(t, w.m.size-2, w.out.Oldest, "the day begins with the profile")
}

func TestSuspendedOperatorOfADelegateBlocks(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	child, _ := w.register("child", parent(root))
	profile := **w.m.registry.profiles.At(uint64(root))
	r := w.do(wire.KindReissue, &wire.Reissue{Agent: root, Profile: profile, BaseRev: profile.Rev, Operator: named("other ltd"), List: w.m.settings.ListVersion})
	require.Equal(t, wire.Applied, r.Code)
	suspend := func(key string, to engine.Status) {
		require.Equal(t, wire.Applied, w.do(wire.KindStatus, &wire.Status{Target: wire.TargetOperator, Slot: w.operatorSlot(key), To: to}).Code)
	}
	suspend("acme inc", engine.Suspended)
	require.Equal(t, engine.Suspended, w.m.Freeze().Effective(child))
	require.Equal(t, superseded, verdict(w.screen(child, 1)), "it is still an agent of that operator")
	require.Equal(t, clear, verdict(w.screen(root, 1)))
	suspend("acme inc", engine.Active)
	suspend("other ltd", engine.Suspended)
	require.Equal(t, superseded, verdict(w.screen(child, 1)))
}

// TestRevokedSigningKeyMakesJudgementsStale: an edge that has not applied the
// revocation yet must not pass a token of that key.
func TestRevokedSigningKeyMakesJudgementsStale(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	add := &wire.SigningKeyPut{Op: wire.SigningAdd, Now: true, Key: wire.SigningKey{KID: "cc-v2", Public: make([]byte, 64)}}
	before := w.screening(slot, engine.Dollar)
	require.Equal(t, wire.Applied, w.do(wire.KindSigningKey, add).Code)
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, before).Code, "the new key was unknown there")
	before = w.screening(slot, engine.Dollar)
	require.Equal(t, wire.Applied, w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningRevoke, Key: wire.SigningKey{KID: "cc-v1"}}).Code)
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, before).Code)
}

// TestSigningKeysRetire: old keys are also dropped if a newer one was revoked, because a
// revoked key never signs again.
func TestSigningKeysRetire(t *testing.T) {
	w := newWorld(t)
	put := func(op uint8, kid string) {
		body := &wire.SigningKeyPut{Op: op, Now: true, Key: wire.SigningKey{KID: kid, Public: make([]byte, 64)}}
		require.Equal(t, wire.Applied, w.do(wire.KindSigningKey, body).Code)
	}
	put(wire.SigningAdd, "cc-v2")
	put(wire.SigningRevoke, "cc-v2")
	require.Equal(t, "cc-v1", w.m.settings.ActiveKey(w.now).KID)
	w.now += engine.AgentValidity
	put(wire.SigningAdd, "cc-v3")
	w.now += engine.AgentValidity
	w.tick()
	require.Len(t, w.m.settings.SigningKeys, 3, "tokens of cc-v1 are good for 91 days after cc-v3 began")
	w.now += engine.DayLength
	w.tick()
	require.Len(t, w.m.settings.SigningKeys, 1)
	require.Equal(t, "cc-v3", w.m.settings.ActiveKey(w.now).KID)
}

func TestNewSigningKeyWaitsADay(t *testing.T) {
	w := newWorld(t)
	add := &wire.SigningKeyPut{Op: wire.SigningAdd, Key: wire.SigningKey{KID: "cc-v2", Public: make([]byte, 64)}}
	require.Equal(t, wire.Applied, w.do(wire.KindSigningKey, add).Code)
	require.Equal(t, wire.RefusedExists, w.do(wire.KindSigningKey, add).Refusal)
	w.now += engine.DayLength - 1
	slot, _ := w.register("a")
	require.Equal(t, "cc-v1", (*w.m.registry.profiles.At(uint64(slot))).KeyID)
	w.now++
	slot, _ = w.register("b")
	require.Equal(t, "cc-v2", (*w.m.registry.profiles.At(uint64(slot))).KeyID)
}

func TestClearedPairIDsAreNeverReused(t *testing.T) {
	w := newWorld(t)
	add := func(expires engine.Time) uint32 {
		require.Equal(t, wire.Applied, w.do(wire.KindCleared, &wire.ClearedPut{Pair: wire.ClearedPair{Name: "x", UID: 7, ExpiresAt: expires}}).Code)
		pairs := w.m.settings.Cleared
		return pairs[len(pairs)-1].ID
	}
	seen := map[uint32]bool{}
	for n := range 5 {
		id := add(w.now + engine.Hour)
		require.False(t, seen[id], "round %d", n)
		seen[id] = true
		require.Equal(t, wire.Applied, w.do(wire.KindCleared, &wire.ClearedPut{Pair: wire.ClearedPair{ID: id}, Remove: true}).Code)
	}
	id := add(w.now + engine.Hour)
	w.now += engine.Hour
	require.NotEqual(t, id, add(0))
	require.Len(t, w.m.settings.Cleared, 1, "lapsed pairs go with the next change")
}

func TestAPIKeys(t *testing.T) {
	w := newWorld(t)
	put := func(op uint8, id string, hash byte) wire.Result {
		return w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: op, Key: wire.APIKey{ID: id, Prefix: fmt.Sprint("p", hash), Hashes: key32(hash), RevokedAt: 7}})
	}
	require.Equal(t, wire.Applied, put(wire.KeyCreate, "a", 1).Code)
	require.Zero(t, w.m.settings.Keys[0].RevokedAt, "only a revocation revokes")
	require.Equal(t, wire.RefusedExists, put(wire.KeyCreate, "a", 2).Refusal)
	require.Equal(t, wire.RefusedExists, put(wire.KeyCreate, "b", 1).Refusal, "a secret names one key")
	require.Equal(t, wire.Applied, put(wire.KeyCreate, "b", 2).Code)
	require.Equal(t, wire.RefusedExists, put(wire.KeyRotate, "b", 1).Refusal)
	require.Equal(t, wire.Applied, put(wire.KeyRotate, "b", 3).Code)
	require.Equal(t, key32(3), w.m.settings.Keys[1].Hashes, "the secret before ends at once")
	rotated := wire.APIKey{ID: "b", Prefix: "p4", Hashes: key32(4)}
	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRotate, Key: rotated, Overlap: 8 * engine.DayLength}).Code)
	require.Equal(t, append(key32(4), key32(3)...), w.m.settings.Keys[1].Hashes)
	require.Equal(t, w.m.now+7*engine.DayLength, w.m.settings.Keys[1].OldUntil, "no overlap is longer")
	require.EqualValues(t, 2, w.m.settings.Keys[1].Sessions)
	require.Equal(t, wire.Applied, put(wire.KeySignOut, "b", 0).Code)
	require.EqualValues(t, 3, w.m.settings.Keys[1].Sessions)
	require.Len(t, w.m.settings.Keys[1].Hashes, 2, "the key itself goes on")
	house := wire.APIKey{ID: "d", Owner: "acme inc", Roles: wire.RoleOperator | wire.RoleAuditor, Hashes: key32(9)}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: house}).Refusal, "the house's roles are its own")
	require.Equal(t, wire.Applied, put(wire.KeyRevoke, "b", 0).Code)
	require.Empty(t, w.m.settings.Keys[1].Hashes)
	require.Equal(t, wire.RefusedTransition, put(wire.KeyRotate, "b", 5).Refusal)
	require.Equal(t, wire.RefusedNotFound, put(wire.KeyRotate, "c", 5).Refusal)
}

func TestRefusedChunkLeavesTheStagedList(t *testing.T) {
	w := newWorld(t)
	data := []byte("a staged list")
	stage := func(d []byte) wire.Result {
		return w.do(wire.KindListChunk, &wire.ListChunk{Digest: sha(d), Total: uint32(len(d)), Data: d, Info: &wire.ListInfo{Digest: sha(d)}})
	}
	require.Equal(t, wire.Applied, stage(data).Code)
	require.Equal(t, wire.RefusedList, w.do(wire.KindListChunk, &wire.ListChunk{Total: engine.ListMax + 1, Data: []byte{1}}).Refusal)
	require.Equal(t, wire.RefusedList, w.do(wire.KindListChunk, &wire.ListChunk{Digest: sha(data), Total: 5}).Refusal)
	require.Len(t, w.m.settings.Staged, 1)
	require.Equal(t, wire.Applied, w.do(wire.KindListActivate, &wire.ListActivate{Digest: sha(data)}).Code, "a refused record changes nothing")

	other := []byte("another one")
	require.Equal(t, wire.Applied, stage(other).Code)
	require.Equal(t, wire.Unchanged, w.do(wire.KindListChunk, &wire.ListChunk{Digest: [32]byte{1}, Total: 99, Data: []byte("begun")}).Code)
	require.Len(t, w.m.settings.Staged, 1, "a transfer that begins takes nothing away")
	require.Equal(t, wire.Applied, w.do(wire.KindListActivate, &wire.ListActivate{Digest: sha(other)}).Code)
}

// The index of open reviews agrees with the rows after decisions, expiry and a restore. A
// closed review costs one bit.
func TestOpenReviewsAreIndexed(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	check := func() {
		t.Helper()
		for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
			var want, got []uint64
			view := m.Freeze()
			view.Reviews(func(row ReviewRow) bool {
				if row.State == ReviewOpen {
					want = append(want, row.Leaf)
				}
				return true
			})
			view.Open(func(row ReviewRow) bool { got = append(got, row.Leaf); return true })
			require.Equal(t, want, got)
			require.Len(t, got, view.OpenReviews())
		}
	}
	check()
	var leaves []uint64
	for i := range 300 {
		if i == 150 {
			w.now += engine.DayLength * 3
		}
		leaves = append(leaves, w.screen(slot, 5).Leaf)
	}
	check()
	for i, leaf := range leaves {
		if i%3 != 0 || i > 60 && i < 200 {
			require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: leaf, Disposition: wire.Rejected}).Code)
		}
	}
	check()
	w.live(engine.Retention - engine.DayLength)
	for range 10 {
		w.now += engine.Second
		w.tick()
	}
	check()
	w.live(10 * engine.DayLength)
	for range 10 {
		w.now += engine.Second
		w.tick()
	}
	check()
	require.Zero(t, w.m.Freeze().OpenReviews())
	w.screen(slot, 5)
	check()
}

// TestAttestationsAreForgotten: attestations, with the names of the people who made them, are
// dropped after 25 hours.
func TestAttestationsAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.ForgottenAtOneTime = 2 })
	for range 7 {
		agent, _ := w.register("a", autonomous)
		require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: agent, AttestedBy: "ada@example.org"}).Code)
	}
	held := func() (count int) {
		for i := w.m.registry.attestations.First(); i < w.m.registry.attestations.Next(); i++ {
			if *w.m.registry.attestations.At(i) != nil {
				count++
			}
		}
		return count
	}
	w.now += 25*engine.Hour - engine.Second
	for range 8 {
		w.tick()
	}
	require.Equal(t, 7, held())
	require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: 3, AttestedBy: "bob@example.org"}).Code)
	for range 8 {
		w.now += engine.Second
		w.tick()
	}
	require.Equal(t, 1, held(), "all but the one who was attested anew")
	var snapshot bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&snapshot)
	require.NoError(t, err)
	require.NotContains(t, snapshot.String(), "ada@example.org")
	replayAgrees(t, w, 3)
}
