package engine

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"railguard/ofac"
)

// The static rules judge at the edge what cannot change: the token, the request, one version
// each of the list, of the policy and of the profiles. The record carries these versions as its
// basis, and Apply refuses a judgement made on older ones.

// The numbers of the static rules; the live rules have the others. No number is given to a
// second rule.
const (
	RuleNoCredential       RuleID = 1
	RuleOperatorAtIssuance RuleID = 3
	RuleOperatorWallet     RuleID = 4
	RuleOperatorName       RuleID = 5
	RulePartyWallet        RuleID = 6
	RulePartyName          RuleID = 7
	RuleChain              RuleID = 9
	RuleSingleLimit        RuleID = 10
	RuleWhitelist          RuleID = 13
	RuleMixer              RuleID = 14
	RuleModel              RuleID = 15
	RuleRail               RuleID = 18
	RuleRailChain          RuleID = 19
	RuleParty              RuleID = 20
	RulePossibleName       RuleID = 21
	RuleCredentialContext  RuleID = 23
	RuleJurisdiction       RuleID = 24
)

// Sub-reasons that code outside the rules uses.
const (
	SubListStale   Sub = 4 // Of R21.
	SubOperatorTax Sub = 5 // Of R5.
)

// staticJudges judges the static rules, and says of each what people read. A row is never
// edited in what it judges, because that is the meaning of old entries: see rulesByFormat.
var staticJudges = map[RuleID]judge{
	RuleNoCredential: {Static: noCredential,
		Trigger: "The token is empty or malformed, its signature is bad, its key, algorithm, issuer or agent is unknown, or it is of another type. Or the call's proof of the agent's key is not good: not by that key, for another request, act or service, or not of now. Or there is no proof, and the policy, the agent or an ancestor requires one.",
		Default: "on, alone: no other rule is judged; no proof is required", Params: "possession (of the policy, of the agent)"},
	RuleOperatorAtIssuance: {Static: operatorListedAtIssuance,
		Trigger: "The registry says that the operator wallet was listed at issuance, of the agent, of a parent, or of another agent of the same operator.",
		Default: "on, final", Params: "none"},
	RuleOperatorWallet: {Static: operatorWalletListed,
		Trigger: "The operator wallet, of the agent, of a parent, or of another agent of the same operator, is on OFAC's list or on another one with the effect block; or a wallet that pays is.",
		Default: "on, final", Params: "none"},
	RuleOperatorName: {Static: operatorNameListed,
		Trigger: "The operator's legal name, or that of the user credential in the call, is a strong match of a listed name; or the registry says that a tax number of the operator is listed.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	RulePartyWallet: {Static: partyWalletListed,
		Trigger: "The counterparty wallet, or another wallet of the payment that does not pay, is on OFAC's list or on another one with the effect block, whatever the chain or the currency label, by itself or by another address of its key; or a listed wallet of unmistakable shape stands in any other text of the call.",
		Default: "on, final", Params: "none"},
	RulePartyName: {Static: partyNameListed,
		Trigger: "The counterparty name is a strong match of a listed name, or an identifier of the counterparty is a listed party's.",
		Default: "on, final", Params: "names.block (may only be tightened)"},
	RuleChain: {Static: chainPolicy, ComparedStatic: compareChain,
		Trigger: "The chain of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedChains; mode"},
	RuleSingleLimit: {Static: singleLimit, ComparedStatic: compareSingleLimit,
		Trigger: "The amount is above the single payment limit of the agent or of a parent; the limit itself passes.",
		Default: "on when a policy says so", Params: "maxSingleTxUSDC; mode"},
	RuleWhitelist: {Static: notWhitelisted, ComparedStatic: compareWhitelist,
		Trigger: "A whitelist is enforced by agent, parent, fleet or institution, and the counterparty is not on all of them.",
		Default: "on when a whitelist is set", Params: "whitelist of agent, fleet, institution; mode"},
	RuleMixer: {Static: mixerProtocol, ComparedStatic: compareProtocol,
		Trigger: "The protocol is a term of the mixer list, or holds one as whole words: an unambiguous one (two words, or one with a dot) anywhere, another one beside nothing but versions, chains and fillers. Where the agent's policy refuses mixers also the counterparty name holds an unambiguous one. The counterparty wallet, an operator wallet, or another wallet of the payment is a contract of the mixer list.",
		Default: "on, for every policy", Params: "noMixerProtocols widens the evidence"},
	RuleModel: {Static: modelChanged, ComparedStatic: compareModels,
		Trigger: "A model was named at issuance, and the one in the call (else the one reported last) differs from it.",
		Default: "on", Params: "mode"},
	RuleRail: {Static: railPolicy, ComparedStatic: compareRail,
		Trigger: "The rail of the payment is not among those that the agent or a parent is allowed; a payment that names none passes.",
		Default: "on when a policy says so", Params: "allowedRails; mode"},
	RuleRailChain: {Static: railChainMismatch, ComparedStatic: compareRailChain,
		Trigger: "Chain and rail contradict each other; or one is outside the published words and no list of allowed ones caught it; or the counterparty wallet has not the shape of an address on ETH, BASE or SOL; or, whatever the chain, it does not name exactly one account of a known chain, or has a word beside it that cannot be read; or another wallet of the payment is like that; or other members name more than four wallets; or an identifier of the counterparty is none of its type.",
		Default: "on", Params: "mode"},
	RuleParty: {Static: doubtfulParty, ComparedStatic: compareParty,
		Trigger: "The type of the counterparty is outside the published words or not among the allowed ones, or the amount reaches the type's cap without a travel rule reference; or a payment over ETH, BASE, SOL or by USDC names nobody who is paid; or the institution wants every counterparty identified and the call names none (over a chain: no wallet); or a country cannot be read, is one that the policy reviews, or may be one that it blocks; or the address names such a place; or a text of the call holds an identifier of such a place; or a wallet that pays is none of the operator's, where the institution wants that.",
		Default: "the first check, requireCounterparty crypto and places, the others when set", Params: "allowedCounterpartyTypes, counterpartyCaps, requireCounterparty, jurisdictions, payer.mustBeOperators; mode"},
	RulePossibleName: {Static: possibleName, ComparedStatic: compareUnread,
		Trigger: "A name scores at or above the review threshold, is listed in a way that does not block by itself (vessel, aircraft, one short word, other legal form), holds a whole listed name of two words or more among others, or is too long to be compared to its end; with OFAC+CONS also against non-SDN names. An identifier of the counterparty is listed as one of another kind or country, or is short and has no country. The memo holds a listed name of two words or more, a listed wallet or a listed identifier; or another text of the call holds a listed name or identifier that does not belong there. Or a wallet has the bytes of a listed one in an address of another kind, which only may be its. Or a name could not be compared: it has a word, or the memo has one, in letters that cannot be read (Thai, Devanagari, Ethiopic and others), or neither a letter nor a digit. Or a name, a wallet or an identifier is exactly on a list beside OFAC's that has the effect review. Or the list is too old: nobody fetched, imported or confirmed one for seven days (or what the policy says), or, where the policy says that a late list is reviewed (ofac.onStale), for two days.",
		Default: "on", Params: "names.review (may only be tightened), names.weakAliases, cleared pairs, ofac.reviewAge, ofac.maxAge with ofac.onStale; mode, but not of the list's age"},
	RuleCredentialContext: {Static: credentialContext,
		Trigger: "The credential may not be used so: the chain of parents is broken, cyclic or deeper than three, or a delegate is wider than its parent in a way no intersection expresses; or a user credential comes with an autonomous agent, with an agent it is not bound to, or alone without exactly one bound agent.",
		Default: "on", Params: "none"},
	RuleJurisdiction: {Static: jurisdiction, ComparedStatic: comparePlaces,
		Trigger: "The country or region of the counterparty, of the place where the payment was asked from, or of an identifier is one that the policy blocks, and no licence in force lets it pass.",
		Default: "on, final: CU, IR, KP, UA-43 and UA-40", Params: "jurisdictions (its block list may be added to, never shortened)"},
}

// noCredential is R1. Its sub-reasons are the token states.
func noCredential(f *Facts) Sub { return Sub(f.Token) }

// operatorListedAtIssuance is R3. It reads the registry's flag, so the rule still fires after
// the wallet was delisted (statement T061).
func operatorListedAtIssuance(f *Facts) Sub {
	for i := 0; i < f.ChainSize; i++ {
		if f.Chain[i].WalletMatched {
			return Sub(min(i, 1)) + 1
		}
	}
	if f.Operator != nil {
		for i := range f.Operator.Wallets {
			if f.Operator.Wallets[i].Matched {
				return 1
			}
		}
	}
	return 0
}

// operatorNameListed is R5. A user credential's name is screened like an
// operator's (decision 41), so a listed one is R5 with a reason of its own.
func operatorNameListed(f *Facts) Sub {
	if f.OperatorName.Outcome == ofac.Listed {
		return nameSub(&f.OperatorName, 1, subOperatorNameFurther)
	}
	if f.UserName.Outcome == ofac.Listed {
		return nameSub(&f.UserName, 3, subUserNameFurther)
	}
	if operatorTaxListed(f) {
		return SubOperatorTax
	}
	return 0
}

// operatorTaxListed reports whether the registry says that a tax number of the operator is listed.
// It is kept encrypted, so that it is compared when it is registered and when a list comes in
// force, and not with each call.
func operatorTaxListed(f *Facts) bool {
	for i := 0; i < f.ChainSize; i++ {
		if f.Chain[i].TaxMatched {
			return true
		}
	}
	return f.Operator != nil && f.Operator.TaxMatched > 0
}

// partyNameListed is R7.
func partyNameListed(f *Facts) Sub {
	switch named := f.PartyName.Outcome == ofac.Listed; {
	case named && listedName(&f.PartyName).IsOFAC():
		return nameSub(&f.PartyName, 1, subPartyNameFurther)
	case f.identifierOn(ofac.Lists.IsOFAC) != 0 && f.identifierListed():
		return subIdentifierListed
	case named:
		return subPartyNameFurther
	case f.identifierListed():
		return subIdentifierFurther
	}
	return 0
}

// possibleName is R21. A name that is a certain match gives R5 or R7, and not also a possible
// match.
func possibleName(f *Facts) Sub {
	if sub := reviewedList(f); sub != 0 {
		return sub
	}
	switch {
	case f.PartyName.Outcome == ofac.Possible:
		return 1
	case f.OperatorName.Outcome == ofac.Possible:
		return 2
	case f.UserName.Outcome == ofac.Possible:
		return 3
	case readInPart(&f.PartyName):
		return 5
	case readInPart(&f.OperatorName):
		return 6
	case readInPart(&f.UserName):
		return 7
	case f.mayBeListed():
		return subTwin
	}
	if sub := possibleTold(f); sub != 0 {
		return sub
	}
	return uncompared(f)
}

// readInPart reports whether a name was not read to its end and is not listed already: the rest
// may hold a listed name.
func readInPart(result *ofac.Result) bool {
	return result.Truncated && result.Outcome != ofac.Listed
}

// chainPolicy is R9. An unknown chain is on no allow-list.
func chainPolicy(f *Facts) Sub {
	chain, known := ParseChain(f.Request.Chain)
	if known && chain == ChainNone {
		return 0
	}
	for i := 0; i < f.ChainSize; i++ {
		if policy := &f.Chain[i].Policy; policy.ChainsSet && (!known || policy.Chains&chain.Bit() == 0) {
			return atLevel(i)
		}
	}
	return 0
}

func compareChain(f *Facts) []Compared {
	return append([]Compared{{"chain", f.Request.Chain}}, f.compareAllowed(func(p *SpendPolicy) ([]string, bool) { return wordsIn(p.Chains, chainNames[:]), p.ChainsSet })...)
}

// railPolicy is R18.
func railPolicy(f *Facts) Sub {
	rail, known := ParseRail(f.Request.Rail)
	if known && rail == RailNone {
		return 0
	}
	for i := 0; i < f.ChainSize; i++ {
		if policy := &f.Chain[i].Policy; policy.RailsSet && (!known || policy.Rails&rail.Bit() == 0) {
			return atLevel(i)
		}
	}
	return 0
}

func compareRail(f *Facts) []Compared {
	return append([]Compared{{"rail", f.Request.Rail}}, f.compareAllowed(func(p *SpendPolicy) ([]string, bool) { return wordsIn(p.Rails, railNames[:]), p.RailsSet })...)
}

// compareAllowed lists the allowed words of every level that restricts them.
func (f *Facts) compareAllowed(of func(*SpendPolicy) (words []string, set bool)) []Compared {
	var levels [][]Compared
	for i := range f.ChainSize {
		if words, set := of(&f.Chain[i].Policy); set {
			levels = append(levels, []Compared{{"level", i}, {"allowed", words}})
		}
	}
	if levels == nil {
		return nil
	}
	return []Compared{{"limits", levels}}
}

// singleLimit is R10. It fires above the limit, not at it (statement T068).
func singleLimit(f *Facts) Sub {
	for i := 0; i < f.ChainSize; i++ {
		if f.Request.Amount.Exceeds(f.Chain[i].Policy.MaxSingle) {
			return atLevel(i)
		}
	}
	return 0
}

func compareSingleLimit(f *Facts) []Compared {
	var levels [][]Compared
	for i := range f.ChainSize {
		if limit := f.Chain[i].Policy.MaxSingle; limit != NoLimit {
			levels = append(levels, []Compared{{"level", i}, {"limit", limit}})
		}
	}
	return []Compared{{"amount", f.Request.Amount}, {"limits", levels}}
}

// modelChanged is R15. It takes the model of the call, or else the one reported last. Without a
// baseline or without a current model there is nothing to compare.
func modelChanged(f *Facts) Sub {
	if f.ChainSize == 0 {
		return 0
	}
	own := f.Chain[0]
	current := f.Request.Model
	if trimSpace(current) == "" {
		current = own.Settings.CurrentModel
	}
	if trimSpace(own.Model) == "" || trimSpace(current) == "" || SameModel(own.Model, current) {
		return 0
	}
	return 1
}

func compareModels(f *Facts) []Compared {
	if f.ChainSize == 0 {
		return nil
	}
	own := f.Chain[0]
	return []Compared{{"baseline", own.Model}, {"reported", f.Request.Model}, {"registered", own.Settings.CurrentModel}}
}

// SameModel compares two model names: trimmed, NFC, case folded (decision 38).
func SameModel(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == b {
		return true
	}
	if !norm.NFC.IsNormalString(a) {
		a = norm.NFC.String(a)
	}
	if !norm.NFC.IsNormalString(b) {
		b = norm.NFC.String(b)
	}
	return strings.EqualFold(a, b)
}

// railChainMismatch is R19.
func railChainMismatch(f *Facts) Sub {
	chain, chainKnown := ParseChain(f.Request.Chain)
	rail, railKnown := ParseRail(f.Request.Rail)
	switch {
	case !chainKnown && !f.anyPolicy(func(p *SpendPolicy) bool { return p.ChainsSet }):
		return 2 // If there is an allow-list, R9 judges the same value.
	case !railKnown && !f.anyPolicy(func(p *SpendPolicy) bool { return p.RailsSet }):
		return 3 // If there is an allow-list, R18 judges the same value.
	case chainKnown && railKnown && !Compatible(chain, rail):
		return 1
	}
	if f.Request.ElsewhereMore {
		return 9
	}
	wallet := trimSpace(f.Request.Wallet)
	if wallet == "" {
		return unreadTold(f)
	}
	switch chain {
	case ChainETH, ChainBASE:
		if !isEVMAddress(wallet) {
			return 4
		}
	case ChainSOL:
		if !isSolanaAddress(wallet) {
			return 5
		}
	}
	if sub := walletGrammar(wallet); sub != 0 {
		return sub
	}
	return unreadTold(f)
}

func compareRailChain(f *Facts) []Compared {
	return []Compared{{"chain", f.Request.Chain}, {"rail", f.Request.Rail}}
}

func (f *Facts) anyPolicy(has func(*SpendPolicy) bool) bool {
	for i := 0; i < f.ChainSize; i++ {
		if has(&f.Chain[i].Policy) {
			return true
		}
	}
	return false
}

// doubtfulParty is R20.
func doubtfulParty(f *Facts) Sub {
	if f.Places.Review != 0 {
		return f.Places.Review // Before the type of the payee, which the agent chooses: it must not hide a place.
	}
	if sub := partyType(f); sub != 0 {
		return sub
	}
	if f.payerForeign() {
		return subPayerForeign
	}
	return 0
}

// partyType is the part of R20 about who is paid. It does not fire on a call without a cpType, except where the institution
// requires the counterparty to be identified.
func partyType(f *Facts) Sub {
	party, known := ParsePartyType(f.Request.Type)
	if !known {
		return 1
	}
	if party != ofac.PartyUnknown {
		if !partyTypeAllowed(f.Policy.PartyTypes, party) {
			return 2
		}
		for i := 0; i < f.ChainSize; i++ {
			if !partyTypeAllowed(f.Chain[i].Settings.PartyTypes, party) {
				return 2
			}
		}
		limit := f.Policy.TypeCaps[party]
		if limit != NoLimit && f.Request.Amount >= limit && trimSpace(f.Request.TravelRule) == "" {
			return 3
		}
	}
	switch f.Policy.RequireParty {
	case PartyOfAll:
		if !f.Request.namesParty() {
			return 4
		}
	case PartyOfCrypto:
		if f.Request.isCrypto() && trimSpace(f.Request.Wallet) == "" && trimSpace(f.Request.Name) == "" && f.Request.IdentifierCount == 0 {
			return 5
		}
	}
	return 0
}

func compareParty(f *Facts) []Compared {
	compared := []Compared{{"cpType", f.Request.Type}}
	if f.Policy.PayerOwn {
		compared = append(compared, Compared{"payerWallet", f.Request.Payer})
	}
	return compared
}

func partyTypeAllowed(mask uint8, party PartyType) bool {
	return mask == 0 || mask&(1<<party) != 0
}

// namesParty reports whether the call says who is paid: by wallet in a crypto
// flow (specification 4.2), by wallet, name or identifier in any
// other.
func (r *Request) namesParty() bool {
	if trimSpace(r.Wallet) != "" {
		return true
	}
	return !r.isCrypto() && (trimSpace(r.Name) != "" || r.IdentifierCount > 0)
}

// isCrypto reports whether a call tells of a payment over a crypto chain, or by a token.
func (r *Request) isCrypto() bool {
	chain, _ := ParseChain(r.Chain)
	rail, _ := ParseRail(r.Rail)
	return chain == ChainETH || chain == ChainBASE || chain == ChainSOL || rail == RailUSDC
}

// mixerProtocol is R14. It has no switch: noMixerProtocols false does not turn it off, and true
// also checks the counterparty's name (decision 30, no. 2).
func mixerProtocol(f *Facts) Sub {
	if f.Request.Protocol != "" {
		if _, found := FindMixerWithin(f.Request.Protocol); found {
			return 1
		}
	}
	if f.Request.Name != "" && f.anyPolicy(func(p *SpendPolicy) bool { return p.NoMixer }) {
		if mixer, found := FindMixerWithin(f.Request.Name); found && mixer.Unambiguous {
			return 2
		}
	}
	if f.Request.Wallet != "" {
		if _, found := FindMixerContract(f.Request.Wallet); found {
			return 3
		}
	}
	for i := 0; i < f.ChainSize; i++ {
		if wallet := f.Chain[i].OperatorWallet; wallet != "" {
			if _, found := FindMixerContract(wallet); found {
				return 4
			}
		}
	}
	if f.Operator != nil {
		for i := range f.Operator.Wallets {
			if _, found := FindMixerContract(f.Operator.Wallets[i].Wallet); found {
				return 4
			}
		}
	}
	payer, other := f.Request.mixerContracts()
	switch {
	case payer:
		return subPayerContract
	case other:
		return subOtherContract
	}
	return 0
}

func compareProtocol(f *Facts) []Compared { return []Compared{{"protocol", f.Request.Protocol}} }
