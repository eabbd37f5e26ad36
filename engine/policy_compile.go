package engine

import (
	"encoding/json"
	"slices"

	"railguard/ofac"
)

// The institution's policy is one JSON document. Every member is optional; what
// is left out has its default; a member that is not known is refused, because a
// misspelt limit must not be silently no limit:
//
//	{"rules": {"R17": "off|shadow|review|block"},          REVIEW rules only
//	 "velocity": {"maxPerMinute": 1000, "maxPerHour": 30000, "burstFactor": 20},
//	 "operatingHours": {"timezone": "...", "windows": [...], "holidays": [...]},
//	 "attestation": {"above": 10000, "issuanceCounts": false},
//	 "names": {"review": 0.85, "block": 0.9, "weakAliases": false},   at most the list's defaults
//	 "requireCounterparty": false,
//	 "allowedCounterpartyTypes": ["individual", "business", "exchange"],
//	 "counterpartyCaps": {"exchange": 3000},
//	 "ofac": {"maxAge": "48h", "onStale": "keep|review"},
//	 "structuring": {"count": 5, "low": 9000, "high": 10000, "window": "24h"},
//	 "paymentRef": {"once": "review|off"},
//	 "review": {"requireNotes": false, "fourEyes": {"minAmount": 10000, "rules": ["R21"]},   {}: every review
//	            "sla": "24h"},                               how long one may wait
//	 "registration": {"onMatch": "issue|refuse"},
//	 "retro": {"suspend": false}}

// The bounds and defaults of the policy. Thresholds may only be tightened.
const (
	attestationAbove  = 10_000 * Dollar // Specification 3.3.
	nameReviewLeast   = 7500            // Below this, alerts drown the officer (matching.md, 4).
	structuringCount  = 5
	structuringLow    = 9_000 * Dollar
	structuringHigh   = 10_000 * Dollar
	structuringWindow = 24 * Hour
	structuringLong   = 7 * DayLength
	listAgeLeast      = Hour
	listAgeLong       = 30 * DayLength
	reviewLeast       = Minute
	reviewLong        = 30 * DayLength
	velocityCountMax  = 1_000_000_000
)

var modeWords = [...]string{ModeReview: "review", ModeOff: "off", ModeShadow: "shadow", ModeBlock: "block"}

// String returns the word of the policy document.
func (m Mode) String() string { return modeWords[m] }

// DefaultPolicy is what a new cluster has: every rule on, nothing tightened.
func DefaultPolicy() *Policy {
	return &Policy{
		Document:          []byte("{}"),
		Velocity:          Velocity{MaxPerMinute: velocityMinute, BurstFactor: velocityBurst},
		AttestationAbove:  attestationAbove,
		TypeCaps:          [4]USD{NoLimit, NoLimit, NoLimit, NoLimit},
		ListAgeMax:        ListAgeDefault,
		StructuringCount:  structuringCount,
		StructuringLow:    structuringLow,
		StructuringHigh:   structuringHigh,
		StructuringWindow: structuringWindow,
	}
}

// ParsePolicy compiles the institution's policy. now is when the time zone's
// transitions begin, and rules are those that the policy may speak of. Version and
// Whitelist are the caller's to set: the whitelist has an endpoint and an ETag of its own.
func ParsePolicy(document []byte, now Time, rules *RuleSet) (*Policy, []FieldError) {
	policy := DefaultPolicy()
	policy.Document = slices.Clone(document)
	r := reader{rules: rules}
	r.object("", document, func(name, path string, value json.RawMessage) {
		switch name {
		case "rules":
			r.modes(path, value, policy)
		case "velocity":
			r.velocity(path, value, &policy.Velocity)
		case "operatingHours":
			hours, wrong := CompileHours(value, now)
			policy.Hours, r.errors = hours, append(r.errors, wrong...)
		case "attestation":
			r.attestation(path, value, policy)
		case "names":
			r.names(path, value, policy)
		case "requireCounterparty":
			policy.RequireParty = r.boolean(path, value)
		case "allowedCounterpartyTypes":
			policy.PartyTypes = r.partyTypes(path, value)
		case "counterpartyCaps":
			r.caps(path, value, policy)
		case "ofac":
			r.listAge(path, value, policy)
		case "structuring":
			r.structuring(path, value, policy)
		case "paymentRef":
			r.object(path, value, func(name, path string, value json.RawMessage) {
				if name != "once" {
					r.unknown(path)
					return
				}
				policy.ReferenceOff = r.choice(path, value, "review", "off") == 1
			})
		case "review":
			r.review(path, value, policy)
		case "retro":
			r.object(path, value, func(name, path string, value json.RawMessage) {
				if name != "suspend" {
					r.unknown(path)
					return
				}
				policy.RetroSuspend = r.boolean(path, value)
			})
		case "registration":
			r.object(path, value, func(name, path string, value json.RawMessage) {
				if name != "onMatch" {
					r.unknown(path)
					return
				}
				policy.RefuseOnMatch = r.choice(path, value, "issue", "refuse") == 1
			})
		default:
			r.unknown(path)
		}
	})
	if r.errors != nil {
		return nil, r.errors
	}
	return policy, nil
}

func (r *reader) review(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "requireNotes":
			policy.ReviewNotes = r.boolean(path, value)
		case "fourEyes":
			policy.FourEyes = r.fourEyes(path, value)
		case "sla":
			policy.ReviewSLA = r.duration(path, value, reviewLeast, reviewLong)
		default:
			r.unknown(path)
		}
	})
}

// fourEyes reads which reviews two persons decide: of an amount, or of some rules;
// neither is every one.
func (r *reader) fourEyes(param string, value json.RawMessage) *FourEyes {
	two, amount := &FourEyes{MinAmount: NoLimit}, false
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "minAmount":
			two.MinAmount, amount = r.usd(path, value), true
		case "rules":
			for i, element := range r.list(path, value, len(r.rules.Rules)) {
				word, _ := r.text(elementOf(path, i), element)
				id, known := r.rules.RuleByCode(word)
				if !known || r.rules.Rule(id).Verdict != Review {
					r.fail(elementOf(path, i), "is not a rule that reviews")
					continue
				}
				two.Rules |= 1 << id
			}
		default:
			r.unknown(path)
		}
	})
	if !amount && two.Rules == 0 {
		two.MinAmount = 0
	}
	return two
}

// modes reads {"R17":"off"} or {"R17":{"mode":"off"}}; rules by short name or code.
func (r *reader) modes(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		id, known := r.rules.RuleByCode(name)
		if !known {
			r.fail(path, "is not a rule")
			return
		}
		if r.rules.Rule(id).Verdict != Review {
			r.fail(path, "has no mode: its verdict is final")
			return
		}
		if len(value) > 0 && value[0] == '{' {
			r.object(path, value, func(name, path string, value json.RawMessage) {
				if name != "mode" {
					r.unknown(path)
					return
				}
				policy.Modes[id] = Mode(r.choice(path, value, modeWords[:]...))
			})
			return
		}
		policy.Modes[id] = Mode(r.choice(path, value, modeWords[:]...))
	})
}

// ParseVelocity compiles the velocity setting of an agent or a fleet.
func ParseVelocity(document []byte) (*Velocity, []FieldError) {
	var r reader
	setting := &Velocity{}
	r.velocity("velocity", document, setting)
	if r.errors != nil {
		return nil, r.errors
	}
	return setting, nil
}

func (r *reader) velocity(param string, value json.RawMessage, setting *Velocity) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxPerMinute":
			setting.MaxPerMinute = uint32(r.integer(path, value, 1, velocityCountMax))
		case "maxPerHour":
			setting.MaxPerHour = uint32(r.integer(path, value, 1, velocityCountMax))
		case "burstFactor":
			setting.BurstFactor = uint32(r.integer(path, value, 1, velocityCountMax))
		default:
			r.unknown(path)
		}
	})
}

func (r *reader) attestation(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "above":
			policy.AttestationAbove = r.usd(path, value)
			if policy.AttestationAbove > attestationAbove {
				r.fail(path, "may only be lowered below 10000")
			}
		case "issuanceCounts":
			policy.IssuanceAttests = r.boolean(path, value)
		default:
			r.unknown(path)
		}
	})
}

func (r *reader) names(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "review":
			policy.NameReview = r.score(path, value, ofac.ReviewDefault)
		case "block":
			policy.NameBlock = r.score(path, value, ofac.BlockDefault)
		case "weakAliases":
			policy.WeakAliases = r.boolean(path, value)
		default:
			r.unknown(path)
		}
	})
	review, block := policy.NameReview, policy.NameBlock
	if review == 0 {
		review = ofac.ReviewDefault
	}
	if block != 0 && block < review {
		r.fail(param+".block", "must not be below names.review")
	}
}

// score reads a decimal of at most four places, from the floor up to the
// default, into 1e-4: a threshold may only be tightened.
func (r *reader) score(param string, value json.RawMessage, most int32) int32 {
	const step = Dollar / 10_000
	amount, err := ParseUSD([]byte(value))
	score := int32(amount / step)
	if err != nil || amount > Dollar || amount%step != 0 || score < nameReviewLeast || score > most {
		r.fail(param, "must be a number from "+string(AppendUSD(nil, nameReviewLeast*step))+" to "+string(AppendUSD(nil, USD(most)*step))+
			" with at most four decimals")
		return 0
	}
	return score
}

// ParsePartyTypes compiles allowedCounterpartyTypes of an agent.
func ParsePartyTypes(document []byte) (uint8, []FieldError) {
	var r reader
	return r.partyTypes("allowedCounterpartyTypes", document), r.errors
}

func (r *reader) partyTypes(param string, value json.RawMessage) uint8 {
	return partyTypesSet | r.mask(param, value, func(word string) (uint8, bool) {
		party, known := ParsePartyTypeExact(word)
		return 1 << party, known
	})
}

func (r *reader) caps(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		party, known := ParsePartyTypeExact(name)
		if !known {
			r.unknown(path)
			return
		}
		policy.TypeCaps[party] = r.usd(path, value)
	})
}

func (r *reader) listAge(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxAge":
			policy.ListAgeMax = r.duration(path, value, listAgeLeast, listAgeLong)
		case "onStale":
			policy.ListStaleReview = r.choice(path, value, "keep", "review") == 1
		default:
			r.unknown(path)
		}
	})
}

func (r *reader) structuring(param string, value json.RawMessage, policy *Policy) {
	r.object(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "count":
			policy.StructuringCount = uint8(r.integer(path, value, 2, StructuringCallsMax))
		case "low":
			policy.StructuringLow = r.usd(path, value)
		case "high":
			policy.StructuringHigh = r.usd(path, value)
		case "window":
			policy.StructuringWindow = r.duration(path, value, Minute, structuringLong)
		default:
			r.unknown(path)
		}
	})
	if policy.StructuringLow >= policy.StructuringHigh {
		r.fail(param+".low", "must be below structuring.high")
	}
}
