package engine

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"railguard/ofac"
)

// The static rules judge at the edge what cannot change: the token, the request, one version
// each of the list, of the policy and of the profiles. The record carries these versions as its
// basis, and Apply refuses a judgement made on older ones.

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
	return 0
}

// operatorWalletListed is R4.
func operatorWalletListed(f *Facts) Sub {
	if !f.OperatorListed {
		return 0
	}
	return Sub(min(f.OperatorLevel, 1)) + 1
}

// operatorNameListed is R5. A user credential's name is screened like an
// operator's (decision 41), so a listed one is R5 with a reason of its own.
func operatorNameListed(f *Facts) Sub {
	if f.OperatorName.Outcome == ofac.Listed {
		return 1 + listFamily(&f.OperatorName)
	}
	if f.UserName.Outcome == ofac.Listed {
		return 3 + listFamily(&f.UserName)
	}
	return 0
}

// partyWalletListed is R6.
func partyWalletListed(f *Facts) Sub {
	if f.PartyListed {
		return 1
	}
	return 0
}

// partyNameListed is R7.
func partyNameListed(f *Facts) Sub {
	if f.PartyName.Outcome == ofac.Listed {
		return 1 + listFamily(&f.PartyName)
	}
	return 0
}

// possibleName is R21. A name that is a certain match gives R5 or R7, and not also a possible
// match.
func possibleName(f *Facts) Sub {
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
	}
	return 0
}

// readInPart reports whether a name was not read to its end and is not listed already: the rest
// may hold a listed name.
func readInPart(result *ofac.Result) bool {
	return result.Truncated && result.Outcome != ofac.Listed
}

// delegationChain is R23. The chain comes from the replicated records, never from the token.
// Facts that the chain holds twice must agree.
func delegationChain(f *Facts) Sub {
	if f.ChainBad {
		return 1
	}
	if f.ChainSize == 0 {
		return 0
	}
	if f.Chain[0].Depth > DepthMax || f.ChainSize > DepthMax+1 {
		return 2
	}
	root := f.Chain[f.ChainSize-1]
	if root.Depth != 0 || root.Parent != 0 {
		return 1
	}
	for i := 0; i < f.ChainSize-1; i++ {
		child, parent := f.Chain[i], f.Chain[i+1]
		switch {
		case child.Parent != parent.Slot || child.Root != root.Slot || int(child.Depth) != f.ChainSize-1-i:
			return 1
		case child.Type == Autonomous && parent.Type != Autonomous:
			return 3
		case child.Operator != parent.Operator:
			return 4
		}
	}
	return 0
}

// userContext is R24.
func userContext(f *Facts) Sub {
	switch {
	case f.User == nil:
		return 0
	case f.ChainSize == 0:
		return 3
	case f.Chain[0].Type != Supervised:
		return 1
	}
	for _, slot := range f.User.Agents {
		if slot == f.Chain[0].Slot {
			return 0
		}
	}
	return 2
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

// singleLimit is R10. It fires above the limit, not at it (statement T068).
func singleLimit(f *Facts) Sub {
	for i := 0; i < f.ChainSize; i++ {
		if f.Request.Amount.Exceeds(f.Chain[i].Policy.MaxSingle) {
			return atLevel(i)
		}
	}
	return 0
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
	wallet := trimSpace(f.Request.Wallet)
	if wallet == "" {
		return 0
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
	return walletGrammar(wallet)
}

func (f *Facts) anyPolicy(has func(*SpendPolicy) bool) bool {
	for i := 0; i < f.ChainSize; i++ {
		if has(&f.Chain[i].Policy) {
			return true
		}
	}
	return false
}

// partyType is R20. It does not fire on a call without a cpType, except where the institution
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
	if f.Policy.RequireParty && !f.Request.namesParty() {
		return 4
	}
	return 0
}

func partyTypeAllowed(mask uint8, party PartyType) bool {
	return mask == 0 || mask&(1<<party) != 0
}

// namesParty reports whether the call says who is paid: by wallet in a crypto
// flow (specification 4.2), by wallet or name in any other.
func (r *Request) namesParty() bool {
	if trimSpace(r.Wallet) != "" {
		return true
	}
	chain, _ := ParseChain(r.Chain)
	rail, _ := ParseRail(r.Rail)
	crypto := chain == ChainETH || chain == ChainBASE || chain == ChainSOL || rail == RailUSDC
	return !crypto && trimSpace(r.Name) != ""
}

// mixerProtocol is R14. It has no switch: noMixerProtocols false does not turn it off, and true
// also checks the counterparty's name (decision 30, no. 2).
func mixerProtocol(f *Facts) Sub {
	if f.Request.Protocol != "" {
		if _, found := FindMixer(f.Request.Protocol); found {
			return 1
		}
	}
	if f.Request.Name != "" && f.anyPolicy(func(p *SpendPolicy) bool { return p.NoMixer }) {
		if mixer, found := FindMixer(f.Request.Name); found && mixer.Unambiguous {
			return 2
		}
	}
	return 0
}
