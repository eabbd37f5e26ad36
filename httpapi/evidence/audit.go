package evidence

import (
	"net/http"
	"slices"
	"strings"

	"railguard/audit"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

func (e *Room) auditRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/audit", Handle: listRecords},
		{Method: http.MethodPost, Path: "/v1/audit/search", Handle: border.AskByBody(listRecords)},
		{Method: http.MethodGet, Path: "/v1/audit/export", Stream: true, Handle: e.exportRecords},
		{Method: http.MethodGet, Path: "/v1/audit/{txnId}", Handle: showRecord},
		{Method: http.MethodGet, Path: "/v1/audit/{txnId}/proof", Handle: e.proveRecord},
		{Method: http.MethodGet, Path: "/v1/audit/{txnId}/explain", Handle: explainRecord},
		{Method: http.MethodPost, Path: "/v1/audit/{txnId}/replay", Handle: replayRecord},
	}
}

// showRecord is GET /v1/audit/{txnId}.
func showRecord(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	disposition, err := c.Judge.Disposition(&l, c.Query("consistency") == "local")
	if err != nil {
		return border.Answer{}, err
	}
	if disposition, err = awaitDisposition(c, &l, disposition); err != nil {
		return border.Answer{}, err
	}
	if err := c.WriteRecord(&c.Out, &l, disposition); err != nil {
		return border.Answer{}, err
	}
	if c.Key.SeesAll() {
		c.Judges().Parties(&l, &c.Out)
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// recordQuery is what GET /v1/audit asks for.
type recordQuery struct {
	from, to    engine.Time
	keys        []uint64
	operator    string // Normalised.
	agent       string
	wallet      string // Canonical.
	name        string // Normalised.
	identifier  string // Canonical.
	verdict     string
	rule        string
	disposition string
	list        border.ListQuery // The page. Its cursor says where to continue, and has the range that the first call fixed.
}

// dispositionFilters are the values of ?disposition=.
var dispositionFilters = []string{leaf.WordApproved, leaf.WordRejected, leaf.WordEscalateSAR, "none"}

// listRecords is GET /v1/audit. One call examines a bounded number of leaves, and gives a
// cursor even with a short page, so that no query can occupy a node.
func listRecords(c *border.Request) (border.Answer, error) {
	q, err := readRecordQuery(c)
	if err != nil {
		return border.Answer{}, err
	}
	scan, err := scanRange(c, q)
	if err != nil {
		return border.Answer{}, err
	}
	var failed error
	var scratch edge.LeafScratch
	seen, items := 0, border.NewListing(c)
	scanned, err := c.Records().Audit().Scan(scan, func(index uint64, stored audit.Leaf) bool {
		if seen++; seen%border.ScanStep == 0 {
			if failed = border.PassTurn(c); failed != nil {
				return false
			}
		}
		failed = considerRecord(c, q, index, stored.Data, &scratch, items)
		return failed == nil && items.Count < q.list.Limit
	})
	border.ChargeLooked(c, scanned.Examined+items.Count) // Writing a record costs about as much as examining one.
	if failed != nil {
		return border.Answer{}, failed
	}
	if err != nil && items.Count == 0 {
		return border.Answer{}, edge.LeafError(err)
	}
	cursor := ""
	if !scanned.Done {
		cursor = q.list.Cursor(scanned.Next, scan.From, scan.To)
	}
	return items.End(cursor)
}

// considerRecord judges one leaf against the query, and writes it if it matches. It must read the
// record: filter keys are hashes and may collide, and there are no filter keys for what a role
// may see. It keeps nothing of the leaf.
func considerRecord(c *border.Request, q *recordQuery, index uint64, data []byte, scratch *edge.LeafScratch, items *border.Listing) error {
	defer edge.DropLeaves(&c.Judge, edge.LeavesHeld(&c.Judge))
	l, err := scratch.Open(&c.Judge, index, data)
	if err != nil {
		return err
	}
	x := l.Record
	if x == nil || !q.matchesRecord(x) || !q.mayShow(c, &l) || c.Judge.PastRetention(shownAt(x)) || !dispositionIs(c, q.disposition, &l) {
		return nil
	}
	return items.Add(func(m *strictjson.Members) error { return recordItem(c, &l, m) })
}

// mayShow reports whether the caller may be shown a matching record. A filter by name or identifier
// does not find records in which they are masked, since a match would confirm them.
func (q *recordQuery) mayShow(c *border.Request, l *edge.Leaf) bool {
	return c.Judge.Terms.MayRead(c.Asked.Caller, l) && (q.name == "" && q.identifier == "" || !c.Judge.Terms.Masked(c.Asked.Caller, l))
}

// matchesRecord judges the record itself, before anything of it is written.
func (q *recordQuery) matchesRecord(x *leafjson.Screen) bool {
	if q.verdict != "" && x.Verdict.String() != q.verdict || q.rule != "" && x.Rule.Code() != q.rule {
		return false
	}
	if q.agent != "" && x.AgentID() != q.agent && x.UserID() != q.agent {
		return false
	}
	if q.operator != "" && x.OperatorID() != q.operator {
		return false
	}
	if q.wallet != "" && !slices.ContainsFunc(x.Wallets(), func(named string) bool { return engine.CanonicalWallet(named) == q.wallet }) {
		return false
	}
	if q.identifier != "" && !slices.ContainsFunc(x.Identifiers(), func(told string) bool { return engine.CanonicalIdentifier(told) == q.identifier }) {
		return false
	}
	if q.name != "" && ofac.NormaliseName(x.RequestText(leaf.TagName)) != q.name {
		return false
	}
	at := shownAt(x)
	return at >= q.from/engine.Millisecond*engine.Millisecond && at <= q.to
}

// shownAt returns a record's time as the record shows it: to the millisecond.
func shownAt(x *leafjson.Screen) engine.Time { return x.At / engine.Millisecond * engine.Millisecond }

// dispositionIs filters by disposition as this caller sees it.
func dispositionIs(c *border.Request, want string, l *edge.Leaf) bool {
	if want == "" {
		return true
	}
	if l.Record.Verdict != engine.Review {
		return false
	}
	later, decided := c.Published().Disposition(l.Index)
	if !decided {
		return want == "none"
	}
	data, err := c.Records().Leaf(c.Context(), later)
	if err != nil {
		return false
	}
	d, err := c.Judge.OpenLeaf(later, data)
	if err != nil {
		return false
	}
	defer c.Judge.DropLeaf()
	have := d.Text("disposition")
	if have == leaf.WordEscalateSAR && !c.Key.SeesAll() {
		have = "none"
	}
	return have == want
}

// recordItem writes a record as a list shows it, with its outcome as far as this node knows
// it.
func recordItem(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	view := &edge.Disposition{}
	if later, decided := c.Published().Disposition(l.Index); decided {
		data, err := c.Records().Leaf(c.Context(), later)
		if err != nil {
			return edge.LeafError(err)
		}
		opened, err := c.Judge.OpenLeaf(later, data)
		if err != nil {
			return err
		}
		if view, err = edge.ReadDisposition(&opened); err != nil {
			return err
		}
	}
	if err := edge.LoadPayment(&c.Judge, l, view); err != nil {
		return err
	}
	if err := c.Judge.LoadComments(l, view); err != nil {
		return err
	}
	return c.WriteRecord(m, l, view)
}

// readRecordQuery reads the filters. There is always a time range: by default the last 24
// hours.
func readRecordQuery(c *border.Request) (*recordQuery, error) {
	q := &recordQuery{keys: []uint64{engine.FilterKey(engine.FilterKind, "screen")}}
	var err error
	if q.from, q.to, err = border.TimeRange(c, engine.DayLength); err != nil {
		return nil, err
	}
	if q.list, err = c.ReadListQuery("audit", 3); err != nil {
		return nil, err
	}
	if q.agent, err = border.PartyQuery(c, "agentId"); err != nil {
		return nil, err
	}
	if q.agent != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterAgent, q.agent))
	}
	operator, err := c.OperatorQuery()
	if err != nil {
		return nil, err
	}
	if q.operator = c.Key.OwnerOperator(); operator != nil {
		q.operator = c.Judge.OperatorID(operator.Slot)
	}
	if q.operator != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterOperator, q.operator))
	}
	if q.wallet, err = c.NormaliseQuery("wallet", engine.CanonicalWallet); err != nil {
		return nil, err
	}
	if q.name, err = c.NormaliseQuery("name", ofac.NormaliseName); err != nil {
		return nil, err
	}
	if q.wallet != "" {
		q.keys = append(q.keys, engine.FilterKey(engine.FilterWallet, q.wallet))
	}
	if given := c.Query("identifier"); given != "" {
		if q.identifier = engine.CanonicalIdentifier(given); q.identifier == "" {
			return nil, border.BadQuery("identifier", "must be a type and a value, such as tax_id:7707083893")
		}
	}
	if (q.name != "" || q.identifier != "") && !c.Key.May(edge.ReadsNames) {
		return nil, border.Forbidden(edge.ReadsNames)
	}
	if c.Key.SeesAll() { // For other callers the place where a scan ends would reveal what is not shown.
		if q.name != "" {
			q.keys = append(q.keys, engine.FilterKey(engine.FilterName, q.name))
		}
		if q.identifier != "" {
			q.keys = append(q.keys, engine.FilterKey(engine.FilterIdentifier, q.identifier))
		}
	}
	return q, readVerdictFilters(c, q)
}

func readVerdictFilters(c *border.Request, q *recordQuery) error {
	if q.verdict = c.Query("verdict"); q.verdict != "" {
		if q.verdict != "PROCEED" && q.verdict != "REVIEW" && q.verdict != "BLOCK" && q.verdict != "UNKNOWN" {
			return border.BadQuery("verdict", "must be PROCEED, REVIEW, BLOCK or UNKNOWN")
		}
		q.keys = append(q.keys, engine.FilterKey(engine.FilterVerdict, q.verdict))
	}
	if text := c.Query("rule"); text != "" {
		id, ok := engine.RuleByCode(text)
		if !ok {
			return border.BadQuery("rule", "must be a rule id")
		}
		q.rule = id.Code()
		q.keys = append(q.keys, engine.FilterKey(engine.FilterRule, q.rule))
	}
	if q.disposition = c.Query("disposition"); q.disposition != "" {
		for _, known := range dispositionFilters {
			if q.disposition == known {
				return nil
			}
		}
		return border.BadQuery("disposition", "must be one of "+strings.Join(dispositionFilters, ", "))
	}
	return nil
}

// scanRange turns times into leaf indices, or continues at a cursor.
func scanRange(c *border.Request, q *recordQuery) (audit.Query, error) {
	store := c.Records().Audit()
	scan := audit.Query{Newest: !q.list.Ascending, Keys: q.keys, Examine: border.LeafScanMax}
	if key := q.list.After; key != nil {
		next := key[0]
		if scan.From, scan.To = key[1], key[2]; next < scan.From || next > scan.To {
			return scan, border.NoCursor()
		}
		if q.list.Ascending {
			scan.From = next
		} else {
			scan.To = next
		}
		return scan, nil
	}
	// Leaves hold milliseconds, the store nanoseconds: the range has a margin, and
	// matchesRecord cuts it.
	scan.From = store.FindTime(int64(q.from - engine.Millisecond))
	scan.To = store.FindTime(int64(q.to + engine.Millisecond))
	return scan, nil
}
