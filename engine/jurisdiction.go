package engine

import (
	"railguard/ofac/identifier"
	"railguard/ofac/place"
)

// Sub-reasons about places.
const (
	subPartyPlace      Sub = 1 // Of R24.
	subOriginPlace     Sub = 2 // Of R24.
	subIdentifierPlace Sub = 3 // Of R24.
	subPlaceUnread     Sub = 6 // Of R20, like those below.
	subPlaceReviewed   Sub = 7
	subPlaceDoubtful   Sub = 8
	subPlaceOfAddress  Sub = 9
	subPlaceOfText     Sub = 11
)

// Places is what became of the countries and regions of a payment.
type Places struct {
	Block  Sub // Of R24: one of them is embargoed for sure.
	Review Sub // Of R20: one of them is reviewed, doubtful or cannot be read.

	Found [foundMax]FoundPlace // The first Count that had a consequence, or would have had one but for a licence.
	Count int
	More  bool // There were more than Found holds.
}

const foundMax = 16

// FoundPlace is a place that a member of the call names.
type FoundPlace struct {
	Member    PlaceMember
	Index     uint8      // Of an identifier: which one. Of a text: InMemo and so on, without its sign.
	Code      place.Code // Zero: the member cannot be read.
	Outcome   PlaceOutcome
	Exemption uint8 // Of OutcomeExempt: its number in the policy.
}

// PlaceMember is a member of a call that can name a place.
type PlaceMember uint8

// The members.
const (
	MemberCountry PlaceMember = iota
	MemberRegion
	MemberOrigin
	MemberIdentifier        // What the identifier tells by itself.
	MemberIdentifierCountry // The country of whoever gave it.
	MemberAddress
	MemberText // An identifier in a text.
)

// PlaceOutcome is what a place does to a payment.
type PlaceOutcome uint8

// The outcomes.
const (
	OutcomeBlocked PlaceOutcome = iota
	OutcomeReviewed
	OutcomeDoubtful
	OutcomeUnread
	OutcomeExempt
)

var (
	placeMembers  = [...]string{"cpCountry", "cpRegion", "originCountry", "cpIdentifiers", "cpIdentifiers", "cpAddress", ""}
	placeOutcomes = [...]string{"blocked", "reviewed", "doubtful", "unread", "exempt"}
)

// String returns the name of the member in the API.
func (m PlaceMember) String() string { return placeMembers[m] }

// String returns the word of the API.
func (o PlaceOutcome) String() string { return placeOutcomes[o] }

// PlacesVersion names the tables by which places are read, for the record.
func PlacesVersion() string { return place.Version() }

// jurisdiction is R24.
func jurisdiction(f *Facts) Sub {
	f.readPlaces()
	return f.Places.Block
}

// comparePlaces shows what R24 and R20 read of the call.
func comparePlaces(f *Facts) []Compared {
	return []Compared{{"cpCountry", f.Request.Country}, {"cpRegion", f.Request.Region}, {"originCountry", f.Request.Origin}}
}

// readPlaces reads the places of the call under the policy's jurisdictions. R24 stands before R20 in
// every rule set, so that it is done when R20 is judged.
func (f *Facts) readPlaces() {
	r := f.Request
	f.Places = Places{}
	if r.Country == "" && r.Region == "" && r.Origin == "" && r.Address == "" && r.IdentifierCount == 0 && f.texts == nil {
		return
	}
	var country place.Code
	if trimSpace(r.Country) != "" {
		reading := place.Country(r.Country)
		country = reading.Code
		f.judgeReading(MemberCountry, 0, reading)
	}
	if trimSpace(r.Region) != "" {
		if reading := place.Region(r.Region, country); reading.Code != (place.Code{}) {
			f.judgeReading(MemberRegion, 0, reading)
		}
	}
	if trimSpace(r.Origin) != "" {
		f.judgeReading(MemberOrigin, 0, place.Country(r.Origin))
	}
	for i := range r.Identifiers[:r.IdentifierCount] {
		f.readIdentifierPlace(uint8(i), &r.Identifiers[i])
	}
	if r.Address != "" {
		var buffer [4]place.Code
		for _, code := range place.Address(r.Address, buffer[:0]) {
			f.judgeReading(MemberAddress, 0, place.Reading{Code: code, Doubt: true})
		}
	}
	if f.texts != nil {
		for _, in := range f.texts.places {
			f.judgeReading(MemberText, uint8(-in.at), place.Reading{Code: in.code, Doubt: true})
		}
	}
}

// readIdentifierPlace reads the country that an identifier tells by itself, and that of whoever gave
// it. A passport tells of a nationality, and not of where somebody is: it is never sure.
func (f *Facts) readIdentifierPlace(index uint8, told *Identifier) {
	if code := f.identifierRead(int(index)).country; code != (place.Code{}) {
		f.judgeReading(MemberIdentifier, index, place.Reading{Code: code})
	}
	if trimSpace(told.Country) == "" {
		return
	}
	reading := place.Country(told.Country)
	if reading.Code != (place.Code{}) && (told.Class == identifier.Passport || told.Class == identifier.NationalID) {
		reading.Doubt = true
	}
	f.judgeReading(MemberIdentifierCountry, index, reading)
}

// judgeReading notes what one reading does: nothing, if the place is on no list of the policy.
func (f *Facts) judgeReading(member PlaceMember, index uint8, reading place.Reading) {
	found := FoundPlace{Member: member, Index: index, Code: reading.Code}
	lists := f.Policy.jurisdictions()
	switch {
	case reading.Code == (place.Code{}):
		found.Outcome = OutcomeUnread
	case lists.blocks(reading.Code):
		if found.Outcome = OutcomeBlocked; reading.Doubt {
			found.Outcome = OutcomeDoubtful
		}
	case lists.reviews(reading.Code):
		found.Outcome = OutcomeReviewed
	default:
		return
	}
	if found.Outcome != OutcomeUnread {
		if at, exempt := f.exemption(lists, reading.Code); exempt {
			found.Outcome, found.Exemption = OutcomeExempt, uint8(at)
		}
	}
	f.Places.add(found)
}

// add keeps a place, and the first reason for each rule.
func (p *Places) add(found FoundPlace) {
	if p.Count < foundMax {
		p.Found[p.Count] = found
		p.Count++
	} else {
		p.More = true
	}
	switch sub := found.review(); {
	case found.Outcome == OutcomeExempt:
	case found.Outcome == OutcomeBlocked && p.Block == 0:
		p.Block = found.block()
	case found.Outcome != OutcomeBlocked && p.Review == 0:
		p.Review = sub
	}
}

func (p *FoundPlace) block() Sub {
	switch p.Member {
	case MemberOrigin:
		return subOriginPlace
	case MemberIdentifier, MemberIdentifierCountry:
		return subIdentifierPlace
	}
	return subPartyPlace
}

func (p *FoundPlace) review() Sub {
	switch {
	case p.Outcome == OutcomeUnread:
		return subPlaceUnread
	case p.Member == MemberAddress:
		return subPlaceOfAddress
	case p.Member == MemberText:
		return subPlaceOfText
	case p.Outcome == OutcomeReviewed:
		return subPlaceReviewed
	}
	return subPlaceDoubtful
}

// exemption returns the first exemption in force that covers a place and the payment. The judgement
// lapses when one that could cover it begins or ends.
func (f *Facts) exemption(lists *Jurisdictions, code place.Code) (at int, exempt bool) {
	for i := range lists.Exemptions {
		e := &lists.Exemptions[i]
		if f.Now >= e.Until || !e.covers(code) || !e.allows(f) {
			continue
		}
		if f.Now < e.From {
			f.lowerValidUntil(e.From)
			continue
		}
		f.lowerValidUntil(e.Until)
		return i, true
	}
	return 0, false
}

// covers reports whether an exemption is for a place.
func (e *Exemption) covers(code place.Code) bool {
	for _, country := range e.Countries {
		if code.Within(country) {
			return true
		}
	}
	return false
}

// allows reports whether an exemption is for such a payment, whatever its place.
func (e *Exemption) allows(f *Facts) bool {
	if f.Request.Amount.Exceeds(e.MaxAmount) {
		return false
	}
	if e.PartyTypes != 0 {
		if party, known := ParsePartyType(f.Request.Type); !known || party == 0 || e.PartyTypes&(1<<party) == 0 {
			return false
		}
	}
	if len(e.Operators) == 0 {
		return true
	}
	for _, operator := range e.Operators {
		if operator == f.OperatorID && operator != "" {
			return true
		}
	}
	return false
}
