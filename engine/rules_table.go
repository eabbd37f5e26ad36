package engine

import "strings"

// Rules is the policy in order of precedence: the first row that hits decides.
// Numbers are names, not order; the order is the order of these lines: R14
// stands with the BLOCK rules, ahead of every REVIEW (decision 6).
// Rows above the line "REVIEW" have no mode: BLOCK is final.
var Rules = [RuleCount]Rule{
	{ID: 1, Code: "R1_NO_CREDENTIAL", Verdict: Unknown, Static: noCredential,
		Reasons: []string{
			"No credential: the token is not a well-formed ES256 JWT.",
			"No credential: the token's signature does not verify.",
			"No credential: the token names a signing key that is not ours.",
			"No credential: the token was issued by somebody else.",
			"No credential: the token's subject is not known here.",
			"No credential: the token is not of a type that can be screened.",
		},
		Trigger: "The token is empty or malformed, its signature is bad, its key, algorithm, issuer or agent is unknown, or it is of another type.",
		Default: "on, alone: no other rule is judged", Params: "none"},
	{ID: 2, Code: "R2_CREDENTIAL_STATUS", Verdict: Block, Live: credentialStatus,
		Reasons: []string{
			"The credential is revoked.",
			"The credential is expired.",
			"The credential is suspended.",
			"The credential was superseded by a re-issued one.",
			"The key that signed the credential is revoked.",
			"A parent of the delegate is revoked.",
			"A parent of the delegate is expired.",
			"A parent of the delegate is suspended.",
			"The operator is suspended.",
			"The user credential is revoked.",
			"The user credential is expired.",
			"The user credential is suspended.",
			"The user credential was superseded by a re-issued one.",
		},
		Trigger: "The effective status is REVOKED, EXPIRED or SUSPENDED: the worst of the credential, its version, every parent, the operator and the user credential.",
		Default: "on, final", Params: "none"},
	{ID: 3, Code: "R3_OPERATOR_OFAC_ISSUANCE", Verdict: Block, Static: operatorListedAtIssuance,
		Reasons: []string{
			"The operator wallet was on the OFAC list when the credential was issued.",
			"The operator wallet of a parent was on the OFAC list when its credential was issued.",
		},
		Trigger: "The registry says that the operator wallet was listed at issuance, of the agent or of a parent.",
		Default: "on, final", Params: "none"},
	{ID: 4, Code: "R4_OPERATOR_WALLET_LIVE", Verdict: Block, Static: operatorWalletListed,
		Reasons: []string{
			"The operator wallet is on the OFAC list.",
			"The operator wallet of a parent is on the OFAC list.",
		},
		Trigger: "The operator wallet, of the agent or of a parent, is on the active list.",
		Default: "on, final", Params: "none"},
	{ID: 5, Code: "R5_OPERATOR_NAME_OFAC", Verdict: Block, Static: operatorNameListed,
		Reasons: []string{
			"The operator's legal name is on the SDN list.",
			"The operator's legal name is on the OFAC Consolidated (non-SDN) list.",
			"The legal name of the user credential is on the SDN list.",
			"The legal name of the user credential is on the OFAC Consolidated (non-SDN) list.",
		},
		Trigger: "The operator's legal name, or that of the user credential in the call, is a strong match of a listed name.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	{ID: 6, Code: "R6_COUNTERPARTY_WALLET_OFAC", Verdict: Block, Static: partyWalletListed,
		Reasons: []string{"The counterparty wallet is on the OFAC list."},
		Trigger: "The counterparty wallet is on the active list, whatever the chain or the currency label.",
		Default: "on, final", Params: "none"},
	{ID: 7, Code: "R7_COUNTERPARTY_NAME_OFAC", Verdict: Block, Static: partyNameListed,
		Reasons: []string{
			"The counterparty name is on the SDN list.",
			"The counterparty name is on the OFAC Consolidated (non-SDN) list.",
		},
		Trigger: "The counterparty name is a strong match of a listed name.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	{ID: 8, Code: "R8_OWNERSHIP_TRANSFER", Verdict: Block, Live: ownershipTransferred,
		Reasons: []string{
			"An ownership transfer is flagged; the credential must be re-issued.",
			"An ownership transfer is flagged on a parent; its credential must be re-issued.",
		},
		Trigger: "An ownership transfer is flagged and in effect, on the agent or on a parent.",
		Default: "on", Params: "none"},
	{ID: 14, Code: "R14_MIXER_PROTOCOL", Verdict: Block, Static: mixerProtocol,
		Reasons: []string{
			"The protocol is a known mixer or privacy protocol.",
			"The counterparty name is that of a known mixer or privacy protocol.",
		},
		Trigger: "The protocol, whole and normalised, is a term of the mixer list; where the agent's policy refuses mixers also the counterparty name, whole, an unambiguous term of it (two words, or one with a dot).",
		Default: "on, for every policy", Params: "noMixerProtocols widens the evidence"},
	{ID: 23, Code: "R23_DELEGATION_CHAIN", Verdict: Block, Static: delegationChain,
		Reasons: []string{
			"The delegation chain is broken.",
			"The delegation chain is deeper than three generations.",
			"A delegate is autonomous under a supervised parent.",
			"A delegate belongs to another operator than its parent.",
		},
		Trigger: "The chain of parents is broken, cyclic or deeper than three, or a delegate is wider than its parent in a way no intersection expresses.",
		Default: "on", Params: "none"},
	{ID: 24, Code: "R24_USER_CREDENTIAL_CONTEXT", Verdict: Block, Static: userContext,
		Reasons: []string{
			"A user credential cannot be used with an autonomous agent.",
			"The user credential is not bound to this agent.",
			"The user credential was presented without a supervised agent.",
		},
		Trigger: "A user credential comes with an autonomous agent, with an agent it is not bound to, or alone without exactly one bound agent.",
		Default: "on", Params: "none"},
	// REVIEW
	{ID: 9, Code: "R9_CHAIN_POLICY", Verdict: Review, Static: chainPolicy,
		Reasons: atLevels("The chain is not among the allowed chains of the {level}."),
		Trigger: "The chain of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedChains; mode"},
	{ID: 10, Code: "R10_SINGLE_TX_LIMIT", Verdict: Review, Static: singleLimit,
		Reasons: atLevels("The amount is above the single transaction limit of the {level}."),
		Trigger: "The amount is above the single payment limit of the agent or of a parent; the limit itself passes.",
		Default: "on when a policy says so", Params: "maxSingleTxUSDC; mode"},
	{ID: 11, Code: "R11_DAILY_LIMIT", Verdict: Review, Live: dailyLimit,
		Reasons: atLevels("The amount would push the day's total above the daily limit of the {level}."),
		Trigger: "The amount and what was spent or is held on that UTC day come to more than the daily limit of the agent or of a parent; the limit itself passes.",
		Default: "on when a policy says so", Params: "dailyLimitUSDC; mode"},
	{ID: 12, Code: "R12_FLEET_DAILY_LIMIT", Verdict: Review, Live: fleetLimit,
		Reasons: []string{"The amount would push the day's total of the fleet above its daily limit."},
		Trigger: "The amount and what the fleet spent or holds on that UTC day come to more than its daily limit; the limit itself passes.",
		Default: "on for members of a fleet", Params: "dailyLimitUSDC of the fleet; mode"},
	{ID: 13, Code: "R13_COUNTERPARTY_WHITELIST", Verdict: Review, Static: whitelisted,
		Reasons: []string{
			"The counterparty is not on the approved whitelist.",
			"The counterparty is not identified, and a whitelist is in force.",
			"An identifier of the counterparty is not on the approved whitelist.",
		},
		Trigger: "A whitelist is enforced by agent, parent, fleet or institution, and the counterparty is not on all of them.",
		Default: "on when a whitelist is set", Params: "whitelist of agent, fleet, institution; mode"},
	{ID: 15, Code: "R15_MODEL_CHANGED", Verdict: Review, Static: modelChanged,
		Reasons: []string{"The underlying model differs from the one at issuance."},
		Trigger: "A model was named at issuance, and the one in the call (else the one reported last) differs from it.",
		Default: "on", Params: "mode"},
	{ID: 16, Code: "R16_VELOCITY_FLAG", Verdict: Review, Live: velocity,
		Reasons: []string{
			"The agent had more transactions screened in a minute than its velocity setting allows.",
			"The agent had more transactions screened in an hour than its velocity setting allows.",
			"The agent had a burst of transactions far above its own mean rate.",
		},
		Trigger: "More screened payments in the last 60 seconds, or in the last hour, than the velocity setting allows; or, with 24 hours of history, more than 100 in the minute and more than the burst factor times the mean.",
		Default: "maxPerMinute 1,000; burstFactor 20", Params: "velocity of agent, fleet, institution (the strictest holds); mode"},
	{ID: 17, Code: "R17_UNUSUAL_HOUR", Verdict: Review, Live: unusualHour,
		Reasons: []string{
			"The time is outside the operating hours of the agent.",
			"The time is outside the operating hours of a parent.",
			"The time is outside the operating hours of the fleet.",
			"The time is outside the operating hours of the institution.",
		},
		Trigger: "Log time is outside the operating hours of agent, parent, fleet or institution.",
		Default: "on when hours are set", Params: "operatingHours; mode"},
	{ID: 18, Code: "R18_RAIL_POLICY", Verdict: Review, Static: railPolicy,
		Reasons: atLevels("The rail is not among the allowed rails of the {level}."),
		Trigger: "The rail of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedRails; mode"},
	{ID: 19, Code: "R19_RAIL_CHAIN_MISMATCH", Verdict: Review, Static: railChainMismatch,
		Reasons: []string{
			"The rail cannot settle on the chain.",
			"The chain is not a known one.",
			"The rail is not a known one.",
			"The counterparty wallet is not an address of the chain (0x and 40 hexadecimal digits).",
			"The counterparty wallet is not an address of the chain (base58 of 32 bytes).",
			"The counterparty wallet is not an address of any known chain.",
			"The counterparty wallet names more than one account.",
		},
		Trigger: "Chain and rail contradict each other; or one is outside the published words and no list of allowed ones caught it; or the counterparty wallet has not the shape of an address on ETH, BASE or SOL; or, whatever the chain, it does not name exactly one account of a known chain.",
		Default: "on", Params: "mode"},
	{ID: 20, Code: "R20_COUNTERPARTY_TYPE", Verdict: Review, Static: partyType,
		Reasons: []string{
			"The counterparty type is not a known one.",
			"The counterparty type is not among the allowed ones.",
			"The amount is at or above the cap of the counterparty type, and no travel rule reference was given.",
			"The institution requires the counterparty to be identified.",
		},
		Trigger: "The type of the counterparty is outside the published words or not among the allowed ones, or the amount reaches the type's cap without a travel rule reference; or the institution wants every counterparty identified and the call names none (over a chain: no wallet).",
		Default: "the first check on, the others when set", Params: "allowedCounterpartyTypes, counterpartyCaps, requireCounterparty; mode"},
	{ID: 21, Code: "R21_POSSIBLE_NAME_MATCH", Verdict: Review, Static: possibleName,
		Reasons: []string{
			"The counterparty name is a possible match of a listed name.",
			"The operator's legal name is a possible match of a listed name.",
			"The legal name of the user credential is a possible match of a listed name.",
			"The sanctions list is older than the institution allows.",
			"The counterparty name is too long to be compared to its end.",
			"The operator's legal name is too long to be compared to its end.",
			"The legal name of the user credential is too long to be compared to its end.",
		},
		Trigger: "A name scores at or above the review threshold, is listed in a way that does not block by itself (vessel, aircraft, one short word, other legal form), holds a whole listed name of two words or more among others, or is too long to be compared to its end; with OFAC+CONS also against non-SDN names. Where the policy says so (ofac.onStale): the list is too old.",
		Default: "on", Params: "names.review (may only be tightened), names.weakAliases, cleared pairs; mode"},
	{ID: 22, Code: "R22_ATTESTATION_STALE", Verdict: Review, Live: attestationStale,
		Reasons: []string{
			"The autonomous agent was never attested, and the amount is above the attestation threshold.",
			"The last attestation of the autonomous agent is 24 hours old or older, and the amount is above the attestation threshold.",
		},
		Trigger: "The agent is autonomous, its last attestation is 24 hours old or older or there is none, and the amount is above the attestation threshold.",
		Default: "on, above 10,000 USD; never attested is stale", Params: "attestation.above (may only be lowered), attestation.issuanceCounts; mode"},
	{ID: 25, Code: "R25_STRUCTURING", Verdict: Review, Live: structuring,
		Reasons: []string{
			"Several payments to one counterparty stand just below the reporting threshold.",
			"The payment reference was used for another payment of the last 30 days.",
		},
		Trigger: "Several screened payments of one root agent to one counterparty within the window, as many as the policy counts, each just below the reporting threshold; or the payment reference is that of a PROCEED or an open hold of the same owner of the last 30 days.",
		Default: "5 in 24 h in [9,000, 10,000); a paymentRef once", Params: "structuring.count, low, high, window; mode; paymentRef.once (review or off, apart from the mode)"},
}

// The sub-reasons that code outside the rules names.
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

	SubListStale Sub = 4 // Of R21.
	SubDuplicate Sub = 2 // Of R25: duplicate_reference.
)

// levelNames are the links of a delegation chain, own level first.
var levelNames = [DepthMax + 1]string{"agent", "parent", "grandparent", "great-grandparent"}

// atLevels makes the four texts of a rule that names the level that caught it.
func atLevels(text string) []string {
	texts := make([]string, len(levelNames))
	for i, name := range levelNames {
		texts[i] = strings.ReplaceAll(text, "{level}", name)
	}
	return texts
}

// atLevel is the sub-reason of a rule of atLevels.
func atLevel(index int) Sub { return Sub(index) + 1 }
