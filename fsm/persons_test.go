package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Keys of a bank: two of each role. Each is a person of his own, and the machine made them.
const (
	adminAda uint32 = iota + 1
	adminAlan
	policyPia
	policyPaul
	reviewRosa
	reviewRon
)

// bank returns a world in which every act needs two persons.
func bank(t testing.TB) *world {
	w := newWorld(t)
	for _, key := range []struct {
		person string
		roles  uint16
	}{
		{"ada", wire.RoleAdmin}, {"alan", wire.RoleAdmin}, {"pia", wire.RolePolicy}, {"paul", wire.RolePolicy},
		{"rosa", wire.RoleReviewer}, {"ron", wire.RoleReviewer},
	} {
		w.makeKey(nil, key.person, key.roles)
	}
	w.now += engine.DayLength
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: bankPolicy()}).Code, "it only tightens")
	return w
}

func bankPolicy() engine.Policy {
	policy := *engine.DefaultPolicy()
	policy.TwoPersons = engine.ActsBank
	return policy
}

// putPolicy puts a policy as the edge does: it says what the change is called.
func (w *world) putPolicy(key uint32, policy engine.Policy) wire.Result {
	return w.do(wire.KindPolicy, &wire.PolicyPut{
		Common: w.by(key), Base: w.m.settings.Policy.Version, Policy: policy, Acts: engine.ActsOf(w.m.settings.Policy, &policy),
	})
}

func (w *world) confirm(key uint32, proposal uint64) wire.Result {
	return w.do(wire.KindConfirm, &wire.Confirm{Common: w.by(key), Proposal: proposal})
}

// proposed demands that a record became a proposal, and returns its leaf.
func (w *world) proposed(r wire.Result) uint64 {
	w.t.Helper()
	require.Contains(w.t, string(r.Data), `"kind":"act.proposed"`, "%+v", r)
	return r.Leaf
}

// TestOnePersonDoesNotTakeTheDemandAway: nobody takes four eyes out of the policy, decides
// alone and puts them back; not even where the policy names no act of two persons.
func TestOnePersonDoesNotTakeTheDemandAway(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{})
	w.makeKey(nil, "pia", wire.RolePolicy|wire.RoleReviewer)
	w.makeKey(nil, "paul", wire.RolePolicy)
	const pia, paul = 5, 6
	w.now += engine.DayLength
	b := review(20)
	proposal := w.proposed(w.putPolicy(pia, *engine.DefaultPolicy()))
	require.Equal(t, engine.ActTwoPersons, w.m.desk.proposals.At(w.m.desk.proposals.First()).Acts)
	require.Contains(t, string(w.decide(b, pia, wire.Approved).Data), `"kind":"review.proposed"`, "the demand stands")
	require.Equal(t, wire.RefusedSamePerson, w.confirm(pia, proposal).Refusal, "she proposed it herself")
	done := w.confirm(paul, proposal)
	require.Contains(t, string(done.Data), `"twoPersons":["twoPersons"],"persons":["person:pia","person:paul"]`)
	require.Nil(t, w.m.settings.Policy.FourEyes)
}

// TestAFreshKeyDoesNotSecond: an admin who proposes, makes another key and confirms with it is
// refused, whatever name he gives it and however long he waits.
func TestAFreshKeyDoesNotSecond(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{})
	w.makeKey(nil, "ada", wire.RoleAdmin)
	const ada, zed, foreign = 5, 6, 7
	w.now += engine.DayLength
	admin := w.by(ada).Key
	b := review(20)
	require.Contains(t, string(w.decide(b, ada, wire.Approved).Data), `"kind":"review.proposed"`)
	w.makeKey(admin, "zed", wire.RoleReviewer)
	require.Equal(t, wire.RefusedYoung, w.decide(b, zed, wire.Approved).Refusal, "the key is fresh")
	w.now += engine.DayLength
	b = review(20)
	w.decide(b, ada, wire.Approved)
	require.Equal(t, wire.RefusedMaker, w.decide(b, zed, wire.Approved).Refusal, "he made it")
	c := review(20)
	w.decide(c, zed, wire.Approved)
	require.Equal(t, wire.RefusedMaker, w.decide(c, ada, wire.Approved).Refusal, "in the other order, too")
	require.Contains(t, string(w.decide(c, 2, wire.Approved).Data), `"review.dispositioned"`, "somebody else seconds it")

	w.makeKey(nil, "eve", wire.RoleReviewer)
	d := review(20)
	w.decide(d, 1, wire.Approved)
	require.Equal(t, wire.RefusedYoung, w.decide(d, foreign, wire.Approved).Refusal, "the machine made it, but just now")
	rotated := w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: wire.Common{Key: admin}, Op: wire.KeyRotate, Key: wire.APIKey{ID: w.m.settings.Keys[1].ID, Prefix: "n", Hashes: key32(250)}})
	require.Equal(t, wire.Applied, rotated.Code)
	require.Equal(t, wire.RefusedYoung, w.decide(d, 2, wire.Approved).Refusal, "the admin knows Bob's new secret")
	require.Contains(t, string(w.decide(d, 3, wire.Approved).Data), `"review.dispositioned"`)
}

// TestAloneIsSaid: where nobody else holds the role one person acts, its leaf says so and an
// alert opens; revoking the key of the other makes nobody the only one on the same day.
func TestAloneIsSaid(t *testing.T) {
	w := newWorld(t)
	pia := w.makeKey(nil, "pia", wire.RolePolicy)
	force := func(key uint32, data string) wire.Result {
		digest := w.stage([]byte(data))
		return w.do(wire.KindListActivate, &wire.ListActivate{Common: w.by(key), Digest: digest, Force: true})
	}
	r := force(pia, "one")
	require.Contains(t, string(r.Data), `"twoPersons":["list.force"],"persons":["person:pia"],"alone":true`)
	require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"alert":"done_alone"`)
	require.Contains(t, string(w.leaves[len(w.leaves)-1]), `"twoPersons":["list.force"],"person":"person:pia","actLeaf":`)

	paul := w.makeKey(nil, "paul", wire.RolePolicy)
	proposal := w.proposed(force(pia, "two"))
	require.Equal(t, wire.RefusedYoung, w.confirm(paul, proposal).Refusal)
	digest := sha([]byte("two"))
	require.Equal(t, wire.RefusedNoPerson, w.do(wire.KindListActivate, &wire.ListActivate{Digest: digest, Force: true}).Refusal, "the machine is no person")
	require.Equal(t, wire.RefusedNoPerson, w.do(wire.KindConfirm, &wire.Confirm{Proposal: proposal}).Refusal)
	w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(pia), Proposal: proposal})
	w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: w.m.settings.Keys[paul-1].ID}})
	w.now += engine.DayLength - engine.Second
	proposal = w.proposed(force(pia, "three"))
	w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(pia), Proposal: proposal})
	w.now += engine.Second
	require.Contains(t, string(force(pia, "four").Data), `"alone":true`)
}

// TestEveryActOfABankNeedsTwo: each act of the list becomes a proposal, is refused to the same
// person, and is applied for the second with both names in its leaf.
func TestEveryActOfABankNeedsTwo(t *testing.T) {
	w := bank(t)
	slot, _ := w.register("a", dailyLimit(10))
	for name, c := range map[string]struct {
		first, second uint32
		do            func(key uint32) wire.Result
	}{
		"policy.widen": {policyPia, policyPaul, func(key uint32) wire.Result {
			policy := bankPolicy()
			policy.Modes[21] = engine.ModeOff
			return w.putPolicy(key, policy)
		}},
		"list.force": {policyPia, policyPaul, func(key uint32) wire.Result {
			return w.do(wire.KindListActivate, &wire.ListActivate{Common: w.by(key), Digest: w.stage([]byte("forced")), Force: true})
		}},
		"list.rollback": {policyPaul, policyPia, func(key uint32) wire.Result {
			return w.do(wire.KindListActivate, &wire.ListActivate{Common: w.by(key), Digest: w.stage([]byte("back")), Force: true, Rollback: true})
		}},
		"key.create": {adminAda, adminAlan, func(key uint32) wire.Result {
			return w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: w.by(key), Op: wire.KeyCreate, Key: wire.APIKey{ID: "new", Prefix: "n", Hashes: key32(77), Roles: wire.RoleReviewer}})
		}},
		"clear": {reviewRosa, reviewRon, func(key uint32) wire.Result {
			return w.do(wire.KindCleared, &wire.ClearedPut{Common: w.by(key), Pair: wire.ClearedPair{Name: "x", UID: 7, Reason: "r"}})
		}},
	} {
		for _, repeated := range []bool{false, true} {
			proposal := w.proposed(c.do(c.first))
			if again := c.do(c.first); true {
				require.Equal(t, wire.RefusedSamePerson, again.Refusal, name)
				require.Equal(t, proposal, again.Value, name)
			}
			require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest(), name)
			if repeated {
				require.Contains(t, string(c.do(c.second).Data), `"twoPersons":["`+name+`"],"persons":["`, name)
				continue
			}
			require.Equal(t, wire.Applied, w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(c.first), Proposal: proposal}).Code, name)
			require.Equal(t, wire.RefusedNotProposed, w.confirm(c.second, proposal).Refusal, name)
		}
		require.Zero(t, w.m.desk.actsKept, name)
	}
	require.Contains(t, []string{"person:ada", "person:alan"}, w.m.settings.Keys[6].MadeBy, "who proposed it has its secret")

	b := w.held(slot, 20, 0, 0)
	require.Contains(t, string(w.decide(b, reviewRosa, wire.EscalateSAR).Data), `"kind":"review.proposed"`)
	require.Contains(t, string(w.decide(b, reviewRon, wire.EscalateSAR).Data), `"twoPersons":["disposition"]`)
}

// TestACaseOfTwoIsNotEndedByOne: two persons file and close what two escalated, although the
// policy demands nothing for reports; the second confirms the number of the filing, too.
func TestACaseOfTwoIsNotEndedByOne(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{})
	b := review(20)
	w.decide(b, 1, wire.EscalateSAR)
	w.decide(b, 2, wire.EscalateSAR)
	move := func(key uint32, from, to uint8, filing byte) wire.Result {
		step := w.sarMove(b.Leaf, from, to)
		step.Common, step.Filing = w.by(key), [32]byte{filing}
		return w.do(wire.KindSAR, step)
	}
	require.Equal(t, wire.Applied, w.writeSAR(b.Leaf, 1, true).Code)
	require.Contains(t, string(move(1, wire.SARDraft, wire.SARReady, 0).Data), `"kind":"sar.moved"`, "a draft is one person's work")
	closing := w.proposed(move(1, wire.SARReady, wire.SARClosed, 0))
	require.Equal(t, wire.RefusedSamePerson, move(4, wire.SARReady, wire.SARClosed, 0).Refusal)
	require.Equal(t, wire.RefusedProposed, move(2, wire.SARReady, wire.SARFiled, 1).Refusal)
	w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(2), Proposal: closing})
	stale := w.proposed(move(1, wire.SARReady, wire.SARFiled, 1))
	require.Equal(t, wire.Applied, w.writeSAR(b.Leaf, 2, true).Code)
	require.Equal(t, wire.RefusedNotProposed, w.confirm(3, stale).Refusal, "it was proposed of another narrative")
	filing := w.proposed(move(1, wire.SARReady, wire.SARFiled, 1))
	require.Equal(t, wire.RefusedProposed, move(2, wire.SARReady, wire.SARFiled, 2).Refusal, "another number")
	require.Contains(t, string(w.confirm(3, filing).Data), `"twoPersons":["sar.move"],"persons":["person:ann","person:cy"]`)
}

// TestProposalLapsesWithItsKey: what a revoked key proposed is not confirmed.
func TestProposalLapsesWithItsKey(t *testing.T) {
	w := bank(t)
	policy := bankPolicy()
	policy.Modes[21] = engine.ModeOff
	proposal := w.proposed(w.putPolicy(policyPia, policy))
	w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: w.m.settings.Keys[policyPia-1].ID}})
	_, open := w.m.Freeze().Proposal(proposal)
	require.False(t, open)
	require.Equal(t, wire.RefusedNotProposed, w.confirm(policyPaul, proposal).Refusal)
	require.Equal(t, 1, w.counted(`"act.lapsed"`))
}

// TestAnotherChangeLapsesAProposal: a policy that was proposed does not take back what was
// tightened since.
func TestAnotherChangeLapsesAProposal(t *testing.T) {
	w := bank(t)
	policy := bankPolicy()
	policy.Modes[21] = engine.ModeOff
	proposal := w.proposed(w.putPolicy(policyPia, policy))
	tighter := bankPolicy()
	tighter.RequireParty = engine.PartyOfAll
	require.Contains(t, string(w.putPolicy(policyPaul, tighter).Data), `"kind":"policy.activated"`)
	require.Equal(t, wire.RefusedNotProposed, w.confirm(policyPaul, proposal).Refusal)
	require.Equal(t, engine.PartyOfAll, w.m.settings.Policy.RequireParty)
	require.Equal(t, 1, w.counted(`"act.lapsed"`), "the log tells that it is over")
}

// TestSigningOutNeedsNobodyElse: in a bank, too, one admin ends a key's sessions, renews its
// own secret and revokes a key; somebody else's secret two admins renew, with the overlap that
// was proposed.
func TestSigningOutNeedsNobodyElse(t *testing.T) {
	w := bank(t)
	change := func(by uint32, op uint8, of uint32, overlap engine.Time, secret byte) wire.Result {
		b := &wire.APIKeyPut{Common: w.by(by), Op: op, Key: wire.APIKey{ID: w.m.settings.Keys[of-1].ID}, Overlap: overlap}
		if op == wire.KeyRotate {
			b.Key.Prefix, b.Key.Hashes = "n", key32(secret)
		}
		return w.do(wire.KindAPIKey, b)
	}
	require.Contains(t, string(change(adminAda, wire.KeySignOut, reviewRosa, 0, 0).Data), `"kind":"key.sessions_ended"`)
	require.Contains(t, string(change(adminAda, wire.KeyRotate, adminAda, 0, 201).Data), `"kind":"key.rotated"`)
	require.Empty(t, w.m.settings.Keys[adminAda-1].MadeBy)
	proposal := w.proposed(change(adminAda, wire.KeyRotate, reviewRosa, engine.Hour, 202))
	require.Contains(t, string(w.confirm(adminAlan, proposal).Data), `"kind":"key.rotated"`)
	require.Equal(t, w.now+engine.Hour, w.m.settings.Keys[reviewRosa-1].OldUntil)
	require.Equal(t, "person:ada", w.m.settings.Keys[reviewRosa-1].MadeBy, "who proposed it has the secret")
	require.Contains(t, string(change(adminAda, wire.KeyRevoke, reviewRosa, 0, 0).Data), `"kind":"key.revoked"`)
}

// TestAConfirmedKeyIsItsProposersToo: who proposed a key has its secret, although another
// confirmed it: the two are never the two persons of an act.
func TestAConfirmedKeyIsItsProposersToo(t *testing.T) {
	w := bank(t)
	proposal := w.proposed(w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: w.by(adminAda), Op: wire.KeyCreate, Key: wire.APIKey{
		ID: "zed", Prefix: "n", Hashes: key32(77), Roles: wire.RolePolicy, Person: "zed", PersonKey: "zed",
	}}))
	require.Contains(t, string(w.confirm(adminAlan, proposal).Data), `"kind":"key.created"`)
	const zed = reviewRon + 1
	w.now += engine.DayLength
	policy := bankPolicy()
	policy.Modes[21] = engine.ModeOff
	wider := w.proposed(w.putPolicy(adminAda, policy))
	require.Equal(t, wire.RefusedMaker, w.confirm(zed, wider).Refusal)
	require.Contains(t, string(w.confirm(policyPia, wider).Data), `"persons":["person:ada","person:pia"]`)
}

// TestAFormerSecretKeepsAKeyYoung: who made a key may use its former secret while that is good,
// although somebody else renewed the key. So it seconds a day after that secret ended.
func TestAFormerSecretKeepsAKeyYoung(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{})
	ada, alan := w.makeKey(nil, "ada", wire.RoleAdmin), w.makeKey(nil, "alan", wire.RoleAdmin)
	zed := w.makeKey(w.by(ada).Key, "zed", wire.RoleReviewer)
	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{
		Common: w.by(alan), Op: wire.KeyRotate, Overlap: 7 * engine.DayLength, Key: wire.APIKey{ID: w.m.settings.Keys[zed-1].ID, Prefix: "n", Hashes: key32(250)},
	}).Code)
	for _, day := range []engine.Time{1, 7} {
		w.now += engine.DayLength
		if day == 7 {
			w.now += 6*engine.DayLength - engine.Second
		}
		b := review(20)
		w.decide(b, ada, wire.Approved)
		require.Equal(t, wire.RefusedYoung, w.decide(b, zed, wire.Approved).Refusal, "day %d", day)
	}
	w.now += engine.Second
	b := review(20)
	w.decide(b, ada, wire.Approved)
	require.Contains(t, string(w.decide(b, zed, wire.Approved).Data), `"review.dispositioned"`)
}

// TestAKeyThatNamesNobodyIsNoSecondPerson: beside a key that names its person it may be another
// key of the same one. Two keys that name nobody second each other: no more is known of them.
func TestAKeyThatNamesNobodyIsNoSecondPerson(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{})
	unnamed, another := w.makeKey(nil, "", wire.RoleReviewer), w.makeKey(nil, "", wire.RoleReviewer)
	w.now += engine.DayLength
	const ann = 1
	for _, two := range [][2]uint32{{ann, unnamed}, {unnamed, ann}} {
		b := review(20)
		w.decide(b, two[0], wire.Approved)
		require.Equal(t, wire.RefusedUnnamed, w.decide(b, two[1], wire.Approved).Refusal)
	}
	b := review(20)
	w.decide(b, unnamed, wire.Approved)
	require.Contains(t, string(w.decide(b, another, wire.Approved).Data), `"persons":["key:deske","key:deskf"]`)
}

// TestAnActivationKeepsWhoLeaves: the list that a second person confirms opens the alert that
// names who leaves it.
func TestAnActivationKeepsWhoLeaves(t *testing.T) {
	w := bank(t)
	w.activateList([]byte("first"))
	left := &wire.ListLeft{Parties: 1, Wallets: 2, First: []string{"LAZARUS GROUP"}}
	proposal := w.proposed(w.do(wire.KindListActivate, &wire.ListActivate{
		Common: w.by(policyPia), Digest: w.stage([]byte("second")), Force: true, Base: wire.ListBase(w.m.settings.ListVersion), Left: left,
	}))
	require.Contains(t, string(w.confirm(policyPaul, proposal).Data), `"kind":"list.activated"`)
	require.Equal(t, 1, w.counted(`"leftParties":1,"leftWallets":2,"left":["LAZARUS GROUP"]`))
}

// TestTheSpenderGivesBackByTwo: where wider policies need two persons, one alone does not let
// whoever screens give back what counts.
func TestTheSpenderGivesBackByTwo(t *testing.T) {
	w := bank(t)
	policy := bankPolicy()
	policy.SettlementSelf = true
	proposal := w.proposed(w.putPolicy(policyPia, policy))
	require.Equal(t, wire.RefusedSamePerson, w.confirm(policyPia, proposal).Refusal)
	require.False(t, w.m.settings.Policy.SettlementSelf)
	require.Contains(t, string(w.confirm(policyPaul, proposal).Data), `"twoPersons":["policy.widen"],"persons":["person:pia","person:paul"]`)
	require.True(t, w.m.settings.Policy.SettlementSelf)
	require.NotContains(t, string(w.putPolicy(policyPia, bankPolicy()).Data), `"persons"`, "back to settlers is one person's")
}

// TestHoldsReturnByTwo: that holds return by themselves is always decided by two, as long as
// two may.
func TestHoldsReturnByTwo(t *testing.T) {
	w := newWorld(t)
	policy := *engine.DefaultPolicy()
	policy.TwoPersons, policy.HoldsReturn = 0, true
	pia := w.makeKey(nil, "pia", wire.RolePolicy)
	require.Contains(t, string(w.putPolicy(pia, policy).Data), `"twoPersons":["policy.widen","twoPersons"],"persons":["person:pia"],"alone":true`)
	policy.HoldsReturn = false
	require.NotContains(t, string(w.putPolicy(pia, policy).Data), `"persons"`)
	paul := w.makeKey(nil, "paul", wire.RolePolicy)
	w.now += engine.DayLength
	policy.HoldsReturn = true
	proposal := w.proposed(w.putPolicy(pia, policy))
	require.False(t, w.m.settings.Policy.HoldsReturn)
	require.Contains(t, string(w.confirm(paul, proposal).Data), `"twoPersons":["policy.widen"],"persons":["person:pia","person:paul"]`)
}

// TestAKeyThatIsNoneActsForNobody: a record that names no row of the keys is refused before
// anybody asks whose it is.
func TestAKeyThatIsNoneActsForNobody(t *testing.T) {
	w := bank(t)
	digest := w.stage([]byte("x1"))
	for _, ref := range []wire.KeyRef{{Rev: 7}, {Row: 99, Rev: 1}} {
		common := wire.Common{Key: &ref}
		for kind, body := range map[wire.Kind]any{
			wire.KindPolicy:       &wire.PolicyPut{Common: common, Policy: bankPolicy()},
			wire.KindListActivate: &wire.ListActivate{Common: common, Digest: digest},
			wire.KindAPIKey:       &wire.APIKeyPut{Common: common, Op: wire.KeyCreate, Key: wire.APIKey{ID: "x", Hashes: key32(9)}},
			wire.KindCleared:      &wire.ClearedPut{Common: common}, wire.KindSAR: &wire.SAR{Common: common}, wire.KindConfirm: &wire.Confirm{Common: common},
			wire.KindWithdraw: &wire.Withdraw{Common: common}, wire.KindDisposition: &wire.Disposition{Common: common}, wire.KindHold: &wire.Hold{Common: common},
		} {
			require.Equal(t, wire.KeyMoved, w.do(kind, body).Code, "%d %+v", kind, ref)
		}
	}
}

// TestOnlyTwoPersonsLetTimeLeap (line K1): whatever the policy says, two admins confirm the same
// instant, and the second may send it himself or confirm the proposal.
func TestOnlyTwoPersonsLetTimeLeap(t *testing.T) {
	w := newWorld(t)
	ada, alan := w.makeKey(nil, "ada", wire.RoleAdmin), w.makeKey(nil, "alan", wire.RoleAdmin)
	w.live(engine.DayLength)
	until := w.now + 100*engine.DayLength
	confirm := func(by uint32, until engine.Time) wire.Result {
		return w.do(wire.KindTime, &wire.TimeConfirm{Common: w.by(by), NotAfter: until})
	}
	require.Equal(t, wire.RefusedNoPerson, w.do(wire.KindTime, &wire.TimeConfirm{NotAfter: until}).Refusal, "the machine is no person")
	proposed := confirm(ada, until)
	require.Equal(t, wire.Applied, proposed.Code)
	require.Contains(t, string(proposed.Data), `"kind":"act.proposed"`)
	require.Zero(t, w.m.settings.LeapUntil)
	require.Equal(t, wire.RefusedSamePerson, confirm(ada, until).Refusal)
	require.Equal(t, wire.RefusedProposed, confirm(alan, until+1).Refusal, "both name one instant")
	r := confirm(alan, until)
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"persons":["person:ada","person:alan"]`)
	require.Equal(t, until, w.m.settings.LeapUntil)
	require.Equal(t, start.Day().Start()+engine.DayLength, w.m.now.Day().Start(), "nothing leapt yet")
	require.Equal(t, wire.Unchanged, confirm(alan, until).Code)
	require.Equal(t, wire.Unchanged, confirm(alan, w.now-1).Code, "the past needs no leave")
	require.Equal(t, wire.RefusedMalformed, confirm(alan, 0).Refusal)
	proposed = confirm(alan, until+engine.DayLength)
	r = w.do(wire.KindConfirm, &wire.Confirm{Common: w.by(ada), Proposal: proposed.Leaf})
	require.Equal(t, wire.Applied, r.Code)
	require.Equal(t, until+engine.DayLength, w.m.settings.LeapUntil)
	require.Equal(t, until+engine.DayLength, restoredFrom(t, w.m).settings.LeapUntil)
	replayAgrees(t, w, 1)
}
