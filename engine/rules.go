package engine

// AllClear is the name of the outcome when no rule decides.
const AllClear = "ALL_CLEAR"

// Decision is the outcome of all hits.
type Decision struct {
	Rule      RuleID // 0: ALL_CLEAR.
	Verdict   Verdict
	Sub       Sub
	Triggered uint32 // Mask of the rules that fired with effect; bit n is rule Rn.
	Shadow    uint32 // Mask of the rules that fired in shadow mode.
	Idle      uint32 // Of ALL_CLEAR: mask of the rules that the policy has off or in shadow, or that were left out.
}

// LeaveOut notes of ALL_CLEAR which rules were not judged, so that its reason does not say that they passed.
func (d *Decision) LeaveOut(mask uint32) {
	if d.Verdict == Proceed {
		d.Idle |= mask
	}
}

// Code returns the decision's rule id as the API shows it; "" for ALL_CLEAR,
// which the API shows as null.
func (d *Decision) Code() string { return d.Rule.Code() }

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

// JudgeStatic evaluates every static rule on facts whose lookups are done (see Looker.Look). A
// credential that is not good gives R1 and nothing else, because without a credential there is
// nobody to judge.
func (s *RuleSet) JudgeStatic(f *Facts) Hits {
	var hits Hits
	if f.Token != TokenGood {
		hits.Add(RuleNoCredential, noCredential(f))
		return hits
	}
	for i := range s.static {
		hits.Add(s.static[i].id, s.static[i].judge(f))
	}
	if !f.Proven && f.possession() == PossessionReview {
		hits.Add(RuleAttestation, SubUnproven) // R22 is a live rule; this reason of it cannot change.
	}
	return hits
}

// JudgeLive evaluates every live rule. It is not called for a record with R1.
func (s *RuleSet) JudgeLive(m *Moment) Hits {
	var hits Hits
	for i := range s.live {
		hits.Add(s.live[i].id, s.live[i].judge(m))
	}
	if m.ListOld || m.ListStale && m.Policy.ListStaleReview {
		// While the list is too old no name can be called clear, so the list itself counts as a
		// possible match: after ofac.reviewAge, with ofac.onStale "review" after ofac.maxAge
		// (decisions 43, "Modes", and 128).
		hits.Add(RulePossibleName, SubListStale)
		hits.ListStale = true
	}
	return hits
}

// Decide chooses the first hit in the order of the table, under the institution's modes of the
// REVIEW rules. Mode off drops a hit, shadow only records it, and block lets it decide before
// every REVIEW. R1 excludes all other rules. A stale list asks for a review (ofac.onStale)
// whatever the mode of name matches is.
func (s *RuleSet) Decide(hits *Hits, policy *Policy) Decision {
	if hits.Mask == 0 {
		return s.clear(0, policy)
	}
	if hits.Has(RuleNoCredential) {
		return Decision{Rule: RuleNoCredential, Verdict: Unknown, Sub: hits.Subs[RuleNoCredential], Triggered: 1 << RuleNoCredential}
	}
	var decision Decision
	var behind RuleID // The first REVIEW rule that hit. Any BLOCK rule decides before it.
	aged := false     // Set if R21 asks for a review only because the list is too old.
	unproven := false // Set if R22 asks for a review only because the agent's key is not proven.
	for i := range s.Rules {
		rule := &s.Rules[i]
		if !hits.Has(rule.ID) {
			continue
		}
		verdict, ahead := rule.Verdict, rule.Verdict == Block
		if verdict == Review {
			mode := policy.Modes[rule.ID]
			if rule.ID == RulePossibleName && hits.ListStale && (mode == ModeOff || mode == ModeShadow) {
				mode, aged = ModeReview, true
			}
			if rule.ID == RuleAttestation && hits.Unproven {
				mode, unproven = hits.attestationMode(mode)
			}
			if rule.ID == RuleStructuring && hits.Subs[RuleStructuring] == SubDuplicate {
				mode = ModeReview // The mode does not switch this reason off; paymentRef.once does.
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
		case !ahead && behind == 0:
			behind = rule.ID
		}
	}
	if decision.Rule == 0 && behind != 0 {
		decision.Rule, decision.Verdict = behind, s.Rule(behind).Verdict
	}
	if decision.Rule == 0 {
		return s.clear(decision.Shadow, policy)
	}
	decision.Sub = hits.Subs[decision.Rule]
	if decision.Rule == RulePossibleName && aged {
		decision.Sub = SubListStale
	}
	if decision.Rule == RuleAttestation && unproven {
		decision.Sub = SubUnproven
	}
	return decision
}

// attestationMode returns the mode of R22 for a call whose key is not proven: possession switches that
// reason on and off, and the rule's mode does not. alone says that it is the reason of the review.
func (h *Hits) attestationMode(mode Mode) (_ Mode, alone bool) {
	if h.Subs[RuleAttestation] == SubUnproven || mode == ModeOff || mode == ModeShadow {
		return ModeReview, true
	}
	return mode, false
}

// clear is the decision that lets a call pass: no rule in force was triggered.
func (s *RuleSet) clear(shadow uint32, policy *Policy) Decision {
	decision := Decision{Verdict: Proceed, Shadow: shadow}
	for i := range s.Rules {
		rule := &s.Rules[i]
		if mode := policy.Modes[rule.ID]; rule.Verdict == Review && (mode == ModeOff || mode == ModeShadow) {
			decision.Idle |= 1 << rule.ID
		}
	}
	return decision
}
