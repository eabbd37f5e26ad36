package engine

// againRules are left out of every judgement of a payment that counts already: they would take it for
// another payment.
const againRules = 1<<RuleVelocity | 1<<RuleStructuring

// limitRules are not judged again of a payment that counts on a day that is over.
const limitRules = 1<<RuleDailyLimit | 1<<RuleFleetLimit

// LeftOutAgain returns the rules without effect where a recorded payment is judged again (decision
// 136): those that the officer saw who approved it, those that would take it for another payment, those
// about a day that is over, and for a mere redeem all that are no BLOCK.
func (s *RuleSet) LeftOutAgain(seen uint32, otherDay, redeem bool) uint32 {
	mask := seen | againRules
	if otherDay {
		mask |= limitRules
	}
	if redeem {
		mask |= s.ReviewRules()
	}
	return mask
}

// MayLeaveOut reports whether a judgement of a payment can have left out these rules, for one who does
// not know the day on which the payment counts: never before the day of its screening, and never after
// the day on which it is judged again.
func (s *RuleSet) MayLeaveOut(mask, seen uint32, sameDay, redeem bool) bool {
	return mask == s.LeftOutAgain(seen, false, redeem) || !sameDay && mask == s.LeftOutAgain(seen, true, redeem)
}
