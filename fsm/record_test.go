package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// TestRecordsNameTheirProfiles: in random histories every screening record names a profile of
// its own UTC day by index and hash, which has what is needed to judge again.
func TestRecordsNameTheirProfiles(t *testing.T) {
	var last map[string]leaf.Ref
	delegates, users, fleets, shared := 0, 0, 0, 0
	for seed := range uint64(12) {
		w := history(t, seed, 350)
		last = map[string]leaf.Ref{}
		for i, data := range w.leaves {
			if leaf.FormOf(data) != leaf.FormScreen {
				continue
			}
			var s leaf.Screen
			require.NoError(t, leaf.DecodeScreen(data, &s))
			require.EqualValues(t, i, s.Leaf)
			require.Equal(t, w.m.ids.TxnID(uint64(i)), "txn_"+string(s.Txn[:]))
			if !s.Judged {
				continue
			}
			profileOf := func(ref leaf.Ref) *leaf.Profile {
				require.Less(t, ref.Leaf, s.Leaf)
				require.Equal(t, rfc6962.DefaultHasher.HashLeaf(w.leaves[ref.Leaf]), ref.Hash[:])
				p, err := leaf.DecodeProfile(w.leaves[ref.Leaf])
				require.NoError(t, err)
				require.Equal(t, ref.Leaf, p.Leaf)
				require.Equal(t, s.At.Day(), p.At.Day(), "erased no earlier than what names it")
				require.Equal(t, s.PolicyVersion, p.Policy.Version)
				return p
			}
			if s.WithUser {
				users++
				if s.User.Hash != [32]byte{} {
					require.NotNil(t, profileOf(s.User).User)
				}
			}
			if s.LevelCount == 0 {
				continue
			}
			p := profileOf(s.Profile)
			require.Len(t, p.Agents, int(s.LevelCount))
			require.Equal(t, s.InFleet, p.Fleet != nil)
			id := p.AgentIDs[0]
			if before, known := last[id]; known && before.Hash == s.Profile.Hash {
				shared++
			}
			last[id] = leaf.Ref{Leaf: s.Leaf, Hash: s.Profile.Hash}
			if s.LevelCount > 1 {
				delegates++
			}
			if s.InFleet {
				fleets++
			}
		}
	}
	for name, count := range map[string]int{"delegates": delegates, "users": users, "fleets": fleets, "records that share a profile": shared} {
		require.Greater(t, count, 5, name)
	}
}

// TestOneProfileADay: a thousand records of one agent on one day share one
// profile; a change, or midnight, gives another.
func TestOneProfileADay(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	profiles := func() (n int) {
		for _, data := range w.leaves {
			if leaf.FormOf(data) == leaf.FormProfile {
				n++
			}
		}
		return n
	}
	for range 1000 {
		w.screen(slot, 1)
	}
	require.Equal(t, 1, profiles())
	w.do(wire.KindSettings, &wire.Settings{Agent: slot, BaseRev: 1, Settings: engine.AgentSettings{CurrentModel: "m2"}, Event: "agent.settings"})
	w.screen(slot, 1)
	w.screen(slot, 1)
	require.Equal(t, 2, profiles())
	w.now = (w.now.Day() + 1).Start()
	w.screen(slot, 1)
	w.screen(slot, 1)
	require.Equal(t, 3, profiles())
	w.do(wire.KindPolicy, &wire.PolicyPut{Policy: *engine.DefaultPolicy()})
	w.screen(slot, 1)
	require.Equal(t, 4, profiles(), "the policy is part of it")
	replayAgrees(t, w, 3)
}

// TestAKeyThatMovedIsRefused: a record that was admitted with a key that has been rotated or
// revoked, or has expired, is not applied.
func TestAKeyThatMovedIsRefused(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	create := func(id string, expires engine.Time) {
		key := wire.APIKey{ID: id, Prefix: id, Hashes: [][]byte{sum32(id)}, Roles: wire.RoleScreener, ExpiresAt: expires}
		require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}).Code)
	}
	base := uint32(len(w.m.settings.Keys))
	create("k1", 0)
	create("k2", w.now+engine.Hour)
	call := func(row, rev uint32) wire.Code {
		s := w.screening(slot, engine.Dollar)
		s.Key = wire.KeyRef{Row: row, Rev: rev}
		before := w.m.Freeze()
		r := w.do(wire.KindScreen, s)
		if r.Code == wire.KeyMoved {
			require.Equal(t, before.Size, w.m.size, "nothing happened")
			s.Idem = &wire.Idem{Key: [16]byte{1}}
			require.Equal(t, wire.KeyMoved, w.do(wire.KindScreen, s).Code)
			attest := &wire.Attest{Agent: slot, AttestedBy: "x", Common: wire.Common{Key: &s.Key}}
			require.Equal(t, wire.KeyMoved, w.do(wire.KindAttest, attest).Code)
		}
		return r.Code
	}
	require.Equal(t, wire.Applied, call(base+1, 1))
	require.Equal(t, wire.KeyMoved, call(base+1, 2), "a revision that is not yet")
	require.Equal(t, wire.KeyMoved, call(base+3, 1), "no such key")
	require.Equal(t, wire.KeyMoved, call(0, 1))
	rotated := wire.APIKey{ID: "k1", Prefix: "k1", Hashes: [][]byte{sum32("new")}, Roles: wire.RoleScreener}
	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRotate, Key: rotated}).Code)
	require.Equal(t, wire.KeyMoved, call(base+1, 1))
	require.Equal(t, wire.Applied, call(base+1, 2))
	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "k1"}}).Code)
	require.Equal(t, wire.KeyMoved, call(base+1, 2))
	require.Equal(t, wire.KeyMoved, call(base+1, 3), "revoked, whatever revision is named")
	require.Equal(t, wire.Applied, call(base+2, 1))
	w.now += 2 * engine.Hour
	require.Equal(t, wire.KeyMoved, call(base+2, 1), "expired by log time")
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, w.screening(slot, engine.Dollar)).Code, "the node itself has no key")
}

func sum32(text string) []byte {
	sum := sha([]byte(text))
	return sum[:]
}

// TestRemovedMembersAreRemembered: removed nodes are remembered across snapshots, up to a
// bound.
func TestRemovedMembersAreRemembered(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, wire.Applied, w.do(wire.KindMember, &wire.Member{ID: "n3", Incarnation: "abc"}).Code)
	require.Equal(t, wire.Unchanged, w.do(wire.KindMember, &wire.Member{ID: "n3", Incarnation: "abc"}).Code)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindMember, &wire.Member{ID: "n3"}).Refusal)
	for _, change := range []string{wire.MemberAdmitted, wire.MemberPromoted, wire.MemberDemoted} {
		require.Equal(t, wire.Applied, w.do(wire.KindMember, &wire.Member{ID: "n3", Change: change}).Code)
	}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindMember, &wire.Member{ID: "n3", Change: "painted"}).Refusal)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindMember, &wire.Member{ID: "n3", Incarnation: "def", Change: wire.MemberDemoted}).Refusal)
	removed := restoredFrom(t, w.m).settings.Removed
	require.Len(t, removed, 1)
	require.Equal(t, "abc", removed[0].Incarnation)
	for i := range w.m.limits.Removed {
		w.do(wire.KindMember, &wire.Member{ID: "n4", Incarnation: "x" + string(rune('a'+i%26)) + w.m.ids.TxnID(uint64(i))})
	}
	require.Len(t, w.m.settings.Removed, w.m.limits.Removed)
	require.NotEqual(t, "abc", w.m.settings.Removed[0].Incarnation)
}

// TestSaltsForgetTheirKeys: once a day has passed, the salts of that day cannot be computed
// from the state.
func TestSaltsForgetTheirKeys(t *testing.T) {
	w := newWorld(t)
	w.register("a")
	old := w.m.ratchet
	require.Equal(t, old.Salt(w.m.size-1), saltOf(t, w.leaves[w.m.size-1]))
	require.Zero(t, w.m.settings.Genesis.SaltKey)
	w.now += 3 * engine.DayLength
	w.register("b")
	require.NotEqual(t, old.Key, w.m.ratchet.Key)
	require.Equal(t, w.m.ratchet, restoredFrom(t, w.m).ratchet)
	require.Equal(t, w.m.ratchet.Salt(w.m.size-1), saltOf(t, w.leaves[w.m.size-1]))
}

func saltOf(t *testing.T, data []byte) (salt [leaf.SaltSize]byte) {
	text := between(shown(data), `"salt":"`, `"`)
	require.Len(t, text, 2*len(salt))
	for i := range salt {
		for _, c := range text[2*i : 2*i+2] {
			digit := byte(c - '0')
			if c >= 'a' {
				digit = byte(c-'a') + 10
			}
			salt[i] = salt[i]<<4 | digit
		}
	}
	return salt
}

// The matcher's version rises by one, and calls judged with the one before are stale.
func TestMatcherRises(t *testing.T) {
	w := newWorld(t)
	require.EqualValues(t, 1, w.m.settings.Matcher)
	for _, to := range []uint16{0, 3, 1<<16 - 1} {
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindMatcher, &wire.Matcher{To: to}).Refusal)
	}
	require.Equal(t, wire.Unchanged, w.do(wire.KindMatcher, &wire.Matcher{To: 1}).Code)
	require.Equal(t, wire.Applied, w.do(wire.KindMatcher, &wire.Matcher{To: 2}).Code)
	require.EqualValues(t, 2, w.m.settings.Matcher)
	require.EqualValues(t, 2, restoredFrom(t, w.m).settings.Matcher)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindMatcher, &wire.Matcher{To: 1}).Refusal)
}
