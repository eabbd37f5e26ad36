package casework

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// A party is the case (decision 146): a counterparty together with the listed entry or the place that
// its payments hit. The handlers here show what the node's index of its own records has of each, and
// let an officer decide all its open reviews at once. Parties belong to the institution.

// partyPatience is how long a call waits for the index to read what it lacks. A call that waits no
// longer answers with what is there, and says so.
const partyPatience = 2 * time.Second

func (b *Room) partyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/parties", Reserved: true, Handle: b.listParties},
		{Method: http.MethodGet, Path: "/v1/parties/{partyId}", Reserved: true, Handle: b.showParty},
		{Method: http.MethodPost, Path: "/v1/parties/{partyId}/decide", Reserved: true, Handle: b.decideParty},
		{Method: http.MethodGet, Path: "/v1/inbox", Reserved: true, Handle: b.listInbox},
		{Method: http.MethodGet, Path: "/v1/search", Reserved: true, Handle: b.search},
		{Method: http.MethodPost, Path: "/v1/search", Reserved: true, Handle: border.AskByBody(b.search)},
	}
}

func noParty() *border.Error {
	return border.NotFound("no such party among the payments that this node has read; ask again where complete is false")
}

// catch lets the index read what was added.
func (b *Room) catch(c *border.Request) parties.Coverage {
	return b.index.Catch(c.Context(), partyPatience)
}

// writeCoverage says what the answer rests on.
func writeCoverage(m *strictjson.Members, covered parties.Coverage) {
	m.Bool("complete", covered.Complete && covered.Compared)
	if covered.Since == 0 {
		m.Null("since")
	} else {
		m.Time("since", covered.Since)
	}
}

// tally sums payments by what became of their money.
type tally struct {
	count  [parties.States]uint64
	amount [parties.States]engine.USD
}

func (t *tally) add(p *parties.Payment) {
	state := p.State()
	t.count[state]++
	t.amount[state] = t.amount[state].Plus(p.Amount)
}

func (t *tally) members() (m strictjson.Members) {
	var count uint64
	var amount engine.USD
	for state := range parties.States {
		count, amount = count+t.count[state], amount.Plus(t.amount[state])
	}
	write := func(name string, count uint64, amount engine.USD) {
		m.BeginObject(name)
		m.Uint("count", count)
		m.USD("amountUSDC", amount)
		m.EndObject()
	}
	write("tried", count, amount)
	for state := range parties.States {
		write(state.String(), t.count[state], t.amount[state])
	}
	return m
}

// partyTally is a line of the list of parties.
type partyTally struct {
	tally
	number uint32
	newest uint64
	at     engine.Time
	open   int
}

// listParties is GET /v1/parties, the one with the newest payment first.
func (b *Room) listParties(c *border.Request) (border.Answer, error) {
	state := c.Query("state")
	if state != "" && state != "open" && state != "all" {
		return border.Answer{}, border.BadQuery("state", "must be open or all")
	}
	p, err := c.ReadListQuery("parties", 1)
	if err != nil {
		return border.Answer{}, err
	}
	if p.Ascending {
		return border.Answer{}, border.BadQuery("order", "must be desc")
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	covered := b.catch(c)
	generation := b.index.Generation()
	all, err := b.tallyParties(c, view, c.Query("q"))
	if err != nil {
		return border.Answer{}, err
	}
	all = slices.DeleteFunc(all, func(t *partyTally) bool {
		return t.newest == 0 || state != "all" && t.open == 0 || p.After != nil && t.newest >= p.After[0]
	})
	slices.SortFunc(all, func(a, b *partyTally) int { return cmp.Compare(b.newest, a.newest) })
	next := ""
	if len(all) > p.Limit {
		all = all[:p.Limit]
		next = p.Cursor(all[p.Limit-1].newest)
	}
	items := make([]strictjson.Members, 0, len(all))
	for _, t := range all {
		party, known := b.index.PartyAt(t.number)
		if !known || b.index.Generation() != generation {
			return border.Answer{}, movedIndex()
		}
		var m strictjson.Members
		b.writePartyHead(c, &m, &party)
		m.Int("open", int64(t.open))
		m.Object("sums", t.members())
		m.Time("newestAt", t.at)
		m.Bool("moneyGone", t.count[parties.WentAhead] > 0)
		items = append(items, m)
	}
	var more strictjson.Members
	writeCoverage(&more, covered)
	c.Judge.Index = view.Index
	return c.AnswerListWith(more, items, next)
}

// movedIndex asks the caller to ask again: the index was made anew under the call.
func movedIndex() *border.Error {
	return border.Unavailable("overloaded", "this node's index of parties was made anew meanwhile: ask again")
}

// tallyParties sums the payments of all parties, or of those that a text finds.
func (b *Room) tallyParties(c *border.Request, view *fsm.View, text string) ([]*partyTally, error) {
	between := func() { border.RestBetween(c) }
	passes := func(*parties.Payment) bool { return true }
	if text != "" {
		found := map[uint32]bool{}
		for _, alike := range b.index.Alike(&parties.Question{Names: []string{text}, Links: linksOf(text), Words: text, Most: partiesFoundMost}, between) {
			found[alike.Payee] = true
		}
		entries := b.index.PartiesOf(text)
		passes = func(p *parties.Payment) bool { return found[p.Payee] || entries[p.Party] }
	}
	sums := map[uint32]*partyTally{}
	of := func(number uint32) *partyTally {
		t := sums[number]
		if t == nil {
			t = &partyTally{number: number}
			sums[number] = t
		}
		return t
	}
	b.index.Payments(between, func(p *parties.Payment) bool {
		if passes(p) {
			t := of(p.Party)
			if t.add(p); t.newest == 0 {
				t.newest, t.at = p.Leaf, p.At
			}
		}
		return true
	})
	work, err := b.collectWork(c, view)
	if err != nil {
		return nil, err
	}
	for i := range work {
		if t := sums[work[i].payment.Party]; t != nil && work[i].payment.Party != 0 {
			t.open++
		}
	}
	all := make([]*partyTally, 0, len(sums))
	for _, t := range sums {
		all = append(all, t)
	}
	return all, nil
}

// partiesFoundMost is how many counterparties a text finds at most.
const partiesFoundMost = 1000

// linksOf returns the wallet or the identifier that a text may be.
func linksOf(text string) (links []parties.Link) {
	if key, ok := engine.WalletFilterKey(text); ok {
		links = append(links, parties.Link{Key: key, Text: text, Wallet: true})
	}
	if form := engine.CanonicalIdentifier(text); form != "" {
		links = append(links, parties.Link{Key: engine.FilterKey(engine.FilterIdentifier, form), Text: text})
	}
	return links
}

// writePartyHead writes who a party is, and whom or which place its payments hit.
func (b *Room) writePartyHead(c *border.Request, m *strictjson.Members, party *parties.Party) {
	m.Text("partyId", party.ID.String())
	m.TextOrNull("name", party.Name)
	m.Text("side", party.Side.String())
	writeEntry(c, m, &party.Entry)
}

// writeEntry writes what was hit, as the active list has it, else as the newest record has it.
func writeEntry(c *border.Request, m *strictjson.Members, entry *parties.Entry) {
	if entry.UID == 0 {
		m.Null("entry")
	} else {
		m.BeginObject("entry")
		m.Text("uid", border.UintText(uint64(entry.UID)))
		listed, known := false, false
		if list := c.Published().List(); list != nil {
			now, is := list.Entry(entry.UID)
			if listed, known = is, true; is {
				m.Text("list", now.List)
				m.Text("name", now.Primary)
				m.Text("type", now.Type.String())
				m.Optional("entryId", now.ID)
				m.Texts("programs", now.Programs)
			}
		}
		if !listed {
			m.Text("list", entry.List)
			m.Text("name", entry.Name)
			m.Texts("programs", []string{})
		}
		if known {
			m.Bool("listedNow", listed)
		}
		m.EndObject()
	}
	m.TextOrNull("place", entry.Place)
}
