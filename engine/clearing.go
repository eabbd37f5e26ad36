package engine

import (
	"railguard/ofac"
	"railguard/ofac/identifier"
)

// ClearedGrounds is what a clearing rests on (decision 141): what was known, besides the name, of the
// party that is not the listed one, and for whom it was found out. Texts are as they were told.
type ClearedGrounds struct {
	BirthDate   string       `cbor:"1,keyasint,omitempty"`
	Country     string       `cbor:"2,keyasint,omitempty"`
	Address     string       `cbor:"3,keyasint,omitempty"`
	Identifiers []Identifier `cbor:"4,keyasint,omitempty"`
	Operator    OperatorSlot `cbor:"5,keyasint,omitempty"` // Whose payments the clearing is about; 0: anybody's.
	Agent       AgentSlot    `cbor:"6,keyasint,omitempty"`
}

// AddIdentifier adds an identifier of a type that a caller named.
func (g *ClearedGrounds) AddIdentifier(word, value, country string) {
	class, _ := identifier.ClassNamed(word)
	g.Identifiers = append(g.Identifiers, Identifier{class, value, country})
}

// NameOnly reports whether the clearing rests on the name alone.
func (g *ClearedGrounds) NameOnly() bool { return !g.describes() && !g.scoped() }

// describes reports whether the grounds say something of the party itself.
func (g *ClearedGrounds) describes() bool {
	return g.BirthDate != "" || g.Country != "" || g.Address != "" || len(g.Identifiers) > 0
}

func (g *ClearedGrounds) scoped() bool { return g.Operator != 0 || g.Agent != 0 }

// Told is what a call says of one of its parties besides the name. Only of a counterparty it says
// more than who pays.
type Told struct {
	Context     ofac.Context
	Identifiers []Identifier
	Operator    OperatorSlot // Of the agent.
	Agent       AgentSlot
}

// ToldOf returns what a call says of its counterparty. The date of birth is no part of the facts,
// because no rule reads it.
func (f *Facts) ToldOf(birthDate string) Told {
	told := f.ToldOfPayer()
	told.Context = ofac.Context{Country: f.Request.Country, BirthDate: birthDate, Address: f.Request.Address}
	told.Identifiers = f.Request.Identifiers[:f.Request.IdentifierCount]
	return told
}

// ToldOfPayer returns what a call says of operator and user.
func (f *Facts) ToldOfPayer() (told Told) {
	if f.ChainSize > 0 {
		told.Operator, told.Agent = f.Chain[0].Operator, f.AgentSlot()
	} else if f.User != nil {
		told.Operator = f.User.Operator
	}
	return told
}

// Deny returns why a clearing with these grounds does not silence a match with the entry uid in a
// call that says told; "" if it does. It holds where the call says the same as the clearing rests on
// and contradicts none of it, and where nothing that the call says is the listed party's, unless the
// officer cleared the pair knowing just that.
func (g *ClearedGrounds) Deny(told *Told, uid uint32, list *ofac.Index, now Time) (why string) {
	birth, country := ofac.CompareBirths(g.BirthDate, told.Context.BirthDate), ofac.CompareCountries(g.Country, told.Context.Country)
	address, number := ofac.CompareAddresses(g.Address, told.Context.Address), compareIdentifiers(g.Identifiers, told.Identifiers)
	switch {
	case birth == ofac.Unlike:
		return "date of birth differs"
	case country == ofac.Unlike:
		return "country differs"
	case address == ofac.Unlike:
		return "address differs"
	case number == ofac.Unlike:
		return "identifier differs"
	case g.Operator != 0 && g.Operator != told.Operator:
		return "another operator pays"
	case g.Agent != 0 && g.Agent != told.Agent:
		return "another agent pays"
	}
	for _, agreement := range list.Agreements(uid, &told.Context) {
		switch {
		case !agreement.Agrees:
		case agreement.Kind == ofac.FactBirthDate && birth != ofac.Same:
			return "date of birth is the listed party's"
		case agreement.Kind == ofac.FactNationality && country != ofac.Same:
			return "country is the listed party's"
		case agreement.Kind == ofac.FactPostalAddress && address != ofac.Same:
			return "address is the listed party's"
		}
	}
	for i := range told.Identifiers {
		asked := &told.Identifiers[i]
		query := ofac.IdentifierQuery{Class: asked.Class, Value: asked.Value, Country: asked.Country, NonSDNPossible: true, Now: int64(now)}
		if hit, found := list.Identifier(&query); found && hit.UID == uid && compareIdentifiers(g.Identifiers, told.Identifiers[i:i+1]) != ofac.Same {
			return "identifier is the listed party's"
		}
	}
	if g.describes() && !g.scoped() && max(birth, country, address, number) == ofac.Untold {
		return "the payment says nothing of what it rests on"
	}
	return ""
}

// compareIdentifiers compares identifiers class by class: those of a class of which both sides have
// one must have one in common.
func compareIdentifiers(grounds, told []Identifier) ofac.Likeness {
	likeness := ofac.Untold
	for i := range grounds {
		found := ofac.Untold
		for n := range told {
			if told[n].Class != grounds[i].Class {
				continue
			}
			if found = max(found, ofac.Unlike); grounds[i].isSame(&told[n]) {
				found = ofac.Same
			}
		}
		if found == ofac.Unlike {
			return ofac.Unlike
		}
		likeness = max(likeness, found)
	}
	return likeness
}

// isSame reports whether two identifiers of one class are the same: one number of two countries is
// two of them, where a country tells them apart.
func (i *Identifier) isSame(other *Identifier) bool {
	return i.Form() == other.Form() && (!i.Class.IsDocument() || ofac.CompareCountries(i.Country, other.Country) != ofac.Unlike)
}
