package httpapi

import (
	"net/http"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

func (a *API) reviewRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/reviews/{txnId}", roles: wire.RoleReviewer, body: bodyObject, reserved: true, handle: review},
	}
}

// dispositions are the three words of specification 4.7; case matters (T116).
var dispositions = map[string]uint8{"APPROVED": wire.Approved, "REJECTED": wire.Rejected, "ESCALATE_SAR": wire.EscalateSAR}

// reviewRequest is the body of a review.
type reviewRequest struct {
	disposition       uint8
	reviewedBy, notes string
}

// review is POST /v1/reviews/{txnId}. Order of checks: JSON, 404, 422, 400, 409
// . All but the last are settled on immutable facts; the log decides 409.
func review(c *call) error {
	l, err := c.screenRecord()
	if err != nil {
		return err
	}
	request, err := c.reviewRequest()
	if err != nil {
		return err
	}
	if verdict := l.text("verdict"); verdict != "REVIEW" {
		return failure(http.StatusBadRequest, "not_reviewable", "the verdict was "+verdict+"; only a REVIEW can be dispositioned")
	}
	return c.answer(proposal{
		kind:    wire.KindDisposition,
		record:  func() (any, error) { return c.dispositionRecord(&l, request) },
		refused: func(r wire.Result) error { return c.dispositionRefused(&l, r) },
	}, nil)
}

func (c *call) reviewRequest() (reviewRequest, error) {
	f := c.fields()
	request := reviewRequest{reviewedBy: f.RequiredName("reviewedBy"), notes: f.Text("notes", engine.TextMax)}
	word := f.Text("disposition", engine.FieldMax)
	known := false
	if request.disposition, known = dispositions[word]; !known {
		e := failure(http.StatusUnprocessableEntity, "invalid_disposition", "disposition must be APPROVED, REJECTED or ESCALATE_SAR")
		e.Param = "disposition"
		return request, e
	}
	return request, f.Err()
}

// dispositionRecord builds the record. An approval books the amount, so it names
// agent, fleet and amount as the reviewed leaf does.
func (c *call) dispositionRecord(l *leaf, request reviewRequest) (any, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", request.reviewedBy)
	fragment.Text("notes", request.notes)
	fragment.Text("reviewedByKey", c.key.id)
	if request.disposition == wire.Approved {
		if err := c.recheck(&fragment, l); err != nil {
			return nil, err
		}
	}
	c.actor(&fragment)
	record := &wire.Disposition{
		Common: c.common(fragment), Leaf: l.index, Disposition: request.disposition, Amount: recordAmount(l),
	}
	if slot, ok := c.edge.parseAgent(l.text("agentId")); ok {
		record.Agent = slot
	}
	if slot, ok := c.edge.parseFleet(l.text("fleetId")); ok {
		record.Fleet = slot
	}
	return record, nil
}

// recordAmount is what the log counted the call with, else its literal read again.
func recordAmount(l *leaf) engine.USD {
	if l.has("evidence", "amount") {
		return engine.USD(l.value.GetInt64("evidence", "amount"))
	}
	amount, err := engine.ParseUSD(l.raw("_request", "amount"))
	if err != nil {
		return 0
	}
	return amount
}

// dispositionRefused shows the disposition that stands already.
func (c *call) dispositionRefused(l *leaf, r wire.Result) error {
	if r.Refusal != wire.RefusedDispositioned {
		return nil
	}
	var extra strictjson.Members
	if err := c.api.deps.Records.WaitApplied(c.ctx, r.Index); err == nil {
		if later, ok := c.api.deps.Published.Disposition(l.index); ok {
			if data, err := c.api.deps.Records.Leaf(c.ctx, later); err == nil {
				if d, err := c.openLeaf(later, data); err == nil {
					d.copyTo(&extra, "disposition", "reviewedBy", "reviewedAt", "sarEscalated")
				}
			}
		}
	}
	return conflict("already_dispositioned", "a disposition was recorded already", extra)
}

// renderDisposition is the answer of a review: the complete record, the rule
// under ruleTriggered besides (specification 2.3).
func renderDisposition(c *call, d *leaf, m *strictjson.Members) error {
	index := d.number("reviewedLeaf")
	data, err := c.api.deps.Records.Leaf(c.ctx, index)
	if err != nil {
		return leafError(err)
	}
	l, err := c.openLeaf(index, data)
	if err != nil {
		return err
	}
	c.txnID = l.text("txnId")
	c.writeRecord(m, &l, &dispositionView{leaf: *d, present: true})
	m.Raw("ruleTriggered", l.raw("rule"))
	return nil
}
