package httpapi

import (
	"net/http"
	"strings"

	"railguard/audit"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// Roles that may read records at all; which ones is edge.Terms.MayRead's question.
const auditReaders = wire.RoleScreener | wire.RoleOperator | wire.RoleReviewer | wire.RoleAuditor | wire.RoleOps

func (a *API) auditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/audit", scope: scopeOwner, roles: auditReaders, handle: listRecords},
		{method: http.MethodGet, path: "/v1/audit/export", scope: scopeOwner, roles: wire.RoleAuditor, stream: true, handle: exportRecords},
		{method: http.MethodGet, path: "/v1/audit/{txnId}", scope: scopeOwner, roles: auditReaders, handle: showRecord},
		{method: http.MethodGet, path: "/v1/audit/{txnId}/proof", scope: scopeOwner, roles: wire.RoleReviewer | wire.RoleAuditor, handle: proveRecord},
		{method: http.MethodGet, path: "/v1/audit/{txnId}/explain", scope: scopeOwner, roles: wire.RoleReviewer | wire.RoleAuditor, handle: explainRecord},
		{method: http.MethodPost, path: "/v1/audit/{txnId}/replay", scope: scopeOwner, roles: wire.RoleReviewer | wire.RoleAuditor, body: bodyOptional, handle: replayRecord},
	}
}

// showRecord is GET /v1/audit/{txnId}.
func showRecord(c *call) (Answer, error) {
	l, err := c.screenRecord()
	if err != nil {
		return Answer{}, err
	}
	disposition, err := c.judge.Disposition(&l, c.query("consistency") == "local")
	if err != nil {
		return Answer{}, err
	}
	if disposition, err = awaitDisposition(c, &l, disposition); err != nil {
		return Answer{}, err
	}
	if err := c.writeRecord(&c.out, &l, disposition); err != nil {
		return Answer{}, err
	}
	if c.key.SeesAll() {
		c.api.judges.Parties(&l, &c.out)
	}
	return c.reply(http.StatusOK, c.out), nil
}

// recordQuery is what GET /v1/audit asks for.
type recordQuery struct {
	from, to    engine.Time
	keys        []uint64
	operator    string // Normalised.
	agent       string
	wallet      string // Canonical.
	name        string // Normalised.
	verdict     string
	rule        string
	disposition string
	page        page // Its key: where to go on, and the range that the first call settled.
}

// dispositionFilters are the values of ?disposition=.
var dispositionFilters = []string{"APPROVED", "REJECTED", "ESCALATE_SAR", "none"}

// listRecords is GET /v1/audit. One call looks at a bounded number of leaves and
// gives a cursor even with a short page, so that no query can hold a node.
func listRecords(c *call) (Answer, error) {
	q, err := readRecordQuery(c)
	if err != nil {
		return Answer{}, err
	}
	scan, err := scanRange(c, q)
	if err != nil {
		return Answer{}, err
	}
	var failed error
	var room edge.LeafRoom
	seen, items := 0, newListing(c)
	page, err := c.api.deps.Records.Audit().Scan(scan, func(index uint64, stored audit.Leaf) bool {
		if seen++; seen%scanStep == 0 {
			if failed = step(c); failed != nil {
				return false
			}
		}
		failed = considerRecord(c, q, index, stored.Data, &room, items)
		return failed == nil && items.count < q.page.limit
	})
	looked(c, page.Examined+items.count) // To write a record costs about what it costs to look at one.
	if failed != nil {
		return Answer{}, failed
	}
	if err != nil && items.count == 0 {
		return Answer{}, edge.LeafError(err)
	}
	cursor := ""
	if !page.Done {
		cursor = q.page.cursor(page.Next, scan.From, scan.To)
	}
	return items.end(cursor)
}

// considerRecord judges one leaf against the query, and writes it if it is wanted:
// filter keys are hashes and may collide, and the role's view is no key at all. Nothing
// of the leaf is held afterwards.
func considerRecord(c *call, q *recordQuery, index uint64, data []byte, room *edge.LeafRoom, items *listing) error {
	defer edge.DropLeaves(&c.judge, edge.LeavesHeld(&c.judge))
	l, err := room.Open(&c.judge, index, data)
	if err != nil {
		return err
	}
	x := l.Record
	if x == nil || !q.matches(x) || !q.mayShow(c, &l) || c.judge.PastRetention(shownAt(x)) || !dispositionIs(c, q.disposition, &l) {
		return nil
	}
	return items.add(func(m *strictjson.Members) error { return recordItem(c, &l, m) })
}

// mayShow reports whether the caller may be shown a record that matches. A filter
// by name finds none whose name is masked: it would confirm it.
func (q *recordQuery) mayShow(c *call, l *edge.Leaf) bool {
	return c.judge.Terms.MayRead(c.asked.Caller, l) && (q.name == "" || !c.judge.Terms.Masked(c.asked.Caller, l))
}

// matches judges the record itself, before anything of it is written.
func (q *recordQuery) matches(x *leafjson.Screen) bool {
	if q.verdict != "" && x.Verdict.String() != q.verdict || q.rule != "" && x.Rule.Code() != q.rule {
		return false
	}
	if q.agent != "" && x.AgentID() != q.agent && x.UserID() != q.agent {
		return false
	}
	if q.operator != "" && edge.OperatorKey(x.OperatorLegalName()) != q.operator {
		return false
	}
	if q.wallet != "" && engine.CanonicalWallet(x.RequestText(leaf.TagWallet)) != q.wallet {
		return false
	}
	if q.name != "" && ofac.NormaliseName(x.RequestText(leaf.TagName)) != q.name {
		return false
	}
	at := shownAt(x)
	return at >= q.from/engine.Millisecond*engine.Millisecond && at <= q.to
}

// shownAt is when a record was made as it says itself: to the millisecond.
func shownAt(x *leafjson.Screen) engine.Time { return x.At / engine.Millisecond * engine.Millisecond }

// dispositionIs filters by disposition as this caller sees it.
func dispositionIs(c *call, want string, l *edge.Leaf) bool {
	if want == "" {
		return true
	}
	if l.Record.Verdict != engine.Review {
		return false
	}
	later, decided := c.api.deps.Published.Disposition(l.Index)
	if !decided {
		return want == "none"
	}
	data, err := c.api.deps.Records.Leaf(c.ctx, later)
	if err != nil {
		return false
	}
	d, err := c.judge.OpenLeaf(later, data)
	if err != nil {
		return false
	}
	defer c.judge.DropLeaf()
	have := d.Text("disposition")
	if have == "ESCALATE_SAR" && !c.key.SeesAll() {
		have = "none"
	}
	return have == want
}

// recordItem writes a record as a list shows it, with what became of it as known here.
func recordItem(c *call, l *edge.Leaf, m *strictjson.Members) error {
	view := &edge.Disposition{}
	if later, decided := c.api.deps.Published.Disposition(l.Index); decided {
		data, err := c.api.deps.Records.Leaf(c.ctx, later)
		if err != nil {
			return edge.LeafError(err)
		}
		if view.Leaf, err = c.judge.OpenLeaf(later, data); err != nil {
			return err
		}
		view.Present = true
	}
	if err := edge.LoadPayment(&c.judge, l, view); err != nil {
		return err
	}
	if err := c.judge.LoadComments(l, view); err != nil {
		return err
	}
	return c.writeRecord(m, l, view)
}

// readRecordQuery reads the filters. A time range is always in force: the last 24
// hours by default.
func readRecordQuery(c *call) (*recordQuery, error) {
	q := &recordQuery{keys: []uint64{engine.FilterKey(engine.FilterKind, "screen")}}
	var err error
	if q.from, q.to, err = timeRange(c, engine.DayLength); err != nil {
		return nil, err
	}
	if q.page, err = c.keyPage("audit", 3); err != nil {
		return nil, err
	}
	if q.agent, err = partyQuery(c, "agentId"); err != nil {
		return nil, err
	}
	if q.agent != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterAgent, q.agent))
	}
	if q.operator, err = c.normalised("operator", edge.OperatorKey); err != nil {
		return nil, err
	}
	if q.operator == "" {
		q.operator = c.key.Operator
	}
	if q.operator != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterOperator, q.operator))
	}
	if q.wallet, err = c.normalised("wallet", engine.CanonicalWallet); err != nil {
		return nil, err
	}
	if q.name, err = c.normalised("name", ofac.NormaliseName); err != nil {
		return nil, err
	}
	if q.wallet != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterWallet, q.wallet))
	}
	if q.name != "" && !c.key.May(edge.ReadsNames) {
		return nil, forbidden(edge.ReadsNames)
	}
	if q.name != "" && c.key.SeesAll() { // Where a scan ends must not tell of names that are not shown.
		q.keys = append(q.keys, engine.FilterKey(engine.FilterName, q.name))
	}
	return q, readVerdictFilters(c, q)
}

func readVerdictFilters(c *call, q *recordQuery) error {
	if q.verdict = c.query("verdict"); q.verdict != "" {
		if q.verdict != "PROCEED" && q.verdict != "REVIEW" && q.verdict != "BLOCK" && q.verdict != "UNKNOWN" {
			return badQuery("verdict", "must be PROCEED, REVIEW, BLOCK or UNKNOWN")
		}
		q.keys = append(q.keys, engine.FilterKey(engine.FilterVerdict, q.verdict))
	}
	if text := c.query("rule"); text != "" {
		id, ok := engine.RuleByCode(text)
		if !ok {
			return badQuery("rule", "must be a rule id")
		}
		q.rule = id.Code()
		q.keys = append(q.keys, engine.FilterKey(engine.FilterRule, q.rule))
	}
	if q.disposition = c.query("disposition"); q.disposition != "" {
		for _, known := range dispositionFilters {
			if q.disposition == known {
				return nil
			}
		}
		return badQuery("disposition", "must be one of "+strings.Join(dispositionFilters, ", "))
	}
	return nil
}

// timeRange reads ?from= and ?to=; from is span before to by default.
func timeRange(c *call, span engine.Time) (from, to engine.Time, err error) {
	to = c.api.deps.Published.LogTime()
	if text := c.query("to"); text != "" {
		var ok bool
		if to, ok = strictjson.ParseTime(text); !ok {
			return 0, 0, badQuery("to", "must be an ISO 8601 time")
		}
	}
	from = max(to-span, 0)
	if text := c.query("from"); text != "" {
		var ok bool
		if from, ok = strictjson.ParseTime(text); !ok {
			return 0, 0, badQuery("from", "must be an ISO 8601 time")
		}
	}
	if from > to {
		return 0, 0, badQuery("from", "must not be after to")
	}
	return from, to, nil
}

// scanRange turns times into leaf indices, or goes on where a cursor left off.
func scanRange(c *call, q *recordQuery) (audit.Query, error) {
	store := c.api.deps.Records.Audit()
	scan := audit.Query{Newest: !q.page.ascending, Keys: q.keys, Examine: leafScanMax}
	if key := q.page.after; key != nil {
		next := key[0]
		if scan.From, scan.To = key[1], key[2]; next < scan.From || next > scan.To {
			return scan, noCursor()
		}
		if q.page.ascending {
			scan.From = next
		} else {
			scan.To = next
		}
		return scan, nil
	}
	// Leaves hold milliseconds, the store nanoseconds: a margin, cut exactly by matches.
	scan.From = store.FindTime(int64(q.from - engine.Millisecond))
	scan.To = store.FindTime(int64(q.to + engine.Millisecond))
	return scan, nil
}
