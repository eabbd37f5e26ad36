package edge

import (
	"railguard/engine"
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
	policy   *engine.Policy
	decision engine.Decision
	mask     uint32 // Rules that fired, before modes apply.
	known    bool   // facts and policy are set; otherwise only outcomes are known.

	whitelisted bool // A whitelist was in force.
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
			r.Text("reason", x.reason())
		}
		r.Text("trigger", rule.Trigger)
		if x.known {
			var values strictjson.Members
			x.writeValues(rule.ID, &values)
			if len(values) > 0 {
				r.Object("values", values)
			}
		}
	}
	m.List("ladder", rungs)
}

// writeValues writes what a rule compares.
func (x *ladder) writeValues(id engine.RuleID, m *strictjson.Members) {
	f := x.facts
	switch id {
	case engine.RuleChain:
		m.TextOrNull("chain", f.Request.Chain)
		x.writeAllowed(m, func(p *engine.SpendPolicy) ([]string, bool) {
			return allowedWords([]engine.Chain{engine.ChainETH, engine.ChainBASE, engine.ChainSOL, engine.ChainACH, engine.ChainWIRE, engine.ChainSWIFT}, p.Chains), p.ChainsSet
		})
	case engine.RuleSingleLimit:
		m.USD("amount", f.Request.Amount)
		x.writeLimits(m, func(p *engine.SpendPolicy) engine.USD { return p.MaxSingle })
	case engine.RuleWhitelist:
		m.Bool("whitelistInForce", x.whitelisted)
	case engine.RuleMixer:
		m.TextOrNull("protocol", f.Request.Protocol)
	case engine.RuleModel:
		if f.ChainSize > 0 {
			m.TextOrNull("baseline", f.Chain[0].Model)
			m.TextOrNull("reported", f.Request.Model)
			m.TextOrNull("registered", f.Chain[0].Settings.CurrentModel)
		}
	case engine.RuleRail:
		m.TextOrNull("rail", f.Request.Rail)
		x.writeAllowed(m, func(p *engine.SpendPolicy) ([]string, bool) {
			return allowedWords([]engine.Rail{engine.RailUSDC, engine.RailACH, engine.RailWIRE, engine.RailSWIFT, engine.RailIBAN}, p.Rails), p.RailsSet
		})
	case engine.RuleRailChain:
		m.TextOrNull("chain", f.Request.Chain)
		m.TextOrNull("rail", f.Request.Rail)
	case engine.RulePartyType:
		m.TextOrNull("cpType", f.Request.Type)
	default:
		if x.moment != nil {
			x.writeLiveValues(id, m)
		}
	}
}

func (x *ladder) writeLiveValues(id engine.RuleID, m *strictjson.Members) {
	o := x.moment
	switch id {
	case engine.RuleCredentialStatus:
		if o.LevelCount > 0 {
			m.Text("credentialStatus", engine.EffectiveStatus(o).String())
		}
		m.Int("tokenVersion", int64(o.Version))
		m.Time("tokenExpires", o.Expires)
	case engine.RuleOwnership:
		if o.LevelCount > 0 && o.Levels[0].Row.OwnershipFrom != 0 {
			m.Time("flaggedFrom", o.Levels[0].Row.OwnershipFrom)
		}
	case engine.RuleDailyLimit:
		x.writeSpending(m)
	case engine.RuleFleetLimit:
		if o.Fleet != nil {
			m.USD("spentUSDC", o.Fleet.Spend.SpentOn(o.Now.Day()))
			m.USD("heldUSDC", o.Fleet.Spend.HeldOn(o.Now.Day()))
			m.USD("amount", o.Amount)
			m.USD("dailyLimitUSDC", o.FleetLimit)
		}
	case engine.RuleVelocity:
		m.Int("lastMinute", int64(o.Minute))
		m.Int("lastHour", int64(o.PerHour))
		m.Int("maxPerMinute", int64(x.policy.Velocity.MaxPerMinute))
	case engine.RuleAttestation:
		m.USD("above", x.policy.AttestationAbove)
		if o.LevelCount > 0 && o.Levels[0].Row.AttestedAt != 0 {
			m.Time("attestedAt", o.Levels[0].Row.AttestedAt)
		} else {
			m.Null("attestedAt")
		}
	case engine.RuleStructuring:
		m.Int("count", int64(o.Structuring))
		m.Int("threshold", int64(x.policy.StructuringCount))
		m.Bool("duplicateReference", o.Duplicate)
	}
}

// writeLimits writes a limit for every level that has one, starting with the agent itself.
func (x *ladder) writeLimits(m *strictjson.Members, of func(*engine.SpendPolicy) engine.USD) {
	var items []strictjson.Members
	for i := range x.facts.ChainSize {
		if limit := of(&x.facts.Chain[i].Policy); limit != engine.NoLimit {
			var item strictjson.Members
			item.Int("level", int64(i))
			item.USD("limit", limit)
			items = append(items, item)
		}
	}
	m.List("limits", items)
}

// allowedWords returns the names of the values in a mask.
func allowedWords[T interface {
	Bit() uint8
	String() string
}](all []T, mask uint8) []string {
	words := []string{}
	for _, one := range all {
		if mask&one.Bit() != 0 {
			words = append(words, one.String())
		}
	}
	return words
}

// writeAllowed writes the allowed values for every level that restricts them, starting with the
// agent itself.
func (x *ladder) writeAllowed(m *strictjson.Members, of func(p *engine.SpendPolicy) (words []string, set bool)) {
	var items []strictjson.Members
	for level := range x.facts.ChainSize {
		if words, set := of(&x.facts.Chain[level].Policy); set {
			var item strictjson.Members
			item.Int("level", int64(level))
			item.Texts("allowed", words)
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		m.List("limits", items)
	}
}

func (x *ladder) writeSpending(m *strictjson.Members) {
	o := x.moment
	items := make([]strictjson.Members, o.LevelCount)
	for i := range o.LevelCount {
		level := &o.Levels[i]
		items[i].Int("level", int64(i))
		items[i].USD("spentUSDC", level.Row.Spend.SpentOn(o.Now.Day()))
		items[i].USD("heldUSDC", level.Row.Spend.HeldOn(o.Now.Day()))
		if limit := level.Profile.Policy.DailyLimit; limit != engine.NoLimit {
			items[i].USD("dailyLimitUSDC", limit)
		} else {
			items[i].Null("dailyLimitUSDC")
		}
	}
	m.USD("amount", o.Amount)
	m.List("levels", items)
}

// reason returns the text of the decision.
func (x *ladder) reason() string { return x.rules.Reason(x.decision.Rule, x.decision.Sub) }

// DryRun judges the request like Screen and writes the result, without a record, a debit or a
// transaction id. It judges live rules on a frozen view, so the result is a forecast. The view
// holds no structuring counts, so R25 fires only for a payment reference that was used.
func (j *Judge) DryRun(m *strictjson.Members) error {
	looker := lookers.Get().(*engine.Looker)
	defer lookers.Put(looker)
	list, moment, err := j.judgeForecast(looker)
	if err != nil {
		return err
	}
	s := &j.screen
	x := &ladder{rules: j.Terms.Settings.Rules(), facts: &s.facts, moment: moment, policy: j.Terms.Settings.Policy, known: s.facts.Token == engine.TokenGood, whitelisted: whitelistInForce(&s.facts)}
	if moment != nil {
		live := x.rules.JudgeLive(moment)
		s.hits.Merge(&live)
	}
	x.decision, x.mask = x.rules.Decide(&s.hits, x.policy), s.hits.Mask
	m.Bool("dryRun", true)
	m.Text("verdict", x.decision.Verdict.String())
	m.TextOrNull("rule", x.decision.Code())
	m.Text("reason", x.reason())
	if !j.call.Caller.May(wire.RolePolicy | wire.RoleReviewer) {
		writeForecast(m, j, &x.decision)
		return nil
	}
	j.writeParties(m)
	m.Text("ofacSource", ListSource(j.Terms.Settings.List))
	m.Text("ruleSet", x.rules.Name)
	m.Uint("policyVersion", j.Terms.Settings.Policy.Version)
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
		m.Text("agentId", j.Terms.AgentID(f.Chain[0].Slot))
		if d.Verdict == engine.Proceed || d.Verdict == engine.Review {
			m.Text("agentName", f.Chain[0].AgentName)
			m.Text("operatorLegalName", f.Chain[0].OperatorLegalName)
		}
	}
	m.Text("ruleSet", j.Terms.Settings.Rules().Name)
	m.Uint("policyVersion", j.Terms.Settings.Policy.Version)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	if warnings := j.screen.warnings(); len(warnings) > 0 {
		m.List("warnings", warnings)
	}
}

// judgeForecast judges the static rules and reads the moment for the live ones from a view with
// the same basis, as Apply would. If the credential is not good (R1), the moment is nil. The
// matches in the facts are part of the looker's memory.
func (j *Judge) judgeForecast(looker *engine.Looker) (*ofac.Index, *engine.Moment, error) {
	s := &j.screen
	for try := 0; ; try++ {
		list, err := j.ActiveList()
		if err != nil {
			return nil, nil, err
		}
		if err := j.gatherFacts(list); err != nil {
			return nil, nil, err
		}
		if err := j.checkScope(); err != nil {
			return nil, nil, err
		}
		j.lookUpCleared(list)
		looker.Look(&s.facts)
		s.hits = judgeStatic(j)
		s.record.ValidUntil = s.facts.ValidUntil
		if s.facts.Token != engine.TokenGood {
			return list, nil, nil
		}
		view, err := j.View()
		if err != nil {
			return nil, nil, err
		}
		if moment, ok := view.Moment(s.facts.Now, &s.record, &s.hits); ok {
			_, moment.Duplicate = j.shared.deps.Records.ReferenceUsed(referenceKey(j.call.Caller.Owner(), s.reference))
			return list, moment, nil
		}
		if err := j.Again(try, view.Index); err != nil {
			return nil, nil, err
		}
	}
}
