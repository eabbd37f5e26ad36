package casework

import (
	"net/http"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// An escalation opens a suspicious activity report (decision 48), or an officer does, of any record
// (decision 155). Its packet is built from the leaves alone whenever it is read. People write its
// narrative, move the report on, and file it outside of this system. Reports belong to the institution: whoever a report is about must not learn
// of it.

func sarRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/sar", Reserved: true, Handle: listSARs},
		{Method: http.MethodPost, Path: "/v1/sar", Reserved: true, Handle: openSAR},
		{Method: http.MethodGet, Path: "/v1/sar/{txnId}", Handle: showSAR},
		{Method: http.MethodPut, Path: "/v1/sar/{txnId}/narrative", Reserved: true, Handle: putNarrative},
		{Method: http.MethodPost, Path: "/v1/sar/{txnId}/move", Reserved: true, Handle: moveSAR},
	}
}

// sarCase is a report as the state has it.
type sarCase struct {
	row    fsm.SARRow
	view   *fsm.View
	record edge.Leaf
}

func noSAR() *border.Error {
	return border.NotFound("no report of this transaction, or past its 90 days")
}

// loadReport finds the report of the path's transaction.
func loadReport(c *border.Request) (*sarCase, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return nil, err
	}
	view, row, err := findRow(c, noSAR, func(view *fsm.View) (fsm.SARRow, bool) { return view.SAROf(l.Index) })
	if err != nil {
		return nil, err
	}
	return &sarCase{row: *row, view: view, record: l}, nil
}

// writeSARHead writes what the state has of a report, who opened it and why.
func writeSARHead(c *border.Request, m *strictjson.Members, row *fsm.SARRow, now engine.Time, waiting map[uint64]fsm.Waiting, opened *edge.Leaf) error {
	m.Text("txnId", opened.Text("txnId"))
	m.Text("state", fsm.SARState(row.State))
	m.Raw("openedAt", opened.Raw("time"))
	m.Time("dueAt", row.DueAt)
	m.Bool("overdue", now >= row.DueAt && row.State <= wire.SARReady)
	by, reason := opened.Text("openedBy"), opened.Text("reason")
	if opened.Kind() == leaf.KindDispositioned {
		by, reason = opened.Text("reviewedBy"), opened.Text("notes")
		m.Text("escalatedBy", by)
	}
	m.Text("openedBy", by)
	m.TextOrNull("reason", reason)
	m.Bool("narrativeFinished", row.Finished)
	if err := writeSARFiled(c, m, row); err != nil {
		return err
	}
	return writeSARWaits(c, m, row, waiting)
}

// writeSARFiled writes who filed a report, and when.
func writeSARFiled(c *border.Request, m *strictjson.Members, row *fsm.SARRow) error {
	if row.State != wire.SARFiled {
		return nil
	}
	l, err := judgeOf(c).LoadLeaf(row.Later) // Nothing is written about a filed report until it is closed.
	if edge.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer judgeOf(c).DropLeaf()
	m.Raw("filedAt", l.Raw("time"))
	m.Raw("filedBy", l.Raw("by"))
	m.Raw("bsaId", l.Raw("bsaId"))
	return nil
}

// sarWaiting returns the steps of reports that wait for a second person, by record.
func sarWaiting(view *fsm.View) map[uint64]fsm.Waiting {
	all := map[uint64]fsm.Waiting{}
	view.Proposals(0, true, func(waiting fsm.Waiting) bool {
		if waiting.Kind == wire.KindSAR {
			all[waiting.Leaf] = waiting
		}
		return true
	})
	return all
}

// writeSARWaits writes the step of a report that waits for a second person, and who proposed it.
func writeSARWaits(c *border.Request, m *strictjson.Members, row *fsm.SARRow, all map[uint64]fsm.Waiting) error {
	waiting, waits := all[row.Leaf]
	if !waits || waiting.Later < row.First {
		return nil
	}
	l, err := judgeOf(c).LoadLeaf(waiting.Later)
	if err != nil {
		return err
	}
	defer judgeOf(c).DropLeaf()
	var step strictjson.Members
	l.CopyTo(&step, "proposalId", "to")
	step.Raw("proposedBy", l.Raw("by"))
	step.Raw("proposedAt", l.Raw("time"))
	step.Time("expiresAt", waiting.LapsesAt)
	m.Object("waits", step)
	return nil
}

// writeSARWho writes whom a report in the list is about, and how much.
func writeSARWho(c *border.Request, m *strictjson.Members, record uint64) error {
	l, err := c.Judge.LoadLeaf(record)
	if edge.IsGone(err) {
		return nil // The report outlives its record by days.
	}
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	l.CopyTo(m, "agentId", "agentName", "operatorLegalName")
	m.Raw("cpName", l.Raw("_request", "cpName"))
	m.Raw("cpWallet", l.Raw("_request", "cpWallet"))
	m.Raw("amount", l.Raw("_request", "amount"))
	return nil
}

// sarRecord reads the query parameter txnId: the record whose newest report is meant; 0: those of all.
func sarRecord(c *border.Request) (uint64, error) {
	text := c.Query("txnId")
	if text == "" {
		return 0, nil
	}
	record, ok := idsOf(c).ParseTxn(text)
	if !ok {
		return 0, border.BadQuery("txnId", "is no transaction")
	}
	return record, nil
}

// listSARs is GET /v1/sar, newest first. Ascending order is the order of their due dates.
func listSARs(c *border.Request) (border.Answer, error) {
	state := uint8(0)
	if text := c.Query("state"); text != "" {
		var known bool
		if state, known = fsm.ParseSARState(text); !known {
			return border.Answer{}, border.BadQuery("state", "must be DRAFT, READY, FILED or CLOSED")
		}
	}
	late := c.Query("overdue")
	if late != "" && late != "true" && late != "false" {
		return border.Answer{}, border.BadQuery("overdue", "must be true or false")
	}
	only, err := sarRecord(c)
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadListQuery("sar", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := judgeOf(c).View()
	if err != nil {
		return border.Answer{}, err
	}
	after := ^uint64(0)
	if p.Ascending {
		after = 0
	}
	if p.After != nil {
		after = p.After[0]
	}
	rows, next := pageOfSARs(view, p, after, func(row *fsm.SARRow) bool {
		isLate := view.Time >= row.DueAt && row.State <= wire.SARReady
		return (state == 0 || row.State == state) && (late == "" || isLate == (late == "true"))
	})
	if only != 0 {
		rows, next = rows[:0], ""
		if row, found := view.SAROf(only); found {
			rows = append(rows, row)
		}
	}
	border.ChargeLooked(c, len(rows))
	items, waiting := make([]strictjson.Members, len(rows)), sarWaiting(view)
	for i := range rows {
		l, err := judgeOf(c).LoadLeaf(rows[i].First)
		if err != nil {
			return border.Answer{}, err
		}
		err = writeSARHead(c, &items[i], &rows[i], view.Time, waiting, &l)
		judgeOf(c).DropLeaf()
		if err != nil {
			return border.Answer{}, err
		}
		if err := writeSARWho(c, &items[i], rows[i].Leaf); err != nil {
			return border.Answer{}, err
		}
	}
	judgeOf(c).Index = view.Index
	return c.AnswerList(items, next)
}

// pageOfSARs returns one page of the reports that pass, and the cursor of the next.
func pageOfSARs(view *fsm.View, p border.ListQuery, after uint64, passes func(*fsm.SARRow) bool) (rows []fsm.SARRow, next string) {
	looked := 0
	view.SARs(after, p.Ascending, func(row fsm.SARRow) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, row.First
		if passes(&row) {
			rows = append(rows, row)
		}
		return true
	})
	return rows, next
}

// openSAR is POST /v1/sar {"txnId","by","reason"}.
func openSAR(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	opening, err := desk.ReadReportOpening(&f)
	if err != nil {
		return border.Answer{}, err
	}
	l, err := judgeOf(c).Record(opening.TxnID())
	if err != nil {
		return border.Answer{}, err
	}
	c.TxnID = l.Text("txnId")
	return c.AnswerChangeable(border.Proposal{
		Kind:    wire.KindSAR,
		Record:  func() (any, error) { return opening.Record(judgeOf(c), l.Index) },
		Refused: sarRefused,
	}, nil)
}

// putNarrative is PUT /v1/sar/{txnId}/narrative {"by","narrative","replaces"}.
func putNarrative(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	narrative, err := desk.ReadNarrative(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindSAR,
		Record: func() (any, error) {
			r, err := loadReport(c)
			if err != nil {
				return nil, err
			}
			skeleton, err := sarSkeletonOf(c, r)
			if err != nil {
				return nil, err
			}
			return narrative.Record(judgeOf(c), r.record.Index, narrative.IsFinished(skeleton))
		},
		Refused: sarRefused,
	}, nil)
}

// moveSAR is POST /v1/sar/{txnId}/move {"to","by","reason","bsaId"}.
func moveSAR(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	move, err := desk.ReadReportMove(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindSAR,
		Record: func() (any, error) {
			r, err := loadReport(c)
			if err != nil {
				return nil, err
			}
			return move.Record(judgeOf(c), &r.row)
		},
		Refused: sarRefused,
	}, nil)
}

// sarRefused says which state the report is in, or what its narrative lacks.
func sarRefused(r wire.Result) error {
	state := fsm.SARState(uint8(r.Value))
	var extra strictjson.Members
	extra.Text("state", state)
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noSAR()
	case wire.RefusedExists:
		return border.Conflict("already_open", "a report of this transaction is open: it is "+state, extra)
	case wire.RefusedUnfinished:
		return border.Conflict("narrative_unfinished", "nobody has finished the narrative of this report: write it, and answer what stands in brackets", nil)
	case wire.RefusedVersion:
		return border.Conflict("narrative_changed", "somebody has written another narrative since you read it: read it again", nil)
	case wire.RefusedTransition:
		return border.Conflict("invalid_transition", "a report goes from DRAFT to READY (and back), from READY to FILED, and to CLOSED, and its narrative is written before it is FILED; this one is "+state, extra)
	}
	return nil
}

// movedMembers are the members shown of a report's step, in addition to the new state.
var movedMembers = leaf.Select([]string{leaf.KindSARMoved}, "from", "dueAt", "reason", "bsaId", "eventId")

// renderSARMoved answers with the report after the step.
func renderSARMoved(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	var moved leaf.SARMoved
	if err := leaf.ReadInto(l.Data, &moved); err != nil {
		return err
	}
	c.TxnID = moved.TxnID
	m.Text("txnId", moved.TxnID)
	m.Text("state", moved.To)
	l.CopyTo(m, movedMembers...)
	l.CopyAs(m, "by", "actor")
	m.Raw("movedAt", l.Raw("time"))
	return nil
}

// renderSAROpened answers with the report that an officer opened.
func renderSAROpened(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	m.Text("txnId", c.TxnID)
	m.Text("state", fsm.SARState(wire.SARDraft))
	m.Raw("openedAt", l.Raw("time"))
	l.CopyTo(m, "dueAt", "openedBy", "reason", "eventId")
	return nil
}

// renderSARWritten answers with what a later narrative has to say that it replaces.
func renderSARWritten(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	l.CopyTo(m, "txnId", "state", "narrativeSha256", "finished", "eventId")
	l.CopyAs(m, "by", "actor")
	m.Raw("writtenAt", l.Raw("time"))
	return nil
}
