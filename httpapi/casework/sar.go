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

// An escalation opens a suspicious activity report (decision 48). Its packet is built from
// the leaves alone whenever it is read. People move the report on, and file it outside of
// this system. Reports belong to the institution: whoever a report is about must not learn
// of it.

func sarRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/sar", Reserved: true, Handle: listSARs},
		{Method: http.MethodGet, Path: "/v1/sar/{txnId}", Handle: showSAR},
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
	view, row, err := findRow(c, noSAR, func(view *fsm.View) (row fsm.SARRow, found bool) {
		if first, decided := c.Published().Disposition(l.Index); decided {
			row, found = view.SAR(first)
		}
		return row, found
	})
	if err != nil {
		return nil, err
	}
	return &sarCase{row: *row, view: view, record: l}, nil
}

// writeSARHead writes what the state has of a report.
func writeSARHead(m *strictjson.Members, row *fsm.SARRow, txn string, now engine.Time, l *edge.Leaf) {
	m.Text("txnId", txn)
	m.Text("state", fsm.SARState(row.State))
	m.Raw("openedAt", l.Raw("time"))
	m.Time("dueAt", row.DueAt)
	m.Bool("overdue", now >= row.DueAt && row.State <= wire.SARReady)
	m.Raw("escalatedBy", l.Raw("reviewedBy"))
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
	p, err := c.ReadListQuery("sar", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
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
	var rows []fsm.SARRow
	looked, next := 0, ""
	view.SARs(after, p.Ascending, func(row fsm.SARRow) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, row.First
		isLate := view.Time >= row.DueAt && row.State <= wire.SARReady
		if (state == 0 || row.State == state) && (late == "" || isLate == (late == "true")) {
			rows = append(rows, row)
		}
		return true
	})
	border.ChargeLooked(c, len(rows))
	items := make([]strictjson.Members, len(rows))
	for i := range rows {
		l, err := c.Judge.LoadLeaf(rows[i].First)
		if err != nil {
			return border.Answer{}, err
		}
		writeSARHead(&items[i], &rows[i], l.Text("txnId"), view.Time, &l)
		c.Judge.DropLeaf()
		if err := writeSARWho(c, &items[i], rows[i].Leaf); err != nil {
			return border.Answer{}, err
		}
	}
	c.Judge.Index = view.Index
	return c.AnswerList(items, next)
}

// moveSAR is POST /v1/sar/{txnId}/move {"to","by","reason","bsaId","narrative"}.
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
			if move.NeedsNarrative(r.row.State) {
				if err := checkNarrative(c, r, move.Narrative()); err != nil {
					return nil, err
				}
			}
			return move.Record(&c.Judge, r.record.Index, r.row.State)
		},
		Refused: sarRefused,
	}, nil)
}

// sarRefused says which state the report is in.
func sarRefused(r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noSAR()
	case wire.RefusedTransition:
		state := fsm.SARState(uint8(r.Value))
		var extra strictjson.Members
		extra.Text("state", state)
		return border.Conflict("invalid_transition", "a report goes from DRAFT to READY (and back), from READY to FILED, and to CLOSED; this one is "+state, extra)
	}
	return nil
}

// movedMembers are the members shown of a report's step, in addition to the new state.
var movedMembers = leaf.Select([]string{leaf.KindSARMoved}, "from", "dueAt", "by", "reason", "bsaId", "eventId")

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
	m.Raw("movedAt", l.Raw("time"))
	return nil
}
