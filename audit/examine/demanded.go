package examine

import (
	"encoding/json"
	"fmt"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// The names of the members of leaves with what persons signed: whoever did or proposed the act, and
// who confirmed it.
const (
	signedMember = "passkey"
	secondMember = "secondPasskey"
)

// unsignedNamed is how many unsigned acts an error names.
const unsignedNamed = 10

// checkDemandedSignature holds an act against the policy in force: where that demands a passkey of
// whoever did, proposed or confirmed it, the leaf must have what was signed.
func (x *examiner) checkDemandedSignature(r *Record, l *actLeaf) {
	kind, signed := l.Kind, l.Passkey
	switch {
	case kind == leaf.KindProposed:
		kind = leaf.KindDispositioned
	case kind == leaf.KindActProposed:
		kind = l.Act
	case l.ConfirmedByKey != "":
		signed = l.SecondPasskey
	}
	names, perhaps := x.persons.signedNames(kind, l)
	if names|perhaps == 0 {
		return
	}
	if l.ProposedLeaf != 0 {
		names |= engine.ActSecond
	}
	demanded := kind == "policy.activated" && x.persons.bringsPasskeys(l)
	open := true
	if policy := x.persons.policy; policy != nil {
		demanded, open = demanded || policy.Passkeys&names != 0, policy.Passkeys&perhaps != 0
	}
	switch {
	case demanded && len(signed) == 0:
		x.Signed.Demanded++
		if x.Signed.Lacking++; len(x.unsigned) < unsignedNamed {
			x.unsigned = append(x.unsigned, r.Index)
		}
	case demanded:
		x.Signed.Demanded++
	case open && len(signed) == 0:
		x.Signed.Open++
	}
}

// bringsPasskeys tells whether a policy that comes in force demands passkeys. Whoever brings such a
// policy has signed it himself.
func (p *persons) bringsPasskeys(l *actLeaf) bool {
	next, _ := readPolicy(l.Policy)
	return next != nil && next.Passkeys != 0
}

// signedNames returns what the act of a leaf is called in the policy's passkeys, and what it may be
// called besides, which the leaf does not say; neither: it is no such act.
func (p *persons) signedNames(kind string, l *actLeaf) (names, perhaps engine.Acts) {
	for _, name := range l.TwoPersons {
		names |= engine.ParseAct(name)
	}
	note := func(is bool, name engine.Acts) {
		if is {
			names |= name
		}
	}
	switch kind {
	case "policy.activated":
		names |= engine.ActPolicy
		note(len(l.Widened) > 0, engine.ActPolicyWiden)
		if next, _ := readPolicy(l.Policy); next != nil && p.policy != nil {
			found := engine.ActsOf(p.policy, next)
			names, perhaps = names|found&^engine.ActPolicyWiden, found // Releases differ in what is wider.
		}
	case "policy.whitelist":
		names |= engine.ActPolicy
		note(len(l.Widened) > 0, engine.ActPolicyWiden)
	case "list.activated":
		note(l.Rollback, engine.ActListRollback)
		note(!l.Rollback && (l.Forced || len(l.Problems) > 0), engine.ActListForce)
		note(l.Uploaded, engine.ActListActivate)
		if l.Kind == leaf.KindActProposed { // A proposal does not say where the list came from.
			perhaps = engine.ActListActivate
		}
	case "key.rotated":
		anothers, sure := p.renewsAnothers(l)
		note(anothers, engine.ActKeyCreate)
		if !sure {
			perhaps = engine.ActKeyCreate
		}
	default:
		if signedAs[kind] == 0 { // A withdrawal and an alert tell of names too, and are no acts.
			return 0, 0
		}
		names |= signedAs[kind]
	}
	return names, perhaps &^ names
}

// signedAs are the names of acts that have one, whatever they do.
var signedAs = map[string]engine.Acts{
	leaf.KindDispositioned: engine.ActDisposition, "key.created": engine.ActKeyCreate, "key.reinstated": engine.ActKeyCreate, leaf.KindPersonEnded: engine.ActPersonEnd,
	"cleared.added": engine.ActClear, leaf.KindTimeConfirmed: engine.ActTime, leaf.KindSARMoved: engine.ActSARMove, leaf.KindSanctionsMoved: engine.ActSanctionsClose,
}

// renewsAnothers tells whether a renewed key is somebody else's than the caller's: that is called
// key.create. sure is false if the file does not show whom the two keys name.
func (p *persons) renewsAnothers(l *actLeaf) (anothers, sure bool) {
	if l.KeyID == l.ActorKeyID || l.Owner != "" {
		return false, true
	}
	if l.ActorKeyID == "" { // The machine.
		return true, true
	}
	whose, seen := p.keys[l.KeyID]
	by, seenBy := p.keys[l.ActorKeyID]
	return seen && seenBy && (whose == "" || !samePerson(whose, by)), seen && seenBy
}

// refuseUnsigned refuses a file in which a demanded signature lacks.
func (x *examiner) refuseUnsigned() error {
	if x.Signed.Lacking == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d act(s) of which the policy in force demanded a signature with a passkey have none: record(s) %d", ErrProof, x.Signed.Lacking, x.Signed.Demanded, x.unsigned)
}

// signedByActor holds the person of a statement against the persons whom the leaf names: what is
// signed twice was signed by whoever proposed it, and by whoever confirmed it.
func signedByActor(l map[string]json.RawMessage, member string, statement []byte) error {
	var who []string
	raw := l["persons"]
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &who); err != nil || len(who) == 0 {
		return err
	}
	var said struct{ Subject string }
	if err := json.Unmarshal(statement, &said); err != nil {
		return err
	}
	actor := who[len(who)-1]
	if member == signedMember && l["confirmedByKey"] != nil {
		actor = who[0]
	}
	if said.Subject != actor {
		return fmt.Errorf("the statement is %s's, and %s acted", said.Subject, actor)
	}
	return nil
}
