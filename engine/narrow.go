package engine

import "encoding/json"

// Grant is the part of a credential that a delegate can narrow (decision 40).
type Grant struct {
	Policy     SpendPolicy
	Type       AgentType  // 0: not asked for, inherited.
	ExpiresAt  Time       // 0: not asked for, inherited.
	Hours      *Hours     // nil: not asked for; the parent's hours apply anyway.
	Whitelist  *Whitelist // nil: not asked for; the parent's list applies anyway.
	PartyTypes uint8      // 0: not asked for; the parent's types apply anyway.
}

// Widening is one field in which a child asked for more than its parent has.
// Parent and Requested are JSON values; a limit that is not set is null.
type Widening struct {
	Param     string
	Parent    string
	Requested string
}

// Intersect returns the policy that allows only what both allow: the lower limits, the common
// chains and rails, the stricter screening.
func (p SpendPolicy) Intersect(other *SpendPolicy) SpendPolicy {
	p.MaxSingle = lowerLimit(p.MaxSingle, other.MaxSingle)
	p.DailyLimit = lowerLimit(p.DailyLimit, other.DailyLimit)
	p.Chains, p.ChainsSet = intersectMasks(p.Chains, p.ChainsSet, other.Chains, other.ChainsSet)
	p.Rails, p.RailsSet = intersectMasks(p.Rails, p.RailsSet, other.Rails, other.RailsSet)
	p.CONS, p.ScreenSet = p.CONS || other.CONS, p.ScreenSet || other.ScreenSet
	p.NoMixer, p.NoMixerSet = p.NoMixer || other.NoMixer, p.NoMixerSet || other.NoMixerSet
	return p
}

// Widens reports whether the policy lets through what old stopped.
func (p *SpendPolicy) Widens(old *SpendPolicy) bool {
	maskWidens := func(old uint8, oldSet bool, new uint8, newSet bool) bool {
		return oldSet && (!newSet || new&^old != 0)
	}
	return LimitWidens(old.MaxSingle, p.MaxSingle) || LimitWidens(old.DailyLimit, p.DailyLimit) ||
		maskWidens(old.Chains, old.ChainsSet, p.Chains, p.ChainsSet) || maskWidens(old.Rails, old.RailsSet, p.Rails, p.RailsSet) ||
		old.CONS && !p.CONS || old.NoMixer && !p.NoMixer
}

// AboveCaps returns the limits of the policy that are above the caps of operators' own settings. A
// limit that is not set is above every cap.
func (p *SpendPolicy) AboveCaps(institution *Policy) []Widening {
	var wider []Widening
	caps := institution.operatorCaps()
	limit := func(param string, most, asked USD) {
		if LimitWidens(most, asked) {
			wider = append(wider, Widening{param, limitText(most), limitText(asked)})
		}
	}
	limit("spendPolicy.maxSingleTxUSDC", caps.MaxSingle, p.MaxSingle)
	limit("spendPolicy.dailyLimitUSDC", caps.DailyLimit, p.DailyLimit)
	return wider
}

// EffectivePolicy returns the intersection of a chain's policies. So narrowing a parent later
// narrows its children at once.
func EffectivePolicy(chain []*AgentProfile) SpendPolicy {
	policy := NoSpendPolicy()
	for _, profile := range chain {
		policy = policy.Intersect(&profile.Policy)
	}
	return policy
}

func lowerLimit(a, b USD) USD {
	if a == NoLimit || (b != NoLimit && b < a) {
		return b
	}
	return a
}

func intersectMasks(a uint8, aSet bool, b uint8, bSet bool) (uint8, bool) {
	switch {
	case !aSet:
		return b, bSet
	case !bSet:
		return a, true
	}
	return a & b, true
}

// Narrow judges a child's request against its parent's effective grant, field by field, and
// returns the child's grant. A field that the child left out is inherited; an empty list allows
// nothing. If there is any widening, nothing may be issued.
func Narrow(parent, requested *Grant) (Grant, []Widening) {
	var wider []Widening
	limit := func(param string, parent, requested USD) {
		if parent != NoLimit && requested != NoLimit && requested > parent {
			wider = append(wider, Widening{param, limitText(parent), limitText(requested)})
		}
	}
	mask := func(param string, names []string, parent uint8, parentSet bool, requested uint8, requestedSet bool) {
		if parentSet && requestedSet && requested&^parent != 0 {
			wider = append(wider, Widening{param, string(appendWords(nil, parent, names)), string(appendWords(nil, requested, names))})
		}
	}
	p, q := &parent.Policy, &requested.Policy
	limit("spendPolicy.maxSingleTxUSDC", p.MaxSingle, q.MaxSingle)
	limit("spendPolicy.dailyLimitUSDC", p.DailyLimit, q.DailyLimit)
	mask("spendPolicy.allowedChains", chainNames[:], p.Chains, p.ChainsSet, q.Chains, q.ChainsSet)
	mask("spendPolicy.allowedRails", railNames[:], p.Rails, p.RailsSet, q.Rails, q.RailsSet)
	if p.CONS && q.ScreenSet && !q.CONS {
		wider = append(wider, Widening{"spendPolicy.counterpartyScreening", screeningText(true), screeningText(false)})
	}
	if p.NoMixer && q.NoMixerSet && !q.NoMixer {
		wider = append(wider, Widening{"spendPolicy.noMixerProtocols", boolText(true), boolText(false)})
	}
	child := Grant{Policy: q.Intersect(p)}
	child.Type, wider = narrowType(parent.Type, requested.Type, wider)
	child.ExpiresAt, wider = narrowExpiry(parent.ExpiresAt, requested.ExpiresAt, wider)
	mask("allowedCounterpartyTypes", partyTypeNames[:], parent.PartyTypes, parent.PartyTypes != 0,
		requested.PartyTypes, requested.PartyTypes != 0)
	child.PartyTypes, _ = intersectMasks(requested.PartyTypes, requested.PartyTypes != 0, parent.PartyTypes, parent.PartyTypes != 0)
	child.Hours = requested.Hours
	if parent.Hours != nil && requested.Hours != nil && !requested.Hours.Within(parent.Hours) {
		wider = append(wider, Widening{"operatingHours", string(parent.Hours.Source), string(requested.Hours.Source)})
	}
	child.Whitelist = requested.Whitelist
	if entry := requested.Whitelist.firstWider(parent.Whitelist); entry != nil {
		wider = append(wider, Widening{"whitelist", "null", quoteText(entry.Shown)})
	}
	return child, wider
}

// narrowType inherits the parent's type. It allows autonomous only under autonomous.
func narrowType(parent, requested AgentType, wider []Widening) (AgentType, []Widening) {
	if requested == 0 {
		return parent, wider
	}
	if requested == Autonomous && parent != Autonomous {
		wider = append(wider, Widening{"agentType", `"` + parent.String() + `"`, `"` + requested.String() + `"`})
	}
	return requested, wider
}

// narrowExpiry inherits the parent's expiry. A child never outlives its parent.
func narrowExpiry(parent, requested Time, wider []Widening) (Time, []Widening) {
	if requested == 0 {
		return parent, wider
	}
	if requested > parent {
		wider = append(wider, Widening{"expiresAt", `"` + parent.String() + `"`, `"` + requested.String() + `"`})
	}
	return min(requested, parent), wider
}

func limitText(limit USD) string {
	if limit == NoLimit {
		return "null"
	}
	return string(AppendUSD(nil, limit))
}

// firstWider returns the first entry of w that outer lacks or that lasts longer than outer's,
// nil if there is none. A list that is not set or not enforced restricts nothing.
func (w *Whitelist) firstWider(outer *Whitelist) *WhitelistEntry {
	if w == nil || !w.Enforce || outer == nil || !outer.Enforce {
		return nil
	}
	for i := range w.Entries {
		entry := &w.Entries[i]
		of := byName
		if entry.Wallet != "" {
			of = byWallet
		}
		until, listed := outer.listedUntil(of, []byte(entry.textOf(of)), 0)
		if !listed || (until != 0 && (entry.ExpiresAt == 0 || entry.ExpiresAt > until)) {
			return entry
		}
	}
	return nil
}

// quoteText returns text as a JSON string.
func quoteText(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(literal)
}
