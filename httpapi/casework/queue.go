package casework

import (
	"cmp"
	"math/bits"
	"net/http"
	"slices"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The review queue (decision 48). It is read from a frozen view; claims are
// advisory and travel through the log.

func queueRoutes() []border.Route {
	post := func(path string, handle func(*border.Request) (border.Answer, error)) border.Route {
		return border.Route{Method: http.MethodPost, Path: path, Reserved: true, Handle: handle}
	}
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/queue", Reserved: true, Handle: listQueue},
		post("/v1/queue/next", nextReview),
		post("/v1/queue/bulk", bulkReview),
		post("/v1/queue/{txnId}/claim", func(c *border.Request) (border.Answer, error) { return queueVerb(c, wire.QueueClaim) }),
		post("/v1/queue/{txnId}/release", func(c *border.Request) (border.Answer, error) { return queueVerb(c, wire.QueueRelease) }),
		post("/v1/queue/{txnId}/assign", func(c *border.Request) (border.Answer, error) { return queueVerb(c, wire.QueueAssign) }),
		post("/v1/queue/{txnId}/comment", func(c *border.Request) (border.Answer, error) { return queueVerb(c, wire.QueueComment) }),
	}
}

// queueItem is one row with the other facts that the list needs.
type queueItem struct {
	row       fsm.ReviewRow
	claimed   bool
	escalated bool
	similar   int // Open cases of the same agent that triggered the rule which decided this one, and this one.
	samePayee int // Open cases in which the same party is paid, and this one; 0: the call does not say who is paid.
	priority  int
}

// listQueue is GET /v1/queue.
func listQueue(c *border.Request) (border.Answer, error) {
	filter, err := readQueueFilter(c, c.Query, border.BadQuery)
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadListQuery("queue."+filter.sort, 2)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	items, err := walkQueue(c, view, filter, queueOrder{by: filter.sort, ascending: p.Ascending, after: p.After, keep: p.Limit + 1})
	if err != nil {
		return border.Answer{}, err
	}
	shown := items[:min(p.Limit, len(items))]
	countSimilar(view, shown)
	rules := view.Settings().Rules()
	data := make([]strictjson.Members, len(shown))
	for i := range shown {
		if err := writeQueueItem(c, &data[i], view, rules, &shown[i]); err != nil {
			return border.Answer{}, err
		}
	}
	cursor := ""
	if len(items) > len(shown) {
		last := &shown[len(shown)-1]
		cursor = p.Cursor(last.rank(filter.sort), last.row.Leaf)
	}
	c.Judge.Index = view.Index
	return c.AnswerList(data, cursor)
}

type similarKey struct {
	agent engine.AgentSlot
	rule  engine.RuleID
}

// queueOrder says which items of the queue are wanted: the first keep ones after a key.
type queueOrder struct {
	by        string
	ascending bool
	after     []uint64 // Rank and leaf; nil: from the start.
	keep      int
}

// walkQueue returns the first items of the queue in their order. It examines every open
// case, however old, through the index of open ones. A search that needs leaves (for a
// text, or for decided cases) examines only the newest QueueScanMax.
func walkQueue(c *border.Request, view *fsm.View, q *queueFilter, wanted queueOrder) ([]queueItem, error) {
	var items []queueItem
	seen := 0
	var failed error
	visit := func(row fsm.ReviewRow) bool {
		item := queueItem{row: row, claimed: inForce(row.Claim, view.Time), priority: priority(&row)}
		if !wanted.behind(&item) || slices.Contains(q.skipped, row.Leaf) || q.proposed[row.Leaf] || q.freeFor != "" && item.claimed && row.Claim.Assignee != q.freeFor {
			return true
		}
		border.RestBetween(c)
		ok, err := queueMatch(c, view, q, &item)
		if err == nil && seen%border.ScanStep == border.ScanStep-1 {
			err = border.PassTurn(c)
		}
		if err != nil {
			failed = err
			return false
		}
		if ok {
			items = append(items, item)
		}
		if len(items) >= 2*wanted.keep+queueSlack {
			items = wanted.first(items)
		}
		seen++
		return seen < QueueScanMax || q.state != "dispositioned" && q.state != "escalated" && q.text == ""
	}
	if q.state == "dispositioned" || q.state == "escalated" {
		view.Reviews(visit)
	} else {
		view.Open(visit)
	}
	if q.text == "" && q.state != "dispositioned" && q.state != "escalated" {
		seen /= rowsOfOneLeaf // In this case no leaf was read, so a row costs less.
	}
	border.ChargeLooked(c, seen)
	return wanted.first(items), failed
}

// rowsOfOneLeaf is how many rows can be examined for the cost of reading one leaf.
const rowsOfOneLeaf = 32

// queueSlack is how many more items than wanted are held before they are sorted and cut.
const queueSlack = 1024

// behind tells whether an item comes after the key.
func (o *queueOrder) behind(i *queueItem) bool {
	return o.after == nil || order(i.rank(o.by), i.row.Leaf, o.after[0], o.after[1], o.by, o.ascending) > 0
}

// first sorts items and keeps those that are wanted.
func (o *queueOrder) first(items []queueItem) []queueItem {
	slices.SortFunc(items, func(a, b queueItem) int {
		return order(a.rank(o.by), a.row.Leaf, b.rank(o.by), b.row.Leaf, o.by, o.ascending)
	})
	return items[:min(len(items), o.keep)]
}

// countSimilar counts, among the newest similarCountMax, the open cases that are alike in their
// payee, or in their agent and a rule. A case counts for every rule that it triggered.
func countSimilar(view *fsm.View, items []queueItem) {
	if len(items) == 0 {
		return
	}
	similar, payees := make(map[similarKey]int, len(items)), make(map[engine.PartyKey]int, len(items))
	for i := range items {
		similar[similarKey{items[i].row.Agent, items[i].row.Rule}] = 0
		payees[items[i].row.Party] = 0
	}
	looked := 0
	view.Open(func(row fsm.ReviewRow) bool {
		for rules := row.Rules; rules != 0; rules &= rules - 1 {
			key := similarKey{row.Agent, engine.RuleID(bits.TrailingZeros32(rules))}
			if count, asked := similar[key]; asked {
				similar[key] = count + 1
			}
		}
		if count, asked := payees[row.Party]; asked {
			payees[row.Party] = count + 1
		}
		looked++
		return looked < similarCountMax
	})
	for i := range items {
		item := &items[i]
		item.similar = similar[similarKey{item.row.Agent, item.row.Rule}]
		if item.row.Party != (engine.PartyKey{}) {
			item.samePayee = payees[item.row.Party]
		}
	}
}

// inForce reports whether somebody holds the review at that time.
func inForce(claim *fsm.Claim, now engine.Time) bool {
	return claim != nil && claim.Assignee != "" && (claim.LeaseUntil == 0 || now < claim.LeaseUntil)
}

// priority ranks reviews for "next" by the gravest of all rules that triggered, never by the one that
// decided: whoever may be listed stands before every pattern, and a pattern before every limit. Among
// equally grave ones 10,000 USD or more go first.
func priority(row *fsm.ReviewRow) int {
	rank := 2*int(row.Gravity) - 1
	if row.Amount >= 10_000*engine.Dollar {
		rank++
	}
	return rank
}

// rank returns the sort key of an item. It never changes while a review is open.
func (i *queueItem) rank(by string) uint64 {
	switch by {
	case "amount":
		return uint64(i.row.Amount)
	case "priority":
		return uint64(i.priority)
	}
	return i.row.Leaf
}

// order compares two keys of the queue, each a rank and a leaf. By amount or priority, the
// largest comes first; by age, the oldest; else the newest. Within equal ranks the oldest
// comes first. ascending reverses the primary order.
func order(rankA, leafA, rankB, leafB uint64, by string, ascending bool) int {
	primary := cmp.Compare(rankB, rankA)
	if (by == "age") != ascending {
		primary = -primary
	}
	return cmp.Or(primary, cmp.Compare(leafA, leafB))
}

// writeQueueItem writes one line of the queue.
func writeQueueItem(c *border.Request, m *strictjson.Members, view *fsm.View, rules *engine.RuleSet, item *queueItem) error {
	l, err := c.Judge.LoadLeaf(item.row.Leaf)
	if err != nil {
		return err
	}
	l.CopyTo(m, "txnId", "rule", "reason")
	m.Texts("rules", rules.Codes(item.row.Rules))
	m.Text("gravestRule", item.row.Gravest.Code())
	m.Text("gravity", item.row.Gravity.String())
	m.Raw("amount", l.Raw("_request", "amount"))
	m.Raw("chain", l.Raw("_request", "chain"))
	m.Raw("rail", l.Raw("_request", "rail"))
	l.CopyTo(m, "agentId", "agentName", "operatorLegalName")
	m.Raw("cpName", l.Raw("_request", "cpName"))
	m.Raw("cpWallet", l.Raw("_request", "cpWallet"))
	l.CopyTo(m, "screenedAt", "listVersion", "ofacStale")
	m.Int("ageSeconds", int64((view.Time-item.row.At)/engine.Second))
	writeDue(m, &item.row, view)
	writeClaim(m, item.row.Claim, view.Time)
	if err := writeItemProposal(c, m, item.row.Leaf); err != nil {
		return err
	}
	m.Int("priority", int64(item.priority))
	m.Int("similarOpen", int64(item.similar))
	m.Int("samePayeeOpen", int64(item.samePayee))
	m.Text("state", queueState(item))
	c.Judge.DropLeaf()
	return nil
}

// overdue tells whether a review waits, or waited, longer than wait.
func overdue(row *fsm.ReviewRow, wait, now engine.Time) bool {
	return wait != 0 && row.State == fsm.ReviewOpen && now >= row.At+wait
}

// writeDue writes until when a review may wait, by the policy in force.
func writeDue(m *strictjson.Members, row *fsm.ReviewRow, view *fsm.View) {
	wait := view.Settings().Policy.ReviewSLA
	if wait == 0 {
		m.Null("slaDueAt")
	} else {
		m.Time("slaDueAt", row.At+wait)
	}
	m.Bool("slaBreached", overdue(row, wait, view.Time))
}

// writeItemProposal writes what one person proposed for a case; null: nothing.
func writeItemProposal(c *border.Request, m *strictjson.Members, record uint64) error {
	at, open := c.Published().Proposal(record)
	if !open {
		m.Null("proposed")
		return nil
	}
	proposal, err := c.Judge.LoadLeaf(at)
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	m.Object("proposed", border.ProposalMembers(&proposal))
	return nil
}

func queueState(item *queueItem) string {
	switch {
	case item.escalated:
		return "escalated"
	case item.row.State == fsm.ReviewDone:
		return "dispositioned"
	case item.claimed:
		return "claimed"
	}
	return "open"
}

func writeClaim(m *strictjson.Members, claim *fsm.Claim, now engine.Time) {
	if !inForce(claim, now) {
		m.Null("assignee")
		m.Null("leaseExpiresAt")
		m.Int("comments", int64(commentCount(claim)))
		return
	}
	m.Text("assignee", claim.Assignee)
	if claim.LeaseUntil == 0 {
		m.Null("leaseExpiresAt")
	} else {
		m.Time("leaseExpiresAt", claim.LeaseUntil)
	}
	m.Int("comments", int64(commentCount(claim)))
}

func commentCount(claim *fsm.Claim) int {
	if claim == nil {
		return 0
	}
	return len(claim.Comments)
}
