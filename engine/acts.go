package engine

import (
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Acts is a set of acts that one person must not do alone (decision 96), a bit each.
type Acts uint32

// The acts, in the order in which a policy's twoPersons shows them. ActOverrides is a name that a
// policy may hold already; nothing is done under it yet. ActTime needs two persons whatever the
// policy says.
const (
	ActDisposition Acts = 1 << iota
	ActPolicyWiden
	ActTwoPersons
	ActListActivate
	ActListForce
	ActListRollback
	ActKeyCreate
	ActClear
	ActSARMove
	ActSanctionsClose
	ActLicence
	ActOverrides
	ActTime
	ActPersonEnd
	actsEnd
)

// ActPolicy and ActSecond are names that a policy's passkeys may hold besides: any change of the
// policy, and the signature of a second person.
const (
	ActPolicy Acts = actsEnd << iota
	ActSecond
	signedEnd
)

// ActsDefault are the acts for which a policy that does not mention twoPersons wants two
// persons. ActsBank are those of the profile "bank": all of them.
const (
	ActsDefault = ActTwoPersons | ActListForce | ActListRollback
	ActsBank    = actsEnd - 1
)

// profileBank is the word of the policy that turns on every act.
const profileBank = "bank"

var actNames = [...]string{
	"disposition", "policy.widen", "twoPersons", "list.activate", "list.force", "list.rollback",
	"key.create", "clear", "sar.move", "sanctions.close", "licence", "overrides", "clock.confirm", "person.end",
}

// signedNames are the names of passkeys.
var signedNames = append(append([]string{}, actNames[:]...), "policy", "second")

// SignedNames returns the names of acts in a policy's passkeys, in their order.
func (a Acts) SignedNames() (names []string) {
	for rest := a & (signedEnd - 1); rest != 0; rest &= rest - 1 {
		names = append(names, signedNames[bits.TrailingZeros32(uint32(rest))])
	}
	return names
}

// ActNames returns the names of all acts, in their order.
func ActNames() []string { return ActsBank.Names() }

// Names returns the names of the acts, in their order; nil for the empty set.
func (a Acts) Names() (names []string) {
	for rest := a & ActsBank; rest != 0; rest &= rest - 1 {
		names = append(names, actNames[bits.TrailingZeros32(uint32(rest))])
	}
	return names
}

// ParseAct returns the act of a name; 0: there is none.
func ParseAct(name string) Acts {
	for i, known := range actNames {
		if known == name {
			return 1 << i
		}
	}
	return 0
}

// FourEyes says which reviews need two persons: those from an amount on, and those of some
// rules.
type FourEyes struct {
	MinAmount USD    `cbor:"1,keyasint"`           // NoLimit: no review needs two because of its amount.
	Rules     uint32 `cbor:"2,keyasint,omitempty"` // Bit n is rule Rn.
}

// everyReview is what twoPersons means by "disposition" if the policy has no fourEyes.
var everyReview = &FourEyes{}

// AmountFrom returns the amount from which on two persons decide. If none is set, it returns
// the highest amount there is.
func (f *FourEyes) AmountFrom() USD {
	if f.MinAmount == NoLimit {
		return math.MaxInt64
	}
	return f.MinAmount
}

// eyes returns the condition under which two persons decide a review; nil: one decides.
func (p *Policy) eyes() *FourEyes {
	if p.FourEyes == nil && p.TwoPersons&ActDisposition != 0 {
		return everyReview
	}
	return p.FourEyes
}

// TwoDecide reports whether a review needs two persons because of its amount or because of one
// of the rules that it triggered.
func (p *Policy) TwoDecide(amount USD, triggered uint32) bool {
	two := p.eyes()
	return two != nil && (amount >= two.AmountFrom() || two.Rules&triggered != 0)
}

// Demands returns those of an act's names for which the policy wants two persons. A change of
// the demands themselves needs two as soon as the policy makes any.
func (p *Policy) Demands(names Acts) Acts {
	demanded := p.TwoPersons
	if p.eyes() != nil {
		demanded |= ActDisposition
	}
	if demanded != 0 {
		demanded |= ActTwoPersons
	}
	return names & demanded
}

// readTwoPersons reads the acts that need two persons: the word "bank", or a list of names.
func (r *documentReader) readTwoPersons(param string, value json.RawMessage) (acts Acts) {
	if len(value) > 0 && value[0] == '"' {
		r.readChoice(param, value, profileBank)
		return ActsBank
	}
	for i, element := range r.readList(param, value, len(actNames)) {
		name, _ := r.readText(elementOf(param, i), element)
		act := ParseAct(name)
		if act == 0 {
			r.addError(elementOf(param, i), "must be of "+strings.Join(actNames[:], ", "))
		}
		acts |= act
	}
	return acts
}

// readPasskeys reads the acts that a person signs with a passkey: the word "bank", or a list of names.
func (r *documentReader) readPasskeys(param string, value json.RawMessage) (acts Acts) {
	if len(value) > 0 && value[0] == '"' {
		r.readChoice(param, value, profileBank)
		return signedEnd - 1
	}
	for i, element := range r.readList(param, value, len(signedNames)) {
		name, _ := r.readText(elementOf(param, i), element)
		at := slices.Index(signedNames, name)
		if at < 0 {
			r.addError(elementOf(param, i), "must be of "+strings.Join(signedNames, ", "))
			continue
		}
		acts |= 1 << at
	}
	return acts
}

// PersonKey returns a person's name in the form in which persons are compared: compatibility
// forms, letter case, spaces and characters that nobody sees make no difference. Edges compute
// it once, when a key is made; Apply compares the result.
func PersonKey(name string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) && unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(name))
	return strings.Join(strings.Fields(norm.NFKC.String(cases.Fold().String(seen))), " ")
}
