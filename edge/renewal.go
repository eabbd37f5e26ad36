package edge

import (
	"bytes"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Reissue is the body of a re-issue.
type Reissue struct {
	Registration
	has struct{ name, operator, wallet, ein, purpose, policy, model, framework, key, overlap bool }

	slot          engine.AgentSlot
	overlap       engine.Time
	reason, actor string
}

// Read reads the body of a re-issue within the caller's scope. current is the agent's profile.
func (in *Reissue) Read(j *Judge, f *strictjson.Fields, current *engine.AgentProfile) error {
	in.slot, in.overlap = current.Slot, engine.OverlapDefault
	given := func(name string) bool { return f.Get(name) != nil }
	in.has.name, in.has.operator, in.has.wallet = given("agentName"), given("operatorLegalName") || given("operatorId"), given("operatorWallet")
	in.has.ein, in.has.purpose, in.has.policy = given("operatorEIN"), given("purpose"), given("spendPolicy")
	in.has.model, in.has.framework = given("underlyingModel"), given("agentFramework")
	in.has.key, in.has.overlap = f.Has("publicKey"), given("overlapHours") // null takes the key away.
	in.Profile.PublicKey = readPublicKey(f)
	if in.has.name {
		in.Profile.AgentName = f.RequiredName("agentName")
	}
	if given("operatorLegalName") {
		in.Profile.OperatorLegalName = f.RequiredName("operatorLegalName")
	}
	in.readOperator(f)
	if current.Parent != 0 && (in.has.operator || in.has.wallet || in.has.ein) {
		f.Invalid("operatorLegalName", "of a delegate is its parent's: re-issue the root")
	}
	in.Profile.Purpose = f.Text("purpose", engine.TextMax)
	in.Profile.AgentFramework, in.Profile.Model = f.Text("agentFramework", engine.FieldMax), f.Text("underlyingModel", engine.FieldMax)
	in.Profile.PolicyJSON, in.Profile.Policy = readSpendPolicy(f, "spendPolicy")
	if hours, ok := f.Integer("overlapHours", 0, int64(engine.OverlapMax/engine.Hour)); ok {
		in.overlap = engine.Time(hours) * engine.Hour
	}
	in.reason, in.actor = f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	if in.has.operator {
		var err error
		if in.operator, err = j.NamedOperator(in.operatorID, in.Profile.OperatorLegalName, false); err != nil {
			return err
		}
	}
	return in.sealEIN(j)
}

// Build makes the whole new profile from the current revision.
func (in *Reissue) Build(j *Judge) (any, error) {
	old, err := j.agentProfile(in.slot)
	if err != nil {
		return nil, err
	}
	next := *old
	if err := in.applyChanges(j, &next, old); err != nil {
		return nil, err
	}
	if err := in.checkPolicy(j, j.Terms.Policy(), old, &next); err != nil {
		return nil, err
	}
	wanted, err := in.keepsKey(j, old, &next)
	if err != nil {
		return nil, err
	}
	if err := j.canSign(j.Terms.trialCredential(&next)); err != nil {
		return nil, err
	}
	found, err := j.screenOperator(&next)
	if err != nil {
		return nil, err
	}
	if refused := found.refusedBy(j.Terms.Policy()); refused != nil {
		refused.Note = j.attemptNote(&next, &in.operator, &found)
		return nil, refused
	}
	if err := j.keepsListed(old, &next); err != nil {
		return nil, err
	}
	if err := j.keepsListedTax(old, &next); err != nil {
		return nil, err
	}
	if err := j.walletFits(&in.operator, next.OperatorWallet); err != nil {
		return nil, err
	}
	next.WalletMatched, next.NameMatched, next.TaxMatched = found.walletMatched, found.NameMatched, found.taxMatched
	plain, err := in.isPlain(j, old, &next)
	if err != nil {
		return nil, err
	}
	overlap := in.overlap
	if !in.has.overlap && !bytes.Equal(old.PublicKey, next.PublicKey) {
		overlap = 0 // Whoever changes the key may have lost the old one.
	}
	record := &wire.Reissue{
		Agent: in.slot, Profile: next, BaseRev: old.Rev, Operator: in.operator,
		List: j.Terms.Settings.ListVersion, Plain: plain, Overlap: overlap,
	}
	var m strictjson.Members
	writeProfile(&m, &next)
	found.writeFindings(&m, record.List)
	m.Bool("plain", plain)
	m.TextOrNull("reason", in.reason)
	m.TextOrNull("actor", in.actor)
	if next.Parent != 0 {
		m.Raw("effectivePolicy", next.Policy.AppendJSON(nil))
	}
	above, err := VelocityAbove(j, &next)
	if err != nil {
		return nil, err
	}
	advice := append(in.giveAdvice(j.Terms.Policy(), &next), WriteEffectiveVelocity(&m, next.Settings.Velocity, above...)...)
	advice = append(advice, keyAdvice(next.PublicKey, wanted)...)
	m.List("warnings", append(found.Warnings(), advice...))
	j.WriteSimilar(&m, &in.operator)
	record.Common, err = j.Recorded(m)
	return record, err
}

// keepsKey refuses to take the key from an agent whose calls must be proven: all of them would be refused.
// Where they need not be, one without a key is no weaker than one that proves nothing.
// It returns what is wanted of the agent's calls.
func (in *Reissue) keepsKey(j *Judge, old, next *engine.AgentProfile) (engine.Possession, error) {
	wanted, err := j.possessionOf(next, j.operatorMeant(&in.operator))
	if err != nil || wanted != engine.PossessionRequired || len(old.PublicKey) == 0 || len(next.PublicKey) > 0 {
		return wanted, err
	}
	return wanted, MarkChangeable(&Refusal{Code: "policy_widening", Param: "publicKey",
		Message: "publicKey cannot be taken away: calls of this agent must prove a key. Give it another one",
	})
}

// checkPolicy refuses a policy that lets through what the institution stopped, unless an officer of
// the institution gives it, and one that an operator's key may not give at all.
func (in *Reissue) checkPolicy(j *Judge, institution *engine.Policy, old, next *engine.AgentProfile) error {
	if old.PolicyInstitutions && next.Policy.Widens(&old.Policy) && !j.call.Caller.Officer() {
		return MarkChangeable(LacksRole(wire.RolePolicy,
			"the institution set this spend policy: only a key of the institution with the role policy widens it"))
	}
	if !in.has.policy {
		return nil
	}
	return j.checkCaps(&next.Policy, institution)
}

// applyChanges applies the body's changes to the profile. The new baseline of the model is the
// one given, else the one reported last (decision 38).
func (in *Reissue) applyChanges(j *Judge, next, old *engine.AgentProfile) error {
	if in.has.name {
		next.AgentName = in.Profile.AgentName
	}
	if in.has.purpose {
		next.Purpose = in.Profile.Purpose
	}
	if in.has.framework {
		next.AgentFramework = in.Profile.AgentFramework
	}
	next.Model = CurrentModel(old)
	if in.has.model {
		next.Model = in.Profile.Model
	}
	next.Settings.CurrentModel = ""
	if in.has.operator {
		if j.operatorMeant(&in.operator) != old.Operator {
			next.OperatorWallet, next.EINSealed, next.EINMasked = "", nil, "" // These values belonged to the old operator.
		}
		if next.OperatorLegalName = in.Profile.OperatorLegalName; next.OperatorLegalName == "" {
			operator, err := j.operatorProfile(in.operator.Slot)
			if err != nil {
				return err
			}
			next.OperatorLegalName = operator.LegalName
		}
	} else {
		in.operator = wire.OperatorRef{Slot: old.Operator}
	}
	if in.has.wallet {
		next.OperatorWallet = in.Profile.OperatorWallet
	}
	if in.has.ein {
		next.EINSealed, next.EINMasked = in.Profile.EINSealed, in.Profile.EINMasked
	}
	if in.has.key {
		next.PublicKey = in.Profile.PublicKey
	}
	if in.has.policy {
		next.PolicyJSON, next.Policy = in.Profile.PolicyJSON, in.Profile.Policy
	}
	if old.Parent == 0 {
		return nil
	}
	return in.narrowPolicy(j, next)
}

// narrowPolicy judges a delegate's new policy against its parent's of today. It also takes over
// the parent's operator, which may have changed since.
func (in *Reissue) narrowPolicy(j *Judge, next *engine.AgentProfile) error {
	parent, err := j.agentProfile(next.Parent)
	if err != nil {
		return err
	}
	chain, err := j.chainOf(parent)
	if err != nil {
		return err
	}
	asked := engine.Grant{Policy: engine.NoSpendPolicy(), Type: next.Type}
	var own []byte
	if in.has.policy {
		asked.Policy, own = in.Profile.Policy, in.Profile.PolicyJSON
	}
	granted, wider := engine.Narrow(grantOf(chain), &asked)
	if len(wider) > 0 {
		return MarkChangeable(refuseWidening(wider))
	}
	if in.has.policy {
		next.PolicyJSON, next.Policy = inheritPolicy(own, &asked.Policy, &granted.Policy), granted.Policy
	}
	in.operator = wire.OperatorRef{Slot: parent.Operator}
	next.OperatorLegalName, next.OperatorWallet = parent.OperatorLegalName, parent.OperatorWallet
	next.EINSealed, next.EINMasked = parent.EINSealed, parent.EINMasked
	return nil
}

// keepsListed refuses to take a wallet from an agent's operator that was listed at issuance or
// is listed now, unless an officer does it.
func (j *Judge) keepsListed(old, next *engine.AgentProfile) error {
	if old.OperatorWallet == "" || engine.CanonicalWallet(old.OperatorWallet) == engine.CanonicalWallet(next.OperatorWallet) || j.call.Caller.Officer() {
		return nil
	}
	listed := old.WalletMatched
	if !listed {
		list, err := j.ActiveList()
		if err != nil {
			return err
		}
		match, found := list.WalletAt(old.OperatorWallet, int64(j.LogTime()))
		listed = found && match.Blocks()
	}
	if listed {
		return MarkChangeable(Refuse("forbidden",
			"the operator's wallet is on the sanctions list, or was at issuance: another takes a key of the institution with the role policy"))
	}
	return nil
}

// keepsListedTax refuses to take a tax number from an agent that is listed, or was when it was
// registered, unless an officer does it.
func (j *Judge) keepsListedTax(old, next *engine.AgentProfile) error {
	if len(old.EINSealed) == 0 || bytes.Equal(old.EINSealed, next.EINSealed) || j.call.Caller.Officer() {
		return nil
	}
	listed := old.TaxMatched
	if !listed {
		var err error
		if _, listed, err = j.listedTax(old.EINSealed); err != nil {
			return err
		}
	}
	if !listed {
		return nil
	}
	if same, err := j.isSameEIN(old.EINSealed, next.EINSealed); err != nil || same {
		return err
	}
	return MarkChangeable(Refuse("forbidden",
		"the operator's tax number is on the sanctions list, or was: another takes a key of the institution with the role policy"))
}

// isSameEIN reports whether two sealed tax numbers are one. An empty one is nobody's.
func (j *Judge) isSameEIN(a, b []byte) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return false, nil
	}
	first, err := j.openEIN(a)
	if err != nil {
		return false, err
	}
	second, err := j.openEIN(b)
	return first == second, err
}

// isPlain reports whether the re-issue is a mere renewal: operator, wallet, policy, model, name
// and EIN stay the same.
func (in *Reissue) isPlain(j *Judge, old, next *engine.AgentProfile) (bool, error) {
	same := j.operatorMeant(&in.operator) == old.Operator &&
		old.OperatorLegalName == next.OperatorLegalName && old.AgentName == next.AgentName &&
		engine.CanonicalWallet(old.OperatorWallet) == engine.CanonicalWallet(next.OperatorWallet) &&
		old.Policy == next.Policy && engine.SameModel(old.Model, next.Model)
	if !same || !in.has.ein {
		return same, nil
	}
	if len(old.EINSealed) == 0 {
		return true, nil // A first EIN is an addition to the operator's data, not a change.
	}
	return j.isSameEIN(old.EINSealed, next.EINSealed)
}
