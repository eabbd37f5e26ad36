package engine

// The rules by their numbers. A number is never given to another rule.
const (
	RuleNoCredential RuleID = iota + 1
	RuleCredentialStatus
	RuleOperatorAtIssuance
	RuleOperatorWallet
	RuleOperatorName
	RulePartyWallet
	RulePartyName
	RuleOwnership
	RuleChain
	RuleSingleLimit
	RuleDailyLimit
	RuleFleetLimit
	RuleWhitelist
	RuleMixer
	RuleModel
	RuleVelocity
	RuleHours
	RuleRail
	RuleRailChain
	RulePartyType
	RulePossibleName
	RuleAttestation
	RuleDelegation
	RuleUserContext
	RuleStructuring
)

// judge adds to the frozen text of a rule its function and its documentation. Exactly one of
// Static and Live is set. Their types differ, so a rule cannot be in the wrong column: a static
// rule cannot read rows, a live rule cannot read the list.
type judge struct {
	Static  func(*Facts) Sub
	Live    func(*Moment) Sub
	Trigger string // When it fires, for docs/RULES.md.
	Default string // What it does without configuration.
	Params  string // What an institution or operator can set.
}

// judges2026x1 judge the rules of the rule set 2026.1. A format whose rules compute something
// else has its own table, because this one fixes what old entries mean.
var judges2026x1 = map[RuleID]judge{
	RuleNoCredential: {Static: noCredential,
		Trigger: "The token is empty or malformed, its signature is bad, its key, algorithm, issuer or agent is unknown, or it is of another type.",
		Default: "on, alone: no other rule is judged", Params: "none"},
	RuleCredentialStatus: {Live: credentialStatus,
		Trigger: "The effective status is REVOKED, EXPIRED or SUSPENDED: the worst of the credential, its version, every parent, the operator and the user credential.",
		Default: "on, final", Params: "none"},
	RuleOperatorAtIssuance: {Static: operatorListedAtIssuance,
		Trigger: "The registry says that the operator wallet was listed at issuance, of the agent or of a parent.",
		Default: "on, final", Params: "none"},
	RuleOperatorWallet: {Static: operatorWalletListed,
		Trigger: "The operator wallet, of the agent or of a parent, is on the active list.",
		Default: "on, final", Params: "none"},
	RuleOperatorName: {Static: operatorNameListed,
		Trigger: "The operator's legal name, or that of the user credential in the call, is a strong match of a listed name.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	RulePartyWallet: {Static: partyWalletListed,
		Trigger: "The counterparty wallet is on the active list, whatever the chain or the currency label.",
		Default: "on, final", Params: "none"},
	RulePartyName: {Static: partyNameListed,
		Trigger: "The counterparty name is a strong match of a listed name.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	RuleOwnership: {Live: ownershipTransferred,
		Trigger: "An ownership transfer is flagged and in effect, on the agent or on a parent.",
		Default: "on", Params: "none"},
	RuleChain: {Static: chainPolicy,
		Trigger: "The chain of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedChains; mode"},
	RuleSingleLimit: {Static: singleLimit,
		Trigger: "The amount is above the single payment limit of the agent or of a parent; the limit itself passes.",
		Default: "on when a policy says so", Params: "maxSingleTxUSDC; mode"},
	RuleDailyLimit: {Live: dailyLimit,
		Trigger: "The amount and what was spent or is held on that UTC day come to more than the daily limit of the agent or of a parent; the limit itself passes.",
		Default: "on when a policy says so", Params: "dailyLimitUSDC; mode"},
	RuleFleetLimit: {Live: fleetLimit,
		Trigger: "The amount and what the fleet spent or holds on that UTC day come to more than its daily limit; the limit itself passes.",
		Default: "on for members of a fleet", Params: "dailyLimitUSDC of the fleet; mode"},
	RuleWhitelist: {Static: notWhitelisted,
		Trigger: "A whitelist is enforced by agent, parent, fleet or institution, and the counterparty is not on all of them.",
		Default: "on when a whitelist is set", Params: "whitelist of agent, fleet, institution; mode"},
	RuleMixer: {Static: mixerProtocol,
		Trigger: "The protocol, whole and normalised, is a term of the mixer list; where the agent's policy refuses mixers also the counterparty name, whole, an unambiguous term of it (two words, or one with a dot).",
		Default: "on, for every policy", Params: "noMixerProtocols widens the evidence"},
	RuleModel: {Static: modelChanged,
		Trigger: "A model was named at issuance, and the one in the call (else the one reported last) differs from it.",
		Default: "on", Params: "mode"},
	RuleVelocity: {Live: velocityExceeded,
		Trigger: "More screened payments in the last 60 seconds, or in the last hour, than the velocity setting allows; or, with 24 hours of history, more than 100 in the minute and more than the burst factor times the mean.",
		Default: "maxPerMinute 1,000; burstFactor 20", Params: "velocity of agent, fleet, institution (the strictest holds); mode"},
	RuleHours: {Live: unusualHour,
		Trigger: "Log time is outside the operating hours of agent, parent, fleet or institution.",
		Default: "on when hours are set", Params: "operatingHours; mode"},
	RuleRail: {Static: railPolicy,
		Trigger: "The rail of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedRails; mode"},
	RuleRailChain: {Static: railChainMismatch,
		Trigger: "Chain and rail contradict each other; or one is outside the published words and no list of allowed ones caught it; or the counterparty wallet has not the shape of an address on ETH, BASE or SOL; or, whatever the chain, it does not name exactly one account of a known chain.",
		Default: "on", Params: "mode"},
	RulePartyType: {Static: partyType,
		Trigger: "The type of the counterparty is outside the published words or not among the allowed ones, or the amount reaches the type's cap without a travel rule reference; or the institution wants every counterparty identified and the call names none (over a chain: no wallet).",
		Default: "the first check on, the others when set", Params: "allowedCounterpartyTypes, counterpartyCaps, requireCounterparty; mode"},
	RulePossibleName: {Static: possibleName,
		Trigger: "A name scores at or above the review threshold, is listed in a way that does not block by itself (vessel, aircraft, one short word, other legal form), holds a whole listed name of two words or more among others, or is too long to be compared to its end; with OFAC+CONS also against non-SDN names. Where the policy says so (ofac.onStale): the list is too old.",
		Default: "on", Params: "names.review (may only be tightened), names.weakAliases, cleared pairs; mode"},
	RuleAttestation: {Live: attestationStale,
		Trigger: "The agent is autonomous, its last attestation is 24 hours old or older or there is none, and the amount is above the attestation threshold.",
		Default: "on, above 10,000 USD; never attested is stale", Params: "attestation.above (may only be lowered), attestation.issuanceCounts; mode"},
	RuleDelegation: {Static: delegationChain,
		Trigger: "The chain of parents is broken, cyclic or deeper than three, or a delegate is wider than its parent in a way no intersection expresses.",
		Default: "on", Params: "none"},
	RuleUserContext: {Static: userContext,
		Trigger: "A user credential comes with an autonomous agent, with an agent it is not bound to, or alone without exactly one bound agent.",
		Default: "on", Params: "none"},
	RuleStructuring: {Live: structuringSuspected,
		Trigger: "Several screened payments of one root agent to one counterparty within the window, as many as the policy counts, each just below the reporting threshold; or the payment reference is that of a PROCEED or an open hold of the same owner of the last 30 days.",
		Default: "5 in 24 h in [9,000, 10,000); a paymentRef once", Params: "structuring.count, low, high, window; mode; paymentRef.once (review or off, apart from the mode)"},
}

// Only the sub-reasons that code outside the rules uses have names.
const (
	SubRevoked        Sub = 1
	SubExpired        Sub = 2
	SubSuspended      Sub = 3
	SubSuperseded     Sub = 4
	SubKeyRevoked     Sub = 5
	SubParentRevoked  Sub = 6
	SubParentExpired  Sub = 7
	SubParentSuspend  Sub = 8
	SubOperator       Sub = 9
	SubUserRevoked    Sub = 10
	SubUserExpired    Sub = 11
	SubUserSuspended  Sub = 12
	SubUserSuperseded Sub = 13

	SubListStale Sub = 4 // A sub-reason of R21.
	SubDuplicate Sub = 2 // A sub-reason of R25: duplicate_reference.
)

// atLevel returns the sub-reason that names a level of the chain; index 0 is the agent itself.
func atLevel(index int) Sub { return Sub(index) + 1 }
