package edge

import (
	"errors"
	"fmt"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/ofac"
	"railguard/strictjson"
)

// Explain and replay (decision 49). Both work from the record alone: its inputs, its evidence
// and the list whose digest it names.

// rebuilt is a recorded decision with its inputs.
type rebuilt struct {
	ladder
	retrace.Case
	list     *ofac.Index
	listGone string // Why the record's list cannot be asked again; "": it can.
}

// Explain writes the ladder of a screening record as it was judged.
func (j *Judge) Explain(l *Leaf, m *strictjson.Members) error {
	x, err := j.rebuildDecision(l)
	if err != nil {
		return err
	}
	x.decision, x.mask = x.Recorded, x.Record.StaticMask|x.Recorded.Triggered|x.Recorded.Shadow
	l.CopyTo(m, "txnId", "verdict", "rule", "reason", "screenedAt", "ruleSet", "policyVersion", "listVersion", "credentialStatus", "matches")
	j.shared.Parties(l, m)
	x.writeRungs(m)
	return nil
}

// Replay judges a screening record again from its own content, and writes whether the result is
// the same.
func (j *Judge) Replay(l *Leaf, m *strictjson.Members) error {
	x, err := j.rebuildDecision(l)
	if err != nil {
		return err
	}
	looker := lookers.Get().(*engine.Looker)
	defer lookers.Put(looker)
	outcome := x.Judge(looker, x.list, x.Policy)
	x.decision, x.mask = outcome.Decision, outcome.Mask
	m.Text("txnId", l.Text("txnId"))
	var diff []strictjson.Members
	note := func(field, recorded, replayed string) {
		if recorded != replayed {
			var item strictjson.Members
			item.Text("field", field)
			item.Text("recorded", recorded)
			item.Text("replayed", replayed)
			diff = append(diff, item)
		}
	}
	note("verdict", l.Text("verdict"), x.decision.Verdict.String())
	note("rule", l.Text("rule"), x.decision.Code())
	note("reason", l.Text("reason"), x.reason(true))
	note("triggered", x.codeList(x.Recorded.Triggered), x.codeList(x.decision.Triggered))
	note("shadow", x.codeList(x.Recorded.Shadow), x.codeList(x.decision.Shadow))
	for _, d := range x.Contradictions() {
		note(d.Field, d.Recorded, d.Again)
	}
	m.Bool("match", len(diff) == 0)
	m.Object("recorded", decisionMembers(x.rules, l.Text("verdict"), l.Text("rule"), l.Text("reason"), &x.Recorded))
	m.Object("replayed", decisionMembers(x.rules, x.decision.Verdict.String(), x.decision.Code(), x.reason(true), &x.decision))
	m.List("diff", diff)
	assumed := []string{}
	for _, id := range outcome.Assumed {
		assumed = append(assumed, id.Code())
	}
	m.Texts("assumed", assumed)
	m.Text("listDigest", l.Text("listDigest"))
	m.Uint("matcherVersion", uint64(x.Record.Matcher))
	m.TextOrNull("listUnavailable", x.listGone)
	return nil
}

func (x *rebuilt) codeList(mask uint32) string {
	text := ""
	for _, code := range x.rules.Codes(mask) {
		text += code + " "
	}
	return text
}

func decisionMembers(rules *engine.RuleSet, verdict, rule, reason string, d *engine.Decision) strictjson.Members {
	var m strictjson.Members
	m.Text("verdict", verdict)
	m.TextOrNull("rule", rule)
	m.Text("reason", reason)
	m.Texts("triggered", rules.Codes(d.Triggered))
	m.Texts("shadow", rules.Codes(d.Shadow))
	return m
}

// rebuildDecision reads a recorded decision, and its inputs as far as the record holds them.
func (j *Judge) rebuildDecision(l *Leaf) (*rebuilt, error) {
	if l.Record == nil {
		return nil, fmt.Errorf("leaf %d: %w", l.Index, leaf.ErrForm)
	}
	x := new(rebuilt)
	x.Open(l.Record)
	if x.Rules == nil {
		return nil, fmt.Errorf("leaf %d: %w", l.Index, leaf.ErrRuleSet)
	}
	x.rules, x.leftOut = x.Rules, x.Record.LeftOut()
	x.facts = &x.Facts
	if x.Known {
		x.known, x.moment = true, &x.Moment
		x.openList(j)
	}
	return x, nil
}

// openList finds the list that the record names, with the tables of the matcher version that
// judged it. With another version the same name may have another answer, and the replay would
// differ although nothing was wrong.
func (x *rebuilt) openList(j *Judge) {
	if x.Record.ListDigest == [32]byte{} {
		x.listGone = "the record names no list"
		return
	}
	list, err := j.shared.deps.Published.ListAs(x.Record.ListDigest, x.Record.Matcher)
	switch {
	case errors.Is(err, ofac.ErrMatcherVersion):
		x.listGone = fmt.Sprintf("judged with matcher version %d, which this binary does not carry", x.Record.Matcher)
	case err != nil || list == nil:
		x.listGone = "no node that answers holds the list any more"
	default:
		x.list = list
	}
}
