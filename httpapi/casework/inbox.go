package casework

import (
	"cmp"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// The inbox is all that waits, in one list. Its order is a documented sum (parties.Work.Rank), and each
// item says of what parts its own is made.

// inboxFilter holds a caller's filters.
type inboxFilter struct {
	kind     workKind // workKinds: any.
	assignee string
	forMe    bool
	rules    uint32 // 0: any.
	party    string
	text     string
}

func readInboxFilter(c *border.Request) (*inboxFilter, error) {
	f := &inboxFilter{kind: workKinds, assignee: c.Query("assignee"), party: c.Query("partyId"), text: strings.ToLower(c.Query("q"))}
	if text := c.Query("kind"); text != "" {
		names := make([]string, workKinds)
		for kind := range workKinds {
			if names[kind] = kind.String(); names[kind] == text {
				f.kind = kind
			}
		}
		if f.kind == workKinds {
			return nil, border.BadQuery("kind", "must be one of "+strings.Join(names, ", "))
		}
	}
	switch c.Query("waitsForMe") {
	case "", "false":
	case "true":
		f.forMe = true
	default:
		return nil, border.BadQuery("waitsForMe", "must be true or false")
	}
	if text := c.Query("rule"); text != "" {
		rule, ok := engine.RuleByCode(text)
		if !ok {
			return nil, border.BadQuery("rule", "must be a rule id")
		}
		f.rules = 1 << rule
	}
	if _, ok := parties.ParseID(f.party); f.party != "" && !ok {
		return nil, border.BadQuery("partyId", "must be a party's id")
	}
	return f, nil
}

// listInbox is GET /v1/inbox, the highest rank first and of equal ones the oldest. A page that continues
// another ranks as of the time of the first, so that no item changes its place between pages.
func (b *Room) listInbox(c *border.Request) (border.Answer, error) {
	filter, err := readInboxFilter(c)
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadListQuery("inbox", 3)
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
	all, err := b.collectWork(c, view)
	if err != nil {
		return border.Answer{}, err
	}
	now := view.Time
	if p.After != nil {
		now = engine.Time(p.After[2])
	}
	list, waiting := c.Published().List(), waitingOf(c, view)
	counts := map[string]uint64{}
	kept := all[:0]
	for i := range all {
		border.RestBetween(c)
		w := &all[i]
		weight := b.weigh(w, list)
		w.rank, _ = weight.Rank(now)
		counts[w.kind.String()]++
		if waiting.forMe(w) {
			counts["waitsForMe"]++
		}
		if filter.passes(c, view, w, waiting) && (p.After == nil || behindRank(w, p.After)) {
			kept = append(kept, *w)
		}
	}
	slices.SortFunc(kept, func(a, b work) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.leaf, b.leaf)) })
	next := ""
	if len(kept) > p.Limit {
		kept = kept[:p.Limit]
		last := &kept[p.Limit-1]
		next = p.Cursor(uint64(last.rank), last.leaf, uint64(now))
	}
	items := make([]strictjson.Members, len(kept))
	for i := range kept {
		if err := b.writeWork(c, &items[i], view, &kept[i], list, waiting); err != nil {
			return border.Answer{}, err
		}
	}
	var more strictjson.Members
	more.BeginObject("counts")
	for kind := range workKinds {
		more.Uint(kind.String(), counts[kind.String()])
	}
	more.Uint("waitsForMe", counts["waitsForMe"])
	more.EndObject()
	writeCoverage(&more, covered)
	c.Judge.Index = view.Index
	border.ChargeLooked(c, len(all)/rowsOfOneLeaf)
	return c.AnswerListWith(more, items, next)
}

// behindRank tells whether a piece of work comes after the key of a cursor.
func behindRank(w *work, after []uint64) bool {
	if uint64(w.rank) != after[0] {
		return uint64(w.rank) < after[0]
	}
	return w.leaf > after[1]
}

func (f *inboxFilter) passes(c *border.Request, view *fsm.View, w *work, waiting *waitingActs) bool {
	if f.kind != workKinds && w.kind != f.kind || f.rules != 0 && w.payment.Rules&f.rules == 0 || f.forMe && !waiting.forMe(w) {
		return false
	}
	if f.assignee != "" && (!inForce(w.claim, view.Time) || w.claim.Assignee != f.assignee) {
		return false
	}
	if f.party != "" && (w.payment.Party == 0 || w.party.ID.String() != f.party) {
		return false
	}
	if f.text == "" {
		return true
	}
	agent := ""
	if profile := c.Published().Agent(w.agent); profile != nil {
		agent = profile.AgentName + "\n" + profile.OperatorLegalName
	}
	record := ""
	if w.record != 0 {
		record = idsOf(c).TxnID(w.record)
	}
	return strings.Contains(strings.ToLower(agent+"\n"+w.party.Name+"\n"+w.party.Entry.Name+"\n"+w.party.Entry.Place+"\n"+record), f.text)
}

// waitingActs are the open proposals, by what they are about.
type waitingActs struct {
	reviews map[uint64]fsm.Waiting // By the record under review.
	cases   map[string]fsm.Waiting // By the id of the sanctions case.
	mine    map[uint64]bool        // By the proposal: the caller may sign it.
}

// waitingOf reads the open proposals about reviews, reports and sanctions cases.
func waitingOf(c *border.Request, view *fsm.View) *waitingActs {
	a := &waitingActs{reviews: map[uint64]fsm.Waiting{}, cases: map[string]fsm.Waiting{}, mine: map[uint64]bool{}}
	looked := 0
	view.Proposals(^uint64(0), false, func(waiting fsm.Waiting) bool {
		switch {
		case waiting.Leaf != 0:
			a.reviews[waiting.Leaf] = waiting
		case waiting.Kind == wire.KindSanctions:
			if l, err := c.Judge.LoadLeaf(waiting.Later); err == nil {
				a.cases[l.Text("caseId")] = waiting
				c.Judge.DropLeaf()
			}
		default:
			return true
		}
		a.mine[waiting.Later] = maySecond(c, view, &waiting) == ""
		looked++
		return looked < border.RowScanMax
	})
	return a
}

// maySecond says why the caller may not confirm a proposal; "": he may.
func maySecond(c *border.Request, view *fsm.View, waiting *fsm.Waiting) string {
	why := seconding[waiting.Seconds(view.Time, ownKey(c, view))]
	if why == "" && !c.Key.May(fsm.ActRoles(waiting.Kind)) {
		why = "this key lacks the role"
	}
	return why
}

// about returns the open proposal about a piece of work.
func (a *waitingActs) about(w *work) (fsm.Waiting, bool) {
	switch w.kind {
	case workReview, workReport:
		waiting, open := a.reviews[w.record]
		return waiting, open
	case workBlock:
		waiting, open := a.cases[w.caseID]
		return waiting, open
	}
	return fsm.Waiting{}, false
}

func (a *waitingActs) forMe(w *work) bool {
	waiting, open := a.about(w)
	return open && a.mine[waiting.Later]
}

// writeWork writes one piece of work.
func (b *Room) writeWork(c *border.Request, m *strictjson.Members, view *fsm.View, w *work, list *ofac.Index, waiting *waitingActs) error {
	held := edge.LeavesHeld(&c.Judge)
	defer edge.DropLeaves(&c.Judge, held)
	ids := idsOf(c)
	writeWorkIDs(m, ids, w)
	if w.payment.Party == 0 {
		m.Null("partyId")
	} else {
		m.Text("partyId", w.party.ID.String())
	}
	rules, cpName, reason := []string{}, []byte(nil), ""
	if w.record != 0 {
		l, err := c.Judge.LoadLeaf(w.record)
		switch {
		case err == nil:
			rules, reason = l.Texts("triggered"), l.Text("reason")
			if cpName = l.Raw("_request", "cpName"); len(cpName) == 0 || string(cpName) == "null" {
				cpName = l.Raw("_request", "cpWallet")
			}
			m.Raw("rule", l.Raw("rule"))
		case !edge.IsGone(err):
			return err
		}
	}
	text := reason
	if w.kind == workAlert || w.kind == workRetro {
		row, known := view.Alert(w.leaf)
		if known {
			m.Text("alert", leaf.AlertName(row.Kind))
			text = AlertTexts[row.Kind]
		}
	}
	if w.kind == workLook {
		text = "A decision is looked at again by somebody who does not know it. What it is about is shown to whoever takes it."
	}
	m.Texts("rules", rules)
	m.TextOrNull("text", text)
	writeWorkAgent(c, m, w)
	m.Raw("cpName", cpName)
	writeEntry(c, m, &w.party.Entry)
	m.USD("amount", w.amount)
	m.Bool("moneyGone", w.money() == parties.MoneyGone)
	m.Time("openedAt", w.at)
	if w.due == 0 {
		m.Null("dueAt")
	} else {
		m.Time("dueAt", w.due)
	}
	m.Bool("overdue", w.due != 0 && view.Time >= w.due)
	writeClaim(m, w.claim, view.Time)
	if err := writeWorkProposal(c, m, w, waiting); err != nil {
		return err
	}
	weight := b.weigh(w, list)
	writeRank(m, &weight, view.Time)
	return nil
}

// writeWorkIDs writes what a piece of work is, and by what it is called elsewhere.
func writeWorkIDs(m *strictjson.Members, ids *fsm.IDs, w *work) {
	txn := ""
	if w.record != 0 {
		txn = ids.TxnID(w.record)
	}
	switch w.kind {
	case workReview:
		m.Text("itemId", txn)
	case workBlock:
		m.Text("itemId", ids.CaseID(w.leaf))
	case workAlert, workRetro:
		m.Text("itemId", ids.AlertID(w.leaf))
	case workReport:
		m.Text("itemId", ReportPrefix+txn)
	case workLook:
		m.Text("itemId", w.lookID)
	}
	m.Text("kind", w.kind.String())
	m.TextOrNull("txnId", txn)
	switch w.kind {
	case workBlock:
		m.Text("caseId", ids.CaseID(w.leaf))
	case workAlert, workRetro:
		m.Text("alertId", ids.AlertID(w.leaf))
	case workLook:
		m.Text("lookId", w.lookID)
	}
}

func writeWorkAgent(c *border.Request, m *strictjson.Members, w *work) {
	profile := c.Published().Agent(w.agent)
	if w.agent == 0 || profile == nil {
		m.Null("agentId")
		m.Null("agentName")
		m.Null("operatorLegalName")
		return
	}
	m.Text("agentId", c.Judge.Terms.AgentID(w.agent))
	m.Text("agentName", profile.AgentName)
	m.Text("operatorLegalName", profile.OperatorLegalName)
}

// writeWorkProposal writes what one person proposed, and whether it waits for the caller's signature.
func writeWorkProposal(c *border.Request, m *strictjson.Members, w *work, waiting *waitingActs) error {
	m.Bool("waitsForMySignature", waiting.forMe(w))
	act, open := waiting.about(w)
	if !open {
		m.Null("proposed")
		return nil
	}
	l, err := c.Judge.LoadLeaf(act.Later)
	if err != nil {
		return err
	}
	if act.Disposition != 0 {
		m.Object("proposed", border.ProposalMembers(&l))
		return nil
	}
	m.BeginObject("proposed")
	l.CopyTo(m, "proposalId", "act", "from", "to", "proposedBy")
	m.Raw("proposedAt", l.Raw("time"))
	m.TextOrNull("reason", firstText(&l, "reason", "notes"))
	m.EndObject()
	return nil
}

// writeRank writes the sum and its parts.
func writeRank(m *strictjson.Members, weight *parties.Work, now engine.Time) {
	rank, parts := weight.Rank(now)
	m.Int("rank", int64(rank))
	items := make([]strictjson.Members, len(parts))
	for i, part := range parts {
		items[i].Text("part", part.Part)
		items[i].Int("points", int64(part.Points))
		items[i].Text("why", part.Why)
	}
	m.List("rankParts", items)
}
