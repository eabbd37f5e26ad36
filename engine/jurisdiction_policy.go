package engine

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"railguard/ofac/place"
)

// Jurisdictions is the part of the policy about places.
type Jurisdictions struct {
	Block      []place.Code `cbor:"1,keyasint,omitempty"`
	Review     []place.Code `cbor:"2,keyasint,omitempty"`
	Exemptions []Exemption  `cbor:"3,keyasint,omitempty"`
}

// Exemption lets payments pass that touch a place, because a licence allows them.
type Exemption struct {
	ID         string       `cbor:"1,keyasint"`
	Licence    string       `cbor:"2,keyasint"`
	Countries  []place.Code `cbor:"3,keyasint"`           // Regions too.
	Operators  []string     `cbor:"4,keyasint,omitempty"` // Ids; none: every operator.
	PartyTypes uint8        `cbor:"5,keyasint,omitempty"` // Mask; 0: every type.
	MaxAmount  USD          `cbor:"6,keyasint"`           // Of one payment; NoLimit when not set.
	From       Time         `cbor:"7,keyasint"`
	Until      Time         `cbor:"8,keyasint"` // From this instant on it lets nothing pass.
	Reason     string       `cbor:"9,keyasint"`
}

// The bounds of the document.
const (
	jurisdictionsMax = 300
	exemptionsMax    = 64
	exemptionWordMax = 64
	exemptionTextMax = 512
	operatorsMax     = 256
)

// standardJurisdictions are in force where the policy says nothing.
var standardJurisdictions = &Jurisdictions{
	Block:  codesOf("CU", "IR", "KP", "UA-43", "UA-40"),
	Review: codesOf("UA-14", "UA-09"),
}

func codesOf(texts ...string) (codes []place.Code) {
	for _, text := range texts {
		code, ok := place.Parse(text)
		if !ok {
			panic("BUG: no place: " + text)
		}
		codes = append(codes, code)
	}
	return codes
}

func (p *Policy) jurisdictions() *Jurisdictions {
	if p.Jurisdictions == nil {
		return standardJurisdictions
	}
	return p.Jurisdictions
}

// Exemption returns an exemption by the number that FoundPlace has.
func (p *Policy) Exemption(number uint8) *Exemption {
	if list := p.jurisdictions().Exemptions; int(number) < len(list) {
		return &list[number]
	}
	return &Exemption{}
}

func (j *Jurisdictions) blocks(code place.Code) bool { return holds(j.Block, code) }

func (j *Jurisdictions) reviews(code place.Code) bool { return holds(j.Review, code) }

// holds reports whether a place is in a list, or lies in a country that is.
func holds(list []place.Code, code place.Code) bool {
	for _, listed := range list {
		if code.Within(listed) {
			return true
		}
	}
	return false
}

// wider returns the members in which j lets through what old stopped.
func (j *Jurisdictions) wider(old *Jurisdictions) (params []string) {
	if slices.ContainsFunc(old.Block, func(code place.Code) bool { return !j.blocks(code) }) {
		params = append(params, "jurisdictions.block")
	}
	if slices.ContainsFunc(old.Review, func(code place.Code) bool { return !j.blocks(code) && !j.reviews(code) }) {
		params = append(params, "jurisdictions.review")
	}
	if j.exemptsMore(old) {
		params = append(params, "jurisdictions.exemptions")
	}
	return params
}

// exemptsMore reports whether j has an exemption that old has not exactly so.
func (j *Jurisdictions) exemptsMore(old *Jurisdictions) bool {
	return slices.ContainsFunc(j.Exemptions, func(e Exemption) bool {
		return !slices.ContainsFunc(old.Exemptions, func(before Exemption) bool { return reflect.DeepEqual(e, before) })
	})
}

func (r *documentReader) readJurisdictions(param string, value json.RawMessage) *Jurisdictions {
	j := &Jurisdictions{Block: standardJurisdictions.Block, Review: standardJurisdictions.Review}
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "block":
			j.Block = r.readPlaces(path, value)
			for _, code := range standardJurisdictions.Block {
				if !slices.Contains(j.Block, code) {
					r.addError(path, "must hold "+code.String()+": the default list may be added to, never shortened; what a licence allows is an exemption")
				}
			}
		case "review":
			j.Review = r.readPlaces(path, value)
		case "exemptions":
			for i, element := range r.readList(path, value, exemptionsMax) {
				e := r.readExemption(elementOf(path, i), element)
				if slices.ContainsFunc(j.Exemptions, func(other Exemption) bool { return other.ID == e.ID }) {
					r.addError(elementOf(path, i)+".id", "is there twice")
				}
				j.Exemptions = append(j.Exemptions, e)
			}
		default:
			r.addUnknown(path)
		}
	})
	return j
}

func (r *documentReader) readPlaces(param string, value json.RawMessage) (codes []place.Code) {
	for i, element := range r.readList(param, value, jurisdictionsMax) {
		path := elementOf(param, i)
		text, ok := r.readText(path, element)
		if !ok {
			continue
		}
		code, ok := place.Parse(text)
		switch {
		case !ok:
			r.addError(path, "must be a country (ISO 3166-1 alpha-2: IR) or a region (ISO 3166-2: UA-43)")
		case slices.Contains(codes, code):
			r.addError(path, "is there twice")
		default:
			codes = append(codes, code)
		}
	}
	return codes
}

func (r *documentReader) readExemption(param string, value json.RawMessage) Exemption {
	e, before := Exemption{MaxAmount: NoLimit}, len(r.errors)
	last := Day(0)
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "id":
			e.ID = r.readShort(path, value, exemptionWordMax)
		case "licence":
			e.Licence = r.readShort(path, value, exemptionTextMax)
		case "reason":
			e.Reason = r.readShort(path, value, exemptionTextMax)
		case "countries":
			e.Countries = r.readPlaces(path, value)
		case "operators":
			e.Operators = r.readOperatorIDs(path, value)
		case "cpTypes":
			if e.PartyTypes = r.readPartyTypes(path, value) &^ partyTypesSet; e.PartyTypes == 0 {
				r.addError(path, "must name a type")
			}
		case "maxAmount":
			e.MaxAmount = r.readUSD(path, value)
		case "from":
			day, _ := r.readDay(path, value)
			e.From = day.Start()
		case "until":
			last, _ = r.readDay(path, value)
			e.Until = (last + 1).Start()
		default:
			r.addUnknown(path)
		}
	})
	if len(r.errors) > before {
		return e
	}
	if e.ID == "" || e.Licence == "" || e.Reason == "" || len(e.Countries) == 0 || e.From == 0 || e.Until == 0 {
		r.addError(param, "must have id, licence, countries, from, until and reason")
	} else if e.Until <= e.From {
		r.addError(param+".until", "must not be before from")
	}
	return e
}

func (r *documentReader) readShort(param string, value json.RawMessage, most int) string {
	text, ok := r.readText(param, value)
	if ok && (strings.TrimSpace(text) == "" || len(text) > most) {
		r.addError(param, "must have 1 to "+strconv.Itoa(most)+" bytes")
	}
	return text
}

func (r *documentReader) readOperatorIDs(param string, value json.RawMessage) (ids []string) {
	for i, element := range r.readList(param, value, operatorsMax) {
		text, ok := r.readText(elementOf(param, i), element)
		if ok && !strings.HasPrefix(text, "opr_") {
			r.addError(elementOf(param, i), "must be the id of an operator (opr_...)")
		}
		ids = append(ids, text)
	}
	if len(ids) == 0 {
		r.addError(param, "must name an operator")
	}
	return ids
}
