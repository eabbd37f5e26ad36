package edge

import (
	"slices"
	"strconv"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// clearedPairs finds the entries a reviewer cleared for a name (decision 44, "Cleared pairs").
type clearedPairs struct {
	source []*wire.ClearedPair
	byName map[string][]*wire.ClearedPair // By normalised name.
}

func newClearedPairs(source []*wire.ClearedPair) *clearedPairs {
	p := &clearedPairs{source: source, byName: make(map[string][]*wire.ClearedPair, len(source))}
	for _, pair := range source {
		p.byName[pair.Name] = append(p.byName[pair.Name], pair)
	}
	return p
}

// The reasons why a cleared pair is void, in the words of the API.
const (
	VoidExpired      = "expired"
	VoidEntryRemoved = "entry_removed"
	VoidEntryChanged = "entry_changed"
)

// JudgeClearedPair returns why a cleared pair is void under a list, "" while it is in force.
// The reviewer cleared the entry as it was then. A later list may say more of that party.
func JudgeClearedPair(pair *wire.ClearedPair, list *ofac.Index, now engine.Time) (void string) {
	digest, listed := list.EntryDigest(pair.UID)
	switch {
	case pair.ExpiresAt != 0 && pair.ExpiresAt <= now:
		return VoidExpired
	case !listed:
		return VoidEntryRemoved
	case digest != pair.EntryDigest:
		return VoidEntryChanged
	}
	return ""
}

// clearing is a cleared pair of a name of the call, and what became of it.
type clearing struct {
	party  string // As evidence calls it.
	pair   *wire.ClearedPair
	denied string // Why it does not hold in this call; "": it holds.
}

// hold appends what became of the cleared pairs of a name: those that hold, and of every other entry
// the newest that does not.
func (p *clearedPairs) hold(found []clearing, party, name string, told *engine.Told, list *ofac.Index, now engine.Time) []clearing {
	if len(p.byName) == 0 || name == "" {
		return found
	}
	first := len(found)
	for _, pair := range slices.Backward(p.byName[ofac.NormaliseName(name)]) {
		if JudgeClearedPair(pair, list, now) != "" {
			continue
		}
		next := clearing{party, pair, pair.Grounds.Deny(told, pair.UID, list, now)}
		at := slices.IndexFunc(found[first:], func(c clearing) bool { return c.pair.UID == pair.UID })
		switch {
		case at < 0:
			found = append(found, next)
		case found[first+at].denied != "" && next.denied == "":
			found[first+at] = next
		}
	}
	return found
}

// heldEntries returns the entries that are cleared for a party's name, and when the first of those
// clearings lapses (0: never).
func heldEntries(found []clearing, party string) (uids []uint32, until engine.Time) {
	for i := range found {
		pair := found[i].pair
		if found[i].party != party || found[i].denied != "" {
			continue
		}
		uids = append(uids, pair.UID)
		if pair.ExpiresAt != 0 && (until == 0 || pair.ExpiresAt < until) {
			until = pair.ExpiresAt
		}
	}
	return uids, until
}

// The parties of a call, as evidence calls them.
const (
	partyOperator     = "operator"
	partyUser         = "user"
	partyCounterparty = "counterparty"
)

// lookUpCleared looks up the cleared pairs of all names in the call, and which of them hold for what
// the call says.
func (j *Judge) lookUpCleared(list *ofac.Index) {
	s := &j.screen
	f, pairs := &s.facts, j.Terms.cleared
	s.clearings = s.clearings[:0]
	if len(pairs.byName) == 0 || f.Token != engine.TokenGood {
		return
	}
	find := func(party, name string, told engine.Told) []uint32 {
		s.clearings = pairs.hold(s.clearings, party, name, &told, list, f.Now)
		uids, until := heldEntries(s.clearings, party)
		if until != 0 && (f.ClearedUntil == 0 || until < f.ClearedUntil) {
			f.ClearedUntil = until
		}
		return uids
	}
	if f.ChainSize > 0 {
		f.OperatorCleared = find(partyOperator, f.Chain[0].OperatorLegalName, f.ToldOfPayer())
	}
	if f.User != nil {
		f.UserCleared = find(partyUser, f.User.LegalName, f.ToldOfPayer())
	}
	f.PartyCleared = find(partyCounterparty, s.request.Name, f.ToldOf(s.context.BirthDate))
}

// toldOf returns what cleared pairs are held against in a question of the workbench. Whoever is not of
// the institution is told of no grounds: by asking often it would find out what they are.
func (t *Terms) toldOf(question *MatchQuestion, k *Caller) *engine.Told {
	told := engine.Told{Context: question.Context}
	switch {
	case !k.Institution():
		told = engine.Told{}
	case question.Record != nil:
		told, _ = t.ToldOfRecord(question.Record, question.Name)
	}
	return &told
}

// ToldOfRecord returns what a recorded call said of the party with a name. known: the call has such a
// party.
func (t *Terms) ToldOfRecord(l *Leaf, name string) (told engine.Told, known bool) {
	told.Agent, _ = t.ParseAgent(l.Text("agentId"))
	told.Operator, _ = t.ParseOperator(l.Text("operatorId"))
	name = ofac.NormaliseName(name)
	request := requestOfRecord(l)
	if ofac.NormaliseName(request.Name) != name {
		return told, ofac.NormaliseName(l.Text("operatorLegalName")) == name || l.Text("userId") != "" // Records do not name users.
	}
	told.Context, told.Identifiers = contextOfRecord(l), request.Identifiers[:request.IdentifierCount]
	return told, true
}

// WriteGrounds returns on what a clearing rests, as the API writes it.
func (t *Terms) WriteGrounds(g *engine.ClearedGrounds) (m strictjson.Members) {
	m.Optional("dateOfBirth", g.BirthDate)
	m.Optional("country", g.Country)
	m.Optional("address", g.Address)
	var items []strictjson.Members
	for i := range g.Identifiers {
		var item strictjson.Members
		item.Text("type", g.Identifiers[i].Class.String())
		item.Text("value", g.Identifiers[i].Value)
		item.Optional("country", g.Identifiers[i].Country)
		items = append(items, item)
	}
	if len(items) > 0 {
		m.List("identifiers", items)
	}
	m.Optional("operatorId", t.OperatorID(g.Operator))
	if g.Agent != 0 {
		m.Text("agentId", t.AgentID(g.Agent))
	}
	return m
}

// writeClearing writes into the evidence of a match which cleared pair silenced it, or why one does
// not.
func (s *screening) writeClearing(item *strictjson.Members, party string, match *ofac.Match) {
	at := slices.IndexFunc(s.clearings, func(c clearing) bool { return c.party == party && c.pair.UID == match.UID })
	if at < 0 || match.Outcome == ofac.Listed {
		return
	}
	s.clearings[at].write(item)
}

func (c *clearing) write(item *strictjson.Members) {
	item.Text("clearedId", strconv.FormatUint(uint64(c.pair.ID), 10))
	if c.denied != "" {
		item.Text("clearing", "cleared pair does not hold: "+c.denied)
	}
}
