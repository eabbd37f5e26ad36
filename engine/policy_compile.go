package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

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
//	 "requireCounterparty": "crypto|off|all",
//	 "payer": {"mustBeOperators": "off|review"},
//	 "allowedCounterpartyTypes": ["individual", "business", "exchange"],
//	 "counterpartyCaps": {"exchange": 3000},
//	 "ofac": {"maxAge": "48h", "reviewAge": "168h", "onStale": "keep|review"},
//	 "structuring": {"count": 5, "low": 9000, "high": 10000, "window": "24h"},
//	 "paymentRef": {"once": "review|off"},
//	 "review": {"requireNotes": false, "fourEyes": {"minAmount": 10000, "rules": ["R21"]},   {}: every review
//	            "sla": "24h",                                how long one may wait
//	            "approvalLapse": "24h",                      how long an approval is good
//	            "secondLook": {"basisPoints": 250, "rules": ["R21"]}},   how many decisions another officer looks at again; no rules: any
//	 "settlement": "settler|self",                           who may give back what counts
//	 "holds": {"onExpiry": "count|return", "alert": {"count": 1, "amount": 1000}},
//	 "permits": {"audience": "https://pay.example.org",      for whom a permit is if the call does not say
//	             "required": "review|off|all"},              what is to be redeemed before it is settled
//	 "possession": {"default": "off|review|required", "operators": {"opr_...": "required"}, "maxAge": "2m"},   proof of the agent's key
//	 "registration": {"onMatch": "issue|refuse"},
//	 "retro": {"suspend": false},
//	 "operators": {"dailyLimitUSDC": 100000, "caps": {"maxSingleTxUSDC": 5000, "dailyLimitUSDC": 20000}},
//	 "jurisdictions": {"block": ["CU", "IR", "KP", "UA-43", "UA-40"], "review": ["UA-14", "UA-09"], "exemptions": []},
//	 "twoPersons": ["list.force", "list.rollback", "twoPersons"]}   or the profile "bank": all acts (acts.go)
//	 "passkeys": ["disposition", "policy", "second"],   or "bank": acts that a person signs with a passkey

// The bounds and defaults of the policy. Thresholds may only be tightened.
const (
	attestationAbove     = 10_000 * Dollar // Specification 3.3.
	nameReviewMin        = 7500            // Below this, alerts drown the officer (matching.md, 4).
	structuringCount     = 5
	structuringLow       = 9_000 * Dollar
	structuringHigh      = 10_000 * Dollar
	structuringWindow    = 24 * Hour
	structuringWindowMax = 7 * DayLength
	listAgeMin           = Hour
	listAgeMax           = 30 * DayLength
	listReviewAge        = 7 * DayLength
	listReviewAgeMin     = DayLength
	reviewSLAMin         = Minute
	reviewSLAMax         = 30 * DayLength
	approvalLapse        = 24 * Hour
	approvalLapseMin     = Hour
	approvalLapseMax     = 7 * DayLength
	unresolvedCountMax   = 1_000_000_000
	velocityCountMax     = 1_000_000_000
	audienceMax          = 256 // Characters.
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
		ListReviewAge:     listReviewAge,
		StructuringCount:  structuringCount,
		StructuringLow:    structuringLow,
		StructuringHigh:   structuringHigh,
		StructuringWindow: structuringWindow,
		ApprovalLapse:     approvalLapse,
		UnresolvedCount:   1,
		UnresolvedSum:     NoLimit,
		OperatorDaily:     NoLimit,
		TwoPersons:        ActsDefault,
	}
}

// ParsePolicy compiles the institution's policy. The time zone's transitions begin at now, and
// the policy may mention the rules of rules alone. The caller sets Version and Whitelist: the
// whitelist has its own endpoint and ETag.
func ParsePolicy(document []byte, now Time, rules *RuleSet) (*Policy, []FieldError) {
	policy := DefaultPolicy()
	policy.Document = slices.Clone(document)
	r := documentReader{rules: rules}
	r.readMembers("", document, func(name, path string, value json.RawMessage) {
		switch name {
		case "rules":
			r.readModes(path, value, policy)
		case "velocity":
			r.readVelocity(path, value, &policy.Velocity)
		case "operatingHours":
			hours, wrong := CompileHours(value, now)
			policy.Hours, r.errors = hours, append(r.errors, wrong...)
		case "attestation":
			r.readAttestation(path, value, policy)
		case "names":
			r.readNames(path, value, policy)
		case "requireCounterparty":
			policy.RequireParty = PartyNeed(r.readChoice(path, value, partyNeeds[:]...))
		case "payer":
			policy.PayerOwn = r.readSwitch(path, value, "mustBeOperators", "off", "review")
		case "allowedCounterpartyTypes":
			policy.PartyTypes = r.readPartyTypes(path, value)
		case "counterpartyCaps":
			r.readCaps(path, value, policy)
		case "ofac":
			r.readListAge(path, value, policy)
		case "structuring":
			r.readStructuring(path, value, policy)
		case "paymentRef":
			policy.ReferenceOff = r.readSwitch(path, value, "once", "review", "off")
		case "review":
			r.readReview(path, value, policy)
		case "settlement":
			policy.SettlementSelf = r.readChoice(path, value, "settler", "self") == 1
		case "holds":
			r.readHolds(path, value, policy)
		case "permits":
			r.readPermits(path, value, policy)
		case "reconcile":
			policy.Reconcile = r.readReconcile(path, value)
		case "possession":
			policy.Possession = r.readPossession(path, value)
		case "jurisdictions":
			policy.Jurisdictions = r.readJurisdictions(path, value)
		case "twoPersons":
			policy.TwoPersons = r.readTwoPersons(path, value)
		case "passkeys":
			policy.Passkeys = r.readPasskeys(path, value)
		case "retro":
			r.readMember(path, value, "suspend", func(path string, value json.RawMessage) { policy.RetroSuspend = r.readBoolean(path, value) })
		case "operators":
			r.readOperators(path, value, policy)
		case "registration":
			policy.RefuseOnMatch = r.readSwitch(path, value, "onMatch", "issue", "refuse")
		default:
			r.addUnknown(path)
		}
	})
	if r.errors != nil {
		return nil, r.errors
	}
	return policy, nil
}

// readMember reads an object that has no other member than this one.
func (r *documentReader) readMember(param string, value json.RawMessage, only string, read func(path string, value json.RawMessage)) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		if name != only {
			r.addUnknown(path)
			return
		}
		read(path, value)
	})
}

// readSwitch reads an object that has no other member than this one, which is one of two words. It
// returns whether it is the second.
func (r *documentReader) readSwitch(param string, value json.RawMessage, only, off, on string) (second bool) {
	r.readMember(param, value, only, func(path string, value json.RawMessage) { second = r.readChoice(path, value, off, on) == 1 })
	return second
}

func (r *documentReader) readPermits(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "audience":
			audience, _ := r.readText(path, value)
			if audience == "" || utf8.RuneCountInString(audience) > audienceMax {
				r.addError(path, "must have 1 to "+strconv.Itoa(audienceMax)+" characters")
			}
			policy.PermitAudience = audience
		case "required":
			policy.PermitNeed = PermitNeed(r.readChoice(path, value, permitNeeds[:]...))
		default:
			r.addUnknown(path)
		}
	})
}

func (r *documentReader) readOperators(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "dailyLimitUSDC":
			policy.OperatorDaily = r.readUSD(path, value)
		case "caps":
			policy.OperatorCaps = r.readOperatorCaps(path, value)
		default:
			r.addUnknown(path)
		}
	})
}

func (r *documentReader) readOperatorCaps(param string, value json.RawMessage) *OperatorCaps {
	caps := OperatorCaps{MaxSingle: NoLimit, DailyLimit: NoLimit}
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxSingleTxUSDC":
			caps.MaxSingle = r.readUSD(path, value)
		case "dailyLimitUSDC":
			caps.DailyLimit = r.readUSD(path, value)
		default:
			r.addUnknown(path)
		}
	})
	return &caps
}

func (r *documentReader) readReview(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "requireNotes":
			policy.ReviewNotes = r.readBoolean(path, value)
		case "fourEyes":
			policy.FourEyes = r.readFourEyes(path, value)
		case "sla":
			policy.ReviewSLA = r.readDuration(path, value, reviewSLAMin, reviewSLAMax)
		case "secondLook":
			policy.SecondLook = r.readSecondLook(path, value)
		case "approvalLapse":
			policy.ApprovalLapse = r.readDuration(path, value, approvalLapseMin, approvalLapseMax)
		default:
			r.addUnknown(path)
		}
	})
}

// readHolds reads what becomes of a hold that nobody ends, and from which number or sum of such
// payments of one agent on an alert opens. An alert without members never opens.
func (r *documentReader) readHolds(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "onExpiry":
			policy.HoldsReturn = r.readChoice(path, value, "count", "return") == 1
		case "alert":
			policy.UnresolvedCount, policy.UnresolvedSum = 0, NoLimit
			r.readMembers(path, value, func(name, path string, value json.RawMessage) {
				switch name {
				case "count":
					policy.UnresolvedCount = uint32(r.readInteger(path, value, 1, unresolvedCountMax))
				case "amount":
					policy.UnresolvedSum = r.readUSD(path, value)
				default:
					r.addUnknown(path)
				}
			})
		default:
			r.addUnknown(path)
		}
	})
}

// readFourEyes reads which reviews need two persons: those from an amount on, or those of some
// rules. An empty object means every review.
func (r *documentReader) readFourEyes(param string, value json.RawMessage) *FourEyes {
	two, amount := &FourEyes{MinAmount: NoLimit}, false
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "minAmount":
			two.MinAmount, amount = r.readUSD(path, value), true
		case "rules":
			two.Rules = r.readReviewing(path, value)
		default:
			r.addUnknown(path)
		}
	})
	if !amount && two.Rules == 0 {
		two.MinAmount = 0
	}
	return two
}

// readReviewing reads a list of rules that review.
func (r *documentReader) readReviewing(param string, value json.RawMessage) (rules uint32) {
	for i, element := range r.readList(param, value, len(r.rules.Rules)) {
		word, _ := r.readText(elementOf(param, i), element)
		id, known := r.rules.RuleByCode(word)
		if !known || r.rules.Rule(id).Verdict != Review {
			r.addError(elementOf(param, i), "is not a rule that reviews")
			continue
		}
		rules |= 1 << id
	}
	return rules
}

// readModes reads {"R17":"off"} or {"R17":{"mode":"off"}}; rules by short name or code.
func (r *documentReader) readModes(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		id, known := r.rules.RuleByCode(name)
		if !known {
			r.addError(path, "is not a rule")
			return
		}
		if r.rules.Rule(id).Verdict != Review {
			r.addError(path, "has no mode: its verdict is final")
			return
		}
		if len(value) > 0 && value[0] == '{' {
			r.readMember(path, value, "mode", func(path string, value json.RawMessage) {
				policy.Modes[id] = Mode(r.readChoice(path, value, modeWords[:]...))
			})
			return
		}
		policy.Modes[id] = Mode(r.readChoice(path, value, modeWords[:]...))
	})
}

// ParseVelocity compiles the velocity setting of an agent or a fleet.
func ParseVelocity(document []byte) (*Velocity, []FieldError) {
	var r documentReader
	setting := &Velocity{}
	r.readVelocity("velocity", document, setting)
	if r.errors != nil {
		return nil, r.errors
	}
	return setting, nil
}

func (r *documentReader) readVelocity(param string, value json.RawMessage, setting *Velocity) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxPerMinute":
			setting.MaxPerMinute = uint32(r.readInteger(path, value, 1, velocityCountMax))
		case "maxPerHour":
			setting.MaxPerHour = uint32(r.readInteger(path, value, 1, velocityCountMax))
		case "burstFactor":
			setting.BurstFactor = uint32(r.readInteger(path, value, 1, velocityCountMax))
		default:
			r.addUnknown(path)
		}
	})
}

func (r *documentReader) readAttestation(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "above":
			policy.AttestationAbove = r.readUSD(path, value)
			if policy.AttestationAbove > attestationAbove {
				r.addError(path, "may only be lowered below 10000")
			}
		case "issuanceCounts":
			policy.IssuanceAttests = r.readBoolean(path, value)
		default:
			r.addUnknown(path)
		}
	})
}

func (r *documentReader) readNames(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "review":
			policy.NameReview = r.readScore(path, value, ofac.ReviewDefault)
		case "block":
			policy.NameBlock = r.readScore(path, value, ofac.BlockDefault)
		case "weakAliases":
			policy.WeakAliases = r.readBoolean(path, value)
		default:
			r.addUnknown(path)
		}
	})
	review, block := policy.NameReview, policy.NameBlock
	if review == 0 {
		review = ofac.ReviewDefault
	}
	if block != 0 && block < review {
		r.addError(param+".block", "must not be below names.review")
	}
}

// readScore reads a decimal of at most four places in units of 1e-4. It must lie from the floor
// up to the default, because a threshold may only be tightened.
func (r *documentReader) readScore(param string, value json.RawMessage, most int32) int32 {
	const step = Dollar / 10_000
	amount, err := ParseUSD([]byte(value))
	score := int32(amount / step)
	if err != nil || amount > Dollar || amount%step != 0 || score < nameReviewMin || score > most {
		r.addError(param, "must be a number from "+string(AppendUSD(nil, nameReviewMin*step))+" to "+string(AppendUSD(nil, USD(most)*step))+
			" with at most four decimals")
		return 0
	}
	return score
}

// ParsePartyTypes compiles allowedCounterpartyTypes of an agent.
func ParsePartyTypes(document []byte) (uint8, []FieldError) {
	var r documentReader
	return r.readPartyTypes("allowedCounterpartyTypes", document), r.errors
}

func (r *documentReader) readPartyTypes(param string, value json.RawMessage) uint8 {
	return partyTypesSet | r.readMask(param, value, partyTypeNames[:])
}

func (r *documentReader) readCaps(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		party, known := ParsePartyTypeExact(name)
		if !known {
			r.addUnknown(path)
			return
		}
		policy.TypeCaps[party] = r.readUSD(path, value)
	})
}

func (r *documentReader) readListAge(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "maxAge":
			policy.ListAgeMax = r.readDuration(path, value, listAgeMin, listAgeMax)
		case "reviewAge":
			policy.ListReviewAge = r.readDuration(path, value, listReviewAgeMin, listAgeMax)
		case "onStale":
			policy.ListStaleReview = r.readChoice(path, value, "keep", "review") == 1
		default:
			r.addUnknown(path)
		}
	})
}

func (r *documentReader) readStructuring(param string, value json.RawMessage, policy *Policy) {
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "count":
			policy.StructuringCount = uint8(r.readInteger(path, value, 2, StructuringCallsMax))
		case "low":
			policy.StructuringLow = r.readUSD(path, value)
		case "high":
			policy.StructuringHigh = r.readUSD(path, value)
		case "window":
			policy.StructuringWindow = r.readDuration(path, value, Minute, structuringWindowMax)
		default:
			r.addUnknown(path)
		}
	})
	if policy.StructuringLow >= policy.StructuringHigh {
		r.addError(param+".low", "must be below structuring.high")
	}
}
