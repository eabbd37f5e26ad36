package engine

import "railguard/ofac"

// Chain is a settlement network of specification 2.2. It is a bit number of a mask.
type Chain uint8

// The chains. ChainNone stands for a call that names none.
const (
	ChainNone Chain = iota
	ChainETH
	ChainBASE
	ChainSOL
	ChainACH
	ChainWIRE
	ChainSWIFT
)

// Rail is a payment rail of specification 2.2. It is a bit number of a mask.
type Rail uint8

// The rails. RailNone stands for a call that names none.
const (
	RailNone Rail = iota
	RailUSDC
	RailACH
	RailWIRE
	RailSWIFT
	RailIBAN
)

// PartyType is the kind of a counterparty: the list's own type, because it
// chooses the scorer of a name.
type PartyType = ofac.PartyType

// partyTypesSet is the bit of a PartyTypes mask that says "a list was given",
// so that an empty list (nothing allowed) differs from no list.
const partyTypesSet uint8 = 1

var (
	chainNames     = [...]string{"", "ETH", "BASE", "SOL", "ACH", "WIRE", "SWIFT"}
	railNames      = [...]string{"", "USDC", "ACH", "WIRE", "SWIFT", "IBAN"}
	partyTypeNames = [...]string{
		ofac.PartyUnknown: "", ofac.PartyIndividual: "individual",
		ofac.PartyBusiness: "business", ofac.PartyExchange: "exchange",
	}
)

// String returns the word of the specification; "" for ChainNone.
func (c Chain) String() string { return chainNames[c] }

// Bit returns the chain's bit in a mask.
func (c Chain) Bit() uint8 { return 1 << c }

// String returns the word of the specification; "" for RailNone.
func (r Rail) String() string { return railNames[r] }

// Bit returns the rail's bit in a mask.
func (r Rail) Bit() uint8 { return 1 << r }

// PartyTypeName returns the word of the specification; "" for unknown.
func PartyTypeName(t PartyType) string { return partyTypeNames[t] }

// ParseChain reads the chain of a screening call: in any case, spaces around it ignored
// (decision 43). known is false for a text that is none of the six words. An empty text is
// ChainNone and known.
func ParseChain(text string) (chain Chain, known bool) {
	n, known := parseWord(text, chainNames[:], true)
	return Chain(n), known
}

// ParseChainExact reads the chain of a registration: only the exact word is known.
func ParseChainExact(text string) (Chain, bool) {
	n, known := parseWord(text, chainNames[:], false)
	return Chain(n), known && n != 0
}

// ParseRail reads the rail of a screening call, see ParseChain.
func ParseRail(text string) (rail Rail, known bool) {
	n, known := parseWord(text, railNames[:], true)
	return Rail(n), known
}

// ParseRailExact reads the rail of a registration: only the exact word is known.
func ParseRailExact(text string) (Rail, bool) {
	n, known := parseWord(text, railNames[:], false)
	return Rail(n), known && n != 0
}

// ParsePartyType reads the cpType of a screening call, see ParseChain.
func ParsePartyType(text string) (party PartyType, known bool) {
	n, known := parseWord(text, partyTypeNames[:], true)
	return PartyType(n), known
}

// ParsePartyTypeExact reads the counterparty type of a setting: only the exact word is known.
func ParsePartyTypeExact(text string) (PartyType, bool) {
	n, known := parseWord(text, partyTypeNames[:], false)
	return PartyType(n), known && n != 0
}

// ParseAgentType reads an agentType; only the two words of specification 4.1 are known.
func ParseAgentType(text string) (AgentType, bool) {
	switch text {
	case "supervised":
		return Supervised, true
	case "autonomous":
		return Autonomous, true
	}
	return 0, false
}

// parseWord returns the index of text in names. An empty text gives 0 and is known.
func parseWord(text string, names []string, lenient bool) (index uint8, known bool) {
	if lenient {
		text = trimSpace(text)
	}
	if text == "" {
		return 0, true
	}
	for i := 1; i < len(names); i++ {
		if text == names[i] || (lenient && equalFoldASCII(text, names[i])) {
			return uint8(i), true
		}
	}
	return 0, false
}

// trimSpace cuts ASCII white space off both ends.
func trimSpace(text string) string {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

// equalFoldASCII compares without regard to the case of ASCII letters. Unlike Unicode folding
// it does not treat the Kelvin sign as a K.
func equalFoldASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// compatible is the matrix of R19: for each rail the chains that can carry it.
var compatible = [...]uint8{
	RailUSDC:  1<<ChainETH | 1<<ChainBASE | 1<<ChainSOL,
	RailACH:   1 << ChainACH,
	RailWIRE:  1 << ChainWIRE,
	RailSWIFT: 1 << ChainSWIFT,
	RailIBAN:  1<<ChainSWIFT | 1<<ChainWIRE,
}

// Compatible reports whether a payment on this rail can settle on this chain (decision 43,
// R19). A chain or rail that is not given is compatible with everything.
func Compatible(chain Chain, rail Rail) bool {
	return chain == ChainNone || rail == RailNone || compatible[rail]&chain.Bit() != 0
}
