package casework

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Search finds what an officer has a piece of: part of a name in any order, another spelling of it, an
// agent's name, a transaction, a wallet, an identifier. Each answer says how like it is, and why.

const (
	searchMost      = 50 // Answers of each kind.
	searchTextLeast = 2  // Letters of a question.
)

// search is GET /v1/search?q=.
func (b *Room) search(c *border.Request) (border.Answer, error) {
	text := strings.TrimSpace(c.Query("q"))
	if len([]rune(text)) < searchTextLeast {
		return border.Answer{}, border.BadQuery("q", "must have at least two characters")
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	covered := b.catch(c)
	generation := b.index.Generation()
	m := c.Out[:0]
	m.Text("q", text)
	m.List("agents", b.searchAgents(c, view, text))
	found, err := b.searchParties(c, text)
	if err != nil {
		return border.Answer{}, err
	}
	m.List("parties", found)
	transactions, err := searchTransactions(c, text)
	if err != nil {
		return border.Answer{}, err
	}
	m.List("transactions", transactions)
	wallets, identifiers := b.searchLinks(c, text)
	m.List("wallets", wallets)
	m.List("identifiers", identifiers)
	if b.index.Generation() != generation {
		return border.Answer{}, movedIndex()
	}
	writeCoverage(&m, covered)
	c.Judge.Index = view.Index
	m.Uint("asOfIndex", view.Index)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

// searchAgents finds agents by id, and by all words of their own or their operator's name.
func (b *Room) searchAgents(c *border.Request, view *fsm.View, text string) []strictjson.Members {
	type found struct {
		slot  engine.AgentSlot
		score uint16
		why   string
	}
	var all []found
	byID, isID := c.Judge.Terms.ParseAgent(text)
	for at := range min(view.AgentSlots(), border.RowScanMax) {
		border.RestBetween(c)
		slot := engine.AgentSlot(at + 1)
		_, profile, known := view.Agent(slot)
		if !known {
			continue
		}
		if isID && slot == byID {
			all = append(all, found{slot, 10_000, "the agent's id"})
			continue
		}
		score, why := parties.HasWords(profile.AgentName, text)
		if operator, whose := parties.HasWords(profile.OperatorLegalName, text); operator > score {
			score, why = operator, "its operator "+whose
		}
		if score > 0 {
			all = append(all, found{slot, score, why})
		}
	}
	border.ChargeLooked(c, view.AgentSlots()/rowsOfOneLeaf)
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot)) })
	items := []strictjson.Members{}
	for _, one := range all[:min(len(all), searchMost)] {
		_, profile, _ := view.Agent(one.slot)
		var m strictjson.Members
		m.Text("agentId", c.Judge.Terms.AgentID(one.slot))
		m.Text("agentName", profile.AgentName)
		m.Text("operatorLegalName", profile.OperatorLegalName)
		writeLikeness(&m, one.score, one.why)
		items = append(items, m)
	}
	return items
}

func writeLikeness(m *strictjson.Members, score uint16, why string) {
	m.Score("likeness", int32(score))
	m.Text("why", why)
}

// searchParties finds parties by their names, wallets and identifiers, and by whom they hit. The best
// come first, of equal ones that with the newest payment.
func (b *Room) searchParties(c *border.Request, text string) ([]strictjson.Members, error) {
	between := func() { border.RestBetween(c) }
	byPayee := map[uint32]parties.Alike{}
	for _, a := range b.index.Alike(&parties.Question{Names: []string{text}, Links: linksOf(text), Words: text, Most: partiesFoundMost}, between) {
		byPayee[a.Payee] = a
	}
	byEntry := b.index.PartiesOf(text)
	type found struct {
		partyTally
		score uint16
		why   string
	}
	sums := map[uint32]*found{}
	id, isID := parties.ParseID(text)
	_, named, _ := b.index.Party(id)
	b.index.Payments(between, func(p *parties.Payment) bool {
		one := sums[p.Party]
		if one == nil {
			a, alike := byPayee[p.Payee]
			switch {
			case isID && p.Party == named:
				a = parties.Alike{Score: 10_000, Why: "the party's id"}
			case alike:
			case byEntry[p.Party]:
				a = parties.Alike{Score: 9_000, Why: "its payments hit the listed party of this name"}
			default:
				return true
			}
			one = &found{partyTally{number: p.Party, newest: p.Leaf, at: p.At}, a.Score, a.Why}
			sums[p.Party] = one
		}
		one.add(p)
		return true
	})
	all := make([]*found, 0, len(sums))
	for _, one := range sums {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.newest, a.newest)) })
	items := []strictjson.Members{}
	for _, one := range all[:min(len(all), searchMost)] {
		party, known := b.index.PartyAt(one.number)
		if !known {
			return nil, movedIndex()
		}
		var m strictjson.Members
		b.writePartyHead(c, &m, &party)
		m.Object("sums", one.members())
		m.Time("newestAt", one.at)
		writeLikeness(&m, one.score, one.why)
		items = append(items, m)
	}
	return items, nil
}

// searchTransactions finds a transaction by its id.
func searchTransactions(c *border.Request, text string) ([]strictjson.Members, error) {
	items := []strictjson.Members{}
	if _, is := idsOf(c).ParseTxn(text); !is {
		return items, nil
	}
	l, err := c.Judge.Record(text)
	switch {
	case edge.IsGone(err):
		return items, nil
	case err != nil:
		return nil, err
	case l.Kind() != leaf.KindScreen:
		return items, nil
	}
	defer c.Judge.DropLeaf()
	var m strictjson.Members
	l.CopyTo(&m, "txnId", "screenedAt", "verdict", "rule", "agentId", "agentName")
	m.Raw("amount", l.Raw("_request", "amount"))
	m.Raw("cpName", l.Raw("_request", "cpName"))
	writeLikeness(&m, 10_000, "the transaction's id")
	return append(items, m), nil
}

// searchLinks finds wallets and identifiers by a part of them, with who was paid by each.
func (b *Room) searchLinks(c *border.Request, text string) (wallets, identifiers []strictjson.Members) {
	wallets, identifiers = []strictjson.Members{}, []strictjson.Members{}
	for _, found := range b.index.Links(text, 2*searchMost, func() { border.RestBetween(c) }) {
		var m strictjson.Members
		name, into := "identifier", &identifiers
		if found.Link.Wallet {
			name, into = "wallet", &wallets
		}
		if len(*into) == searchMost {
			continue
		}
		m.Text(name, found.Link.Text)
		m.Texts("names", found.Names)
		writeLikeness(&m, found.Score, found.Why)
		*into = append(*into, m)
	}
	return wallets, identifiers
}
