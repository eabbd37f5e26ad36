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
	texts := f.Texts()
	for i := range texts {
		party, member := textOf(texts[i].At)
		if texts[i].Listed {
			found := walletEvidence(party, &texts[i].Wallet, list)
			found.Text("member", member)
			found.Text("why", "a wallet in the memo")
			add(found)
		}
		names := texts[i].Names.Matches
		for n := range names {
			found := nameEvidence(party, &names[n], list)
			found.Text("member", member)
			add(found)
		}
	}
}

// textOf returns whom a text of the call, or an identifier, speaks of, and its member.
func textOf(at int) (party, member string) {
	switch at {
	case engine.InMemo:
		return "memo", engine.TextMember(at)
	case engine.InName, engine.InRegion, engine.InAddress:
		return "counterparty", engine.TextMember(at)
	}
	if at < 0 {
		return "text", engine.TextMember(at)
	}
	return "counterparty", "cpIdentifiers[" + strconv.Itoa(at) + "]"
}

// identifierEvidence writes the entity, what the list has the identifier as, and what the call's was
// read as.
func identifierEvidence(found *engine.Identified, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	party, member := textOf(found.At)
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
	m.Text("member", member)
	m.Text("outcome", outcomeOf(found).String())
	if hit.Doubt != ofac.NoDoubt {
		m.Text("why", hit.Doubt.String())
	}
	return m
}

// outcomeOf returns what an identifier leads to by itself.
func outcomeOf(found *engine.Identified) ofac.Outcome {
	if found.At < 0 || found.Hit.Doubt != ofac.NoDoubt {
		return ofac.Possible
	}
	return ofac.Listed
}

// meantByTold are the parties that identifiers and memo name.
func (s *screening) meantByTold() (all []meant) {
	f := &s.facts
	for i := range f.Identified {
		context := s.context
		if f.Identified[i].At < 0 {
			context = ofac.Context{}
		}
		all = append(all, meant{f.Identified[i].Hit.UID, outcomeOf(&f.Identified[i]), scoreOne, context})
	}
	texts := f.Texts()
	for i := range texts {
		if texts[i].Listed {
			all = append(all, meant{texts[i].Wallet.UID, ofac.Possible, scoreOne, ofac.Context{}})
		}
		for n := range texts[i].Names.Matches {
			match := &texts[i].Names.Matches[n]
			all = append(all, meant{match.UID, match.Outcome, match.Score, ofac.Context{}})
		}
	}
	return all
}

// addIdentifier adds the key by which a search for an identifier finds the record.
func (s *screening) addIdentifier(told *engine.Identifier) {
	if key, ok := engine.IdentifierFilterKey(told.Class, told.Value); ok && !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}
