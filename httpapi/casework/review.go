package casework

import (
	"net/http"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/desk"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

func reviewRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/reviews/{txnId}", Late: true, Reserved: true, Handle: review},
		{Method: http.MethodPost, Path: "/v1/reviews/{txnId}/withdraw", Reserved: true, Handle: withdraw},
	}
}

// standingMembers are the members shown of a disposition that prevents another.
var standingMembers = leaf.Select([]string{leaf.KindDispositioned}, "disposition", "reviewedBy", "reviewedAt", "sarEscalated")

// review is POST /v1/reviews/{txnId}. Order of checks: JSON, 404, 422, 400, 409 (decision 30, no.
// 14). The edge decides all but the last by facts that cannot change; the log decides 409.
func review(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.CheckMembers(); err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	decision, err := desk.ReadReview(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	if err := desk.CheckReviewable(&l); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind:    wire.KindDisposition,
		Record:  func() (any, error) { return decision.Record(&c.Judge, &l) },
		Refused: func(r wire.Result) error { return dispositionRefused(c, &l, r) },
	}, nil)
}

// withdraw is POST /v1/reviews/{txnId}/withdraw: a person takes a proposal back, his own too, and
// the case stays open.
func withdraw(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	withdrawal, err := desk.ReadWithdrawal(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindWithdraw, Record: func() (any, error) { return withdrawal.Record(&c.Judge, &l) },
	}, nil)
}

// dispositionRefused shows the existing disposition. If it cannot be read in time, the
// answer only says that one was recorded, which may be this caller's own.
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

// standingDisposition reads the disposition of a leaf in the state of a log index.
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

// reviewed returns the record that a later leaf is about; the answer carries its txnId.
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

// renderDisposition is the answer of a review: the complete record, with the rule also
// under ruleTriggered (specification 2.3).
func renderDisposition(c *border.Request, d *edge.Leaf, m *strictjson.Members) error {
	l, err := reviewed(c, d)
	if err != nil {
		return err
	}
	view, err := edge.ReadDisposition(d)
	if err != nil {
		return err
	}
	if err := edge.LoadPayment(&c.Judge, &l, view); err != nil {
		return err
	}
	view.Proposed = nil // The answer to the second person is that of one who decides alone.
	if err := c.WriteRecord(m, &l, view); err != nil {
		return err
	}
	m.Raw("ruleTriggered", l.Raw("rule"))
	return nil
}

// renderProposal answers a disposition that another person has to confirm, and a
// withdrawal. It shows the record, and what is proposed for it afterwards.
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
