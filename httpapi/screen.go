package httpapi

import (
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// screenPath is where payments are screened one by one; those of a batch share its
// scope of idempotency keys.
const screenPath = "/v1/screen"

func (a *API) screenRoutes() []route {
	return []route{
		{method: http.MethodPost, path: screenPath, scope: scopeOwner, roles: wire.RoleScreener, body: bodyObject, max: engine.ScreenBodyMax, handle: screen},
		{method: http.MethodPost, path: "/v1/screen/dry-run", scope: scopeOwner, roles: wire.RolePolicy | wire.RoleReviewer | wire.RoleScreener, body: bodyObject, max: engine.ScreenBodyMax, handle: dryRun},
		{method: http.MethodGet, path: "/v1/transactions", scope: scopeOwner, roles: wire.RoleScreener, handle: findPayment},
		{method: http.MethodPost, path: "/v1/transactions/{txnId}/settle", scope: scopeOwner, roles: wire.RoleScreener, body: bodyObject, handle: settlePayment},
		{method: http.MethodPost, path: "/v1/transactions/{txnId}/release", scope: scopeOwner, roles: wire.RoleScreener, body: bodyObject, handle: releasePayment},
		{method: http.MethodPost, path: "/v1/screen/batch", scope: scopeOwner, roles: wire.RoleScreener, body: bodyBatch, max: engine.BatchBodyMax, handle: screenBatch},
	}
}

// screen is POST /v1/screen. What cannot change is judged by the edge, what can
// change in the log.
func screen(c *call) (Answer, error) {
	if err := c.readScreening(); err != nil {
		return Answer{}, err
	}
	lost, err := sandboxOutage(&c.judge)
	if err != nil {
		return Answer{}, err
	}
	began := time.Now()
	result, err := c.propose(proposal{kind: wire.KindScreen, record: func() (any, error) { return c.judge.Screen() }})
	if err != nil {
		return Answer{}, err
	}
	if lost && result.Code != wire.Replayed {
		return Answer{}, proposalError(wire.ErrUnknown)
	}
	if c.judge.Forged {
		c.key.charge(costForged - 1)
	}
	c.commit = time.Since(began) - c.judge.Timing.Verify - c.judge.Timing.Rules
	record, err := c.resultRecord(result, c.judge.Agent)
	if err != nil {
		return Answer{}, err
	}
	c.out = c.out[:0]
	c.writeScreen(record, &c.out)
	countScreen(record.Verdict.String(), record.Rule.Code(), c.judge.Timing, c.commit, time.Since(c.start))
	return c.reply(http.StatusOK, c.out), nil
}

// sandboxOutage is the 503 that a sandbox was asked for; lost: the answer is, once the
// payment is recorded.
func sandboxOutage(judge *edge.Judge) (lost bool, err error) {
	asked := edge.SandboxAsks(judge)
	switch {
	case asked == "" || statusOf(asked) != http.StatusServiceUnavailable:
		return false, nil
	case asked == "outcome_unknown":
		return true, nil
	}
	return false, unavailable(asked, "the sandbox was asked for this")
}

// settlePayment is POST /v1/transactions/{txnId}/settle: what was paid. It is refused for
// no limit; a repeated call is answered with the first one's leaf.
func settlePayment(c *call) (Answer, error) {
	f := c.fields()
	outcome := &edge.Outcome{Op: wire.HoldSettle}
	if f.Get("amount") != nil {
		amount, _ := f.RequiredUSD("amount")
		outcome.Amount = &amount
	}
	outcome.Said.Optional("railRef", f.Text("railRef", engine.FieldMax))
	return endPayment(c, f.Err(), outcome)
}

// releasePayment is POST /v1/transactions/{txnId}/release: the payment was not made.
func releasePayment(c *call) (Answer, error) {
	f := c.fields()
	outcome := &edge.Outcome{Op: wire.HoldRelease}
	outcome.Said.Text("reason", f.RequiredText("reason", engine.TextMax))
	return endPayment(c, f.Err(), outcome)
}

// findPayment is GET /v1/transactions?paymentRef=: the record that uses a reference of the
// caller's owner, as GET /v1/audit/{txnId} shows it.
func findPayment(c *call) (Answer, error) {
	reference := c.query("paymentRef")
	if !edge.SoundReference(reference) {
		return Answer{}, badQuery("paymentRef", "must be 1 to 128 printable ASCII characters")
	}
	l, err := edge.ReferencedRecord(&c.judge, reference)
	if err != nil && restsOnState(err) {
		if err = c.judge.CatchUp(); err == nil {
			l, err = edge.ReferencedRecord(&c.judge, reference)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	c.txnID = l.Text("txnId")
	d, err := c.judge.Disposition(&l, c.query("consistency") == "local")
	if err != nil {
		return Answer{}, err
	}
	if err := c.writeRecord(&c.out, &l, d); err != nil {
		return Answer{}, err
	}
	return c.reply(http.StatusOK, c.out), nil
}

func endPayment(c *call, wrong error, outcome *edge.Outcome) (Answer, error) {
	l, err := edge.OwnRecord(&c.judge, c.r.PathValue("txnId"))
	if err != nil {
		return Answer{}, err
	}
	if c.txnID = l.Text("txnId"); wrong != nil {
		return Answer{}, wrong
	}
	return c.answer(proposal{
		kind:   wire.KindHold,
		record: func() (any, error) { return edge.Settlement(&c.judge, &l, outcome) },
	}, func(r wire.Result) (Answer, error) {
		data, err := c.api.deps.Records.Leaf(c.ctx, r.Leaf) // This node has applied it.
		if err != nil {
			return Answer{}, edge.LeafError(err)
		}
		first, err := c.judge.OpenLeaf(r.Leaf, data)
		if err != nil {
			return Answer{}, err
		}
		return c.renderLeaf(&first)
	})
}

// renderPayment is the answer of a settle or a release.
func renderPayment(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.txnID = l.Text("txnId")
	l.CopyTo(m, "txnId")
	l.CopyTo(m, paymentMembers...)
	if c.happened && !c.replayed {
		noteSettle(c, l)
	}
	return nil
}

// noteSettle counts and tells what a person must look at: a settle that was late, above a
// limit, or not allowed.
func noteSettle(c *call, l *edge.Leaf) {
	for mark, total := range settleMarks {
		if l.Flag(mark) {
			total.Inc()
			c.api.log.Warn("a payment was settled that is "+mark, "txnId", c.txnID, "eventId", l.Text("eventId"))
		}
	}
}

// paymentMembers are what an event about a payment says of it.
var paymentMembers = []string{"state", "amountUSDC", "countedUSDC", "late", "overLimit", "notAllowed", "railRef", "reason", "expiredAt", "eventId", "time"}

// resultRecord is the record that a call wrote, now or at its first try, judged with
// that agent.
func (c *call) resultRecord(result wire.Result, agent *engine.AgentProfile) (*leafjson.Screen, error) {
	if result.Code == wire.Applied {
		return c.judge.OpenAnswer(result.Data, agent)
	}
	l, err := c.resultLeaf(result)
	if err != nil {
		return nil, err
	}
	if l.Record == nil {
		return nil, errors.New("BUG: a screening call's leaf is none")
	}
	return l.Record, nil
}

// readScreening reads the body of a screening call.
func (c *call) readScreening() error {
	var err error
	if c.asked.Strict, err = strictOf(c); err != nil {
		return err
	}
	return readMembers(&c.judge)
}

// strictOf tells whether any unknown member is to be refused: the caller or its key says so.
func strictOf(c *call) (bool, error) {
	switch c.r.Header.Get("X-Railguard-Strict") {
	case "", "false":
		return c.key.strict, nil
	case "true":
		return true, nil
	}
	e := failure(http.StatusBadRequest, "bad_request", "X-Railguard-Strict must be true or false")
	e.Param = "X-Railguard-Strict"
	return false, e
}

// readMembers reads the members of a payment. What is wrong with them is 400, where
// other calls say 422.
func readMembers(judge *edge.Judge) error {
	err := judge.Read()
	var invalid *strictjson.InvalidBody
	if errors.As(err, &invalid) {
		return badFields(http.StatusBadRequest, invalid)
	}
	return err
}

// dryRun is POST /v1/screen/dry-run: the same judgement without a record.
func dryRun(c *call) (Answer, error) {
	if err := c.readScreening(); err != nil {
		return Answer{}, err
	}
	if _, err := sandboxOutage(&c.judge); err != nil {
		return Answer{}, err
	}
	if err := c.judge.DryRun(&c.out); err != nil {
		return Answer{}, err
	}
	return c.reply(http.StatusOK, c.out), nil
}

// explainRecord is GET /v1/audit/{txnId}/explain.
func explainRecord(c *call) (Answer, error) {
	l, err := c.screenRecord()
	if err != nil {
		return Answer{}, err
	}
	if err := c.judge.Explain(&l, &c.out); err != nil {
		return Answer{}, err
	}
	return c.reply(http.StatusOK, c.out), nil
}

// replayRecord is POST /v1/audit/{txnId}/replay.
func replayRecord(c *call) (Answer, error) {
	l, err := c.screenRecord()
	if err != nil {
		return Answer{}, err
	}
	if err := c.judge.Replay(&l, &c.out); err != nil {
		return Answer{}, err
	}
	return c.reply(http.StatusOK, c.out), nil
}

// matchName is GET /v1/match?name=&wallet=&cpType=: what a screening call would
// find, without one. It changes nothing and leaves no record.
func matchName(c *call) (Answer, error) {
	name, wallet := c.query("name"), c.query("wallet")
	kind := ofac.PartyUnknown
	for _, parameter := range []string{"cpType", "type"} { // One and the same.
		if text := c.query(parameter); text != "" {
			said, known := engine.ParsePartyType(text)
			if !known {
				return Answer{}, badQuery(parameter, "must be individual, business or exchange")
			}
			if kind != ofac.PartyUnknown && said != kind {
				return Answer{}, badQuery(parameter, "must not be another one than cpType")
			}
			kind = said
		}
	}
	switch {
	case name == "" && wallet == "":
		return Answer{}, &Error{
			Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "name",
			Message: "name or wallet is required",
		}
	case utf8.RuneCountInString(name) > engine.NameRunesMax:
		return Answer{}, badQuery("name", "must have at most 512 characters")
	case len(wallet) > engine.FieldMax:
		return Answer{}, badQuery("wallet", "must have at most 256 bytes")
	}
	if _, err := c.normalised("name", ofac.NormaliseName); err != nil {
		return Answer{}, err
	}
	if _, err := c.normalised("wallet", engine.CanonicalWallet); err != nil {
		return Answer{}, err
	}
	list, err := c.judge.ActiveList()
	if err != nil {
		return Answer{}, err
	}
	question := edge.MatchQuestion{Name: name, Wallet: wallet, Type: kind}
	if err := c.matchContext(&question); err != nil {
		return Answer{}, err
	}
	m := c.judge.Matches(&question, list)
	return c.reply(http.StatusOK, m), nil
}

// matchContext reads cpCountry, cpDateOfBirth, cpAddress and explain.
func (c *call) matchContext(question *edge.MatchQuestion) error {
	for _, parameter := range []struct {
		name string
		into *string
	}{
		{"cpCountry", &question.Context.Country}, {"cpDateOfBirth", &question.Context.BirthDate}, {"cpAddress", &question.Context.Address},
	} {
		*parameter.into = c.query(parameter.name)
		if !utf8.ValidString(*parameter.into) || len(*parameter.into) > engine.FieldMax {
			return badQuery(parameter.name, "must be UTF-8 of at most 256 bytes")
		}
	}
	switch text := c.query("explain"); text {
	case "", "false":
	case "true":
		question.Explain = true
	default:
		return badQuery("explain", "must be true or false")
	}
	return nil
}
