package casework

import (
	"errors"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// An alert (decision 48) is something other than a REVIEW that a person should look at. The
// log opens alerts; the handlers here show them, and let a person acknowledge one with a
// reason. Alerts belong to the institution: whoever an alert is about must not learn of it.

func alertRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/alerts", Reserved: true, Handle: listAlerts},
		{Method: http.MethodGet, Path: "/v1/alerts/{id}", Reserved: true, Handle: showAlert},
		{Method: http.MethodPost, Path: "/v1/alerts/{id}/acknowledge", Reserved: true, Handle: acknowledgeAlert},
		{Method: http.MethodPost, Path: "/v1/alerts/acknowledge", Reserved: true, Handle: bulkAcknowledge},
	}
}

// AlertTexts say, by kind, what an alert asks a person to look at.
var AlertTexts = map[uint8]string{
	wire.AlertRetroHit:    "The active list names somebody who was paid before, or who is registered.",
	wire.AlertLate:        "A payment was settled after its hold had ended.",
	wire.AlertOverLimit:   "A settled amount lifted a total above its limit.",
	wire.AlertNotAllowed:  "A payment was settled that was blocked, or that waits for a disposition.",
	wire.AlertUnpermitted: "A payment was settled that had to be redeemed before (permits.required), and was not.",
	wire.AlertQuarantine:  "Malformed entities of the active list were put aside: nobody is screened against them.",
	wire.AlertLeft:        "Parties, names or wallets left the list: they are not blocked any more.",
	wire.AlertToken:       "The admin token of a node was used: whoever reads its file is an admin.",
	wire.AlertDryRuns:     "A key made many dry runs within an hour.",
	wire.AlertProbe:       "A key tried many names near one listed party in dry runs.",
	wire.AlertAlone:       "One person did what needs two, because nobody else held the role.",
	wire.AlertOperator:    "The active list names an operator who was not listed when the credential was issued.",
	wire.AlertReport:      "The report of a sanctions case is overdue: its tenth business day is over.",
	wire.AlertReconciled:  "A reconciliation found a fault: the rail and the log do not tell the same.",
	wire.AlertSecondLook:  "A second look did not agree with what was decided on a payment.",
	wire.AlertUnresolved:  "Nobody said what became of payments of this agent: they go on counting until a settler says it.",
}

var alertStates = []string{"open", "acknowledged"}

// alertFilter holds the filters of a caller.
type alertFilter struct {
	state string // "": both.
	kind  uint8  // 0: all.
}

func (f *alertFilter) passes(row *fsm.AlertRow) bool {
	return (f.kind == 0 || row.Kind == f.kind) && (f.state == "" || f.state == alertState(row))
}

func alertState(row *fsm.AlertRow) string {
	if row.Later != 0 {
		return "acknowledged"
	}
	return "open"
}

// listAlerts is GET /v1/alerts, newest first.
func listAlerts(c *border.Request) (border.Answer, error) {
	f := alertFilter{state: c.Query("state")}
	if f.state != "" && !slices.Contains(alertStates, f.state) {
		return border.Answer{}, border.BadQuery("state", "must be open or acknowledged")
	}
	if text := c.Query("kind"); text != "" {
		var known bool
		if f.kind, known = leaf.AlertKind(text); !known {
			return border.Answer{}, border.BadQuery("kind", "is not a kind of alert")
		}
	}
	p, err := c.ReadListQuery("alerts", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	after := ^uint64(0)
	if p.Ascending {
		after = 0 // No alert is leaf 0, the genesis.
	}
	if p.After != nil {
		after = p.After[0]
	}
	var rows []fsm.AlertRow
	looked, next := 0, ""
	view.Alerts(after, p.Ascending, func(row fsm.AlertRow) bool {
		if len(rows) == p.Limit || looked == border.RowScanMax {
			next = p.Cursor(after)
			return false
		}
		looked, after = looked+1, row.Leaf
		if f.passes(&row) {
			rows = append(rows, row)
		}
		return true
	})
	items, claims := make([]strictjson.Members, len(rows)), claimsOf(view)
	border.ChargeLooked(c, len(items))
	for i := range rows {
		if err := writeAlert(c, &items[i], view, &rows[i], claims[alertWork(&rows[i])]); err != nil {
			return border.Answer{}, err
		}
	}
	c.Judge.Index = view.Index
	return c.AnswerList(items, next)
}

// pathAlert returns the leaf of the alert that the path names.
func pathAlert(c *border.Request) (uint64, error) {
	at, ok := idsOf(c).ParseAlert(c.PathValue("id"))
	if !ok {
		return 0, noAlert()
	}
	return at, nil
}

// alertRow returns the alert of the path, and the state that it was read in.
func alertRow(c *border.Request) (*fsm.View, *fsm.AlertRow, error) {
	at, err := pathAlert(c)
	if err != nil {
		return nil, nil, err
	}
	return findRow(c, noAlert, func(view *fsm.View) (fsm.AlertRow, bool) { return view.Alert(at) })
}

// alertWait is how long an alert may wait for a person where the policy sets no review.sla.
const alertWait = 72 * engine.Hour

// AlertDue returns until when an alert of a time may wait: as long as a review, by the policy in force.
func AlertDue(opened engine.Time, policy *engine.Policy) engine.Time {
	if policy.ReviewSLA != 0 {
		return opened + policy.ReviewSLA
	}
	return opened + alertWait
}

func noAlert() *border.Error { return border.NotFound("no such alert, or past its 90 days") }

// showAlert is GET /v1/alerts/{id}.
func showAlert(c *border.Request) (border.Answer, error) {
	view, row, err := alertRow(c)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	if err := writeAlert(c, &m, view, row, view.WorkOn(alertWork(row))); err != nil {
		return border.Answer{}, err
	}
	c.Judge.Index = view.Index
	return c.Reply(http.StatusOK, m), nil
}

// alertWork is what a claim of an alert names.
func alertWork(row *fsm.AlertRow) uint64 { return wire.WorkSubject(wire.WorkAlert, row.Leaf) }

// writeAlert writes an alert from its leaf and the leaf that acknowledged it.
func writeAlert(c *border.Request, m *strictjson.Members, view *fsm.View, row *fsm.AlertRow, claim *fsm.Claim) error {
	l, err := c.Judge.LoadLeaf(row.Leaf)
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	if err := writeAlertHead(c, m, row.Kind, alertState(row), &l); err != nil {
		return err
	}
	m.Bool("overdue", row.Later == 0 && view.Time >= AlertDue(row.At, view.Settings().Policy))
	writeClaim(m, claim, view.Time)
	if target, slot := wire.SplitSubject(row.Subject); target == wire.TargetOperator {
		if _, profile, known := view.Operator(engine.OperatorSlot(slot)); known {
			m.Text("operatorLegalName", profile.LegalName)
		}
	}
	if row.Later == 0 {
		writeAcknowledged(m, nil)
		return nil
	}
	done, err := c.Judge.LoadLeaf(row.Later)
	if err != nil {
		return err
	}
	defer c.Judge.DropLeaf()
	writeAcknowledged(m, &done)
	return nil
}

// alertMembers are the members that say what an alert is about, in the order shown.
var alertMembers = leaf.Select([]string{leaf.KindAlertOpened}, "listVersion", "txnId", "agentId", "userId", "operatorId", "amount", "entries", "leftParties", "leftNames", "leftWallets", "left", "payments", "paymentsUSDC", "lookedBy", "lookedOn", "lookedAt", "lookCount", "uid", "twoPersons", "person", "caseId", "lookId", "firstDisposition", "secondDisposition", "reconciliationId", "rail", "class", "settlement", "txnIds", "gap", "statement")

func writeAlertHead(c *border.Request, m *strictjson.Members, kind uint8, state string, l *edge.Leaf) error {
	l.CopyTo(m, "alertId")
	m.Text("kind", leaf.AlertName(kind))
	m.Text("text", AlertTexts[kind])
	m.Text("state", state)
	m.Raw("openedAt", l.Raw("time"))
	m.Time("dueAt", AlertDue(l.Instant("time"), c.Judge.Terms.Policy()))
	l.CopyTo(m, alertMembers...)
	if l.Has("screenedLeaf") {
		record, known, err := leafOfAlert(c, l.Number("screenedLeaf"))
		if err != nil {
			return err
		}
		if known {
			if !l.Has("agentId") {
				record.CopyTo(m, "agentId")
			}
			writePaid(m, &record)
			c.Judge.DropLeaf()
		}
	}
	if !l.Has("hitLeaf") {
		return nil
	}
	hit, known, err := leafOfAlert(c, l.Number("hitLeaf"))
	if err != nil || !known {
		return err
	}
	defer c.Judge.DropLeaf()
	m.Raw("retroId", hit.Raw("retroId"))
	m.List("named", entriesNamed(c, &hit))
	return nil
}

// leafOfAlert reads a leaf that an alert refers to. known is false when the leaf is past
// its retention; the alert may outlive it.
func leafOfAlert(c *border.Request, index uint64) (l edge.Leaf, known bool, err error) {
	l, err = c.Judge.LoadLeaf(index)
	if refusal := (*edge.Refusal)(nil); errors.As(err, &refusal) && refusal.Code == "not_found" {
		return l, false, nil
	}
	return l, err == nil, err
}

// writePaid writes the name of who paid, and whom.
func writePaid(m *strictjson.Members, record *edge.Leaf) {
	record.CopyTo(m, "agentName")
	for _, name := range []string{"cpName", "cpWallet"} {
		if raw := record.Raw("_request", name); raw != nil {
			m.Raw(name, raw)
		}
	}
}

// entriesNamed returns the list entries that a retro-screening matched, with their names if this
// node has the list.
func entriesNamed(c *border.Request, hit *edge.Leaf) []strictjson.Members {
	list := border.ListOfVersion(c, hit.Number("listVersion"))
	items := []strictjson.Members{}
	for _, v := range hit.Value.GetArray("entries") {
		var m strictjson.Members
		m.Text("uid", border.UintText(v.GetUint64()))
		if list != nil {
			if entry, known := list.Entry(uint32(v.GetUint64())); known {
				m.Text("name", entry.Primary)
				m.Text("list", entry.List)
				m.Optional("entryId", entry.ID)
			}
		}
		items = append(items, m)
	}
	return items
}

func writeAcknowledged(m *strictjson.Members, done *edge.Leaf) {
	if done == nil {
		m.Null("acknowledgedAt")
		m.Null("acknowledgedBy")
		m.Null("reason")
		return
	}
	m.Raw("acknowledgedAt", done.Raw("time"))
	m.Raw("acknowledgedBy", done.Raw("by"))
	m.Raw("reason", done.Raw("reason"))
}

// acknowledgeAlert is POST /v1/alerts/{id}/acknowledge {"by","reason"}. It works once, for
// good.
func acknowledgeAlert(c *border.Request) (border.Answer, error) {
	at, err := pathAlert(c)
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	acknowledgement, err := desk.ReadAcknowledgement(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind:    wire.KindAlert,
		Record:  func() (any, error) { return acknowledgement.Record(&c.Judge, at) },
		Refused: func(r wire.Result) error { return acknowledgeRefused(c, r) },
	}, nil)
}

// acknowledgeRefused says who acknowledged first.
func acknowledgeRefused(c *border.Request, r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return noAlert()
	case wire.RefusedTransition:
		if err := c.Records().WaitApplied(c.Context(), r.Index); err != nil {
			return border.UnreadableError(err)
		}
		done, err := c.Judge.LoadLeaf(r.Value)
		if err != nil {
			return err
		}
		var extra strictjson.Members
		writeAcknowledged(&extra, &done)
		return border.Conflict("invalid_transition", "the alert was acknowledged already", extra)
	}
	return nil
}

// renderAcknowledged answers with the acknowledged alert.
func renderAcknowledged(c *border.Request, done *edge.Leaf, m *strictjson.Members) error {
	data, err := c.Records().Leaf(c.Context(), done.Number("alertLeaf"))
	if err != nil {
		return edge.LeafError(err)
	}
	l, err := c.Judge.OpenLeaf(done.Number("alertLeaf"), data)
	if err != nil {
		return err
	}
	kind, _ := leaf.AlertKind(done.Text("alert"))
	if err := writeAlertHead(c, m, kind, "acknowledged", &l); err != nil {
		return err
	}
	m.Bool("overdue", false)
	writeClaim(m, nil, 0) // Nobody works on it any more.
	writeAcknowledged(m, done)
	return nil
}

// alertKinds returns the kinds, for the metrics.
func alertKinds() (kinds []uint8) {
	for kind := uint8(1); kind <= wire.AlertKinds; kind++ {
		kinds = append(kinds, kind)
	}
	return kinds
}
