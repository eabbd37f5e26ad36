package fsm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// reads returns the value of a version's entry.
func (s *Statuses) reads(t testing.TB, ids *IDs, position uint32) byte {
	number, index := ids.StatusEntry(position)
	list := s.List(number)
	require.NotNil(t, list, "list %d", number)
	return list.Bits[index/4] >> (index % 4 * 2) & 3
}

// nextMinute moves log time into the next minute and builds its lists.
func (w *world) nextMinute(b *StatusBuilder) *Statuses {
	w.t.Helper()
	w.now = (w.now/engine.Minute + 1) * engine.Minute
	w.tick()
	require.NotNil(w.t, w.out.Statuses, "an entry that brings a new minute brings its lists")
	return b.Build(w.out.Statuses)
}

func (w *world) statusOf(slot engine.AgentSlot) uint32 {
	return (*w.m.registry.profiles.At(uint64(slot))).Status
}

func (w *world) put(target wire.Target, slot uint32, to engine.Status) {
	w.t.Helper()
	if target == wire.TargetOperator {
		slot = w.operatorSlot("acme inc")
	}
	r := w.do(wire.KindStatus, &wire.Status{Target: target, Slot: slot, To: to})
	require.Equal(w.t, wire.Applied, r.Code, "refusal %d", r.Refusal)
}

func (w *world) renewed(slot engine.AgentSlot, plain bool, overlap engine.Time) {
	w.t.Helper()
	old := *w.m.registry.profiles.At(uint64(slot))
	body := &wire.Reissue{Agent: slot, Profile: *old, Operator: named("acme inc"), BaseRev: old.Rev, Plain: plain, Overlap: overlap, List: w.m.settings.ListVersion}
	body.Profile.WalletMatched, body.Profile.NameMatched = false, false
	r := w.do(wire.KindReissue, body)
	require.Equal(w.t, wire.Applied, r.Code, "refusal %d", r.Refusal)
}

// Each line of the table in docs/integrators.md.
func TestStatusOfEachVersion(t *testing.T) {
	w, b := newWorld(t), NewStatusBuilder()
	root, _ := w.register("root")
	child, _ := w.register("child", parent(root))
	other, _ := w.register("other")
	matched, _ := w.register("matched", func(p *engine.AgentProfile) { p.WalletMatched = true })
	first := map[engine.AgentSlot]uint32{root: w.statusOf(root), child: w.statusOf(child), other: w.statusOf(other), matched: w.statusOf(matched)}
	read := func(want ...byte) {
		t.Helper()
		lists := w.nextMinute(b)
		require.Equal(t, w.now, lists.At)
		got := []byte{}
		for _, slot := range []engine.AgentSlot{root, child, other, matched} {
			got = append(got, lists.reads(t, w.m.ids, first[slot]))
		}
		require.Equal(t, want, got)
		require.Equal(t, lists, NewStatusBuilder().Build(w.out.Statuses), "as from nothing")
	}
	const v, i, s = StatusValid, StatusInvalid, StatusSuspended
	read(v, v, v, s)
	w.put(wire.TargetAgent, uint32(root), engine.Suspended)
	read(s, s, v, s)
	w.put(wire.TargetAgent, uint32(root), engine.Active)
	read(v, v, v, s)
	w.put(wire.TargetOperator, 0, engine.Suspended)
	read(s, s, s, s)
	w.put(wire.TargetOperator, 0, engine.Active)
	read(v, v, v, s)
	w.do(wire.KindOwnership, &wire.Ownership{Agent: other, Operator: named("buyer")})
	read(v, v, v, s) // R8 does not change the status; the re-issue that ends the transfer supersedes.
	w.do(wire.KindOwnership, &wire.Ownership{Agent: other, Cancel: true})

	w.renewed(matched, false, 0)
	w.renewed(other, true, engine.Hour)
	read(v, v, v, i)
	lists := b.Build(w.out.Statuses)
	require.Equal(t, v, lists.reads(t, w.m.ids, w.statusOf(matched)), "a new version that did not match")
	second := w.statusOf(other)
	w.renewed(other, true, 2*engine.Hour) // Three versions are good.
	w.now += engine.Hour
	read(v, v, v, i)
	w.put(wire.TargetAgent, uint32(other), engine.Suspended)
	read(v, v, s, i)
	require.Equal(t, s, b.Build(w.out.Statuses).reads(t, w.m.ids, second), "versions within their overlap go with the newest")
	w.put(wire.TargetAgent, uint32(other), engine.Active)
	read(v, v, v, i) // No entry touches them after this.
	w.now += 2 * engine.Hour
	read(v, v, i, i)
	require.Equal(t, i, b.Build(w.out.Statuses).reads(t, w.m.ids, second), "the overlap is over, by time alone")
	require.Equal(t, v, b.Build(w.out.Statuses).reads(t, w.m.ids, w.statusOf(other)))

	w.put(wire.TargetAgent, uint32(root), engine.Revoked)
	read(i, i, i, i)
	require.Equal(t, v, b.Build(w.out.Statuses).reads(t, w.m.ids, w.statusOf(other)))
	require.Equal(t, v, b.Build(w.out.Statuses).reads(t, w.m.ids, uint32(w.m.registry.statuses.Next())), "one that is not given out yet")
	w.now += w.m.limits.AgentValidity
	require.Equal(t, i, w.nextMinute(b).reads(t, w.m.ids, w.statusOf(other)), "it has expired")
}

func TestStatusOfUsersAndKeys(t *testing.T) {
	w, b := newWorld(t), NewStatusBuilder()
	agent, _ := w.register("agent")
	r := w.do(wire.KindUser, &wire.User{Profile: engine.UserProfile{LegalName: "Nia"}, Basis: engine.Basis{List: w.m.settings.ListVersion}})
	require.Equal(t, wire.Applied, r.Code)
	user := (*w.m.registry.userProfiles.At(1)).Status
	require.Equal(t, StatusValid, w.nextMinute(b).reads(t, w.m.ids, user))
	w.put(wire.TargetUser, 1, engine.Suspended)
	require.Equal(t, StatusSuspended, w.nextMinute(b).reads(t, w.m.ids, user))
	r = w.do(wire.KindUserReissue, &wire.UserReissue{User: 1, BaseRev: (*w.m.registry.userProfiles.At(1)).Rev})
	require.Equal(t, wire.Applied, r.Code)
	lists := w.nextMinute(b)
	require.Equal(t, StatusInvalid, lists.reads(t, w.m.ids, user))
	require.Equal(t, StatusValid, lists.reads(t, w.m.ids, (*w.m.registry.userProfiles.At(1)).Status))

	r = w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningAdd, Now: true, Key: wire.SigningKey{KID: "cc-v2", Public: make([]byte, 64), Sealed: []byte{9}}})
	require.Equal(t, wire.Applied, r.Code)
	w.renewed(agent, true, engine.Hour)
	newer := w.statusOf(agent)
	r = w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningRevoke, Key: wire.SigningKey{KID: "cc-v1"}})
	require.Equal(t, wire.Applied, r.Code)
	lists = w.nextMinute(b)
	require.Equal(t, StatusInvalid, lists.reads(t, w.m.ids, w.m.registry.statuses.At(uint64(newer)).Older), "signed by a key that was revoked, though within its overlap")
	require.Equal(t, StatusValid, lists.reads(t, w.m.ids, newer))
}

// In random histories, lists that are built step by step equal lists that are built from
// scratch, also on a node that restored its state. Each entry has the value that R2 would
// give a call with that version.
func TestStatusListsStepByStep(t *testing.T) {
	minutes := 0
	for seed := range uint64(12) {
		w := history(t, seed, 400)
		m, b := New(), NewStatusBuilder()
		var out Effects
		random := rand.New(rand.NewPCG(seed, 1))
		for i, entry := range w.entries {
			m.Apply(uint64(i+1), w.terms[i], entry, &out)
			require.Empty(t, out.Stop)
			if out.Statuses != nil && random.IntN(3) > 0 { // A node may skip a minute.
				minutes++
				lists := b.Build(out.Statuses)
				requireSameLists(t, NewStatusBuilder().Build(out.Statuses), lists)
				requireEffective(t, out.Statuses, lists)
			}
			if random.IntN(10) == 0 {
				requireRestoredLists(t, m)
			}
		}
	}
	require.Greater(t, minutes, 100)
}

func requireSameLists(t *testing.T, want, got *Statuses) {
	t.Helper()
	require.Equal(t, want.At, got.At)
	require.Len(t, got.Lists, len(want.Lists))
	for i := range want.Lists {
		require.Equal(t, want.Lists[i].Number, got.Lists[i].Number)
		require.True(t, bytes.Equal(want.Lists[i].Bits, got.Lists[i].Bits), "list %d", want.Lists[i].Number)
	}
}

// requireEffective compares the newest version of every agent with its effective status.
func requireEffective(t *testing.T, v *View, lists *Statuses) {
	t.Helper()
	ids := NewIDs(v.settings.Genesis.IDKey, v.settings.Epochs...)
	at := &minute{glance: glance{View: v}, at: lists.At}
	for slot := 1; slot <= v.AgentSlots(); slot++ {
		_, profile, _ := v.Agent(engine.AgentSlot(slot))
		want := StatusInvalid
		switch status := effectiveStatus(at, engine.AgentSlot(slot)); {
		case lists.At >= profile.ExpiresAt: // INVALID, whether suspended or not.
		case status == engine.Suspended, status == engine.Active && (profile.WalletMatched || profile.NameMatched):
			want = StatusSuspended
		case status == engine.Active:
			want = StatusValid
		}
		require.Equal(t, want, lists.reads(t, ids, profile.Status), "agent %d", slot)
	}
}

// requireRestoredLists checks that a restored state gives out its lists at once only if
// nothing changed since the minute began.
func requireRestoredLists(t *testing.T, m *Machine) {
	t.Helper()
	copied := restoredFrom(t, m)
	require.Equal(t, m.registry.standing.minute, copied.registry.standing.minute)
	require.Equal(t, m.registry.standing.changed, copied.registry.standing.changed)
	var all Effects
	copied.Everything(&all)
	require.Equal(t, m.registry.standing.changed > m.registry.standing.minute || m.settings.Genesis == nil, all.Statuses == nil)
}

// A node that restores a state within a minute in which nothing changed gives the lists of
// that minute; after a change it waits for the next.
func TestStatusListsOfARestoredState(t *testing.T) {
	w, b := newWorld(t), NewStatusBuilder()
	agent, _ := w.register("agent")
	lists := w.nextMinute(b)
	w.now += 20 * engine.Second
	w.register("later")
	var all Effects
	restoredFrom(t, w.m).Everything(&all)
	requireSameLists(t, lists, NewStatusBuilder().Build(all.Statuses))
	w.put(wire.TargetAgent, uint32(agent), engine.Revoked)
	restoredFrom(t, w.m).Everything(&all)
	require.Nil(t, all.Statuses)
}

// Pages that nothing touched are not computed again.
func TestStatusListsAreBuiltByPages(t *testing.T) {
	w, b := newWorld(t), NewStatusBuilder()
	slots := []engine.AgentSlot{}
	for range 300 {
		slot, _ := w.register("agent")
		slots = append(slots, slot)
	}
	before := w.nextMinute(b)
	require.Equal(t, 300, b.evaluated)
	same := w.nextMinute(b)
	require.Zero(t, b.evaluated)
	require.Same(t, &before.Lists[0].Bits[0], &same.Lists[0].Bits[0], "the very same bytes, so that nobody packs them again")
	w.put(wire.TargetAgent, uint32(slots[200]), engine.Revoked)
	after := w.nextMinute(b)
	require.Equal(t, int(statusPageRows), b.evaluated)
	require.Equal(t, StatusValid, before.reads(t, w.m.ids, w.statusOf(slots[200])), "lists that were handed out stay")
	require.Equal(t, StatusInvalid, after.reads(t, w.m.ids, w.statusOf(slots[200])))
	w.put(wire.TargetOperator, 0, engine.Suspended)
	w.nextMinute(b)
	require.Equal(t, 300, b.evaluated)
}

// Positions are dropped when their versions have expired, and are never given out again. After a
// backup is restored, some positions may have been given out by machines that are lost: such a
// position reads INVALID, or has no list.
func TestStatusPositionsAreNeverReused(t *testing.T) {
	w, b := newWorld(t), NewStatusBuilder()
	agent, _ := w.register("agent")
	first := w.statusOf(agent)
	require.EqualValues(t, 1, first)
	w.now += w.m.limits.AgentValidity + engine.Hour
	w.tick()
	require.Zero(t, w.m.registry.statuses.Len())
	require.Equal(t, StatusInvalid, w.nextMinute(b).reads(t, w.m.ids, first))
	w.renewed(agent, true, 0)
	require.EqualValues(t, 2, w.statusOf(agent))

	oldIDs := w.m.ids
	r := w.do(wire.KindRestored, &wire.Restored{Lineage: "line", Backup: "b"})
	require.Equal(t, wire.Applied, r.Code, "refusal %d", r.Refusal)
	later, _ := w.register("later")
	require.EqualValues(t, StatusListSize, w.statusOf(later))
	w.m = restoredFrom(t, w.m)
	lists := w.nextMinute(b)
	require.Len(t, lists.Lists, 2)
	require.EqualValues(t, 1, lists.Lists[0].Number)
	require.EqualValues(t, statusEpochLists+2, lists.Lists[1].Number)
	require.Equal(t, StatusValid, lists.reads(t, oldIDs, w.statusOf(agent)))
	require.Equal(t, StatusInvalid, lists.reads(t, oldIDs, 3), "the lost machines may have given it out")
	require.Nil(t, lists.List(2), "likewise")
	require.Equal(t, StatusValid, lists.reads(t, w.m.ids, w.statusOf(later)))
	requireSameLists(t, NewStatusBuilder().Build(w.out.Statuses), lists)
}

// TestStatusEntries: the positions of a list have different entries.
func TestStatusEntries(t *testing.T) {
	ids := NewIDs([16]byte{7})
	seen := make([]bool, StatusListSize)
	for position := uint32(StatusListSize); position < 2*StatusListSize; position++ {
		list, index := ids.StatusEntry(position)
		require.EqualValues(t, 2, list)
		require.False(t, seen[index])
		seen[index] = true
	}
}

func TestStatusRowComesBack(t *testing.T) {
	back(t, statusRow{Slot: 1 << 24, Expires: 1 << 31, Older: 70_000, Key: 1 << 30, Version: 900, Kind: CredentialUser, Matched: true, Operator: 70_000}, codeStatusRow)
}
