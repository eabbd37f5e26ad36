package edge

import (
	"slices"
	"strconv"

	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// This file writes the evidence of what a call tells of the counterparty besides its name and its
// wallet: identifiers, and the memo.

// addToldEvidence adds what the list says of the identifiers and of the memo.
func addToldEvidence(f *engine.Facts, list *ofac.Index, add func(strictjson.Members)) {
	for i := range f.Identified {
		add(identifierEvidence(&f.Identified[i], list))
	}
	if f.Memo.Listed {
		found := walletEvidence("memo", &f.Memo.Wallet, list)
		found.Text("why", "a wallet in the memo")
		add(found)
	}
	for i := range f.Memo.Names.Matches {
		add(nameEvidence("memo", &f.Memo.Names.Matches[i], list))
	}
}

// identifierEvidence writes the entity, what the list has the identifier as, and what the call's was
// read as.
func identifierEvidence(found *engine.Identified, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	party := "counterparty"
	if found.At == engine.InMemo {
		party = "memo"
	}
	hit := &found.Hit
	m.Text("party", party)
	m.Text("list", list.NameOf(hit.Lists))
	m.Text("uid", strconv.FormatUint(uint64(hit.UID), 10))
	if entry, ok := list.Entry(hit.UID); ok {
		m.Text("type", entry.Type.String())
		m.Text("name", entry.Primary)
		m.Texts("programs", entry.Programs)
	}
	m.Text("identifier", hit.Value)
	m.Text("identifierType", hit.Class.String())
	m.Text("identifierLabel", hit.Label)
	m.Optional("identifierCountry", hit.Country)
	m.Text("readAs", found.As.String())
	if found.At != engine.InMemo {
		m.Text("member", "cpIdentifiers["+strconv.Itoa(found.At)+"]")
	}
	m.Text("outcome", outcomeOf(found).String())
	if hit.Doubt != ofac.NoDoubt {
		m.Text("why", hit.Doubt.String())
	}
	return m
}

// outcomeOf returns what an identifier leads to by itself.
func outcomeOf(found *engine.Identified) ofac.Outcome {
	if found.At == engine.InMemo || found.Hit.Doubt != ofac.NoDoubt {
		return ofac.Possible
	}
	return ofac.Listed
}

// meantByTold are the parties that identifiers and memo name.
func (s *screening) meantByTold() (all []meant) {
	f := &s.facts
	for i := range f.Identified {
		context := s.context
		if f.Identified[i].At == engine.InMemo {
			context = ofac.Context{}
		}
		all = append(all, meant{f.Identified[i].Hit.UID, outcomeOf(&f.Identified[i]), scoreOne, context})
	}
	if f.Memo.Listed {
		all = append(all, meant{f.Memo.Wallet.UID, ofac.Possible, scoreOne, ofac.Context{}})
	}
	for i := range f.Memo.Names.Matches {
		match := &f.Memo.Names.Matches[i]
		all = append(all, meant{match.UID, match.Outcome, match.Score, ofac.Context{}})
	}
	return all
}

// addIdentifier adds the key by which a search for an identifier finds the record.
func (s *screening) addIdentifier(told *engine.Identifier) {
	if key, ok := engine.IdentifierFilterKey(told.Class, told.Value); ok && !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}
