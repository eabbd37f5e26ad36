package payments

import (
	"errors"
	"net/http"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// screenPath is the path of single screenings. Payments of a batch share its scope of
// idempotency keys.
const screenPath = "/v1/screen"

// Table returns what the room gives the border.
func Table() border.Room {
	return border.Room{
		Public:    append(screenRoutes(), payRoutes()...),
		Renderers: payRenderers(map[string]border.Renderer{"screen": renderScreen, "hold.settled": renderPayment, "hold.released": renderPayment}),
	}
}

func screenRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: screenPath, Max: engine.ScreenBodyMax, Handle: screen},
		{Method: http.MethodPost, Path: "/v1/screen/dry-run", Max: engine.ScreenBodyMax, Handle: dryRun},
		{Method: http.MethodGet, Path: "/v1/transactions", Handle: findPayment},
		{Method: http.MethodGet, Path: "/v1/transactions/unresolved", Handle: listUnresolved},
		{Method: http.MethodPost, Path: "/v1/transactions/{txnId}/settle", Handle: settlePayment},
		{Method: http.MethodPost, Path: "/v1/transactions/{txnId}/release", Handle: releasePayment},
		{Method: http.MethodPost, Path: "/v1/screen/batch", Body: border.BodyBatch, Max: engine.BatchBodyMax, Handle: screenBatch},
		{Method: http.MethodPost, Path: "/v1/screen/stream", Body: border.BodyRaw, Stream: true, Handle: screenStream},
	}
}

// screen is POST /v1/screen. The edge judges unchangeable facts, the log judges changeable
// ones.
func screen(c *border.Request) (border.Answer, error) {
	if err := readScreening(c); err != nil {
		return border.Answer{}, err
	}
	fault, err := screenFault(c)
	if err != nil {
		return border.Answer{}, err
	}
	began := time.Now()
	result, err := c.Propose(border.Proposal{Kind: wire.KindScreen, Record: c.Judge.ScreenUnreviewed})
	if err != nil {
		if found := (*edge.ReviewFound)(nil); errors.As(err, &found) {
			return answerReview(c, found)
		}
		return border.Answer{}, err
	}
	if err := fault.strike(result.Code == wire.Replayed); err != nil {
		return border.Answer{}, err
	}
	if c.Judge.Forged {
		c.Key.Charge(border.CostForged - 1)
	}
	c.Commit = time.Since(began) - c.Judge.Timing.Verify - c.Judge.Timing.Rules
	record, err := resultRecord(c, result, c.Judge.Agent)
	if err != nil {
		return border.Answer{}, err
	}
	c.Out = c.Out[:0]
	if err := c.WriteScreen(record, &c.Out); err != nil {
		return border.Answer{}, err
	}
	countScreen(record.Verdict.String(), record.Rule.Code(), c.Judge.Timing, c.Commit, time.Since(c.Start))
	return c.Reply(http.StatusOK, c.Out), nil
}

// answerReview answers this service's facilitator with the review that its payment has already.
func answerReview(c *border.Request, found *edge.ReviewFound) (border.Answer, error) {
	c.SetHeader(HeaderReview, found.Word)
	c.Out = c.Out[:0]
	if err := c.WriteScreen(found.Leaf.Record, &c.Out); err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// HeaderReview tells the facilitator what the review in the answer means for its payment: a word of edge.
// No answer over a connection has it.
const HeaderReview = "X-Railguard-Review"

// settlePayment is POST /v1/transactions/{txnId}/settle: the payment was made. No limit
// refuses it; a repeated call is answered with the first one's leaf.
func settlePayment(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	outcome := &edge.Outcome{Op: wire.HoldSettle}
	if f.Get("amount") != nil {
		amount, _ := f.RequiredUSD("amount")
		outcome.Amount = &amount
	}
	outcome.Said.Optional("railRef", f.Text("railRef", engine.FieldMax))
	return endPayment(c, f.Err(), outcome)
}

// releasePayment is POST /v1/transactions/{txnId}/release: the payment was not made.
func releasePayment(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	outcome := &edge.Outcome{Op: wire.HoldRelease}
	outcome.Said.Text("reason", f.RequiredText("reason", engine.TextMax))
	return endPayment(c, f.Err(), outcome)
}

// findPayment is GET /v1/transactions?paymentRef=. It finds the record that uses a payment
// reference of the caller's owner, and shows it as GET /v1/audit/{txnId} does.
func findPayment(c *border.Request) (border.Answer, error) {
	reference := c.Query("paymentRef")
	if !edge.SoundReference(reference) {
		return border.Answer{}, border.BadQuery("paymentRef", "must be 1 to 128 printable ASCII characters")
	}
	l, err := edge.ReferencedRecord(&c.Judge, reference)
	if err != nil && border.RestsOnState(err) {
		if err = c.Judge.CatchUp(); err == nil {
			l, err = edge.ReferencedRecord(&c.Judge, reference)
		}
	}
	if err != nil {
		return border.Answer{}, err
	}
	c.TxnID = l.Text("txnId")
	d, err := c.Judge.Disposition(&l, c.Query("consistency") == "local")
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.WriteRecord(&c.Out, &l, d); err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

func endPayment(c *border.Request, wrong error, outcome *edge.Outcome) (border.Answer, error) {
	l, err := edge.OwnRecord(&c.Judge, c.PathValue("txnId"))
	if err != nil {
		return border.Answer{}, err
	}
	if c.TxnID = l.Text("txnId"); wrong != nil {
		return border.Answer{}, wrong
	}
	fault, err := endFault(c, &l, outcome.Op)
	if err != nil {
		return border.Answer{}, err
	}
	ended := false // It had ended before.
	answer, err := c.AnswerProposal(border.Proposal{
		Kind:   wire.KindHold,
		Record: func() (any, error) { return edge.Settlement(&c.Judge, &l, outcome) },
	}, func(r wire.Result) (border.Answer, error) {
		ended = true
		data, err := c.Records().Leaf(c.Context(), r.Leaf) // This node has applied that leaf.
		if err != nil {
			return border.Answer{}, edge.LeafError(err)
		}
		first, err := c.Judge.OpenLeaf(r.Leaf, data)
		if err != nil {
			return border.Answer{}, err
		}
		return c.AnswerLeaf(&first)
	})
	if err == nil {
		err = fault.strike(ended || c.Replayed)
	}
	return answer, err
}

// renderPayment is the answer of a settle or a release.
func renderPayment(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	l.CopyTo(m, "txnId")
	l.CopyTo(m, border.PaymentMembers...)
	if c.Happened && !c.Replayed {
		noteSettle(c, l)
	}
	return nil
}

// noteSettle counts and logs settles that a person must look at: late, above a limit, or
// not allowed.
func noteSettle(c *border.Request, l *edge.Leaf) {
	for mark, total := range SettleMarks {
		if l.Flag(mark) {
			total.Inc()
			c.Log().Warn("a payment was settled that is "+mark, "txnId", c.TxnID, "eventId", l.Text("eventId"))
		}
	}
}

// resultRecord returns the record that a call wrote, at this try or an earlier one, judged
// with that agent.
func resultRecord(c *border.Request, result wire.Result, agent *engine.AgentProfile) (*leafjson.Screen, error) {
	if result.Code == wire.Applied {
		return c.Judge.OpenAnswer(result.Data, agent)
	}
	l, err := c.OpenResult(result)
	if err != nil {
		return nil, err
	}
	if l.Record == nil {
		return nil, errors.New("BUG: a screening call's leaf is none")
	}
	return l.Record, nil
}

// readScreening reads the body of a screening call.
func readScreening(c *border.Request) error {
	var err error
	if c.Asked.Strict, err = strictOf(c); err != nil {
		return err
	}
	c.TakeSignatures()
	return readMembers(&c.Judge)
}

// strictOf tells whether to refuse every unknown member, as the call or its key demands.
func strictOf(c *border.Request) (bool, error) {
	switch c.RequestHeader("X-Railguard-Strict") {
	case "", "false":
		return c.Key.Strict, nil
	case "true":
		return true, nil
	}
	e := border.NewError(http.StatusBadRequest, "bad_request", "X-Railguard-Strict must be true or false")
	e.Param = "X-Railguard-Strict"
	return false, e
}

// readMembers reads the members of a payment. An error in them is 400, where other calls
// give 422.
func readMembers(judge *edge.Judge) error {
	err := judge.Read()
	if err == nil {
		return nil
	}
	var invalid *strictjson.InvalidBody
	if errors.As(err, &invalid) {
		return border.BadFields(http.StatusBadRequest, invalid)
	}
	return err
}

// dryRun is POST /v1/screen/dry-run: the same judgement, without a record.
func dryRun(c *border.Request) (border.Answer, error) {
	if err := readScreening(c); err != nil {
		return border.Answer{}, err
	}
	if _, err := screenFault(c); err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.DryRun(&c.Out); err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// renderScreen is the answer of POST /v1/screen. A blocked party learns the least.
func renderScreen(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	return c.WriteScreen(l.Record, m)
}
