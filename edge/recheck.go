package edge

import (
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// Recheck screens counterparty, operator and status of a reviewed record again, with the
// present list and state (decision 48, "The recheck at approval"). If they would BLOCK now, the
// approval is still recorded, with a note of that. The present state is the leader's, so that a
// suspension acknowledged by another node counts.
func (j *Judge) Recheck(m *strictjson.Members, l *Leaf) error {
	if err := j.Confirm(); err != nil {
		return err
	}
	decision, err := j.decideNow(l)
	if err != nil || decision.Verdict != engine.Block {
		return err
	}
	var inner strictjson.Members
	inner.Text("verdict", decision.Verdict.String())
	inner.Text("rule", decision.Code())
	inner.Text("reason", decision.reason)
	inner.Uint("listVersion", decision.listVersion)
	m.Object("recheck", inner)
	return nil
}

// presentDecision is what the rules say of a past call now.
type presentDecision struct {
	engine.Decision
	reason      string
	listVersion uint64
}

// decideNow screens a reviewed record with the list and the state that this node has. Limits,
// velocity and the whitelist are not judged again.
func (j *Judge) decideNow(l *Leaf) (presentDecision, error) {
	list, err := j.ActiveList()
	if err != nil {
		return presentDecision{}, err
	}
	if err := j.factsOfRecord(l, list); err != nil {
		return presentDecision{}, err
	}
	f, rules := &j.screen.facts, j.Terms.Settings.Rules()
	var hits engine.Hits
	looker, err := j.lookUp(func() { hits = rules.JudgeStatic(f) })
	if err != nil {
		return presentDecision{}, err
	}
	lookers.Put(looker)
	if err := j.addStatusHits(&hits); err != nil {
		return presentDecision{}, err
	}
	decision := rules.Decide(&hits, f.Policy)
	return presentDecision{decision, engine.NameList(rules.FullReason(decision.Rule, decision.Sub, decision.Idle, 0), f.NamedList(decision.Rule, decision.Sub)), j.Terms.Settings.ListVersion}, nil
}

// factsOfRecord collects the facts of a recorded call as they are today.
func (j *Judge) factsOfRecord(l *Leaf, list *ofac.Index) error {
	s := &j.screen
	s.request, s.context = requestOfRecord(l), contextOfRecord(l)
	s.facts = engine.Facts{
		Request: &s.request, Now: j.shared.deps.Published.LogTime(), Policy: j.Terms.Policy(), List: list,
	}
	s.record, s.agent, s.user = wire.Screen{}, credentialClaims{}, credentialClaims{}
	if slot, ok := userOfRecord(j, l); ok && j.shared.deps.Published.User(slot) != nil {
		s.user = credentialClaims{kind: kindUser, slot: uint32(slot)}
	}
	s.facts.Proven = true // Whether the call was proven cannot change.
	slot, _ := j.Terms.ParseAgent(l.Text("agentId"))
	if err := j.loadParties(slot, 0, 0); err != nil {
		return err
	}
	j.lookUpCleared(list)
	return nil
}

// userOfRecord returns the user that a record names.
func userOfRecord(j *Judge, l *Leaf) (engine.UserSlot, bool) {
	return j.Terms.ParseUser(l.Text("userId"))
}

// requestOfRecord reads the request back from the member _request.
func requestOfRecord(l *Leaf) engine.Request {
	text := func(name string) string { return l.Text("_request", name) }
	request := engine.Request{
		Amount: RecordAmount(l), AmountText: string(l.Raw("_request", "amount")),
		Chain: text("chain"), Rail: text("rail"), Wallet: text("cpWallet"), Name: text("cpName"),
		Type: text("cpType"), Protocol: text("protocol"), Model: text("underlyingModel"), TravelRule: text("travelRuleRef"),
	}
	if request.Model == "" {
		request.Model = text("model")
	}
	request.Payer = text("payerWallet")
	request.Country, request.Region, request.Address = text("cpCountry"), text("cpRegion"), text("cpAddress")
	request.Origin, request.Memo = text("originCountry"), text("memo")
	request.Reference = text("paymentRef")
	_ = request.ReadWallets(l.Raw("_request", "wallets")) // It was read before the record was written; so were the identifiers.
	_ = request.ReadIdentifiers(l.Raw("_request", "cpIdentifiers"))
	readElsewhere(&request, l.Text("walletsElsewhere"))
	return request
}

// contextOfRecord reads back what a recorded call said of the counterparty besides the name.
func contextOfRecord(l *Leaf) ofac.Context {
	return ofac.Context{Country: l.Text("_request", "cpCountry"), BirthDate: l.Text("_request", "cpDateOfBirth"), Address: l.Text("_request", "cpAddress")}
}

// addStatusHits adds the hits of the live rules about status and ownership, read from a frozen
// view.
func (j *Judge) addStatusHits(hits *engine.Hits) error {
	f := &j.screen.facts
	if f.ChainSize == 0 {
		return nil
	}
	view, err := j.shared.deps.Records.View(j.ctx, 0)
	if err != nil {
		return &ReadError{err}
	}
	switch view.Effective(f.Chain[0].Slot) {
	case engine.Revoked:
		hits.Add(engine.RuleCredentialStatus, engine.SubRevoked)
	case engine.Suspended:
		hits.Add(engine.RuleCredentialStatus, engine.SubSuspended)
	case engine.Expired:
		hits.Add(engine.RuleCredentialStatus, engine.SubExpired)
	}
	for i := range f.ChainSize {
		row, _, ok := view.Agent(f.Chain[i].Slot)
		if ok && row.OwnershipFrom != 0 && view.Time >= row.OwnershipFrom {
			hits.Add(engine.RuleOwnership, engine.Sub(min(i, 1))+1)
			break
		}
	}
	return nil
}
