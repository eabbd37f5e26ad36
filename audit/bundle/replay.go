package bundle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"railguard/edge/recorded"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/ofac"
)

// Replay counts the outcomes of deciding again.
type Replay struct {
	Same           int            `json:"same"`       // Decisions that came out as recorded.
	NoEvidence     int            `json:"noEvidence"` // Calls without a usable credential, whose records hold nothing to decide from.
	NoMatcher      int            `json:"noMatcher"`  // Calls decided by a matcher that this program lacks: the outcome of the list's rules is taken from the record.
	Assumed        map[string]int `json:"assumed"`    // By rule: decisions that took the rule's outcome from the record, which lacks the facts to decide it.
	Different      []string       `json:"different"`  // The first decisions that came out differently.
	DifferentCount int            `json:"differentCount"`

	// Of payments that were confirmed or redeemed. What else is said above is of them too.
	Confirmations Confirmations `json:"confirmations"`
}

// Confirmations counts the outcomes of judging again, once more, payments that were confirmed or
// redeemed.
type Confirmations struct {
	Same       int `json:"same"`
	NoEvidence int `json:"noEvidence"` // As of decisions.
	NoPayment  int `json:"noPayment"`  // Those whose payment's own record is not in the bundle: it stands before it.
}

// open says in words what was not judged again.
func (c *Confirmations) open() (open []string) {
	if c.NoEvidence > 0 {
		open = append(open, fmt.Sprintf("%d confirmations and redemptions cannot be judged again: without a usable credential nothing was judged, and credentials are not kept", c.NoEvidence))
	}
	if c.NoPayment > 0 {
		open = append(open, fmt.Sprintf("%d confirmations and redemptions cannot be judged again: the record of their payment is from before this bundle, and is not in it", c.NoPayment))
	}
	if c.Same+c.NoEvidence+c.NoPayment > 0 {
		open = append(open, "whether a payment that was confirmed or redeemed had leave then, and how often: what officers, holds and permits said stands in the records, and is not judged again")
	}
	return open
}

// differencesMax bounds how many different decisions are listed.
const differencesMax = 20

// What became of a decision that was made again.
const (
	Same      = "same"
	Different = "different"
	NotAgain  = "not again" // The record holds nothing to decide from.
)

// Decided is one record of a bundle and, if it is a decision, what became of it.
type Decided struct {
	row
	Outcome       string   `json:"outcome,omitempty"` // "" if the record is no decision.
	AgainVerdict  string   `json:"againVerdict,omitempty"`
	AgainRule     string   `json:"againRule,omitempty"`
	Assumed       []string `json:"assumed,omitempty"` // Rules whose outcome was taken from the record.
	NoMatcher     bool     `json:"noMatcher,omitempty"`
	NoPayment     bool     `json:"noPayment,omitempty"` // Why it is not judged again: its payment's own record is not in the bundle.
	List          string   `json:"list,omitempty"`      // The digest of the list it was made with, in hex.
	ListVersion   uint64   `json:"listVersion,omitempty"`
	PolicyVersion uint64   `json:"policyVersion,omitempty"`
}

// replayer decides the records again, one after the other.
type replayer struct {
	from           Source
	replay         Replay
	current        listKey // The open list. Lists are large, and neighbouring records mostly name the same one, so only one is open.
	index          *ofac.Index
	matcherMissing bool
	looker         *engine.Looker
	at             recorded.Case
}

type listKey struct {
	digest  [32]byte
	matcher uint16
}

// decideAgain makes a decision again and says in d what came of it.
func (p *replayer) decideAgain(x *leafjson.Screen, d *Decided) error {
	p.at.Open(x)
	same, noEvidence := &p.replay.Same, &p.replay.NoEvidence
	if x.Paid != nil {
		same, noEvidence = &p.replay.Confirmations.Same, &p.replay.Confirmations.NoEvidence
	}
	if found := p.at.Contradictions(); len(found) > 0 {
		p.differ(d, x, fmt.Sprintf("%s is recorded as %s, and can only be %s", found[0].Field, found[0].Recorded, found[0].Again))
		d.AgainVerdict, d.AgainRule = x.Verdict.String(), x.Rule.Code()
		return nil
	}
	if d.Outcome = NotAgain; !p.at.Known {
		*noEvidence++
		return nil
	}
	if d.NoPayment = x.Paid != nil && x.Paid.Of == nil; d.NoPayment {
		p.replay.Confirmations.NoPayment++
		return nil
	}
	if err := p.openList(x); err != nil {
		return err
	}
	if d.NoMatcher = p.matcherMissing; p.matcherMissing {
		p.replay.NoMatcher++
	}
	outcome := p.at.Judge(p.looker, p.index, p.at.Policy)
	for _, id := range outcome.Assumed {
		p.replay.Assumed[id.Code()]++
		d.Assumed = append(d.Assumed, id.Code())
	}
	was, is := &p.at.Recorded, &outcome.Decision
	d.Outcome, d.AgainVerdict, d.AgainRule = Same, is.Verdict.String(), is.Code()
	if was.Verdict == is.Verdict && was.Rule == is.Rule && p.at.Rules.FullReason(was.Rule, was.Sub, was.Idle, 0) == p.at.Rules.FullReason(is.Rule, is.Sub, is.Idle, 0) && was.Triggered == is.Triggered && was.Shadow == is.Shadow {
		*same++
		return nil
	}
	p.differ(d, x, fmt.Sprintf("recorded %s %s, decided again %s %s", was.Verdict, was.Code(), is.Verdict, is.Code()))
	return nil
}

// differ notes a decision that came out otherwise.
func (p *replayer) differ(d *Decided, x *leafjson.Screen, how string) {
	d.Outcome = Different
	if p.replay.DifferentCount++; len(p.replay.Different) < differencesMax {
		p.replay.Different = append(p.replay.Different, fmt.Sprintf("%s (leaf %d): %s", x.TxnID(), x.Leaf, how))
	}
}

// openList reads and compiles the list that a record names, unless it is the current one.
func (p *replayer) openList(x *leafjson.Screen) error {
	key := listKey{x.ListDigest, x.Matcher}
	if key == p.current {
		return nil
	}
	p.current, p.index, p.matcherMissing = key, nil, false
	if key.digest == [32]byte{} {
		return nil
	}
	name := ListFolder + "/" + hex.EncodeToString(key.digest[:]) + ListSuffix
	encoded, err := readFile(p.from, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileError(name, "is missing")
	}
	if err != nil {
		return fileError(name, "%w", err)
	}
	if ofac.Digest(encoded) != key.digest {
		return fileError(name, "is not the list that the records name")
	}
	index, err := ofac.Compile(encoded, key.matcher)
	if errors.Is(err, ofac.ErrMatcherVersion) {
		p.matcherMissing = true
		return nil
	}
	if err != nil {
		return fileError(name, "%w", err)
	}
	p.index = index
	return nil
}
