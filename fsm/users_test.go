package fsm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func (w *world) user(name string) wire.Result {
	body := &wire.User{Profile: engine.UserProfile{LegalName: name}}
	body.Basis.List = w.m.settings.ListVersion
	return w.do(wire.KindUser, body)
}

// TestErasedUsersMakeRoom: the limit counts stored users only, and a slot is never given out
// twice.
func TestErasedUsersMakeRoom(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Users = 3 })
	for n := range 3 {
		require.Equal(t, wire.Applied, w.user(fmt.Sprint("user ", n)).Code)
	}
	require.Equal(t, wire.RefusedShare, w.user("one too many").Refusal)
	w.now += engine.UserStored
	w.tick()
	require.Equal(t, []engine.UserSlot{1, 2, 3}, w.out.UsersGone)
	var told []string
	for _, l := range w.out.Leaves {
		if between(l.Data, `"type":"`, `"`) == "user.erased" {
			told = append(told, between(l.Data, `"userId":"`, `"`))
		}
	}
	require.Equal(t, []string{w.m.ids.UserID(1), w.m.ids.UserID(2), w.m.ids.UserID(3)}, told)
	require.Zero(t, w.m.Freeze().Users())
	require.Equal(t, wire.Applied, w.user("the next").Code)
	require.EqualValues(t, 4, w.out.Users[0].Slot)
	require.Equal(t, 1, w.m.Freeze().Users())
}

// TestErasedUsersCostNothing: users who are renewed for ever do not keep the memory of erased
// users between them, nor their bytes in the snapshot. A restored state behaves the same.
func TestErasedUsersCostNothing(t *testing.T) {
	const wave = 3000
	w := newWorld(t)
	other := New()
	var out Effects
	follow := func() {
		for i := int(other.index); i < len(w.entries); i++ {
			other.Apply(uint64(i+1), w.terms[i], w.entries[i], &out)
		}
		require.Equal(t, w.m.Freeze().Digest(), other.Freeze().Digest())
	}
	renewed := []engine.UserSlot{1, wave + 700}
	size := func() int64 {
		n, err := w.m.Freeze().WriteTo(discard{})
		require.NoError(t, err)
		return n
	}
	before := size()
	for range 3 {
		for n := range wave {
			require.Equal(t, wire.Applied, w.user(fmt.Sprint("user ", n)).Code)
		}
		for range 3 {
			w.now += 11 * engine.DayLength
			w.tick()
			for _, slot := range renewed {
				if profile := w.m.registry.userHeld(slot); profile != nil {
					require.Equal(t, wire.Applied, w.do(wire.KindUserReissue, &wire.UserReissue{User: slot, BaseRev: profile.Rev}).Code)
				}
			}
		}
		for range 12 {
			w.tick()
		}
		follow()
		other = restoredFrom(t, other)
	}
	require.Equal(t, 2, w.m.registry.usersHeld)
	require.EqualValues(t, 3*wave+1, w.m.registry.users.Next())
	pages := 0
	for i := w.m.registry.users.skipGaps(w.m.registry.users.First()); i < w.m.registry.users.Next(); i = w.m.registry.users.skipGaps(i/8*8 + 8) {
		pages++
	}
	require.Equal(t, 2, pages)
	require.Less(t, size(), before+2000)
	for range 3 {
		w.now += 12 * engine.DayLength
		for range 12 {
			w.tick()
		}
	}
	follow()
	require.Zero(t, w.m.registry.usersHeld)
	require.Equal(t, w.m.registry.users.Next(), w.m.registry.users.First(), "nothing is held")
	require.Zero(t, w.m.registry.users.skipGaps(w.m.registry.users.First())-w.m.registry.users.Next())
}

// TestErasedUserNeverPasses: R2 blocks a token of an erased user, wherever its slot was. A
// call with a slot that was never given out is refused.
func TestErasedUserNeverPasses(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for n := range 40 {
		w.user(fmt.Sprint("user ", n))
	}
	w.now += engine.UserStored
	w.tick()
	w.confirmList()
	w.user("keeps the tables open")
	screen := func(user engine.UserSlot) wire.Result {
		s := w.screening(slot, engine.Dollar)
		s.User, s.UserVersion, s.UserExpires = user, 1, w.now+engine.Hour
		s.Basis.Fold(engine.RevUser, uint32(user), userRev(w.m.registry, user))
		return w.do(wire.KindScreen, s)
	}
	for _, user := range []engine.UserSlot{1, 17, 40} {
		require.Equal(t, superseded, verdict(screen(user)))
		require.Equal(t, wire.RefusedNotFound, w.do(wire.KindStatus, &wire.Status{Target: wire.TargetUser, Slot: uint32(user), To: engine.Revoked}).Refusal)
		_, _, known := w.m.Freeze().User(user)
		require.False(t, known)
	}
	require.Equal(t, clear, verdict(screen(41)))
	require.Equal(t, wire.RefusedMalformed, screen(42).Refusal)
}
