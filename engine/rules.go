package engine

// RuleSet names the table below: its rules, texts and order. What a live rule
// computes, or where a row stands, changes only together with this name.
const RuleSet = "2026.1"

// AllClear is the name of the outcome when no rule decides.
const AllClear = "ALL_CLEAR"

// allClearReason is the reason of a PROCEED.
const allClearReason = "No rule was triggered; all 25 rules passed."

// Rule is one row of the table. Exactly one of Static and Live is set; their
// types differ, so a rule cannot be put into the wrong column: a static rule
// has no row to read, a live rule has no list.
type Rule struct {
	ID      RuleID
	Code    string // "R6_COUNTERPARTY_WALLET_OFAC"
	Verdict Verdict
	Reasons []string // Fixed texts; sub-reason n is Reasons[n-1].
	Static  func(*Facts) Sub
	Live    func(*Moment) Sub
	Trigger string // When it fires, for docs/RULES.md.
	Default string // What it does without configuration.
	Params  string // What an institution or operator can set.
}

// Decision is the outcome of all hits.
type Decision struct {
	Rule      RuleID // 0: ALL_CLEAR.
	Verdict   Verdict
	Sub       Sub
	Triggered uint32 // Rules that fired with effect, by number.
	Shadow    uint32 // Rules that fired in shadow mode.
}

// Code returns the decision's rule id as the API shows it; "" for ALL_CLEAR,
// which the API shows as null.
func (d *Decision) Code() string { return d.Rule.Code() }

// Reason returns the fixed text of the decision.
func (d *Decision) Reason() string { return Reason(d.Rule, d.Sub) }

// byNumber finds a rule's row by its number: position in Rules plus one.
var byNumber = func() (positions [RuleCount + 1]uint8) {
	for i := range Rules {
		positions[Rules[i].ID] = uint8(i) + 1
	}
	return positions
}()

// RuleByID returns the row of rule id, nil for 0 (ALL_CLEAR) and for a number beyond the table.
func RuleByID(id RuleID) *Rule {
	if id == 0 || id > RuleCount {
		return nil
	}
	return &Rules[byNumber[id]-1]
}

// RuleByCode returns the number of a rule from its code ("R6_COUNTERPARTY_WALLET_OFAC")
// or its short name ("R6").
func RuleByCode(code string) (RuleID, bool) {
	for i := range Rules {
		if rule := &Rules[i]; code == rule.Code || code == rule.ID.Short() {
			return rule.ID, true
		}
	}
	return 0, false
}

// Code returns the rule's id as the API shows it; "" for ALL_CLEAR.
func (id RuleID) Code() string {
	if rule := RuleByID(id); rule != nil {
		return rule.Code
	}
	return ""
}

// Short returns the part of the code before the first underscore: "R6".
func (id RuleID) Short() string {
	code := id.Code()
	for i := range code {
		if code[i] == '_' {
			return code[:i]
		}
	}
	return code
}

// Reason returns the fixed text of a rule's sub-reason; the text of ALL_CLEAR
// for rule 0. A sub-reason beyond the rule's texts gives its first one.
func Reason(id RuleID, sub Sub) string {
	rule := RuleByID(id)
	if rule == nil {
		return allClearReason
	}
	if sub == 0 || int(sub) > len(rule.Reasons) {
		sub = 1
	}
	return rule.Reasons[sub-1]
}

// judgement is the half of a row that a judge walks: rows are wide, these are not.
type judgement[F any] struct {
	id    RuleID
	judge func(*F) Sub
}

var (
	staticRules = column(func(r *Rule) func(*Facts) Sub { return r.Static })
	liveRules   = column(func(r *Rule) func(*Moment) Sub { return r.Live })
)

// column takes one column of the table, empty cells left out.
func column[F any](cell func(*Rule) func(*F) Sub) (rules []judgement[F]) {
	for i := range Rules {
		if judge := cell(&Rules[i]); judge != nil {
			rules = append(rules, judgement[F]{Rules[i].ID, judge})
		}
	}
	return rules
}

// JudgeStatic evaluates every static rule on facts whose lookups are done (see
// Looker.Look). A credential that is not good is R1 and nothing else: without a
// credential there is nobody to judge.
func JudgeStatic(f *Facts) Hits {
	var hits Hits
	if f.Token != TokenGood {
		hits.Add(1, noCredential(f))
		return hits
	}
	for i := range staticRules {
		hits.Add(staticRules[i].id, staticRules[i].judge(f))
	}
	return hits
}

// JudgeLive evaluates every live rule. It is not called for a record with R1.
func JudgeLive(m *Moment) Hits {
	var hits Hits
	for i := range liveRules {
		hits.Add(liveRules[i].id, liveRules[i].judge(m))
	}
	if m.ListStale && m.Policy.ListStaleReview {
		// ofac.onStale "review" (decision 43, "Modes"): while the list is too old no name
		// can be said to be clear, so the stale list is a possible match of its own.
		hits.Add(21, SubListStale)
		hits.ListStale = true
	}
	return hits
}

// Decide chooses the first hit of the table, under the institution's modes of
// the REVIEW rules: off drops a hit, shadow only records it, block decides it
// before every REVIEW. R1 stands alone. A stale list asks for a review (ofac.onStale)
// whatever the mode of name matches is.
func Decide(hits *Hits, policy *Policy) Decision {
	if hits.Mask == 0 {
		return Decision{Verdict: Proceed}
	}
	if hits.Has(1) {
		return Decision{Rule: 1, Verdict: Unknown, Sub: hits.Subs[1], Triggered: 1 << 1}
	}
	var decision Decision
	var behind RuleID // The first of those that are decided after all BLOCKs.
	aged := false     // R21 counts for the list's age alone.
	for i := range Rules {
		rule := &Rules[i]
		if !hits.Has(rule.ID) {
			continue
		}
		verdict, ahead := rule.Verdict, rule.Verdict == Block
		if verdict == Review {
			mode := policy.Modes[rule.ID]
			if rule.ID == 21 && hits.ListStale && (mode == ModeOff || mode == ModeShadow) {
				mode, aged = ModeReview, true
			}
			if rule.ID == 25 && hits.Subs[25] == SubDuplicate {
				mode = ModeReview // paymentRef.once is its switch.
			}
			switch mode {
			case ModeOff:
				continue
			case ModeShadow:
				decision.Shadow |= 1 << rule.ID
				continue
			case ModeBlock:
				verdict, ahead = Block, true
			}
		}
		decision.Triggered |= 1 << rule.ID
		switch {
		case ahead && decision.Rule == 0:
			decision.Rule, decision.Verdict = rule.ID, verdict
		case !ahead && (behind == 0 || rule.ID < behind):
			behind = rule.ID // By number, which for REVIEW rows is the table's order.
		}
	}
	if decision.Rule == 0 && behind != 0 {
		decision.Rule, decision.Verdict = behind, RuleByID(behind).Verdict
	}
	decision.Sub = hits.Subs[decision.Rule]
	if decision.Rule == 21 && aged {
		decision.Sub = SubListStale
	}
	return decision
}
