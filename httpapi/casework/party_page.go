package casework

import (
	"cmp"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/parties"
	"railguard/fsm"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

const (
	partyPaymentsMost = 200 // Payments shown of a party; all are summed.
	partyAlikeMost    = 50  // Counterparties that are like it.
	partyNamesMost    = 32  // Names of the listed entry by which they are looked for.
)

// wholeParty is what one call gathers of a party.
type wholeParty struct {
	party    parties.Party
	number   uint32
	view     *fsm.View
	alike    map[uint32]parties.Alike // By payee.
	ranked   []parties.Alike
	sums     tally // Of all payments found.
	own      tally // Of the party's own alone.
	payments []parties.Payment
	score    uint16 // The best likeness to the entry of the party's own payments.
	left     int    // Payments that were summed and are not shown.
	work     []work
	records  map[uint64]bool // The leaves of all payments found.
}

// showParty is GET /v1/parties/{partyId}.
func (b *Room) showParty(c *border.Request) (border.Answer, error) {
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	covered := b.catch(c)
	generation := b.index.Generation()
	whole, err := b.gatherParty(c, view)
	if err != nil {
		return border.Answer{}, err
	}
	m := c.Out[:0]
	b.writePartyHead(c, &m, &whole.party)
	writeListedNow(c, &m, &whole.party)
	b.writeCompared(c, &m, whole)
	m.Object("sums", whole.sums.members())
	m.Object("ownSums", whole.own.members())
	if err := b.writePage(c, &m, whole); err != nil {
		return border.Answer{}, err
	}
	if b.index.Generation() != generation {
		return border.Answer{}, movedIndex()
	}
	writeCoverage(&m, covered)
	c.Judge.Index = view.Index
	m.Uint("asOfIndex", view.Index)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

// pathParty returns the party of the path.
func (b *Room) pathParty(c *border.Request) (parties.Party, uint32, error) {
	id, ok := parties.ParseID(c.PathValue("partyId"))
	if !ok {
		return parties.Party{}, 0, noParty()
	}
	party, number, known := b.index.Party(id)
	if !known {
		return party, 0, noParty()
	}
	return party, number, nil
}

// gatherParty finds the payments of a party and of whoever is like it, and the open work about them.
func (b *Room) gatherParty(c *border.Request, view *fsm.View) (*wholeParty, error) {
	party, number, err := b.pathParty(c)
	if err != nil {
		return nil, err
	}
	whole := &wholeParty{party: party, number: number, view: view, alike: map[uint32]parties.Alike{}, records: map[uint64]bool{}}
	between := func() { border.RestBetween(c) }
	if question := b.questionOf(c, &party); question != nil {
		whole.ranked = b.index.Alike(question, between)
	}
	for _, a := range whole.ranked {
		whole.alike[a.Payee] = a
	}
	b.index.Payments(between, func(p *parties.Payment) bool {
		own := p.Party == number
		if _, alike := whole.alike[p.Payee]; !own && (!alike || p.Payee == 0) {
			return true
		}
		if own {
			whole.own.add(p)
			whole.score = max(whole.score, p.Score)
		}
		whole.sums.add(p)
		whole.records[p.Leaf] = true
		if len(whole.payments) < partyPaymentsMost {
			whole.payments = append(whole.payments, *p)
		} else {
			whole.left++
		}
		return true
	})
	border.ChargeLooked(c, len(whole.payments))
	all, err := b.collectWork(c, view)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if whole.records[all[i].record] && all[i].record != 0 {
			whole.work = append(whole.work, all[i])
		}
	}
	return whole, nil
}

// questionOf asks who is like a party: like its payee, by name, wallets and identifiers, or like the
// entry that it hit, by the entry's names. Nobody is like the payer's side, which is no counterparty.
func (b *Room) questionOf(c *border.Request, party *parties.Party) *parties.Question {
	if party.Side != parties.SidePayee {
		return nil
	}
	question := &parties.Question{Most: partyAlikeMost}
	if payee, known := b.index.PayeeAt(party.PayeeOf()); known {
		question.Names, question.Links = append(question.Names, payee.Name), payee.Links
	}
	list := c.Published().List()
	if party.Entry.UID == 0 || list == nil {
		return question
	}
	if entry, listed := list.Entry(party.Entry.UID); listed {
		question.Names = append(question.Names, entry.Primary)
		for _, name := range entry.Names {
			if len(question.Names) < partyNamesMost && !slices.Contains(question.Names, name.Full) {
				question.Names = append(question.Names, name.Full)
			}
		}
	}
	return question
}

// writeListedNow writes what the active list says of the party today. listedSince: it names the party,
// and named nobody when the newest of its payments was judged.
func writeListedNow(c *border.Request, m *strictjson.Members, party *parties.Party) {
	list := c.Published().List()
	if list == nil || party.Side != parties.SidePayee || party.Name == "" {
		m.Null("listedToday")
		m.Bool("listedSince", false)
		return
	}
	scratch := ofac.NewScratch()
	found := list.Screen(&ofac.Query{Name: party.Name, NonSDNPossible: true, Now: int64(c.Published().LogTime())}, scratch)
	wallet, walletListed := list.WalletAt(party.Name, int64(c.Published().LogTime()))
	switch {
	case walletListed:
		m.BeginObject("listedToday")
		m.Text("outcome", "listed")
		m.Text("uid", border.UintText(uint64(wallet.UID)))
		if entry, known := list.Entry(wallet.UID); known {
			m.Text("name", entry.Primary)
		}
		m.EndObject()
	case found.Outcome != ofac.Clear && len(found.Matches) > 0:
		best := &found.Matches[0]
		m.BeginObject("listedToday")
		m.Text("outcome", found.Outcome.String())
		m.Text("uid", border.UintText(uint64(best.UID)))
		m.Text("name", best.Name)
		m.Score("score", best.Score)
		m.EndObject()
	default:
		m.Null("listedToday")
	}
	m.Bool("listedSince", (walletListed || found.Outcome != ofac.Clear) && !party.Entry.IsHit())
}

// Bounds of what is shown of a listed entry.
const (
	entryFactsMost = 100
	entryNamesMost = 50
)

// writeCompared writes what the list says of the entry that was hit, and where the party's own payments
// agree with it or differ.
func (b *Room) writeCompared(c *border.Request, m *strictjson.Members, whole *wholeParty) {
	if whole.score == 0 {
		m.Null("likeness")
	} else {
		m.Score("likeness", int32(whole.score))
	}
	names, facts, identity := []string{}, []strictjson.Members{}, []strictjson.Members{}
	list, uid := c.Published().List(), whole.party.Entry.UID
	if list != nil && uid != 0 {
		entry, _ := list.Entry(uid)
		for _, name := range entry.Names[:min(len(entry.Names), entryNamesMost)] {
			names = append(names, name.Full)
		}
		for _, fact := range entry.Facts[:min(len(entry.Facts), entryFactsMost)] {
			var item strictjson.Members
			item.Text("kind", fact.Kind.String())
			item.Optional("label", fact.Label)
			item.Text("value", fact.Value)
			facts = append(facts, item)
		}
		seen := map[ofac.Context]bool{}
		for i := range whole.payments {
			p := &whole.payments[i]
			context := b.index.ContextOf(p.Leaf)
			if p.Party != whole.number || seen[context] || context == (ofac.Context{}) {
				continue
			}
			seen[context] = true
			for _, agreement := range list.Agreements(uid, &context) {
				var item strictjson.Members
				item.Text("kind", agreement.Kind.String())
				item.Text("asked", agreement.Asked)
				item.Text("listed", agreement.Listed)
				item.Bool("agrees", agreement.Agrees)
				identity = append(identity, item)
			}
		}
	}
	m.List("identity", identity)
	m.Texts("entryNames", names)
	m.List("entryFacts", facts)
}

// writePage writes the payments, what waits, and what was done.
func (b *Room) writePage(c *border.Request, m *strictjson.Members, whole *wholeParty) error {
	alike := []strictjson.Members{}
	for _, a := range whole.ranked {
		payee, known := b.index.PayeeAt(a.Payee)
		if !known || a.Payee == whole.party.PayeeOf() {
			continue
		}
		var item strictjson.Members
		item.Text("name", payee.Name)
		item.Score("likeness", int32(a.Score))
		item.Text("why", a.Why)
		alike = append(alike, item)
	}
	m.List("alike", alike)
	acts := &actList{}
	payments := make([]strictjson.Members, len(whole.payments))
	for i := range whole.payments {
		border.RestBetween(c)
		if err := b.writePartyPayment(c, &payments[i], whole, &whole.payments[i], acts); err != nil {
			return err
		}
	}
	m.List("payments", payments)
	m.Int("paymentsLeft", int64(whole.left))
	open, err := b.writeOpen(c, whole)
	if err != nil {
		return err
	}
	for kind := range workLook { // A second look names nobody.
		m.List(openMembers[kind], open[kind])
	}
	closed, left, err := b.writeClosed(c, whole, acts)
	if err != nil {
		return err
	}
	m.List("closed", closed)
	m.Int("closedLeft", int64(left))
	cleared, err := clearedOf(c, whole, acts)
	if err != nil {
		return err
	}
	m.List("cleared", cleared)
	m.List("acts", acts.newestFirst())
	return nil
}

// openMembers are the names of the lists of open work by kind.
var openMembers = [workLook]string{"reviews", "cases", "alerts", "retroHits", "reports"}

// writePartyPayment writes one payment of a party, and takes what was done about it.
func (b *Room) writePartyPayment(c *border.Request, m *strictjson.Members, whole *wholeParty, p *parties.Payment, acts *actList) error {
	held := edge.LeavesHeld(&c.Judge)
	defer edge.DropLeaves(&c.Judge, held)
	l, err := c.Judge.LoadLeaf(p.Leaf)
	if edge.IsGone(err) {
		return nil // It passed its 90 days meanwhile.
	}
	if err != nil {
		return err
	}
	l.CopyTo(m, "txnId", "screenedAt", "verdict", "rule", "reason")
	m.Texts("rules", l.Texts("triggered"))
	m.Raw("amount", l.Raw("_request", "amount"))
	l.CopyTo(m, "agentId", "agentName", "operatorLegalName")
	for _, name := range partyMembers {
		m.Raw(name, l.Raw("_request", name))
	}
	m.Text("state", p.State().String())
	own := p.Party == whole.number
	m.Bool("own", own)
	if a, alike := whole.alike[p.Payee]; alike && p.Payee != 0 && !own {
		m.BeginObject("alike")
		m.Score("likeness", int32(a.Score))
		m.Text("why", a.Why)
		m.EndObject()
	} else {
		m.Null("alike")
	}
	if party, known := b.index.PartyAt(p.Party); known && !own {
		m.Text("partyId", party.ID.String())
	}
	return acts.takeRecord(c, m, &l)
}

// partyMembers are what a call told of its payee.
var partyMembers = []string{"cpName", "cpWallet", "cpCountry", "cpDateOfBirth", "cpAddress", "memo"}

// writeOpen writes the open work by kind, that of the highest rank first.
func (b *Room) writeOpen(c *border.Request, whole *wholeParty) (open [workKinds][]strictjson.Members, err error) {
	list, waiting := c.Published().List(), waitingOf(c, whole.view)
	for kind := range open {
		open[kind] = []strictjson.Members{}
	}
	for i := range whole.work {
		w := &whole.work[i]
		weight := b.weigh(w, list)
		w.rank, _ = weight.Rank(whole.view.Time)
	}
	slices.SortFunc(whole.work, func(a, b work) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.leaf, b.leaf)) })
	for i := range whole.work {
		w := &whole.work[i]
		if len(open[w.kind]) == partyPaymentsMost {
			continue
		}
		var m strictjson.Members
		if err := b.writeWork(c, &m, whole.view, w, list, waiting); err != nil {
			return open, err
		}
		m.Bool("own", w.payment.Party == whole.number)
		open[w.kind] = append(open[w.kind], m)
	}
	return open, nil
}
