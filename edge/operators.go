package edge

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// The tenant is an operator's id. A legal name only finds the operator that is meant, by the
// same text and where one operator has it. The fold that finds sanctioned people (FoldName)
// decides nothing here: it lists operators whose names are alike, for a person to look at.

// FoldName returns a name as the names of listed parties are compared; "" means that it has
// neither letters nor digits.
func FoldName(name string) string { return ofac.NormaliseName(name) }

// newOperator as an operatorId makes another operator, whoever has the legal name already.
const newOperator = "new"

// similarMax is how many similar operators an answer names.
const similarMax = 10

// OperatorID returns the id of an operator, "" for slot 0.
func (t *Terms) OperatorID(slot engine.OperatorSlot) string {
	if slot == 0 {
		return ""
	}
	return t.IDs.OperatorID(uint32(slot))
}

// ParseOperator reads an operator's id, as ParseAgent does.
func (t *Terms) ParseOperator(text string) (engine.OperatorSlot, bool) {
	slot, ok := t.IDs.ParseOperator(text)
	return engine.OperatorSlot(slot), ok
}

// OperatorID returns the id of an operator, "" for slot 0.
func (j *Judge) OperatorID(slot engine.OperatorSlot) string { return j.Terms.OperatorID(slot) }

// ParseOperator reads an operator's id.
func (j *Judge) ParseOperator(text string) (engine.OperatorSlot, bool) {
	return j.Terms.ParseOperator(text)
}

// OperatorFilter returns the filter key that finds the leaves of an operator.
func (j *Judge) OperatorFilter(slot engine.OperatorSlot) uint64 {
	return engine.FilterKey(engine.FilterOperator, j.OperatorID(slot))
}

// Covers reports whether an operator is within the scope of the call's API key.
func (j *Judge) Covers(slot engine.OperatorSlot) bool { return j.Terms.Covers(j.call.Caller, slot) }

// Covers reports whether an operator is within the caller's scope. Slot 0 is no operator: only
// the institution knows whose it is.
func (t *Terms) Covers(k *Caller, slot engine.OperatorSlot) bool {
	return k.Institution() || slot != 0 && k.OwnerOperator() == t.OperatorID(slot)
}

// deps returns what this node gives its judges.
func (j *Judge) deps() *Deps { return &j.shared.deps }

// operatorProfile returns a profile as agentProfile does.
func (j *Judge) operatorProfile(slot engine.OperatorSlot) (*engine.OperatorProfile, error) {
	if profile := j.deps().Published.Operator(slot); profile != nil {
		return profile, nil
	}
	if err := j.CatchUp(); err != nil {
		return nil, err
	}
	return j.deps().Published.Operator(slot), nil
}

// KnownOperator returns the operator of an id, or of a legal name that one operator has, within
// the key's scope.
func (j *Judge) KnownOperator(text string) (*engine.OperatorProfile, error) {
	missing := NotFound("no such operator")
	slot, byID := j.ParseOperator(text)
	if !byID {
		var err error
		if slot, err = j.operatorNamed(text); err != nil {
			return nil, err
		}
	}
	if slot == 0 || !j.Covers(slot) {
		return nil, missing
	}
	profile, err := j.operatorProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || !byID && profile.LegalName != engine.LegalText(text) {
		return nil, missing
	}
	return profile, nil
}

// operatorNamed returns the operator that a legal name may mean; 0: none. A key of an operator
// can only mean its own, and what others are called is not looked up for it.
func (j *Judge) operatorNamed(text string) (slot engine.OperatorSlot, err error) {
	if caller := j.call.Caller; !caller.Institution() {
		slot, _ = j.ParseOperator(caller.OwnerOperator())
		return slot, nil
	}
	records, name := j.deps().Records, engine.LegalText(text)
	slot, count := records.OperatorsNamed(name)
	if count == 0 {
		if err = j.CatchUp(); err != nil {
			return 0, err
		}
		slot, count = records.OperatorsNamed(name)
	}
	if count > 1 {
		return 0, AmbiguousOperator()
	}
	return slot, nil
}

// AmbiguousOperator returns the refusal of a legal name that several operators have.
func AmbiguousOperator() *Refusal {
	return Refuse("operator_ambiguous", "several operators have this legal name: say operatorId")
}

// NamedOperator returns the operator that a call names by id, by legal name, or by both when
// they agree; "" means that it was not sent. A key of an operator always means its own.
// anew allows a new operator of a name that several have.
func (j *Judge) NamedOperator(id, name string, anew bool) (wire.OperatorRef, error) {
	caller := j.call.Caller
	if caller.Institution() && id == newOperator && name != "" {
		return wire.OperatorRef{Name: engine.LegalText(name), Fold: FoldName(name), Another: true}, nil
	}
	if caller.Institution() && id == "" {
		return wire.OperatorRef{Name: engine.LegalText(name), Fold: FoldName(name), New: anew}, nil
	}
	if !caller.Institution() {
		if own := caller.OwnerOperator(); own == "" || id != "" && id != own {
			return wire.OperatorRef{}, ForeignOperator()
		}
		id = caller.OwnerOperator()
	}
	slot, ok := j.ParseOperator(id)
	if !ok {
		return wire.OperatorRef{}, InvalidField("operatorId", "is no operator's id")
	}
	profile, err := j.operatorProfile(slot)
	switch {
	case err != nil:
		return wire.OperatorRef{}, err
	case profile == nil:
		return wire.OperatorRef{}, MarkChangeable(NotFound("no such operator"))
	case name != "" && engine.LegalText(name) != profile.LegalName && !caller.Institution():
		return wire.OperatorRef{}, ForeignOperator()
	case name != "" && engine.LegalText(name) != profile.LegalName:
		return wire.OperatorRef{}, Refuse("operator_mismatch", "operatorLegalName is not the name of this operatorId")
	}
	return wire.OperatorRef{Slot: slot}, nil
}

// IDOrName reads an operator's id, or a legal name as NamedOperator does.
func (j *Judge) IDOrName(text string) (wire.OperatorRef, error) {
	if _, ok := j.ParseOperator(text); ok {
		return j.NamedOperator(text, "", false)
	}
	return j.NamedOperator("", text, false)
}

// FutureOperator is NamedOperator for the operator that an agent goes to, which a key of an
// operator may also name: it is another one.
func (j *Judge) FutureOperator(id, name string) (wire.OperatorRef, error) {
	if id == "" {
		return wire.OperatorRef{Name: engine.LegalText(name), Fold: FoldName(name)}, nil
	}
	slot, ok := j.ParseOperator(id)
	if !ok {
		return wire.OperatorRef{}, InvalidField("newOperatorId", "is no operator's id")
	}
	profile, err := j.operatorProfile(slot)
	if err == nil && (profile == nil || name != "" && profile.LegalName != engine.LegalText(name)) {
		err = InvalidField("newOperatorId", "is no operator of this name")
	}
	return wire.OperatorRef{Slot: slot}, err
}

// walletFits refuses one more wallet for an operator that has as many as it may have.
func (j *Judge) walletFits(ref *wire.OperatorRef, wallet string) error {
	slot := j.operatorMeant(ref)
	if slot == 0 || wallet == "" {
		return nil
	}
	profile, err := j.operatorProfile(slot)
	if err != nil || profile == nil || len(profile.Wallets) < engine.OperatorWalletsMax {
		return err
	}
	if slices.ContainsFunc(profile.Wallets, func(w engine.OperatorWallet) bool { return w.Wallet == wallet }) {
		return nil
	}
	return MarkChangeable(Refuse("limit_reached", "the operator has as many wallets as it may have"))
}

// operatorMeant returns the operator that a reference means as this node knows it; 0: a new one.
func (j *Judge) operatorMeant(ref *wire.OperatorRef) engine.OperatorSlot {
	if ref.Slot != 0 || ref.Another {
		return ref.Slot
	}
	slot, count := j.deps().Records.OperatorsNamed(ref.Name)
	if count != 1 {
		return 0
	}
	return slot
}

// WriteSimilar names the operators whose names are alike when a reference makes a new one.
func (j *Judge) WriteSimilar(m *strictjson.Members, ref *wire.OperatorRef) {
	if j.operatorMeant(ref) != 0 {
		return
	}
	var items []strictjson.Members
	for _, slot := range j.deps().Records.OperatorsLike(ref.Fold) {
		if profile := j.deps().Published.Operator(slot); profile != nil && len(items) < similarMax {
			var item strictjson.Members
			item.Text("operatorId", j.OperatorID(slot))
			item.Text("operatorLegalName", profile.LegalName)
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		m.List("similarOperators", items)
	}
}
