package rulebook

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// Retro-screening (docs/foresight.md) finds who in the past matches a list. The leader
// screens; the handlers here start, list and report runs.

const (
	retroDaysMost  = 90
	retroEntries   = 500    // How many entries a report has.
	retroExamples  = 20     // How many transactions and parties are named with an entry.
	retroHitsRead  = 65_536 // How many hits a report sums.
	retroScanLeast = 4      // Most scans of history for one report, each of ScanLeavesMax.
)

func retroRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/ofac/retro", Handle: startRetro},
		{Method: http.MethodGet, Path: "/v1/ofac/retro", Handle: listRetro},
		{Method: http.MethodGet, Path: border.RetroReports + "{id}", Handle: showRetro},
	}
}

// startRetro is POST /v1/ofac/retro {days, listSnapshotId, against}.
func startRetro(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	days, given := f.Integer("days", 1, retroDaysMost)
	if !given {
		days = retroDaysMost
	}
	id, against := f.Text("listSnapshotId", engine.FieldMax), f.Text("against", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	from := max(c.Published().LogTime()-engine.Time(days)*engine.DayLength, 0)
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindRetro, Record: func() (any, error) {
		list, err := activatedList(c, "listSnapshotId", id)
		if err != nil {
			return nil, err
		}
		var before *wire.ListInfo
		if against != "" {
			if before, err = activatedList(c, "against", against); err != nil {
				return nil, err
			}
		}
		return rulebook.RetroRun(&c.Judge, list, before, from, c.Records().Audit().FindTime(int64(from)))
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedTransition {
			return border.Conflict("job_running", "a retro-screening runs already: it is in GET /v1/ofac/retro", nil)
		}
		return nil
	}}, nil)
}

// activatedList finds a list that is or was active; without an id, the active one.
func activatedList(c *border.Request, param, id string) (*wire.ListInfo, error) {
	active := c.Settings().List
	if active == nil {
		return nil, border.NotFound("no list is active")
	}
	if id == "" {
		return active, nil
	}
	info, err := knownList(c, id)
	if err != nil || info.Version == 0 {
		return nil, border.InvalidField(param, "names no list that is or was active")
	}
	return info, nil
}

// renderRetro answers startRetro.
func renderRetro(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusAccepted
	writeRun(c, m, l, nil)
	return nil
}

// listRetro is GET /v1/ofac/retro, newest first.
func listRetro(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("retro")
	if err != nil {
		return border.Answer{}, err
	}
	q := audit.Query{To: ^uint64(0), Newest: !p.Ascending, Examine: border.LeafScanMax, Keys: []uint64{engine.FilterKey(engine.FilterKind, leaf.KindRetroBegun)}}
	if p.Ascending {
		q.From = p.After
	} else if p.After != 0 {
		q.To = p.After
	}
	items := []strictjson.Members{}
	var failed error
	found, err := c.Records().Audit().Scan(q, func(index uint64, stored audit.Leaf) bool {
		var m strictjson.Members
		if failed = addRun(c, &m, index, stored.Data); failed != nil {
			return false
		}
		items = append(items, m)
		return len(items) < p.Limit
	})
	if failed != nil {
		return border.Answer{}, failed
	}
	if err != nil && len(items) == 0 {
		return border.Answer{}, edge.LeafError(err)
	}
	next := ""
	if !found.Done && found.Next != 0 {
		next = p.Cursor(found.Next)
	}
	return c.AnswerList(items, next)
}

func addRun(c *border.Request, m *strictjson.Members, index uint64, data []byte) error {
	l, err := c.Judge.OpenLeaf(index, append([]byte(nil), data...))
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	ended, err := retroEnd(c, &l)
	if err != nil {
		return err
	}
	if ended != nil {
		defer c.Judge.DropLeaf()
	}
	writeRun(c, m, &l, ended)
	return nil
}

// retroEnd finds the leaf that ended a run; nil: the run has not ended. Only one run is
// active at a time, so it is the next leaf of its kind after the run's begin.
func retroEnd(c *border.Request, begun *edge.Leaf) (ended *edge.Leaf, err error) {
	if run := c.Settings().Retro; run != nil && run.Begun == begun.Index && run.EndedAt == 0 {
		return nil, nil
	}
	q := audit.Query{From: begun.Index, To: ^uint64(0), Keys: []uint64{engine.FilterKey(engine.FilterKind, leaf.KindRetroEnded), retroKey(begun)}}
	for range retroScanLeast {
		scanned, scanErr := c.Records().Audit().Scan(q, func(index uint64, stored audit.Leaf) bool {
			l, opened := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
			if err = opened; err == nil {
				ended = &l
			}
			return false
		})
		if ended != nil || err != nil || scanErr != nil || scanned.Done {
			return ended, err
		}
		q.From = scanned.Next
	}
	return nil, nil
}

// retroKey returns the filter key of a run's leaves.
func retroKey(begun *edge.Leaf) uint64 {
	return engine.FilterKey(engine.FilterTxn, begun.Text("retroId"))
}

// writeRun writes a run without its hits.
func writeRun(c *border.Request, m *strictjson.Members, begun, ended *edge.Leaf) {
	begun.CopyTo(m, "retroId", "listVersion")
	s := c.Settings()
	m.TextOrNull("listSnapshotId", snapshotOf(s.History, begun.Number("listVersion")))
	m.TextOrNull("against", snapshotOf(s.History, begun.Number("against")))
	begun.CopyTo(m, "from", "asked")
	m.Raw("startedAt", begun.Raw("time"))
	run := s.Retro
	switch current := run != nil && run.Begun == begun.Index; {
	case ended != nil:
		m.Raw("endedAt", ended.Raw("time"))
		m.Text("state", "done")
		m.Uint("hits", ended.Number("hits"))
		m.Uint("known", ended.Number("known"))
	case current && run.EndedAt == 0:
		m.Null("endedAt")
		m.Text("state", "running")
		m.Uint("hits", run.Hits)
		m.Uint("known", run.Known)
		var progress strictjson.Members
		progress.Uint("leaf", run.Leaf)
		progress.Uint("endLeaf", run.Until)
		m.Object("progress", progress)
	default: // It has just begun, or this node does not have its end yet.
		m.Null("endedAt")
		m.Text("state", "running")
		m.Uint("hits", 0)
		m.Uint("known", 0)
	}
}

func snapshotOf(history []*wire.ListInfo, version uint64) string {
	for _, info := range history {
		if info.Version == version && version != 0 {
			return edge.SnapshotID(info.Digest)
		}
	}
	return ""
}

// retroEntry sums the hits of one entry.
type retroEntry struct {
	uid             uint32
	payments, paid  uint64 // All payments, and those that went ahead.
	amount, settled engine.USD
	wallets, listed bool
	first, last     engine.Time
	txns, parties   []string
	partyCount      uint64
}

// showRetro is GET /v1/ofac/retro/{id}: the hits summed by entry, and all hits in pages.
func showRetro(c *border.Request) (border.Answer, error) {
	index, ok := c.Judge.Terms.IDs.ParseEvent(c.PathValue("id"))
	if !ok {
		return border.Answer{}, noRetro()
	}
	p, err := c.ReadRowQuery("retro.hits")
	if err != nil {
		return border.Answer{}, err
	}
	begun, err := c.Judge.LoadLeaf(index)
	if err != nil {
		return border.Answer{}, err
	}
	if begun.Kind() != leaf.KindRetroBegun {
		return border.Answer{}, noRetro()
	}
	ended, err := retroEnd(c, &begun)
	if err != nil {
		return border.Answer{}, err
	}
	r := &retroReport{query: p, entries: map[uint32]*retroEntry{}, items: []strictjson.Members{}}
	if err := r.read(c, &begun); err != nil {
		return border.Answer{}, err
	}
	m := c.Out[:0]
	writeRun(c, &m, &begun, ended)
	known := uint64(0)
	if ended != nil {
		known = ended.Number("known")
	}
	r.write(c, &m, begun.Number("listVersion"), known)
	c.Out = m
	return c.Reply(http.StatusOK, c.Out), nil
}

func noRetro() *border.Error { return border.NotFound("no such retro-screening, or past its 90 days") }

// retroReport sums the hits of a run.
type retroReport struct {
	query   border.RowQuery
	entries map[uint32]*retroEntry
	all     retroEntry // Counts every payment once, whichever entries it matched.
	items   []strictjson.Members
	next    uint64
	hits    int
	short   bool // There are more hits than were summed.
}

// read sums the hits, and collects those of the query.
func (r *retroReport) read(c *border.Request, begun *edge.Leaf) error {
	q := audit.Query{From: begun.Index, To: ^uint64(0), Keys: []uint64{engine.FilterKey(engine.FilterKind, leaf.KindRetroHit), retroKey(begun)}}
	var failed error
	for scans := 0; ; scans++ {
		scanned, err := c.Records().Audit().Scan(q, func(index uint64, stored audit.Leaf) bool {
			if r.hits++; r.hits%border.ScanStep == 0 {
				if failed = border.PassTurn(c); failed != nil {
					return false
				}
			}
			l, err := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
			if failed = err; err != nil {
				return false
			}
			defer c.Judge.DropLeaf()
			paid, ahead, err := wentAhead(c, &l)
			if failed = err; err != nil {
				return false
			}
			r.add(&l, paid, ahead)
			return r.hits < retroHitsRead
		})
		border.ChargeLooked(c, scanned.Examined)
		switch {
		case failed != nil:
			return failed
		case err != nil:
			return edge.LeafError(err)
		case scanned.Done:
			return nil
		case r.hits >= retroHitsRead || scans == retroScanLeast:
			r.short = true
			return nil
		}
		q.From = scanned.Next
	}
}

// wentAhead tells of a hit whether its payment was made, and how much that was. It reads what became of
// the payment since, and not what the hit says of its verdict.
func wentAhead(c *border.Request, hit *edge.Leaf) (paid engine.USD, ahead bool, err error) {
	at, is := c.Judge.Terms.IDs.ParseTxn(hit.Text("txnId"))
	if !is {
		return 0, false, nil // A party.
	}
	record, err := c.Judge.LoadLeaf(at)
	if edge.IsGone(err) || err == nil && record.Record == nil {
		paid, _ = engine.ParseUSD(hit.Raw("amount"))
		return paid, hit.Text("verdict") == engine.Proceed.String(), nil
	}
	if err != nil {
		return 0, false, err
	}
	defer c.Judge.DropLeaf()
	d, err := c.Judge.Disposition(&record, true)
	if err != nil {
		return 0, false, err
	}
	paid, ahead = d.WentAhead(&record)
	return paid, ahead, nil
}

func (r *retroReport) add(l *edge.Leaf, paid engine.USD, ahead bool) {
	if l.Index > r.query.After {
		switch {
		case len(r.items) < r.query.Limit:
			var m strictjson.Members
			l.CopyTo(&m, "txnId", "agentId", "userId", "operatorId", "verdict", "screenedAt", "amount", "entries", "wallet", "listed")
			r.items = append(r.items, m)
			r.query.After = max(r.query.After, l.Index)
		default:
			r.next = r.query.After
		}
	}
	r.all.add(l, paid, ahead)
	for _, v := range l.Value.GetArray("entries") {
		uid := uint32(v.GetUint())
		entry := r.entries[uid]
		if entry == nil {
			if len(r.entries) >= retroEntries {
				r.short = true
				continue
			}
			entry = &retroEntry{uid: uid}
			r.entries[uid] = entry
		}
		entry.add(l, paid, ahead)
	}
}

func (e *retroEntry) add(l *edge.Leaf, paid engine.USD, ahead bool) {
	e.wallets, e.listed = e.wallets || l.Flag("wallet"), e.listed || l.Flag("listed")
	if !l.Has("txnId") {
		e.partyCount++
		for _, name := range []string{"operatorId", "agentId", "userId"} {
			if id := l.Text(name); id != "" && len(e.parties) < retroExamples {
				e.parties = append(e.parties, id)
			}
		}
		return
	}
	amount, err := engine.ParseUSD(l.Raw("amount"))
	if err != nil {
		amount = 0
	}
	at := l.Instant("screenedAt")
	if e.payments == 0 || at < e.first {
		e.first = at
	}
	e.last = max(e.last, at)
	e.payments, e.amount = e.payments+1, e.amount.Plus(amount)
	if ahead {
		e.paid, e.settled = e.paid+1, e.settled.Plus(paid)
	}
	if len(e.txns) < retroExamples {
		e.txns = append(e.txns, l.Text("txnId"))
	}
}

// write writes the result; known is the number of hits that earlier runs of the list
// reported.
func (r *retroReport) write(c *border.Request, m *strictjson.Members, version, known uint64) {
	list := border.ListOfVersion(c, version)
	entries := make([]*retroEntry, 0, len(r.entries))
	for _, entry := range r.entries {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b *retroEntry) int { return cmp.Or(cmp.Compare(b.amount, a.amount), cmp.Compare(a.uid, b.uid)) })
	items := make([]strictjson.Members, len(entries))
	for i, entry := range entries {
		entry.name(&items[i], list)
		entry.write(&items[i])
	}
	var all strictjson.Members
	all.Text("text", r.all.sentence(known))
	r.all.write(&all)
	m.Object("all", all)
	m.List("entries", items)
	m.Bool("truncated", r.short)
	m.List("data", r.items)
	next := ""
	if r.next != 0 {
		next = r.query.Cursor(r.next)
	}
	m.TextOrNull("nextCursor", next)
}

// name writes which party an entry is, and its hits in one sentence.
func (e *retroEntry) name(m *strictjson.Members, list *ofac.Index) {
	name := "entry " + strconv.FormatUint(uint64(e.uid), 10)
	m.Text("uid", strconv.FormatUint(uint64(e.uid), 10))
	if list != nil {
		if entry, known := list.Entry(e.uid); known {
			name = entry.Primary
			m.Text("name", name)
			m.Text("type", entry.Type.String())
			m.Text("list", entry.List)
			m.Optional("entryId", entry.ID)
			m.Texts("programs", entry.Programs)
		}
	}
	text := ""
	if e.payments > 0 {
		text = numbered(e.payments, "payment", "payments") + " of " + string(engine.AppendUSD(nil, e.amount)) + " USD to "
		switch {
		case e.wallets:
			text += "a wallet of "
		case !e.listed:
			text += "who may be "
		}
		text += name
	}
	if e.partyCount > 0 {
		if text != "" {
			text += "; "
		}
		text += numbered(e.partyCount, "registered party", "registered parties") + " that it names"
	}
	m.Text("text", text)
}

// sentence says what the whole run found, and what it left out.
func (e *retroEntry) sentence(known uint64) string {
	text := numbered(e.payments, "payment", "payments") + " of " + string(engine.AppendUSD(nil, e.amount)) + " USD and " + numbered(e.partyCount, "registered party", "registered parties")
	if known > 0 {
		text += "; " + numbered(known, "hit that an earlier run of this list told of is", "hits that earlier runs of this list told of are") + " not told again"
	}
	return text + "; names that are cleared of an entry are left out"
}

func numbered(count uint64, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(count, 10) + " " + many
}

func (e *retroEntry) write(m *strictjson.Members) {
	var payments, proceeded strictjson.Members
	proceeded.Uint("count", e.paid)
	proceeded.USD("amountUSDC", e.settled)
	payments.Uint("count", e.payments)
	payments.USD("amountUSDC", e.amount)
	payments.Object("proceeded", proceeded)
	if e.payments > 0 {
		payments.Time("first", e.first)
		payments.Time("last", e.last)
	}
	payments.Texts("txnIds", append([]string{}, e.txns...))
	m.Object("payments", payments)
	m.Uint("parties", e.partyCount)
	m.Texts("partyIds", append([]string{}, e.parties...))
	m.Bool("listed", e.listed)
}
