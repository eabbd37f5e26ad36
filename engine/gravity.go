package engine

// Gravity says how much a review may mean. Officers see the gravest first, whichever of the rules
// that a payment triggered stands first in the rule set: an agent chooses members of its call, and so
// which rule decides, but not what else fired (decision 144).
type Gravity uint8

// The gravities, the least first.
const (
	GravityConduct Gravity = iota + 1 // Something that the agent may not do: chain, rail, hours, model, whitelist, type of payee.
	GravityLimit                      // A limit of money, of pace or of attestation, or a payment reference that was used.
	GravityPattern                    // A pattern that may hide something, or a list too old to call a name clear.
	GravityParty                      // Somebody may be listed, or a place embargoed.
)

var gravityWords = [...]string{GravityConduct: "conduct", GravityLimit: "limit", GravityPattern: "pattern", GravityParty: "party"}

// String returns the word of the API.
func (g Gravity) String() string { return gravityWords[g] }

// Gravest returns the gravest of the triggered rules, and how grave it is. Of equally grave ones it is
// the one that stands first in the rule set.
func (s *RuleSet) Gravest(hits *Hits, triggered uint32) (gravest RuleID, worst Gravity) {
	for i := range s.Rules {
		id := s.Rules[i].ID
		if triggered&(1<<id) == 0 {
			continue
		}
		if g := gravityOf(id, hits.Subs[id]); g > worst {
			gravest, worst = id, g
		}
	}
	return gravest, worst
}

func gravityOf(id RuleID, sub Sub) Gravity {
	switch id {
	case RulePossibleName:
		if sub == SubListStale {
			return GravityPattern
		}
		return GravityParty
	case RuleParty:
		switch sub {
		case subPlaceUnread, subPlaceReviewed, subPlaceDoubtful, subPlaceOfAddress, subPlaceOfText:
			return GravityParty
		}
		return GravityConduct
	case RuleStructuring:
		if sub == SubDuplicate {
			return GravityLimit
		}
		return GravityPattern
	case RuleSingleLimit, RuleDailyLimit, RuleFleetLimit, RuleVelocity, RuleAttestation:
		return GravityLimit
	}
	return GravityConduct
}
