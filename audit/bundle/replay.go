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
	List          string   `json:"list,omitempty"` // The digest of the list it was made with, in hex.
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
	if d.Outcome = NotAgain; !p.at.Known {
		p.replay.NoEvidence++
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
		p.replay.Same++
		return nil
	}
	d.Outcome = Different
	if p.replay.DifferentCount++; len(p.replay.Different) < differencesMax {
		p.replay.Different = append(p.replay.Different, fmt.Sprintf("%s (leaf %d): recorded %s %s, decided again %s %s", x.TxnID(), x.Leaf, was.Verdict, was.Code(), is.Verdict, is.Code()))
	}
	return nil
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
