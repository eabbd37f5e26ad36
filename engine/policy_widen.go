package engine

import "railguard/ofac"

// A change is a widening if it lets through what was stopped before; it needs a reason
// (decision 52). This file says for each member which value is wider. If two settings cannot be
// compared exactly, the change counts as a widening.

// Widens returns the members of the policy document in which new is wider than old, in the
// order of the document. It returns none if the change only tightens. The whitelist is not part
// of the document, see WhitelistWidens.
func Widens(old, new *Policy) []string {
	var wider []string
	note := func(is bool, param string) {
		if is {
			wider = append(wider, param)
		}
	}
	for i := range Rules {
		id := Rules[i].ID
		note(strictness(new.Modes[id]) < strictness(old.Modes[id]), "rules."+id.Short())
	}
	note(widerBound(old.Velocity.MaxPerMinute, new.Velocity.MaxPerMinute), "velocity.maxPerMinute")
	note(widerBound(old.Velocity.MaxPerHour, new.Velocity.MaxPerHour), "velocity.maxPerHour")
	note(widerBound(old.Velocity.BurstFactor, new.Velocity.BurstFactor), "velocity.burstFactor")
	note(old.Hours != nil && !new.Hours.Within(old.Hours), "operatingHours")
	note(new.AttestationAbove > old.AttestationAbove, "attestation.above")
	note(new.IssuanceAttests && !old.IssuanceAttests, "attestation.issuanceCounts")
	note(thresholdOr(new.NameReview, ofac.ReviewDefault) > thresholdOr(old.NameReview, ofac.ReviewDefault), "names.review")
	note(thresholdOr(new.NameBlock, ofac.BlockDefault) > thresholdOr(old.NameBlock, ofac.BlockDefault), "names.block")
	note(old.WeakAliases && !new.WeakAliases, "names.weakAliases")
	note(new.RequireParty.strictness() < old.RequireParty.strictness(), "requireCounterparty")
	note(old.PayerOwn && !new.PayerOwn, "payer.mustBeOperators")
	note(old.PartyTypes != 0 && (new.PartyTypes == 0 || new.PartyTypes&^old.PartyTypes != 0), "allowedCounterpartyTypes")
	for party := ofac.PartyIndividual; party <= ofac.PartyExchange; party++ {
		before, after := old.TypeCaps[party], new.TypeCaps[party]
		note(before != NoLimit && (after == NoLimit || after > before), "counterpartyCaps."+PartyTypeName(party))
	}
	note(new.ListAgeMax > old.ListAgeMax, "ofac.maxAge")
	note(new.ListReviewAge > old.ListReviewAge, "ofac.reviewAge")
	note(old.ListStaleReview && !new.ListStaleReview, "ofac.onStale")
	note(new.StructuringCount > old.StructuringCount, "structuring.count")
	note(new.StructuringLow > old.StructuringLow, "structuring.low")
	note(new.StructuringHigh < old.StructuringHigh, "structuring.high")
	note(new.StructuringWindow < old.StructuringWindow, "structuring.window")
	note(new.ReferenceOff && !old.ReferenceOff, "paymentRef.once")
	note(old.ReviewNotes && !new.ReviewNotes, "review.requireNotes")
	note(fewerEyes(old.eyes(), new.eyes()), "review.fourEyes")
	note(old.ReviewSLA != 0 && (new.ReviewSLA == 0 || new.ReviewSLA > old.ReviewSLA), "review.sla")
	note(new.ApprovalLapse > old.ApprovalLapse, "review.approvalLapse")
	note(new.SecondLook.narrower(old.SecondLook), "review.secondLook")
	note(new.SettlementSelf && !old.SettlementSelf, "settlement")
	note(new.HoldsReturn && !old.HoldsReturn, "holds.onExpiry")
	note(new.PermitNeed.strictness() < old.PermitNeed.strictness(), "permits.required")
	note(widerBound(old.UnresolvedCount, new.UnresolvedCount), "holds.alert.count")
	note(old.UnresolvedSum != NoLimit && (new.UnresolvedSum == NoLimit || new.UnresolvedSum > old.UnresolvedSum), "holds.alert.amount")
	note(new.reconcilesLess(old), "reconcile")
	note(old.RefuseOnMatch && !new.RefuseOnMatch, "registration.onMatch")
	note(old.RetroSuspend && !new.RetroSuspend, "retro.suspend")
	before, after := old.operatorCaps(), new.operatorCaps()
	note(LimitWidens(before.MaxSingle, after.MaxSingle), "operators.caps.maxSingleTxUSDC")
	note(LimitWidens(before.DailyLimit, after.DailyLimit), "operators.caps.dailyLimitUSDC")
	note(LimitWidens(old.OperatorDaily, new.OperatorDaily), "operators.dailyLimitUSDC")
	wider = append(wider, new.jurisdictions().wider(old.jurisdictions())...)
	wider = append(wider, possessionWider(old, new)...)
	note(old.TwoPersons&^new.TwoPersons != 0, "twoPersons")
	note(old.Passkeys&^new.Passkeys != 0, "passkeys")
	return wider
}

// ActsOf returns what a change from one policy to another is called in twoPersons. Besides
// policy.widen, a change that leaves to one person what needed two is called twoPersons, and one
// that brings a licence is called licence.
func ActsOf(old, new *Policy) (acts Acts) {
	if len(Widens(old, new)) > 0 {
		acts |= ActPolicyWiden
	}
	if fewerEyes(old.eyes(), new.eyes()) || old.TwoPersons&^new.TwoPersons != 0 || old.Passkeys&^new.Passkeys != 0 {
		acts |= ActTwoPersons
	}
	if new.jurisdictions().exemptsMore(old.jurisdictions()) {
		acts |= ActLicence
	}
	return acts
}

// AlwaysTwo reports whether two persons put a policy in force in place of another, whatever
// twoPersons says. They do where holds return by themselves and did not before: what was allowed
// would count no more without anybody's word (decision 94). And they do where a licence lets
// payments pass that were blocked (decision 130), or where a person need not sign any more what
// he had to (decision 151).
func (p *Policy) AlwaysTwo(old *Policy) bool {
	return p.HoldsReturn && !old.HoldsReturn || old.Passkeys&^p.Passkeys != 0 || p.jurisdictions().exemptsMore(old.jurisdictions())
}

func (p *Policy) operatorCaps() OperatorCaps {
	if p.OperatorCaps == nil {
		return OperatorCaps{MaxSingle: NoLimit, DailyLimit: NoLimit}
	}
	return *p.OperatorCaps
}

// LimitWidens reports whether a limit lets through what the one before stopped.
func LimitWidens(old, new USD) bool { return old != NoLimit && (new == NoLimit || new > old) }

// fewerEyes reports whether one person may now decide a review that needed two.
func fewerEyes(old, new *FourEyes) bool {
	return old != nil && (new == nil || new.AmountFrom() > old.AmountFrom() || old.Rules&^new.Rules != 0 && new.AmountFrom() > 0)
}

// strictness ranks modes by what they stop. ModeOff and ModeShadow stop nothing.
func strictness(mode Mode) int {
	switch mode {
	case ModeBlock:
		return 2
	case ModeReview:
		return 1
	}
	return 0
}

// widerBound compares two bounds; 0 means "not set".
func widerBound(old, new uint32) bool { return old != 0 && (new == 0 || new > old) }

func thresholdOr(set, standard int32) int32 {
	if set == 0 {
		return standard
	}
	return set
}

// WhitelistWidens reports whether new lets a counterparty through that old stopped. That is so
// if new is off, if it has a further entry or one that lasts longer, or if it no longer covers
// a kind of identifier that old covers.
func WhitelistWidens(old, new *Whitelist) bool {
	if old == nil || !old.Enforce {
		return false
	}
	if new == nil || !new.Enforce || new.firstWider(old) != nil {
		return true
	}
	return old.Kinds&^new.Kinds != 0 && len(new.Entries) > 0 // A list without entries lets nobody through.
}
