package edge

import (
	"fmt"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// The ladder lists all rules in order of precedence, with their inputs and outcomes. Explain
// makes it from a record; a dry run makes it from the present state.

// ladder holds everything that a decision was made from.
type ladder struct {
	rules    *engine.RuleSet
	facts    *engine.Facts
	moment   *engine.Moment // nil: the live rules were not judged.
	decision engine.Decision
	leftOut  uint32 // Of a payment that was judged again: the rules that were not.
	mask     uint32 // Rules that fired, before modes apply.
	known    bool   // facts are set; otherwise only outcomes are known.
}

// The outcomes of one rung.
const (
	rungDecided   = "decided"
	rungTriggered = "triggered"
	rungShadow    = "shadow"
	rungOff       = "off"
	rungPassed    = "passed"
	rungUnjudged  = "notJudged"
)

func (x *ladder) outcomeOf(rule *engine.Rule) string {
	bit := uint32(1) << rule.ID
	switch {
	case x.decision.Rule == rule.ID:
		return rungDecided
	case x.decision.Verdict == engine.Unknown:
		return rungUnjudged // R1 excludes all other rules.
	case x.decision.Triggered&bit != 0:
		return rungTriggered
	case x.decision.Shadow&bit != 0:
		return rungShadow
	case x.mask&bit != 0:
		return rungOff
	}
	return rungPassed
}

// writeRungs adds the rungs.
func (x *ladder) writeRungs(m *strictjson.Members) {
	rungs := make([]strictjson.Members, len(x.rules.Rules))
	for i := range x.rules.Rules {
		rule := &x.rules.Rules[i]
		r := &rungs[i]
		r.Text("rule", rule.Code)
		r.Int("number", int64(rule.ID))
		r.Text("verdict", rule.Verdict.String())
		outcome := x.outcomeOf(rule)
		r.Text("outcome", outcome)
		if outcome == rungDecided {
			r.Text("reason", x.reason(true))
		}
		r.Text("trigger", rule.Trigger)
		if x.known {
			if values := comparedMembers(rule.Compared(x.facts, x.moment)); len(values) > 0 {
				r.Object("values", values)
			}
		}
	}
	m.List("ladder", rungs)
}

// comparedMembers returns what a rule looked at as JSON.
func comparedMembers(compared []engine.Compared) (m strictjson.Members) {
	for _, one := range compared {
		switch value := one.Value.(type) {
		case nil:
			m.Null(one.Name)
		case string:
			m.TextOrNull(one.Name, value)
		case bool:
			m.Bool(one.Name, value)
		case int:
			m.Int(one.Name, int64(value))
		case engine.USD:
			m.USD(one.Name, value)
		case engine.Time:
			m.Time(one.Name, value)
		case []string:
			m.Texts(one.Name, value)
		case []engine.Compared:
			m.Object(one.Name, comparedMembers(value))
		case [][]engine.Compared:
			items := make([]strictjson.Members, len(value))
			for i := range value {
				items[i] = comparedMembers(value[i])
			}
			m.List(one.Name, items)
		default:
			panic(fmt.Sprintf("BUG: a rule compares a %T", value))
		}
	}
	return m
}

// reason returns the text of the decision. Only those behind the wall are told in full.
func (x *ladder) reason(full bool) string {
	d := &x.decision
	if full {
		return engine.NameList(x.rules.FullReason(d.Rule, d.Sub, d.Idle, x.leftOut), x.facts.NamedList(d.Rule, d.Sub))
	}
	return engine.NameList(x.rules.Reason(d.Rule, d.Sub, d.Idle), x.facts.NamedList(d.Rule, d.Sub))
}

// DryRun judges the request like Screen and writes the result, without a record, a debit or a
// transaction id. It judges live rules on a frozen view, so the result is a forecast. The view
// holds no structuring counts, so R25 fires only for a payment reference that was used.
func (j *Judge) DryRun(m *strictjson.Members) error {
	looker, list, moment, err := j.judgeForecast()
	if err != nil {
		return err
	}
	defer lookers.Put(looker)
	j.noteProbe()
	s := &j.screen
	x := &ladder{rules: j.Terms.Settings.Rules(), facts: &s.facts, moment: moment, known: s.facts.Token == engine.TokenGood}
	if moment != nil {
		live := x.rules.JudgeLive(moment)
		s.hits.Merge(&live)
	}
	x.decision, x.mask = x.rules.Decide(&s.hits, j.Terms.Policy()), s.hits.Mask
	m.Bool("dryRun", true)
	m.Text("verdict", x.decision.Verdict.String())
	m.TextOrNull("rule", x.decision.Code())
	m.Text("reason", x.reason(j.call.Caller.SeesAll()))
	if !j.call.Caller.May(wire.RolePolicy | wire.RoleReviewer) {
		writeForecast(m, j, &x.decision)
		return nil
	}
	j.writeParties(m)
	m.Text("ofacSource", ListSource(j.Terms.Settings.List))
	m.Text("ruleSet", x.rules.Name)
	m.Uint("policyVersion", j.Terms.Policy().Version)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	m.Texts("triggered", x.rules.Codes(x.decision.Triggered))
	m.Texts("shadow", x.rules.Codes(x.decision.Shadow))
	j.writeMatches(m, list)
	s.writeMatchedParties(m, list)
	x.writeRungs(m)
	if warnings := s.warnings(); len(warnings) > 0 {
		m.List("warnings", warnings)
	}
	m.Texts("notSimulated", []string{engine.RuleStructuring.Code()})
	return nil
}

// writeForecast writes the rest of a dry run for a caller that may only screen: no more than
// the call itself would reveal.
func writeForecast(m *strictjson.Members, j *Judge, d *engine.Decision) {
	f := &j.screen.facts
	if f.ChainSize > 0 {
		m.Text("agentId", j.Terms.AgentID(f.AgentSlot()))
		if d.Verdict == engine.Proceed || d.Verdict == engine.Review {
			m.Text("agentName", f.Chain[0].AgentName)
			m.Text("operatorLegalName", f.Chain[0].OperatorLegalName)
		}
	}
	m.Text("ruleSet", j.Terms.Settings.Rules().Name)
	m.Uint("policyVersion", j.Terms.Policy().Version)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	if warnings := j.screen.warnings(); len(warnings) > 0 {
		m.List("warnings", warnings)
	}
}

// judgeForecast judges the static rules and reads the moment for the live ones from a view with
// the same basis, as Apply would. If the credential is not good (R1), the moment is nil. The
// matches in the facts are part of the looker's memory; the caller gives the looker back.
func (j *Judge) judgeForecast() (*engine.Looker, *ofac.Index, *engine.Moment, error) {
	s := &j.screen
	for try := 0; ; try++ {
		list, err := j.ActiveList()
		if err != nil {
			return nil, nil, nil, err
		}
		if err := j.gatherFacts(list); err != nil {
			return nil, nil, nil, err
		}
		if err := j.checkScope(); err != nil {
			return nil, nil, nil, err
		}
		if err := j.endedByClocks(); err != nil {
			return nil, nil, nil, err
		}
		if err := j.prove(possession.ActDryRun); err != nil {
			return nil, nil, nil, err
		}
		j.lookUpCleared(list)
		looker, err := j.lookUp(func() { s.hits = judgeStatic(j) })
		if err != nil {
			return nil, nil, nil, err
		}
		j.noteLapse()
		moment, index, err := j.forecastMoment()
		if err == nil && index == 0 {
			return looker, list, moment, nil
		}
		lookers.Put(looker)
		if err == nil {
			err = j.Again(try, index)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
}

// forecastMoment returns what the live rules would see of the judged call; nil without a good
// credential. index is not 0 if the call was judged on an older state than that of the log at
// that index.
func (j *Judge) forecastMoment() (moment *engine.Moment, index uint64, err error) {
	s := &j.screen
	if s.facts.Token != engine.TokenGood {
		return nil, 0, nil
	}
	view, err := j.View()
	if err != nil {
		return nil, 0, err
	}
	moment, ok := view.Moment(s.facts.Now, &s.record, &s.hits)
	if !ok {
		return nil, view.Index, nil
	}
	_, moment.Duplicate, err = j.referenceUsed(referenceKey(j.call.Caller.Owner, s.reference))
	return moment, 0, err
}
