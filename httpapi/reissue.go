package httpapi

import (
	"bytes"
	"net/http"
	"strings"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
)

// reissueAgent is POST /v1/agents/{id}/reissue (decisions 5.5): a new credential
// version of the same agent. A plain renewal keeps older tokens good for the
// overlap; a change of operator, wallet, policy or model does not.
func reissueAgent(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	in := reissue{overlap: engine.OverlapDefault}
	in.read(c, &f, profile)
	if err := f.Err(); err != nil {
		return err
	}
	if in.has.operator && !c.key.covers(in.profile.OperatorLegalName) {
		return outOfScope()
	}
	if err := in.seal(c); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindReissue, refused: revokedForGood, record: func() (any, error) {
		return in.build(c, profile.Slot)
	}}, nil)
}

// reissue is the body of a re-issue.
type reissue struct {
	registration
	has struct{ name, operator, wallet, ein, purpose, policy, model, framework bool }

	overlap       engine.Time
	reason, actor string
}

func (in *reissue) read(c *call, f *strictjson.Fields, current *engine.AgentProfile) {
	given := func(name string) bool { return f.Get(name) != nil }
	in.has.name, in.has.operator, in.has.wallet = given("agentName"), given("operatorLegalName"), given("operatorWallet")
	in.has.ein, in.has.purpose, in.has.policy = given("operatorEIN"), given("purpose"), given("spendPolicy")
	in.has.model, in.has.framework = given("underlyingModel"), given("agentFramework")
	if in.has.name {
		in.profile.AgentName = f.RequiredName("agentName")
	}
	if in.has.operator {
		in.profile.OperatorLegalName = f.RequiredName("operatorLegalName")
	}
	in.operator(f)
	if current.Parent != 0 && (in.has.operator || in.has.wallet || in.has.ein) {
		f.Invalid("operatorLegalName", "of a delegate is its parent's: re-issue the root")
	}
	in.profile.Purpose = f.Text("purpose", engine.TextMax)
	in.profile.AgentFramework, in.profile.Model = f.Text("agentFramework", engine.FieldMax), f.Text("underlyingModel", engine.FieldMax)
	in.profile.PolicyJSON, in.profile.Policy = readSpendPolicy(f, "spendPolicy")
	if hours, ok := f.Integer("overlapHours", 0, int64(engine.OverlapMax/engine.Hour)); ok {
		in.overlap = engine.Time(hours) * engine.Hour
	}
	in.reason, in.actor = f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
}

// build makes the whole new profile from the current revision.
func (in *reissue) build(c *call, slot engine.AgentSlot) (any, error) {
	old, err := c.agentProfile(slot)
	if err != nil {
		return nil, err
	}
	next := *old
	if err := in.apply(c, &next, old); err != nil {
		return nil, err
	}
	if err := c.canSign(c.trialCredential(&next)); err != nil {
		return nil, err
	}
	found, err := c.screenParty("operator", next.OperatorWallet, next.OperatorLegalName, ofac.PartyUnknown)
	if err != nil {
		return nil, err
	}
	if err := found.refusedBy(c.edge.settings.Policy); err != nil {
		c.refusedOperator(&next, &found)
		return nil, err
	}
	next.WalletMatched, next.NameMatched = found.walletMatched, found.nameMatched
	plain, err := in.plain(c, old, &next)
	if err != nil {
		return nil, err
	}
	record := &wire.Reissue{
		Agent: slot, Profile: next, BaseRev: old.Rev, OperatorKey: operatorKey(next.OperatorLegalName),
		List: c.edge.settings.ListVersion, Plain: plain, Overlap: in.overlap,
	}
	var m strictjson.Members
	writeProfile(&m, &next)
	found.write(&m, record.List)
	m.Bool("plain", plain)
	m.TextOrNull("reason", in.reason)
	m.TextOrNull("actor", in.actor)
	if next.Parent != 0 {
		m.Raw("effectivePolicy", next.Policy.AppendJSON(nil))
	}
	m.List("warnings", append(found.warnings(), in.advice(c, &next)...))
	record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, record.OperatorKey))
	return record, err
}

// apply brings what the body changes into the profile. The new baseline of the
// model is the one given, else the one reported last (decisions 5.8).
func (in *reissue) apply(c *call, next, old *engine.AgentProfile) error {
	if in.has.name {
		next.AgentName = in.profile.AgentName
	}
	if in.has.purpose {
		next.Purpose = in.profile.Purpose
	}
	if in.has.framework {
		next.AgentFramework = in.profile.AgentFramework
	}
	next.Model = currentModel(old)
	if in.has.model {
		next.Model = in.profile.Model
	}
	next.Settings.CurrentModel = ""
	if in.has.operator {
		if operatorKey(in.profile.OperatorLegalName) != operatorKey(old.OperatorLegalName) {
			next.OperatorWallet, next.EINSealed, next.EINMasked = "", nil, "" // They were the old operator's.
		}
		next.OperatorLegalName = in.profile.OperatorLegalName
	}
	if in.has.wallet {
		next.OperatorWallet = in.profile.OperatorWallet
	}
	if in.has.ein {
		next.EINSealed, next.EINMasked = in.profile.EINSealed, in.profile.EINMasked
	}
	if in.has.policy {
		next.PolicyJSON, next.Policy = in.profile.PolicyJSON, in.profile.Policy
	}
	if old.Parent == 0 {
		return nil
	}
	return in.narrow(c, next)
}

// narrow holds a delegate's new policy against its parent's of today, and takes
// over the parent's operator, which may be another one by now.
func (in *reissue) narrow(c *call, next *engine.AgentProfile) error {
	parent, err := c.agentProfile(next.Parent)
	if err != nil {
		return err
	}
	chain, err := c.chainOf(parent)
	if err != nil {
		return err
	}
	asked := engine.Grant{Policy: engine.NoSpendPolicy(), Type: next.Type}
	var own []byte
	if in.has.policy {
		asked.Policy, own = in.profile.Policy, in.profile.PolicyJSON
	}
	granted, wider := engine.Narrow(grantOf(chain), &asked)
	if len(wider) > 0 {
		return judged{widening(wider)}
	}
	if in.has.policy {
		next.PolicyJSON, next.Policy = inherit(own, &asked.Policy, &granted.Policy), granted.Policy
	}
	next.OperatorLegalName, next.OperatorWallet = parent.OperatorLegalName, parent.OperatorWallet
	next.EINSealed, next.EINMasked = parent.EINSealed, parent.EINMasked
	return nil
}

// plain tells a renewal from a change: the same operator, wallet, policy, model
// and name.
func (in *reissue) plain(c *call, old, next *engine.AgentProfile) (bool, error) {
	same := operatorKey(old.OperatorLegalName) == operatorKey(next.OperatorLegalName) &&
		old.OperatorLegalName == next.OperatorLegalName && old.AgentName == next.AgentName &&
		engine.CanonicalWallet(old.OperatorWallet) == engine.CanonicalWallet(next.OperatorWallet) &&
		old.Policy == next.Policy && engine.SameModel(old.Model, next.Model)
	if !same || !in.has.ein {
		return same, nil
	}
	if len(old.EINSealed) == 0 {
		return true, nil // A first EIN adds to the operator's data and changes none.
	}
	before, err := c.api.deps.Secrets.Open(seal.LabelEIN, old.EINSealed)
	if err != nil {
		return false, err
	}
	return bytes.Equal(before, []byte(strings.ReplaceAll(in.ein, "-", ""))), nil
}

// revokedForGood is the answer for a credential that cannot be issued again.
func revokedForGood(r wire.Result) error {
	if r.Refusal != wire.RefusedTransition {
		return nil
	}
	return &Error{
		Status: http.StatusConflict, Code: "invalid_transition", Message: "a revoked credential is not issued again: register anew",
		Extra: statusMember(r),
	}
}
