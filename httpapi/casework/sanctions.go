package casework

import (
	"net/http"
	"slices"
	"strings"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// A BLOCK by a sanctions rule opens a case (decision 131), an officer one of a payment that went ahead
// (decision 155). The handlers here show it, with the
// comparison and the report made from the records and the list whenever they are read, and let
// officers move it on. Cases belong to the institution: whoever was blocked must not learn of one.

func sanctionsRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/sanctions/cases", Reserved: true, Handle: listCases},
		{Method: http.MethodPost, Path: "/v1/sanctions/cases", Reserved: true, Handle: openCase},
		{Method: http.MethodGet, Path: "/v1/sanctions/cases/{id}", Handle: showCase},
		{Method: http.MethodGet, Path: "/v1/sanctions/cases/{id}/report", Handle: showCaseReport},
		{Method: http.MethodPost, Path: "/v1/sanctions/cases/{id}/move", Reserved: true, Handle: moveCase},
		{Method: http.MethodGet, Path: "/v1/sanctions/blocked-property", Stream: true, Handle: listProperty},
	}
}

const (
	caseRecordsMax = 200 // How many payments of a case are shown.
	caseHistoryMax = 200 // How many of its leaves are shown.
)

// noAdvice stands in every document of this file.
const noAdvice = "This is a draft made from records, and no legal advice: compare it with the regulation in force before it is used."

// idsOf returns the ids of the cluster.
func idsOf(c *border.Request) *fsm.IDs { return judgeOf(c).Terms.IDs }

func noCase() *border.Error { return border.NotFound("no such sanctions case, or past its time") }

// loadCase returns the case of the path, and the state that it was read in.
func loadCase(c *border.Request) (*fsm.View, *fsm.SanctionsRow, error) {
	at, ok := idsOf(c).ParseCase(c.PathValue("id"))
	if !ok {
		return nil, nil, noCase()
	}
	return findRow(c, noCase, func(view *fsm.View) (fsm.SanctionsRow, bool) { return view.SanctionsCase(at) })
}

// caseWork is what a claim of a case names.
func caseWork(row *fsm.SanctionsRow) uint64 { return wire.WorkSubject(wire.WorkCase, row.Leaf) }

// writeCaseHead writes what the state has of a case.
func writeCaseHead(c *border.Request, m *strictjson.Members, row *fsm.SanctionsRow, view *fsm.View, claim *fsm.Claim) {
	ids := idsOf(c)
	m.Text("caseId", ids.CaseID(row.Leaf))
	m.Text("state", fsm.SanctionsState(row.State))
	m.TextOrNull("kind", fsm.SanctionsKind(row.Kind))
	m.Bool("wentAhead", row.Paid)
	switch target, at := wire.SplitSubject(row.Root); target {
	case wire.TargetAgent:
		m.Text("agentId", ids.AgentID(uint32(at)))
		if profile := c.Published().Agent(engine.AgentSlot(at)); profile != nil {
			m.Text("agentName", profile.AgentName)
			m.Text("operatorLegalName", profile.OperatorLegalName)
		}
	case wire.TargetUser:
		m.Text("userId", ids.UserID(uint32(at)))
	}
	if uid, is := row.Cause.UID(); is {
		m.Text("uid", border.UintText(uint64(uid)))
	}
	if code, is := row.Cause.Place(); is {
		m.Text("place", code)
	}
	m.TextOrNull("listedName", listedName(c, row))
	m.Time("openedAt", row.At)
	m.Time("dueAt", row.DueAt)
	m.Bool("overdue", view.Time >= row.DueAt && caseIsOpen(row))
	writeClaim(m, claim, view.Time)
	m.Uint("count", row.Count)
	m.USD("amountUSDC", row.Amount)
	m.Text("firstTxnId", ids.TxnID(row.First))
	m.Text("lastTxnId", ids.TxnID(row.Last))
	reference := ""
	if row.Facts != nil {
		reference = row.Facts.Reference
	}
	m.TextOrNull("reference", reference)
	if row.Before != 0 {
		m.Text("caseBefore", ids.CaseID(row.Before))
	}
	if row.Ended != 0 {
		m.Time("closedAt", row.Ended)
	}
}

// listedName returns the name of the case's party in the list that this node has, else the one that
// an officer gave.
func listedName(c *border.Request, row *fsm.SanctionsRow) string {
	if entry, known := listedParty(c, row); known {
		return entry.Primary
	}
	if row.Facts != nil && row.Facts.Property != nil {
		return row.Facts.Property.Party
	}
	return ""
}

// listedParty returns the case's party as the list that this node has says of it.
func listedParty(c *border.Request, row *fsm.SanctionsRow) (ofac.Entry, bool) {
	uid, is := row.Cause.UID()
	list := c.Published().List()
	if !is || list == nil {
		return ofac.Entry{}, false
	}
	return list.Entry(uid)
}

// listCases is GET /v1/sanctions/cases, newest first. Ascending order is the order of their due
// dates.
func listCases(c *border.Request) (border.Answer, error) {
	state := uint8(0)
	if text := c.Query("state"); text != "" {
		var known bool
		if state, known = fsm.ParseSanctionsState(text); !known {
			return border.Answer{}, border.BadQuery("state", "must be one of "+strings.Join(fsm.SanctionsStates(), ", "))
		}
	}
	late := c.Query("overdue")
	if late != "" && late != "true" && late != "false" {
		return border.Answer{}, border.BadQuery("overdue", "must be true or false")
	}
	var claims map[uint64]*fsm.Claim // Read once, before the first case.
	items, next, err := pageOfCases(c, "sanctions", func(view *fsm.View, row *fsm.SanctionsRow, m *strictjson.Members) bool {
		isLate := view.Time >= row.DueAt && caseIsOpen(row)
		if state != 0 && row.State != state || late != "" && isLate != (late == "true") {
			return false
		}
		if claims == nil {
			claims = claimsOf(view)
		}
		writeCaseHead(c, m, row, view, claims[caseWork(row)])
		return true
	})
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerList(items, next)
}

// pageOfCases returns one page of the cases that write does not leave out.
func pageOfCases(c *border.Request, kind string, write func(*fsm.View, *fsm.SanctionsRow, *strictjson.Members) bool) (items []strictjson.Members, next string, err error) {
	p, err := c.ReadListQuery(kind, 1)
	if err != nil {
		return nil, "", err
	}
	view, err := c.Judge.View()
	if err != nil {
		return nil, "", err
	}
	after := ^uint64(0)
	if p.Ascending {
		after = 0 // No case is leaf 0, the genesis.
	}
	if p.After != nil {
		after = p.After[0]
	}
	items, looked := []strictjson.Members{}, 0
	view.SanctionsCases(after, p.Ascending, func(row fsm.SanctionsRow) bool {
		if len(items) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, row.Leaf
		var m strictjson.Members
		if write(view, &row, &m) {
			items = append(items, m)
		}
		return true
	})
	border.ChargeLooked(c, len(items))
	return items, next, nil
}

// showCase is GET /v1/sanctions/cases/{id}: the case, the comparison, its payments and its history.
func showCase(c *border.Request) (border.Answer, error) {
	view, row, err := loadCase(c)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	writeCaseHead(c, &m, row, view, view.WorkOn(caseWork(row)))
	next := []string{}
	for _, state := range fsm.SanctionsNext(row.State) {
		next = append(next, fsm.SanctionsState(state))
	}
	m.Texts("next", next)
	if row.Facts != nil && row.Facts.Property != nil {
		m.Object("property", desk.PropertyMembers(row.Facts.Property))
	}
	records, whole, err := caseRecords(c, row)
	if err != nil {
		return border.Answer{}, err
	}
	m.Object("form", comparisonForm(c, row, records))
	items := make([]strictjson.Members, len(records))
	for i := range records {
		writeCaseRecord(&items[i], &records[i])
	}
	m.List("records", items)
	m.Bool("recordsComplete", whole)
	history, err := caseHistory(c, row)
	if err != nil {
		return border.Answer{}, err
	}
	m.List("history", history)
	m.Text("note", noAdvice)
	return c.Reply(http.StatusOK, m), nil
}

// writeCaseRecord writes one payment of a case.
func writeCaseRecord(m *strictjson.Members, l *edge.Leaf) {
	l.CopyTo(m, "txnId", "screenedAt", "rule", "reason", "agentId")
	m.Raw("amount", l.Raw("_request", "amount"))
	for _, name := range []string{"cpName", "cpWallet", "chain", "rail", "paymentRef"} {
		if raw := l.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
}

// caseRecords returns the payments of a case that history still has, oldest first.
func caseRecords(c *border.Request, row *fsm.SanctionsRow) (records []edge.Leaf, whole bool, err error) {
	if row.Paid {
		l, err := c.Judge.LoadLeaf(row.First)
		if edge.IsGone(err) {
			return nil, false, nil
		}
		return []edge.Leaf{l}, err == nil, err
	}
	var failed error
	pair := engine.FilterKey(engine.FilterCase, fsm.CasePair(idsOf(c), row.Root, row.Cause))
	err = walkLeaves(c, row.First, row.Last+1, []uint64{pair}, func(l *edge.Leaf) bool {
		if l.Text("verdict") != "BLOCK" {
			return true
		}
		record := *l
		if l.IsJudgement() { // The payment had been let through, and was a BLOCK when it was confirmed or redeemed.
			if record, failed = edge.JudgementLeaf(&c.Judge, l); failed != nil {
				return false
			}
		}
		records = append(records, record)
		return len(records) < caseRecordsMax
	})
	if err == nil {
		err = failed
	}
	return records, uint64(len(records)) == row.Count, err
}

// caseHistory returns what happened to a case, oldest first.
func caseHistory(c *border.Request, row *fsm.SanctionsRow) (items []strictjson.Members, err error) {
	id := idsOf(c).CaseID(row.Leaf)
	items = []strictjson.Members{}
	err = walkLeaves(c, row.Leaf, row.Later+1, []uint64{engine.FilterKey(engine.FilterCase, id)}, func(l *edge.Leaf) bool {
		if l.Text("caseId") != id {
			return true
		}
		var m strictjson.Members
		what := l.Kind()
		if what == leaf.KindDue {
			what = l.Text("type")
		}
		m.Text("what", what)
		m.Raw("time", l.Raw("time"))
		l.CopyTo(&m, "txnId", "amount", "amountUSDC", "from", "to", "caseKind", "reference", "reason", "notes", "persons", "alone", "eventId")
		m.TextOrNull("actor", firstText(l, "by", "openedBy"))
		items = append(items, m)
		return len(items) < caseHistoryMax
	})
	return items, err
}

// walkLeaves opens the leaves from one index to before another that have all the keys, oldest first,
// until visit returns false. What it opened stays open until the call ends. The answer rests on the
// state as before.
func walkLeaves(c *border.Request, from, to uint64, keys []uint64, visit func(*edge.Leaf) bool) error {
	index, store := c.Judge.Index, c.Records().Audit()
	defer func() { c.Judge.Index = index }()
	scan := audit.Query{From: from, To: to, Examine: border.LeafScanMax, Keys: keys}
	for more := true; more; {
		var failed error
		scanned, err := store.Scan(scan, func(index uint64, stored audit.Leaf) bool {
			l, err := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
			if failed = err; failed == nil {
				more = visit(&l)
			}
			return failed == nil && more
		})
		border.ChargeLooked(c, scanned.Examined)
		if failed != nil {
			return failed
		}
		if err != nil {
			return edge.LeafError(err)
		}
		if scanned.Done {
			return nil
		}
		if err := border.PassTurn(c); err != nil {
			return err
		}
		scan.From = scanned.Next
	}
	return nil
}

// moveCase is POST /v1/sanctions/cases/{id}/move.
func moveCase(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	move, err := desk.ReadCaseMove(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindSanctions,
		Record: func() (any, error) {
			_, row, err := loadCase(c)
			if err != nil {
				return nil, err
			}
			return move.Record(&c.Judge, row)
		},
		Refused: caseRefused,
	}, nil)
}

// caseRefused says which state the case is in, and where it may go from there.
func caseRefused(r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noCase()
	case wire.RefusedTransition:
		return caseConflict(uint8(r.Value))
	}
	return nil
}

func caseConflict(in uint8) error {
	state, next := fsm.SanctionsState(in), []string{}
	for _, to := range fsm.SanctionsNext(in) {
		next = append(next, fsm.SanctionsState(to))
	}
	var extra strictjson.Members
	extra.Text("state", state)
	message := "this case is " + state + ", from where it goes to " + strings.Join(next, " or ")
	if len(next) == 0 {
		message = "this case is " + state + ", from where it goes nowhere"
	}
	return border.Conflict("invalid_transition", message, extra)
}

// movedCaseMembers are the members shown of a case's step, in addition to the new state.
var movedCaseMembers = leaf.Select([]string{leaf.KindSanctionsMoved}, "from", "dueAt", "reference", "reason", "notes", "eventId")

// renderCaseMoved answers with the case after the step.
func renderCaseMoved(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "caseId")
	m.Text("state", l.Text("to"))
	m.TextOrNull("kind", l.Text("caseKind"))
	l.CopyTo(m, slices.Concat(movedCaseMembers, []string{"property"})...)
	l.CopyAs(m, "by", "actor")
	m.Raw("movedAt", l.Raw("time"))
	return nil
}
