package fsm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// enter registers an agent for an operator and returns the operator, or the refusal.
func (w *world) enter(ref wire.OperatorRef) (engine.OperatorSlot, wire.Refusal) {
	body := &wire.Register{Operator: ref, Profile: engine.AgentProfile{AgentName: "a", Type: engine.Supervised, OperatorLegalName: "x", Policy: engine.NoSpendPolicy()}}
	body.Basis.List = w.m.settings.ListVersion
	if r := w.do(wire.KindRegister, body); r.Code != wire.Applied {
		return 0, r.Refusal
	}
	return (*w.m.registry.profiles.At(uint64(w.m.registry.profiles.Len()))).Operator, 0
}

// TestOperatorsAreSlots: a name finds the one operator that has it as the same text, and
// nothing else. Names that fold alike are different operators; two may have one name, and then
// only an id tells which is meant.
func TestOperatorsAreSlots(t *testing.T) {
	w := newWorld(t)
	folded := func(name string) wire.OperatorRef { return wire.OperatorRef{Name: name, Fold: "acme"} }
	another := folded("Acme Inc")
	another.Another = true
	anew := folded("Acme Inc")
	anew.New = true
	for _, c := range []struct {
		says    string
		ref     wire.OperatorRef
		slot    engine.OperatorSlot
		refused wire.Refusal
	}{
		{"the first", folded("Acme Inc"), 1, 0},
		{"the same text", folded("Acme Inc"), 1, 0},
		{"another text of one fold", folded("ACME Inc"), 2, 0},
		{"a slot", wire.OperatorRef{Slot: 2}, 2, 0},
		{"a slot that is not there", wire.OperatorRef{Slot: 3}, 0, wire.RefusedNotFound},
		{"no name", wire.OperatorRef{}, 0, wire.RefusedMalformed},
		{"a name too long", wire.OperatorRef{Name: strings.Repeat("x", w.m.limits.OperatorNameBytes+1)}, 0, wire.RefusedMalformed},
		{"a fold too long", wire.OperatorRef{Name: "x", Fold: strings.Repeat("x", w.m.limits.OperatorNameBytes+1)}, 0, wire.RefusedMalformed},
		{"a new one of a name that one has", anew, 1, 0},
		{"another of the name", another, 3, 0},
		{"a name that two have", folded("Acme Inc"), 0, wire.RefusedAmbiguous},
		{"which one is told by its slot", wire.OperatorRef{Slot: 1}, 1, 0},
		{"a new one of a name that two have", anew, 4, 0},
	} {
		slot, refused := w.enter(c.ref)
		require.Equal(t, c.refused, refused, c.says)
		require.Equal(t, c.slot, slot, c.says)
	}
	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		first, count := m.OperatorsNamed("Acme Inc")
		require.Equal(t, []int{1, 3}, []int{int(first), count})
		require.Equal(t, []engine.OperatorSlot{1, 2, 3, 4}, m.OperatorsLike("acme"))
	}
	limits := *w.m.limits
	limits.Operators = 4
	w.m.limits = &limits
	_, refused := w.enter(folded("Fifth"))
	require.Equal(t, wire.RefusedFull, refused)
}

// TestWalletsOfAnOperatorFit: Apply, too, takes no more wallets than an operator may have, and
// one leaves with the last agent that has it.
func TestWalletsOfAnOperatorFit(t *testing.T) {
	w := newWorld(t)
	limits := *w.m.limits
	limits.OperatorWallets = 2
	w.m.limits = &limits
	wallet := func(of string, matched bool) agentOption {
		return func(p *engine.AgentProfile) { p.OperatorWallet, p.WalletMatched = of, matched }
	}
	wallets := func() []engine.OperatorWallet { return (*w.m.registry.operatorProfiles.At(1)).Wallets }
	first, _ := w.register("a", wallet("0xAB", true))
	w.register("b", wallet("0xCD", false))
	w.register("c", wallet("0xCD", false))
	_, refused := w.register("d", wallet("0xEF", false))
	require.Equal(t, wire.RefusedFull, refused.Refusal)
	require.Equal(t, []engine.OperatorWallet{{Wallet: "0xAB", Matched: true, Agents: 1}, {Wallet: "0xCD", Agents: 2}}, wallets())
	require.EqualValues(t, 3, (*w.m.registry.operatorProfiles.At(1)).Rev, "a count is not judged")
	reissue := func(of string) wire.Result {
		profile := **w.m.registry.profiles.At(uint64(first))
		profile.OperatorWallet, profile.WalletMatched = of, false
		return w.do(wire.KindReissue, &wire.Reissue{Agent: first, Profile: profile, BaseRev: profile.Rev, Operator: wire.OperatorRef{Slot: 1}, List: w.m.settings.ListVersion})
	}
	require.Equal(t, wire.RefusedFull, reissue("0xEF").Refusal)
	require.Equal(t, wire.Applied, reissue("0xAB").Code)
	require.Equal(t, []engine.OperatorWallet{{Wallet: "0xAB", Agents: 1}, {Wallet: "0xCD", Agents: 2}}, wallets(), "the newest answer of the list counts")
	require.Equal(t, wire.Applied, reissue("").Code)
	require.Equal(t, []engine.OperatorWallet{{Wallet: "0xCD", Agents: 2}}, wallets())
	require.Equal(t, wallets(), (*restoredFrom(t, w.m).registry.operatorProfiles.At(1)).Wallets)
}

// TestTaxNumbersOfAnOperatorCount: an operator's agents with a listed tax number are counted, in a
// snapshot too; one that goes to another operator goes on to count for the one before.
func TestTaxNumbersOfAnOperatorCount(t *testing.T) {
	w := newWorld(t)
	tax := func(matched bool) agentOption {
		return func(p *engine.AgentProfile) { p.EINSealed, p.TaxMatched = []byte("sealed"), matched }
	}
	operator := func(slot uint64) *engine.OperatorProfile { return *w.m.registry.operatorProfiles.At(slot) }
	first, _ := w.register("a", tax(true))
	second, _ := w.register("b", tax(false))
	require.EqualValues(t, 1, operator(1).TaxMatched)
	rev := operator(1).Rev
	w.register("c", tax(true))
	require.EqualValues(t, 2, operator(1).TaxMatched)
	require.Equal(t, rev, operator(1).Rev, "how many there are is not judged")
	hit := wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(second), Entries: []uint32{7}, Listed: true, Tax: true}
	for range 2 { // What is known already changes nothing.
		w.retro(wire.RetroBegin, wire.RetroRun{List: w.m.settings.ListVersion, Asked: true})
		run := *w.m.settings.Retro
		run.Agent = uint32(second) + 1
		require.NotEqual(t, wire.Refused, w.retro(wire.RetroAdvance, run, hit).Code)
		w.retro(wire.RetroEnd, run)
	}
	require.EqualValues(t, 3, operator(1).TaxMatched)
	require.True(t, (*w.m.registry.profiles.At(uint64(second))).TaxMatched)
	reissue := func(agent engine.AgentSlot, ref wire.OperatorRef, matched bool) {
		profile := **w.m.registry.profiles.At(uint64(agent))
		profile.TaxMatched = matched
		r := w.do(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: ref, List: w.m.settings.ListVersion})
		require.Equal(t, wire.Applied, r.Code)
	}
	reissue(second, wire.OperatorRef{Slot: 1}, false)
	require.EqualValues(t, 2, operator(1).TaxMatched)
	slot, _ := w.enter(named("Globex Ltd"))
	reissue(first, wire.OperatorRef{Slot: slot}, true)
	require.EqualValues(t, 2, operator(1).TaxMatched)
	require.EqualValues(t, 1, operator(uint64(slot)).TaxMatched)
	require.Equal(t, operator(1), *restoredFrom(t, w.m).registry.operatorProfiles.At(1))
}

// TestAFlagMakesNoOperator: a transfer that names its new operator by name makes none, and a
// re-issue ends it for any operator of that name, but for nobody else.
func TestAFlagMakesNoOperator(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a")
	tenant := w.key("acme inc", wire.RoleOperator)
	institution := w.key("", wire.RoleOperator)
	before := w.m.registry.operators.Len()
	flag := func(ref wire.OperatorRef) wire.Result {
		return w.do(wire.KindOwnership, &wire.Ownership{Common: tenant, Agent: agent, Operator: ref})
	}
	require.Equal(t, wire.RefusedMalformed, flag(wire.OperatorRef{}).Refusal)
	require.Equal(t, wire.RefusedNotFound, flag(wire.OperatorRef{Slot: 99}).Refusal)
	require.Equal(t, wire.Applied, flag(named("Globex Ltd")).Code)
	require.Equal(t, before, w.m.registry.operators.Len(), "a flag makes no operator")
	reissue := func(ref wire.OperatorRef) wire.Result {
		profile := **w.m.registry.profiles.At(uint64(agent))
		return w.do(wire.KindReissue, &wire.Reissue{Common: institution, Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: ref, List: w.m.settings.ListVersion})
	}
	require.Equal(t, wire.RefusedTransfer, reissue(named("Other Ltd")).Refusal)
	require.Equal(t, wire.RefusedTransfer, reissue(wire.OperatorRef{Slot: 1}).Refusal)
	require.Equal(t, wire.RefusedTransfer, reissue(wire.OperatorRef{Slot: 99}).Refusal)
	slot, _ := w.enter(named("Globex Ltd"))
	require.Equal(t, wire.Applied, reissue(wire.OperatorRef{Slot: slot}).Code)
	require.Equal(t, engine.OwnershipTransfer{}, (*w.m.registry.profiles.At(uint64(agent))).OwnershipTransfer)
}

// TestARefusedOperatorKeepsTheProposal: a key that two persons make for an operator is refused
// before the second person's word counts, so the proposal stays.
func TestARefusedOperatorKeepsTheProposal(t *testing.T) {
	w := bank(t)
	put := &wire.APIKeyPut{Common: w.by(adminAda), Op: wire.KeyCreate, Operator: named("Twin Ltd"), Key: wire.APIKey{
		ID: "twin", Prefix: "n", Hashes: key32(77), Roles: wire.RoleScreener,
	}}
	proposal := w.proposed(w.do(wire.KindAPIKey, put))
	require.Zero(t, w.m.registry.operators.Len(), "a proposal makes no operator")
	another := named("Twin Ltd")
	another.Another = true
	for range 2 {
		_, refused := w.enter(another)
		require.Zero(t, refused)
	}
	for range 2 {
		require.Equal(t, wire.RefusedAmbiguous, w.confirm(adminAlan, proposal).Refusal)
	}
	_, open := w.m.rulebook.desk.proposalNamed(proposal)
	require.True(t, open)
}

// TestAnOperatorOwnsItsKeys: the owner of a key is the operator's id, which nobody writes into
// a key himself.
func TestAnOperatorOwnsItsKeys(t *testing.T) {
	w := newWorld(t)
	w.register("a")
	put := func(owner string, ref wire.OperatorRef, roles uint16) wire.Result {
		n := byte(len(w.m.settings.Keys))
		return w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Operator: ref, Key: wire.APIKey{ID: string('a' + rune(n)), Owner: owner, Hashes: key32(50 + n), Roles: roles}})
	}
	id := w.m.registry.operatorID(1)
	require.Equal(t, wire.Applied, put("", named("acme inc"), wire.RoleScreener).Code)
	require.Equal(t, id, w.m.settings.Keys[0].Owner)
	require.Contains(t, w.leavesOf("key.created")[0], `"owner":"`+id+`"`)
	require.Equal(t, wire.Applied, put("cal_merchant", wire.OperatorRef{}, wire.RoleScreener).Code)
	for _, refused := range []wire.Result{
		put(id, wire.OperatorRef{}, wire.RoleScreener), put("acme inc", wire.OperatorRef{}, wire.RoleScreener), put("cal_", wire.OperatorRef{}, wire.RoleScreener),
		put("cal_merchant", named("acme inc"), wire.RoleScreener), put("", named("acme inc"), wire.RoleAuditor), put("cal_merchant", wire.OperatorRef{}, wire.RoleAuditor),
	} {
		require.Equal(t, wire.RefusedMalformed, refused.Refusal)
	}
	require.Equal(t, wire.RefusedNotFound, put("", wire.OperatorRef{Slot: 9}, wire.RoleScreener).Refusal)
}
