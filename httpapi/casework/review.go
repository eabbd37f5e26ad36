package casework

import (
	"net/http"
	"strings"

	"railguard/audit"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// Table is what the room gives the border.
func Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(reviewRoutes(), queueRoutes(), alertRoutes(), sarRoutes(), activityRoutes()),
		Renderers: map[string]border.Renderer{
			leaf.KindDispositioned: renderDisposition, leaf.KindProposed: renderProposal, leaf.KindWithdrawn: renderProposal,
			leaf.KindClaimed: renderQueueEvent, leaf.KindReleased: renderQueueEvent, leaf.KindAssigned: renderQueueEvent, leaf.KindCommented: renderQueueEvent,
			leaf.KindAcknowledged: renderAcknowledged, leaf.KindSARMoved: renderSARMoved,
		},
	}
}

func reviewRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/reviews/{txnId}", Late: true, Reserved: true, Handle: review},
		{Method: http.MethodPost, Path: "/v1/reviews/{txnId}/withdraw", Reserved: true, Handle: withdraw},
	}
}

// standingMembers are shown of a disposition that stands in the way of another.
var standingMembers = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedBy", "reviewedAt", "sarEscalated")

// reviewRequest is the body of a review.
type reviewRequest struct {
	disposition       uint8
	reviewedBy, notes string
}

// review is POST /v1/reviews/{txnId}. Order of checks: JSON, 404, 422, 400, 409
// (decision 30, no. 14). All but the last are settled on immutable facts; the log decides 409.
func review(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.CheckMembers(); err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	request, err := readReviewRequest(c, &f)
	if err != nil {
		return border.Answer{}, err
	}
	if err := reviewable(&l); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind:    wire.KindDisposition,
		Record:  func() (any, error) { return dispositionRecord(c, &l, request) },
		Refused: func(r wire.Result) error { return dispositionRefused(c, &l, r) },
	}, nil)
}

// reviewable refuses what is no REVIEW.
func reviewable(l *edge.Leaf) error {
	if verdict := l.Text("verdict"); verdict != "REVIEW" {
		return border.NewError(http.StatusBadRequest, "not_reviewable", "the verdict was "+verdict+"; only a REVIEW can be dispositioned")
	}
	return nil
}

func readReviewRequest(c *border.Request, f *strictjson.Fields) (reviewRequest, error) {
	request := reviewRequest{reviewedBy: f.RequiredName("reviewedBy"), notes: f.Text("notes", engine.TextMax)}
	word := f.Text("disposition", engine.FieldMax)
	disposition, known := leaf.Dispositions[word]
	if request.disposition = disposition; !known {
		e := border.NewError(http.StatusUnprocessableEntity, "invalid_disposition", "disposition must be APPROVED, REJECTED or ESCALATE_SAR")
		e.Param = "disposition"
		return request, e
	}
	if err := f.Err(); err != nil {
		return request, err
	}
	if c.Judge.Terms.Settings.Policy.ReviewNotes && disposition != wire.Approved && strings.TrimSpace(request.notes) == "" {
		e := border.NewError(http.StatusUnprocessableEntity, "missing_field", "notes are required for "+word+" (review.requireNotes)")
		e.Param = "notes"
		return request, e
	}
	return request, nil
}

// person is who decides, as four eyes compare them: differences that no reader would
// take for another name are none.
func person(name string) string {
	if text := ofac.NormaliseName(name); text != "" {
		name = text
	}
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	return cutText(name)
}

// cutText is as much of a text as the log takes of a field, in whole characters.
func cutText(text string) string {
	if len(text) <= engine.FieldMax {
		return text
	}
	return strings.ToValidUTF8(text[:engine.FieldMax], "")
}

// withdraw is POST /v1/reviews/{txnId}/withdraw: another person takes back what was
// proposed, and the case waits on.
func withdraw(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	by, reason := f.RequiredName("reviewedBy"), f.Text("reason", engine.TextMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	var fragment strictjson.Members
	fragment.Text("reviewedBy", by)
	fragment.Optional("reason", reason)
	fragment.Text("reviewedByKey", c.Key.ID)
	c.Judge.Actor(&fragment)
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindWithdraw,
		Record: func() (any, error) {
			return &wire.Withdraw{Common: c.Judge.Common(fragment), Leaf: l.Index, By: person(by)}, nil
		},
	}, nil)
}

// dispositionRecord builds the record. An approval books the amount, so it names
// agent, fleet and amount as the reviewed leaf does.
func dispositionRecord(c *border.Request, l *edge.Leaf, request reviewRequest) (any, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", request.reviewedBy)
	fragment.Text("notes", request.notes)
	fragment.Text("reviewedByKey", c.Key.ID)
	if request.disposition == wire.Approved {
		if err := c.Judge.Recheck(&fragment, l); err != nil {
			return nil, err
		}
	}
	c.Judge.Actor(&fragment)
	record := &wire.Disposition{
		Common: c.Judge.Common(fragment), Leaf: l.Index, Disposition: request.disposition, Amount: edge.RecordAmount(l),
	}
	record.By = person(request.reviewedBy)
	if l.Record != nil {
		record.Rule = l.Record.Rule
	}
	record.Hold, record.Reference = edge.PaymentOf(&c.Judge, l)
	if slot, ok := c.Judge.Terms.ParseAgent(l.Text("agentId")); ok {
		record.Agent = slot
	}
	if slot, ok := c.Judge.Terms.ParseFleet(l.Text("fleetId")); ok {
		record.Fleet = slot
	}
	return record, nil
}

// dispositionRefused shows the disposition that stands already. Where it cannot be read
// in time, all that is sure is that one was recorded, this caller's own perhaps.
func dispositionRefused(c *border.Request, l *edge.Leaf, r wire.Result) error {
	if r.Refusal != wire.RefusedDispositioned {
		return nil
	}
	extra, err := standingDisposition(c, l, r.Index)
	if err != nil {
		c.Log().Warn("a standing disposition cannot be shown", "requestId", c.Asked.RequestID, "leaf", l.Index, "error", err)
		e := border.Unavailable("outcome_unknown", "a disposition was recorded already, by this call or another, and cannot be read here now; retry with the same Idempotency-Key")
		e.Outcome = border.OutcomeUnknown
		return e
	}
	return border.Conflict("already_dispositioned", "a disposition was recorded already", extra)
}

// standingDisposition reads the disposition of a leaf, as of a log index.
func standingDisposition(c *border.Request, l *edge.Leaf, index uint64) (state strictjson.Members, err error) {
	if err := c.Records().WaitApplied(c.Context(), index); err != nil {
		return state, err
	}
	later, ok := c.Published().Disposition(l.Index)
	if !ok {
		return state, audit.ErrMissing
	}
	data, err := c.Records().Leaf(c.Context(), later)
	if err != nil {
		return state, err
	}
	d, err := c.Judge.OpenLeaf(later, data)
	if err != nil {
		return state, err
	}
	d.CopyTo(&state, standingMembers...)
	return state, nil
}

// reviewed is the record that a later leaf speaks of; the answer bears its txnId.
func reviewed(c *border.Request, later *edge.Leaf) (edge.Leaf, error) {
	index := later.Number("reviewedLeaf")
	data, err := c.Records().Leaf(c.Context(), index)
	if err != nil {
		return edge.Leaf{}, edge.LeafError(err)
	}
	l, err := c.Judge.OpenLeaf(index, data)
	if err == nil {
		c.TxnID = l.Text("txnId")
	}
	return l, err
}

// renderDisposition is the answer of a review: the complete record, the rule
// under ruleTriggered besides (specification 2.3).
func renderDisposition(c *border.Request, d *edge.Leaf, m *strictjson.Members) error {
	l, err := reviewed(c, d)
	if err != nil {
		return err
	}
	view, err := edge.ReadDisposition(d)
	if err != nil {
		return err
	}
	if err := c.WriteRecord(m, &l, view); err != nil {
		return err
	}
	m.Raw("ruleTriggered", l.Raw("rule"))
	return nil
}

// renderProposal is the answer of a disposition that another person has to confirm, and
// of a withdrawal: the record, and what is proposed for it then.
func renderProposal(c *border.Request, p *edge.Leaf, m *strictjson.Members) error {
	l, err := reviewed(c, p)
	if err != nil {
		return err
	}
	view := &edge.Disposition{}
	if p.Kind() == leaf.KindProposed {
		view.Proposed = p
	}
	if err := c.WriteRecord(m, &l, view); err != nil {
		return err
	}
	m.Raw("ruleTriggered", l.Raw("rule"))
	return nil
}
