package edge

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Delegation is the request for a new delegate.
type Delegation struct {
	Registration
	now     engine.Time
	expires engine.Time      // The expiry asked for; 0: as late as allowed.
	name    string           // The operator's name in the body; "": none was sent. If it is sent, it must be the parent's.
	token   credentialClaims // Claims of parentToken; kind 0: none was sent.
	Parent  engine.AgentSlot
}

// Read reads the body of a new delegate and finds its parent.
func (in *Delegation) Read(j *Judge, f *strictjson.Fields) error {
	in.now = j.LogTime()
	in.Profile.AgentName = f.RequiredName("agentName")
	in.name = f.Name("operatorLegalName")
	in.readAgentType(f, false)
	in.Profile.Purpose = f.Text("purpose", engine.TextMax)
	in.readCommon(f, in.now)
	in.expires, _ = f.Instant("expiresAt")
	if in.expires != 0 && in.expires <= in.now {
		f.Invalid("expiresAt", "must be in the future")
	}
	parent := f.Text("parentAgentId", engine.FieldMax)
	token := f.Text("parentToken", engine.TokenMax+engine.FieldMax)
	if f.Get("parentAgentId") == nil && f.Get("parentToken") == nil {
		f.Missing("parentAgentId")
	}
	if err := f.Err(); err != nil {
		return err
	}
	var err error
	in.Parent, err = in.findParent(j, f, parent, token)
	return err
}

// findParent finds the parent by id, by its token, or by both when they agree.
func (in *Delegation) findParent(j *Judge, f *strictjson.Fields, id, token string) (engine.AgentSlot, error) {
	var slot engine.AgentSlot
	if f.Get("parentToken") != nil {
		claims, state, err := j.Claims(token)
		if err != nil {
			return 0, err
		}
		if state != engine.TokenGood || claims.kind != kindAgent {
			return 0, InvalidField("parentToken", "is not an agent credential of this service")
		}
		slot, in.token = engine.AgentSlot(claims.slot), claims
	}
	if f.Get("parentAgentId") == nil {
		return slot, nil
	}
	profile, err := j.KnownAgent(id)
	if err != nil {
		return 0, err
	}
	if slot != 0 && slot != profile.Slot {
		return 0, InvalidField("parentToken", "belongs to another agent than parentAgentId")
	}
	return profile.Slot, nil
}

// Build judges the delegate against its parent as this node knows it. The record's basis has
// the revisions of the chain. If a parent changed meanwhile, the record is stale and is judged
// again.
func (in *Delegation) Build(j *Judge) (any, error) {
	parent, err := j.KnownAgent(j.Terms.AgentID(in.Parent))
	if err != nil {
		return nil, MarkChangeable(err)
	}
	if parent.Depth >= engine.DepthMax {
		return nil, Refuse("delegation_depth_exceeded", "delegation goes at most three levels deep")
	}
	if in.name != "" && engine.LegalText(in.name) != engine.LegalText(parent.OperatorLegalName) {
		return nil, Refuse("operator_mismatch", "a delegate's operator is its parent's: leave operatorLegalName out, or say that one")
	}
	chain, err := j.chainOf(parent)
	if err != nil {
		return nil, err
	}
	if err := in.checkToken(j, parent); err != nil {
		return nil, MarkChangeable(err)
	}
	child := Registration{Profile: in.Profile, operator: wire.OperatorRef{Slot: parent.Operator}}
	p := &child.Profile
	granted, wider := engine.Narrow(grantOf(chain), in.askedGrant())
	if len(wider) > 0 {
		return nil, MarkChangeable(refuseWidening(wider))
	}
	wanted := max(j.Terms.Policy().EffectivePossession(j.OperatorID(parent.Operator), chain), p.Settings.Possession)
	if err := demandKey(p, wanted); err != nil {
		return nil, err
	}
	p.Parent, p.Type = parent.Slot, granted.Type
	p.PolicyJSON, p.Policy = inheritPolicy(in.Profile.PolicyJSON, &in.Profile.Policy, &granted.Policy), granted.Policy
	p.OperatorLegalName, p.OperatorWallet = parent.OperatorLegalName, parent.OperatorWallet
	p.EINSealed, p.EINMasked = parent.EINSealed, parent.EINMasked
	body, err := child.Register(j)
	if err != nil {
		return nil, err
	}
	record := body.(*wire.Register)
	record.ExpiresAt = in.expires
	j.foldChain(&record.Basis, chain)
	record.Fragment = append(record.Fragment, `,"effectivePolicy":`...)
	record.Fragment = granted.Policy.AppendJSON(record.Fragment)
	return record, nil
}

// demandKey refuses a delegate without a key of its own where proofs are required: it inherits none, and its
// calls would all be refused.
func demandKey(p *engine.AgentProfile, wanted engine.Possession) error {
	if len(p.PublicKey) > 0 || wanted != engine.PossessionRequired {
		return nil
	}
	return MarkChangeable(&Refusal{Code: "policy_widening", Param: "publicKey",
		Message: "publicKey is required: calls of this delegate must prove a key of its own, and it inherits none",
	})
}

// checkToken refuses a parent's token that is expired, revoked or superseded. If the parent is
// named by id, the log refuses an expired one.
func (in *Delegation) checkToken(j *Judge, parent *engine.AgentProfile) error {
	if in.token.kind == 0 {
		return nil
	}
	var state strictjson.Members
	if status := engine.CredentialStatus(engine.Active, in.token.expires, in.now, j.Terms.Settings.KeyRevoked(in.token.kid)); status != engine.Active {
		state.Text("credentialStatus", status.String())
		return Conflict("parent_not_active", "the parent's token is past its time", state)
	}
	if in.token.version == parent.CredentialVersion {
		return nil
	}
	view, err := j.View()
	if err != nil {
		return err
	}
	row, profile, known := view.Agent(parent.Slot)
	if known && !engine.Superseded(in.token.version, row.MinVersion, profile.CredentialVersion, row.OverlapUntil, view.Time) {
		return nil
	}
	state.Text("credentialStatus", engine.Revoked.String())
	return Conflict("parent_not_active", "the parent's token was superseded", state)
}

// askedGrant returns the grant that the body asks for.
func (in *Delegation) askedGrant() *engine.Grant {
	p := &in.Profile
	return &engine.Grant{
		Policy: p.Policy, Type: p.Type, ExpiresAt: in.expires, Hours: p.Settings.Hours,
		Whitelist: p.Settings.Whitelist, PartyTypes: p.Settings.PartyTypes,
	}
}

// grantOf returns what a parent can give: the effective policy of its chain, for each setting the
// one that is nearest to the parent, the party types that all allow, and the earliest expiry.
func grantOf(chain []*engine.AgentProfile) *engine.Grant {
	grant := &engine.Grant{Policy: engine.EffectivePolicy(chain), Type: chain[0].Type, ExpiresAt: chain[0].ExpiresAt}
	for _, p := range slices.Backward(chain) {
		if p.Settings.Hours != nil {
			grant.Hours = p.Settings.Hours
		}
		if p.Settings.Whitelist != nil && p.Settings.Whitelist.Enforce {
			grant.Whitelist = p.Settings.Whitelist
		}
		if mask := p.Settings.PartyTypes; mask != 0 && grant.PartyTypes != 0 {
			grant.PartyTypes &= mask
		} else if mask != 0 {
			grant.PartyTypes = mask
		}
		grant.ExpiresAt = min(grant.ExpiresAt, p.ExpiresAt)
	}
	return grant
}

// refuseWidening names every field in which a child asked for more than its parent has.
func refuseWidening(wider []engine.Widening) *Refusal {
	return refuseWider(wider, "is wider than the parent's")
}

// checkCaps refuses limits that an operator's key may not give: those above the institution's caps.
func (j *Judge) checkCaps(policy *engine.SpendPolicy, institution *engine.Policy) error {
	if j.call.Caller.Institution() {
		return nil
	}
	if wider := policy.AboveCaps(institution); len(wider) > 0 {
		return MarkChangeable(refuseWider(wider, "is above the cap of operators' own settings (policy, operators.caps)"))
	}
	return nil
}

func refuseWider(wider []engine.Widening, message string) *Refusal {
	e := Refuse("policy_widening", wider[0].Param+" "+message)
	e.Param = wider[0].Param
	for _, w := range wider {
		var extra strictjson.Members
		extra.Raw("parent", []byte(w.Parent))
		extra.Raw("requested", []byte(w.Requested))
		e.Details = append(e.Details, strictjson.Finding{Param: w.Param, Message: message, Extra: extra})
	}
	return e
}

// inheritPolicy completes a child's spendPolicy document: first its own members as sent, in
// their order, then the inherited members that it left out.
func inheritPolicy(own []byte, asked, granted *engine.SpendPolicy) []byte {
	rest := *granted
	if asked.MaxSingle != engine.NoLimit {
		rest.MaxSingle = engine.NoLimit
	}
	if asked.DailyLimit != engine.NoLimit {
		rest.DailyLimit = engine.NoLimit
	}
	rest.ChainsSet = rest.ChainsSet && !asked.ChainsSet
	rest.RailsSet = rest.RailsSet && !asked.RailsSet
	rest.ScreenSet = rest.ScreenSet && !asked.ScreenSet
	rest.NoMixerSet = rest.NoMixerSet && !asked.NoMixerSet
	inherited := rest.AppendJSON(nil)
	switch {
	case len(own) <= len("{}") && len(inherited) <= len("{}"):
		return own
	case len(own) <= len("{}"):
		return inherited
	case len(inherited) <= len("{}"):
		return own
	}
	document := append(slices.Clone(own[:len(own)-1]), ',')
	return append(document, inherited[1:]...)
}
