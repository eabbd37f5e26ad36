package examine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"railguard/fsm/leaf"
)

// Acts counts the acts of a file that one person must not do alone (decision 96).
type Acts struct {
	Two   int // By two different persons.
	Alone int // By one, because nobody else held the role; the leaf says so.
}

// demands is what a policy asks of acts, as far as the leaves of a file show it.
type demands struct {
	known bool // A policy was seen, or the file begins with the log.
	names []string
	every bool // Every review needs two persons.
}

// allActs are the names that the profile "bank" stands for, as far as their leaves show them.
var allActs = []string{"disposition", "policy.widen", "twoPersons", "list.activate", "list.force", "list.rollback", "key.create", "clear", "sar.move"}

// firstActs are demanded until a policy says otherwise.
var firstActs = []string{"list.force", "list.rollback", "twoPersons"}

// readDemands reads what a policy document asks for.
func readDemands(document json.RawMessage) demands {
	var said struct {
		TwoPersons json.RawMessage
		Review     struct{ FourEyes json.RawMessage }
	}
	d := demands{known: json.Unmarshal(document, &said) == nil, names: firstActs}
	if len(said.TwoPersons) > 0 && json.Unmarshal(said.TwoPersons, &d.names) != nil {
		d.names = allActs // A word: the profile.
	}
	eyes := len(said.Review.FourEyes) > 0
	d.every = eyes && strings.TrimSpace(string(said.Review.FourEyes)) == "{}" || !eyes && slices.Contains(d.names, "disposition")
	if len(d.names) > 0 || eyes {
		d.names = append(slices.Clone(d.names), "twoPersons")
	}
	return d
}

// actLeaf is what a leaf says of an act.
type actLeaf struct {
	Kind, To                   string
	TwoPersons, Persons        []string
	ProposedLeaf               uint64
	Alone                      bool
	Rollback, Forced, Uploaded bool
	Widened                    []string
	Policy                     json.RawMessage
	ProposedBy                 string
}

// demandedOf returns the names under which the policy demanded two persons for a leaf's act, as
// far as the leaf itself shows it.
func (d *demands) demandedOf(l *actLeaf) (names []string) {
	note := func(is bool, name string) {
		if is && d.known && slices.Contains(d.names, name) {
			names = append(names, name)
		}
	}
	switch l.Kind {
	case "list.activated":
		note(l.Rollback, "list.rollback")
		note(l.Forced && !l.Rollback, "list.force")
		note(l.Uploaded, "list.activate")
	case "key.created":
		note(true, "key.create")
	case "cleared.added":
		note(true, "clear")
	case "policy.activated":
		note(len(l.Widened) > 0, "policy.widen")
		note(slices.Contains(l.Widened, "twoPersons") || slices.Contains(l.Widened, "review.fourEyes"), "twoPersons")
	case leaf.KindSARMoved:
		note(l.To == "FILED" || l.To == "CLOSED", "sar.move")
	case leaf.KindDispositioned:
		note(d.every, "disposition")
	}
	return names
}

// checkPersons checks that the act of a record was done by as many persons as its leaf and the
// policy of the file demand.
func (x *examiner) checkPersons(r *Record) error {
	if leaf.FormOf(r.stored) != leaf.FormEvent {
		return nil
	}
	var l actLeaf
	if err := json.Unmarshal(r.Raw, &l); err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrFormat, r.Index, err)
	}
	if r.Index == 0 {
		x.demands = demands{known: true, names: firstActs}
	}
	if l.Kind == leaf.KindProposed || l.Kind == leaf.KindActProposed {
		x.proposed[r.Index] = l.ProposedBy
		return nil
	}
	for _, name := range x.demands.demandedOf(&l) {
		if !slices.Contains(l.TwoPersons, name) {
			return fmt.Errorf("%w: record %d (%s) was done by one person: the policy in force demands two for %s", ErrProof, r.Index, l.Kind, name)
		}
	}
	if l.Kind == "policy.activated" {
		x.demands = readDemands(l.Policy)
	}
	if len(l.TwoPersons) == 0 || strings.HasPrefix(l.Kind, "act.") || l.Kind == leaf.KindWithdrawn || l.Kind == leaf.KindDue || l.Kind == leaf.KindAlertOpened {
		return nil
	}
	return x.countPersons(r, &l)
}

// countPersons counts an act for which its own leaf says that two persons were demanded.
func (x *examiner) countPersons(r *Record, l *actLeaf) error {
	same := len(l.Persons) == 2 && samePerson(l.Persons[0], l.Persons[1])
	switch {
	case l.Alone && len(l.Persons) == 1:
		x.Acts.Alone++
		return nil
	case l.Alone || len(l.Persons) != 2 || same || slices.Contains(l.Persons, "machine"):
		return fmt.Errorf("%w: record %d (%s) names no two different persons: %q", ErrProof, r.Index, l.Kind, l.Persons)
	case l.ProposedLeaf == 0 || l.ProposedLeaf >= r.Index:
		return fmt.Errorf("%w: record %d (%s) names no proposal before it", ErrProof, r.Index, l.Kind)
	}
	if by, seen := x.proposed[l.ProposedLeaf]; seen && by != l.Persons[0] {
		return fmt.Errorf("%w: record %d (%s) was proposed by %s, and says %s", ErrProof, r.Index, l.Kind, by, l.Persons[0])
	} else if !seen && x.Kind == "export" && !x.Selection() && l.ProposedLeaf >= x.First {
		return fmt.Errorf("%w: record %d (%s) confirms leaf %d, which is no proposal", ErrProof, r.Index, l.Kind, l.ProposedLeaf)
	}
	x.Acts.Two++
	return nil
}

// samePerson compares two subjects once more, without trusting that the log compared them.
func samePerson(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}
