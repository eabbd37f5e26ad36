package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// lookers returns a world whose policy has second looks, and a function that makes reviews. Its keys
// are ann (1 and 4), bob (2), cy (3), dee (5) and one that names nobody (6).
func lookers(t *testing.T, look engine.SecondLook, eyes *engine.FourEyes) (*world, func() wire.Hold) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 25})
	w.makeKey(nil, "dee", wire.RoleReviewer)
	w.makeKey(nil, "", wire.RoleReviewer)
	w.now += engine.DayLength
	w.setLooks(&look, eyes)
	return w, func() wire.Hold { return review(20) }
}

func (w *world) setLooks(look *engine.SecondLook, eyes *engine.FourEyes) {
	policy := *engine.DefaultPolicy()
	policy.SecondLook, policy.FourEyes, policy.TwoPersons = look, eyes, 0
	require.Equal(w.t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
}

func (w *world) look(key uint32, op uint8, decision uint64, disposition uint8) wire.Result {
	return w.do(wire.KindSecondLook, &wire.SecondLook{Common: w.by(key), Op: op, Decision: decision, Who: "who", Disposition: disposition})
}

// draws draws again what the log drew, from the leaf alone, as docs/learning.md says.
func draws(t testing.TB, data []byte, share uint64) bool {
	salt, err := hex.DecodeString(between(data, `"salt":"`, `"`))
	require.NoError(t, err)
	sum := sha256.Sum256(append([]byte("railguard second look\x00"), salt...))
	return binary.BigEndian.Uint64(sum[:8])%10_000 < share
}

// The share holds in 10,000 decisions, follows from each leaf alone, and is the same on another machine
// and after a snapshot.
func TestTheShareOfSecondLooksHolds(t *testing.T) {
	const decisions, share = 10_000, 250
	w, review := lookers(t, engine.SecondLook{Share: share}, nil)
	asked := 0
	for range decisions {
		b := review()
		r := w.decide(b, 1, wire.Rejected)
		again := strings.Contains(string(r.Data), `"secondLook":true`)
		require.Equal(t, draws(t, r.Data, share), again)
		if again {
			asked++
			_, found := w.m.desk.secondLookOf(r.Leaf)
			require.True(t, found)
		}
	}
	// The deviation of 250 of 10,000 is 15.6; six of them are not left by chance.
	require.InDelta(t, decisions*share/10_000, asked, 94)
	require.Equal(t, asked, w.m.desk.secondLooks.Len())
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())

	other, out := New(), Effects{}
	for i, entry := range w.entries {
		other.Apply(uint64(i)+1, w.terms[i], entry, &out)
		if i == 0 || i == len(w.entries)/2 {
			other = restoredFrom(t, other)
		}
	}
	require.Equal(t, asked, countLooks(other))
}

func countLooks(m *Machine) (count int) {
	m.Freeze().SecondLooks(^uint64(0), false, func(SecondLookRow) bool { count++; return true })
	return count
}

// A policy without looks asks for none, and one for some rules asks for those alone.
func TestSecondLooksGoByThePolicy(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll, Rules: 1 << 21}, nil)
	require.NotContains(t, string(w.decide(review(), 1, wire.Rejected).Data), "secondLook", "it is rule 11")
	w.setLooks(&engine.SecondLook{Share: engine.SecondLookAll, Rules: 1<<21 | 1<<11}, nil)
	require.Contains(t, string(w.decide(review(), 1, wire.Rejected).Data), `"secondLook":true`)
	w.setLooks(nil, nil)
	require.NotContains(t, string(w.decide(review(), 1, wire.Rejected).Data), "secondLook")
	require.Equal(t, 1, w.m.desk.secondLooks.Len())
}

// Nobody is given his own decision again: not who decided, proposed or commented, by whatever key.
func TestNobodyLooksAgainAtHisOwn(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll}, nil)
	b := review()
	decided := w.decide(b, 1, wire.Approved).Leaf
	for key, why := range map[uint32]wire.Refusal{1: wire.RefusedSamePerson, 4: wire.RefusedSamePerson, 6: wire.RefusedUnnamed} {
		require.Equal(t, why, w.look(key, wire.LookTake, decided, 0).Refusal, key)
	}
	r := w.do(wire.KindSecondLook, &wire.SecondLook{Op: wire.LookTake, Decision: decided})
	require.Equal(t, wire.RefusedNoPerson, r.Refusal, "the machine is no officer")
	w.makeKey(w.by(1).Key, "zed", wire.RoleReviewer)
	w.makeKey(nil, "eve", wire.RoleReviewer)
	require.Equal(t, wire.RefusedYoung, w.look(8, wire.LookTake, decided, 0).Refusal)
	w.now += engine.DayLength
	require.Equal(t, wire.RefusedMaker, w.look(7, wire.LookTake, decided, 0).Refusal, "the decider made this key")
	w.do(wire.KindQueue, &wire.Queue{Common: w.by(3), Op: wire.QueueComment, Leaves: []uint64{b.Leaf}, Who: "cy"})
	require.Equal(t, wire.RefusedSamePerson, w.look(3, wire.LookTake, decided, 0).Refusal, "he commented on it")
	require.Equal(t, wire.Applied, w.look(2, wire.LookTake, decided, 0).Code)

	w.look(2, wire.LookGiveBack, decided, 0)
	w.setLooks(&engine.SecondLook{Share: engine.SecondLookAll}, &engine.FourEyes{})
	c := review()
	require.Contains(t, string(w.decide(c, 1, wire.Approved).Data), "review.proposed")
	decided = w.decide(c, 2, wire.Approved).Leaf
	for _, key := range []uint32{1, 2, 4} {
		require.Equal(t, wire.RefusedSamePerson, w.look(key, wire.LookTake, decided, 0).Refusal, "of two persons neither")
	}
	require.Equal(t, wire.Applied, w.look(5, wire.LookTake, decided, 0).Code)
}

// Who has a look in hand has no other, and whoever had it does not get it again.
func TestSecondLooksAreInOneHand(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll}, nil)
	first, second := w.decide(review(), 1, wire.Rejected).Leaf, w.decide(review(), 1, wire.Rejected).Leaf
	require.Equal(t, wire.RefusedNotFound, w.look(2, wire.LookTake, second+1, 0).Refusal)
	require.Equal(t, wire.RefusedClaimed, w.look(2, wire.LookAnswer, first, wire.Rejected).Refusal, "nobody has it in hand")
	r := w.look(2, wire.LookTake, first, 0)
	require.Contains(t, string(r.Data), `"kind":"work.changed"`)
	require.Contains(t, string(r.Data), `"op":"claimed","lookId":"`+w.m.ids.LookID(first)+`","assignee":"who"`)
	require.NotContains(t, string(r.Data), "txn", "the leaf does not say at which record")
	require.Equal(t, wire.RefusedClaimed, w.look(2, wire.LookTake, second, 0).Refusal, "one at a time")
	require.Equal(t, wire.RefusedClaimed, w.look(3, wire.LookTake, first, 0).Refusal)
	require.Equal(t, wire.RefusedClaimed, w.look(3, wire.LookAnswer, first, wire.Rejected).Refusal)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
	require.NotNil(t, w.m.settings.HeldBy(w.m.settings.Keys[1], w.now))

	require.Equal(t, wire.Applied, w.look(2, wire.LookGiveBack, first, 0).Code)
	require.Nil(t, w.m.settings.HeldBy(w.m.settings.Keys[1], w.now))
	require.Equal(t, wire.RefusedSamePerson, w.look(2, wire.LookTake, first, 0).Refusal, "he has seen the case")
	require.Equal(t, wire.Applied, w.look(3, wire.LookTake, first, 0).Code)
	w.now += w.m.limits.SecondLookLease
	require.Equal(t, wire.RefusedClaimed, w.look(3, wire.LookAnswer, first, wire.Rejected).Refusal, "it was too long in hand")
	require.Equal(t, wire.RefusedSamePerson, w.look(3, wire.LookTake, first, 0).Refusal)
	require.Equal(t, wire.Applied, w.look(5, wire.LookTake, first, 0).Code)
	w.now += w.m.limits.SecondLookLease
	w.tick()
	require.Empty(t, w.m.settings.InHand, "a tick takes it away")
}

// An answer is a leaf of its own and moves nothing; one that does not agree opens an alert that names both.
func TestSecondLooksAreAnswered(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll}, nil)
	b, c := review(), review()
	agreed, differed := w.decide(b, 1, wire.Approved).Leaf, w.decide(c, 1, wire.Approved).Leaf
	books := w.books(b.Agent)
	w.look(2, wire.LookTake, agreed, 0)
	require.Equal(t, wire.RefusedMalformed, w.look(2, wire.LookAnswer, agreed, 0).Refusal)
	require.Equal(t, wire.RefusedMalformed, w.look(2, wire.LookAnswer, agreed, wire.EscalateSAR+1).Refusal)
	r := w.look(2, wire.LookAnswer, agreed, wire.Approved)
	require.Equal(t, leaf.KindLookAnswered, between(r.Data, `"kind":"`, `"`))
	require.Contains(t, string(r.Data), `"firstDisposition":"APPROVED","secondDisposition":"APPROVED","agrees":true`)
	require.Equal(t, strconv.FormatUint(agreed, 10), between(r.Data, `"recordPrevious":`, `,`), "it names the leaf about the record that stands before")
	require.Zero(t, w.counted(`"alert":"second_look"`))
	require.Equal(t, wire.RefusedNotOpen, w.look(3, wire.LookTake, agreed, 0).Refusal)

	w.look(2, wire.LookTake, differed, 0)
	r = w.look(2, wire.LookAnswer, differed, wire.EscalateSAR)
	require.Contains(t, string(r.Data), `"agrees":false`)
	alert := string(w.leaves[len(w.leaves)-1])
	require.Contains(t, alert, `"kind":"alert.opened"`)
	require.Contains(t, alert, `"alert":"second_look"`)
	require.Contains(t, alert, `"txnId":"`+w.m.ids.TxnID(c.Leaf)+`"`)
	require.Contains(t, alert, `"firstDisposition":"APPROVED","secondDisposition":"ESCALATE_SAR"`)
	require.Equal(t, books, w.books(b.Agent))
	require.Zero(t, w.m.desk.sars.Len(), "it escalates nothing")
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertSecondLook, Subject: wire.AlertSubject(0, c.Leaf)}).Refusal, "no edge opens it")
}

// A look that nobody answers lapses, and a full table asks for no more.
func TestSecondLooksAreBounded(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll}, nil)
	w.narrow(func(l *engine.Limits) { l.SecondLooks = 2 })
	first := w.decide(review(), 1, wire.Rejected).Leaf
	w.decide(review(), 1, wire.Rejected)
	require.NotContains(t, string(w.decide(review(), 1, wire.Rejected).Data), "secondLook", "two are open")
	w.look(2, wire.LookTake, first, 0)
	w.look(2, wire.LookAnswer, first, wire.Rejected)
	third := w.decide(review(), 1, wire.Rejected)
	require.Contains(t, string(third.Data), `"secondLook":true`, "the one that is done gives way")
	w.look(3, wire.LookTake, third.Leaf, 0)
	w.now = third.Time.Day().Start() + w.m.limits.SecondLookKept - 1
	w.tick()
	require.Zero(t, w.counted(`"second_look.lapsed"`))
	w.now++
	require.Equal(t, wire.RefusedNotOpen, w.look(5, wire.LookTake, third.Leaf, 0).Refusal, "its tick has not come yet")
	w.tick()
	require.Equal(t, 2, w.counted(`"second_look.lapsed"`))
	require.Empty(t, w.m.settings.InHand)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
	w.tick()
	require.Equal(t, 2, w.counted(`"second_look.lapsed"`), "it is told once")
	w.live(w.m.limits.Retention + engine.DayLength)
	require.Zero(t, w.m.desk.secondLooks.Len())
}

// A snapshot with a look in hand that cannot be is refused.
func TestASnapshotWithAWrongHandIsRefused(t *testing.T) {
	w, review := lookers(t, engine.SecondLook{Share: engine.SecondLookAll}, nil)
	decided := w.decide(review(), 1, wire.Rejected).Leaf
	w.look(2, wire.LookTake, decided, 0)
	for name, spoil := range map[string]func(held *wire.InHand){
		"no such look": func(held *wire.InHand) { held.Decision-- }, "no such key": func(held *wire.InHand) { held.Key = 99 }, "nobody": func(held *wire.InHand) { held.Subject = "" },
	} {
		held := *w.m.settings.InHand[0]
		require.NoError(t, w.m.desk.checkInHand())
		spoil(w.m.settings.InHand[0])
		require.Error(t, w.m.desk.checkInHand(), name)
		*w.m.settings.InHand[0] = held
	}
}
