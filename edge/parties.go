package edge

import (
	"cmp"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// This file tells who is meant by the matches of a record. It shows each party once, with what
// the record's list says of it, and where the call's context agrees with that or differs. A
// leaf holds only the matches; everything else is read from the list that the leaf names.

// partiesMax bounds the parties of one record: three names and a memo with ten matches each, twelve
// wallets, eight identifiers, and what is looked up in a memo.
const partiesMax = 92

// meant is one party that a record's matches name.
type meant struct {
	uid     uint32
	outcome ofac.Outcome
	score   int32 // In 1e-4; a wallet has scoreOne.
	context ofac.Context
}

// Parties adds the members parties and partiesUnavailable to a record that has matches.
// partiesUnavailable says why the list cannot be read any more; otherwise it is null.
func (js *Judges) Parties(l *Leaf, m *strictjson.Members) {
	matches := l.Value.GetArray("matches")
	if len(matches) == 0 {
		return
	}
	list, gone := js.listOf(l)
	if list == nil {
		m.List("parties", []strictjson.Members{})
		m.TextOrNull("partiesUnavailable", gone)
		return
	}
	var all []meant
	for _, match := range matches[:min(len(matches), partiesMax)] {
		uid, err := strconv.ParseUint(string(match.GetStringBytes("uid")), 10, 32)
		if err != nil {
			continue
		}
		party := meant{uid: uint32(uid), score: scoreOne}
		if match.Exists("score") {
			party.score = int32(match.GetFloat64("score")*scoreOne + 0.5)
		}
		for outcome := ofac.Clear; outcome <= ofac.Listed; outcome++ {
			if string(match.GetStringBytes("outcome")) == outcome.String() {
				party.outcome = outcome
			}
		}
		if string(match.GetStringBytes("party")) == "counterparty" { // The call's context describes the counterparty only.
			party.context = contextOfRecord(l)
		}
		all = append(all, party)
	}
	writeParties(all, list, m)
	m.Null("partiesUnavailable")
}

// scoreOne is the score 1.
const scoreOne = 10_000

// writeMatchedParties does the same as Parties for the call that is being judged.
func (s *screening) writeMatchedParties(m *strictjson.Members, list *ofac.Index) {
	f := &s.facts
	if f.Token != engine.TokenGood {
		return
	}
	var all []meant
	for _, wallet := range []struct {
		listed  bool
		match   *ofac.WalletMatch
		context ofac.Context
	}{{f.PartyListed, &f.PartyWallet, s.context}, {f.OperatorListed, &f.OperatorWallet, ofac.Context{}}, {f.PayerListed, &f.PayerWallet, ofac.Context{}}} {
		if wallet.listed {
			all = append(all, meant{wallet.match.UID, walletOutcome(wallet.match), scoreOne, wallet.context})
		}
	}
	f.ListedWallets(func(_ engine.WalletRole, match *ofac.WalletMatch) {
		all = append(all, meant{match.UID, walletOutcome(match), scoreOne, ofac.Context{}})
	})
	all = append(all, s.meantByTold()...)
	for _, name := range []struct {
		result  *ofac.Result
		context ofac.Context
	}{{&f.PartyName, s.context}, {&f.OperatorName, ofac.Context{}}, {&f.UserName, ofac.Context{}}} {
		for i := range name.result.Matches {
			match := &name.result.Matches[i]
			all = append(all, meant{match.UID, match.Outcome, match.Score, name.context})
		}
	}
	writeParties(all, list, m)
}

// writeParties shows each party once, ordered by worst outcome, then best score, then agreement
// with the context.
func writeParties(all []meant, list *ofac.Index, m *strictjson.Members) {
	agreement := func(party *meant) (n int) {
		for _, a := range list.Agreements(party.uid, &party.context) {
			if a.Agrees {
				n += 2
			} else {
				n--
			}
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b meant) int {
		return cmp.Or(cmp.Compare(b.outcome, a.outcome), cmp.Compare(b.score, a.score), cmp.Compare(agreement(&b), agreement(&a)))
	})
	contexts := map[uint32]ofac.Context{} // A party that is also the counterparty keeps the call's context.
	for _, party := range all {
		if party.context != (ofac.Context{}) {
			contexts[party.uid] = party.context
		}
	}
	items, seen := []strictjson.Members{}, map[uint32]bool{}
	for _, party := range all {
		if seen[party.uid] {
			continue
		}
		seen[party.uid] = true
		context := contexts[party.uid]
		var item strictjson.Members
		item.Text("uid", strconv.FormatUint(uint64(party.uid), 10))
		if entry, known := list.Entry(party.uid); known {
			item.Text("name", entry.Primary)
			item.Text("type", entry.Type.String())
			item.Text("list", entry.List)
			item.Optional("entryId", entry.ID)
			item.Texts("programs", entry.Programs)
			writeAliases(&item, &entry)
		}
		writeIdentity(&item, party.uid, &context, list)
		items = append(items, item)
	}
	m.List("parties", items)
}

// aliasesMax bounds the other names that are shown of one party.
const aliasesMax = 60

// writeAliases writes the other names of a listed party, the strong ones first.
func writeAliases(item *strictjson.Members, entry *ofac.Entry) {
	var aliases []strictjson.Members
	for i := range entry.Names {
		name := &entry.Names[i]
		if name.Primary || name.Full == entry.Primary || len(aliases) == aliasesMax {
			continue
		}
		var m strictjson.Members
		m.Text("name", name.Full)
		if name.Weak {
			m.Bool("weak", true)
		}
		aliases = append(aliases, m)
	}
	if aliases != nil {
		item.List("aliases", aliases)
	}
}

// listOf finds the list that a record names. Tables of any matcher will do, because what a list
// says of a party does not depend on them.
func (js *Judges) listOf(l *Leaf) (list *ofac.Index, gone string) {
	digest, err := hex.DecodeString(l.Text("listDigest"))
	if err != nil || len(digest) != 32 {
		return nil, "the record names no list"
	}
	if active := js.deps.Published.List(); active != nil && active.Digest() == [32]byte(digest) {
		return active, ""
	}
	list, err = js.deps.Published.ListAs([32]byte(digest), uint16(l.Number("matcherVersion")))
	if errors.Is(err, ofac.ErrMatcherVersion) {
		list, err = js.deps.Published.ListByDigest([32]byte(digest))
	}
	switch {
	case errors.Is(err, ofac.ErrBeingCompiled):
		return nil, "the list is being compiled on this node: ask again"
	case err != nil || list == nil:
		return nil, "no node that answers holds the list any more"
	}
	return list, ""
}

// ListOf finds the list that a record was judged with. gone says why there is none.
func (js *Judges) ListOf(l *Leaf) (list *ofac.Index, gone string) { return js.listOf(l) }
