package examine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// Acts counts the acts of a file that one person must not do alone (decision 96).
type Acts struct {
	Two   int `json:"two"`     // By two different persons.
	Alone int `json:"alone"`   // By one, because nobody else held the role; the leaf says so.
	Open  int `json:"unknown"` // By one, as far as the file shows: see Report.NotShown.
}

// persons is what the leaves that were read say of acts: what the policy demands, what waits
// for a second person, and on what the demand for a disposition or a report depends. It is
// derived from those leaves alone, and not from what the leaf of an act says of itself.
type persons struct {
	policy   *engine.Policy       // What is in force at the leaf that is read; nil: the file does not show it.
	partly   bool                 // Only what the policy demands of persons could be read.
	proposed map[uint64]string    // Who proposed, by the proposal's leaf.
	reviews  map[uint64]*reviewed // By the leaf of the record under review.
	keys     map[string]string    // Whom an API key names, by its id; "": nobody.
}

type reviewed struct {
	known  bool // The record stands in the file.
	amount engine.USD
	rules  uint32 // All that it triggered: bit n is rule Rn.
	two    bool   // Two persons escalated it.
}

func (p *persons) review(at uint64) *reviewed {
	if p.reviews[at] == nil {
		p.reviews[at] = new(reviewed)
	}
	return p.reviews[at]
}

// actLeaf is what a leaf says of an act.
type actLeaf struct {
	Kind, To, Disposition      string
	TwoPersons, Persons        []string
	ProposedLeaf, ReviewedLeaf uint64
	Alone                      bool
	Rollback, Forced, Uploaded bool
	Widened                    []string
	Policy                     json.RawMessage
	ProposedBy                 string

	Act, KeyID, ActorKeyID, Owner, Person, ConfirmedByKey string
	Problems                                              []string
	Passkey, SecondPasskey                                json.RawMessage
}

// readPolicy returns the policy of a document; nil: it cannot be read. Of a document with
// members of another release it reads partly: those members alone on which demands depend.
func readPolicy(document json.RawMessage) (policy *engine.Policy, partly bool) {
	if policy, wrong := engine.ParsePolicy(document, 0, engine.NewestRules); len(wrong) == 0 {
		return policy, false
	}
	var said struct {
		TwoPersons json.RawMessage `json:"twoPersons,omitempty"`
		Review     struct {
			FourEyes json.RawMessage `json:"fourEyes,omitempty"`
		} `json:"review"`
		Holds struct {
			OnExpiry json.RawMessage `json:"onExpiry,omitempty"`
		} `json:"holds"`
		Passkeys json.RawMessage `json:"passkeys,omitempty"`
	}
	if json.Unmarshal(document, &said) != nil {
		return nil, false
	}
	short, err := json.Marshal(said)
	if err != nil {
		return nil, false
	}
	policy, wrong := engine.ParsePolicy(short, 0, engine.NewestRules)
	if len(wrong) > 0 {
		return nil, false
	}
	return policy, true
}

// demandedOf returns the names under which the policy in force demands two persons for an act;
// sure is false if the file does not show whether it does.
func (p *persons) demandedOf(l *actLeaf) (demanded engine.Acts, sure bool) {
	var names, always engine.Acts
	note := func(is bool, name engine.Acts) {
		if is {
			names |= name
		}
	}
	switch l.Kind {
	case "list.activated":
		note(l.Rollback, engine.ActListRollback)
		note(l.Forced && !l.Rollback, engine.ActListForce)
		note(l.Uploaded, engine.ActListActivate)
	case "key.created", "key.reinstated":
		names = engine.ActKeyCreate
	case leaf.KindPersonEnded:
		names = engine.ActPersonEnd
	case "cleared.added":
		names = engine.ActClear
	case leaf.KindTimeConfirmed:
		always = engine.ActTime
	case "policy.activated":
		return p.demandedOfPolicy(l)
	case "policy.whitelist":
		note(len(l.Widened) > 0, engine.ActPolicyWiden)
	case leaf.KindSARMoved:
		if l.To == "FILED" || l.To == "CLOSED" {
			names = engine.ActSARMove
			if l.To == "FILED" || p.review(l.ReviewedLeaf).two {
				always = engine.ActSARMove
			}
		}
	case leaf.KindSanctionsMoved:
		if l.To == "NOT_THE_PARTY" || l.To == "REPORTED" || l.To == "CLOSED" {
			names = engine.ActSanctionsClose
		}
	case leaf.KindDispositioned:
		return p.demandedOfReview(l)
	}
	if p.policy == nil {
		return always, names == always
	}
	return p.policy.Demands(names) | always, true // always is the act's own demand, whatever the policy says.
}

// demandedOfPolicy is demandedOf for a change of the policy, which depends on both policies. In
// what a policy may become wider changes with releases. So where the leaf does not say that it
// became wider, and this program finds that it did, the demand is not sure.
func (p *persons) demandedOfPolicy(l *actLeaf) (demanded engine.Acts, sure bool) {
	var names engine.Acts
	if len(l.Widened) > 0 {
		names = engine.ActPolicyWiden
	}
	always := engine.Acts(0)
	if slices.Contains(l.Widened, "holds.onExpiry") {
		always = engine.ActPolicyWiden
	}
	next, partly := readPolicy(l.Policy)
	if p.policy == nil || next == nil {
		return always, false
	}
	if next.AlwaysTwo(p.policy) {
		always = engine.ActPolicyWiden
	}
	found := engine.ActsOf(p.policy, next)
	demanded = p.policy.Demands(names|found&(engine.ActTwoPersons|engine.ActLicence)) | always
	if partly || p.partly {
		return demanded, true
	}
	return demanded, p.policy.Demands(found)&^demanded == 0
}

// demandedOfReview is demandedOf for a disposition, which depends on the record under review.
func (p *persons) demandedOfReview(l *actLeaf) (demanded engine.Acts, sure bool) {
	if p.policy == nil {
		return 0, false
	}
	most := p.policy.TwoDecide(math.MaxInt64-1, ^uint32(0)) // Of any record.
	least := p.policy.TwoDecide(0, 0)                       // Of every record.
	r := p.review(l.ReviewedLeaf)
	if least || r.known && p.policy.TwoDecide(r.amount, r.rules) {
		return engine.ActDisposition, true
	}
	return 0, r.known || !most
}

// checkPersons checks that the act of a record was done by as many persons as the policy in
// force demands, and that what its leaf says of them is so. The policy is known only in an
// export without gaps.
func (x *examiner) checkPersons(r *Record) error {
	switch leaf.FormOf(r.stored) {
	case leaf.FormProfile:
		profile, err := leaf.DecodeProfile(r.stored)
		if err == nil && profile.Policy != nil && x.seesAll() {
			x.persons.policy, x.persons.partly = profile.Policy, false
		}
		return nil
	case leaf.FormScreen:
		var s leaf.Screen
		if leaf.DecodeScreen(r.stored, &s) == nil && s.Verdict == engine.Review {
			x.persons.reviews[r.Index] = &reviewed{known: true, amount: s.Amount, rules: s.Triggered}
		}
		return nil
	case leaf.FormEvent:
	default:
		return nil
	}
	var l actLeaf
	if err := json.Unmarshal(r.Raw, &l); err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrFormat, r.Index, err)
	}
	if r.Index == 0 && x.seesAll() {
		x.persons.policy, x.persons.partly = engine.DefaultPolicy(), false // A cluster is born with it.
	}
	x.checkDemandedSignature(r, &l)
	if l.Kind == "key.created" {
		x.persons.keys[l.KeyID] = l.Person
	}
	if l.Kind == leaf.KindProposed || l.Kind == leaf.KindActProposed {
		x.persons.proposed[r.Index] = l.ProposedBy
		return nil
	}
	if err := x.checkAct(r, &l); err != nil {
		return err
	}
	if l.Kind == "policy.activated" && x.seesAll() {
		x.persons.policy, x.persons.partly = readPolicy(l.Policy)
	}
	return nil
}

// seesAll reports whether the file has every leaf of its range, so that the newest policy in it
// is the one in force.
func (x *examiner) seesAll() bool { return x.Kind == "export" && !x.Selection() }

func (x *examiner) checkAct(r *Record, l *actLeaf) error {
	demanded, sure := x.persons.demandedOf(l)
	for _, name := range demanded.Names() {
		if !slices.Contains(l.TwoPersons, name) {
			return fmt.Errorf("%w: record %d (%s) was done by one person: the policy in force demands two for %s", ErrProof, r.Index, l.Kind, name)
		}
	}
	switch {
	case strings.HasPrefix(l.Kind, "act.") || l.Kind == leaf.KindWithdrawn || l.Kind == leaf.KindDue || l.Kind == leaf.KindAlertOpened:
		return nil // These tell of acts, and are none.
	case len(l.TwoPersons) > 0:
		return x.countPersons(r, l)
	case !sure:
		x.Acts.Open++
	}
	return nil
}

// countPersons counts an act whose leaf says that two persons were demanded.
func (x *examiner) countPersons(r *Record, l *actLeaf) error {
	same := len(l.Persons) == 2 && samePerson(l.Persons[0], l.Persons[1])
	switch {
	case l.Alone && len(l.Persons) == 1:
		x.Acts.Alone++
		return nil
	case l.Alone || len(l.Persons) != 2 || same || slices.Contains(l.Persons, "machine") || kindOf(l.Persons[0]) != kindOf(l.Persons[1]):
		return fmt.Errorf("%w: record %d (%s) names no two different persons: %q", ErrProof, r.Index, l.Kind, l.Persons)
	case l.ProposedLeaf == 0 || l.ProposedLeaf >= r.Index:
		return fmt.Errorf("%w: record %d (%s) names no proposal before it", ErrProof, r.Index, l.Kind)
	}
	if by, seen := x.persons.proposed[l.ProposedLeaf]; seen && by != l.Persons[0] {
		return fmt.Errorf("%w: record %d (%s) was proposed by %s, and says %s", ErrProof, r.Index, l.Kind, by, l.Persons[0])
	} else if !seen && x.seesAll() && l.ProposedLeaf >= x.First {
		return fmt.Errorf("%w: record %d (%s) confirms leaf %d, which is no proposal", ErrProof, r.Index, l.Kind, l.ProposedLeaf)
	}
	if l.Kind == leaf.KindDispositioned && l.Disposition == leaf.WordEscalateSAR {
		x.persons.review(l.ReviewedLeaf).two = true
	}
	x.Acts.Two++
	return nil
}

// kindOf returns what a subject is: a person, or a key that names nobody.
func kindOf(subject string) string {
	kind, _, _ := strings.Cut(subject, ":")
	return kind
}

// samePerson compares two subjects once more, without trusting that the log compared them.
func samePerson(a, b string) bool { return engine.PersonKey(a) == engine.PersonKey(b) }
