package payments

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// confirmPayment is POST /v1/transactions/{txnId}/confirm: a recorded payment is judged again before
// it is made, and with redeem its leave is consumed at once.
func confirmPayment(c *border.Request) (border.Answer, error) {
	l, err := edge.OwnRecord(&c.Judge, c.PathValue("txnId"))
	if err != nil {
		return border.Answer{}, err
	}
	c.TxnID = l.Text("txnId")
	f := c.ReadFields()
	asked := &edge.PayAsked{Op: wire.PayConfirm, Token: f.Text("token", engine.TokenMax)}
	if redeem, _ := f.Flag("redeem"); redeem {
		asked.Op |= wire.PayRedeem
	}
	if !asked.AskPermit(c.Asked.Document.Raw("permit")) {
		f.Invalid("permit", `must be {"ttlSeconds": a whole number from 60 to 300, "aud": a text of 1 to 256 characters}, both optional`)
	}
	c.TakeSignatures()
	c.Judge.ReadProof(&f)
	if c.Asked.Facilitator && f.Get("x402") != nil && !asked.TellX402(c.Asked.Document.Raw("x402")) {
		f.Invalid("x402", "must have asset, units and nonce")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return proposePay(c, &l, asked)
}

// redeemPermit is POST /v1/permits/redeem: the payment of a permit is judged again by the BLOCK rules,
// and its leave is consumed.
func redeemPermit(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	raw := f.RequiredText("permit", permitTextMax)
	var pay *edge.Paying
	if stated := c.Asked.Document.Raw("pay"); stated != nil && string(stated) != "null" {
		var err error
		if pay, err = edge.ReadPaying(stated); err != nil {
			f.Invalid("pay", "cannot be read: "+err.Error())
		}
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	l, until, err := c.Judge.ReadPermit(raw, pay)
	if err != nil {
		return c.AnswerReplay(err)
	}
	c.TxnID = l.Text("txnId")
	return proposePay(c, &l, &edge.PayAsked{Op: wire.PayRedeem, Until: until})
}

// permitTextMax is how many characters a permit may have before it is read at all.
const permitTextMax = 8192

// proposePay puts the record into the log and answers with its leaf.
func proposePay(c *border.Request, l *edge.Leaf, asked *edge.PayAsked) (border.Answer, error) {
	answer, err := c.AnswerChangeable(border.Proposal{
		Kind:    wire.KindPay,
		Record:  func() (any, error) { return edge.PayRecord(&c.Judge, l, asked) },
		Refused: func(r wire.Result) error { return refusePay(c, l, r) },
	}, nil)
	return answer, err
}

// refusePay says why a payment can be neither confirmed nor redeemed.
func refusePay(c *border.Request, l *edge.Leaf, r wire.Result) error {
	state := func(word string) strictjson.Members {
		var m strictjson.Members
		m.Text("state", word)
		return m
	}
	switch r.Refusal {
	case wire.RefusedUsed, wire.RefusedEnded:
		return refuseEnded(c, r)
	case wire.RefusedWaiting: // The words are the same whether an officer has escalated it or nobody has looked at it.
		return border.Conflict("invalid_transition", "no officer has approved this payment", state("waiting"))
	case wire.RefusedRejected:
		return border.Conflict("invalid_transition", "an officer rejected this payment", state("rejected"))
	case wire.RefusedNoLeave:
		return border.Conflict("invalid_transition", "this payment was not allowed: its verdict is "+l.Record.Verdict.String(), state("not_allowed"))
	case wire.RefusedConfirms:
		return border.Conflict("limit_reached", "this payment was confirmed as often as it can be: screen it anew", nil)
	case wire.RefusedPermitOver:
		return border.Conflict("permit_expired", "the permit has ended: confirm the payment for another one", nil)
	case wire.RefusedLapsed:
		return lapsed()
	}
	return nil
}

func lapsed() error {
	return border.Conflict("approval_lapsed", "the leave for this payment has ended: screen it anew, and a settler says what became of it", nil)
}

// refuseEnded answers for a payment that was redeemed or has ended, by the leaf that says so.
func refuseEnded(c *border.Request, r wire.Result) error {
	if err := c.AwaitIndex(r.Index); err != nil {
		return err
	}
	said, err := c.Judge.LoadLeaf(r.Value)
	if err != nil {
		return err
	}
	at, state := said.Raw("time"), said.Text("state")
	if said.Record != nil { // The facilitator's own call, which sends the payment on.
		at = said.Raw("screenedAt")
	}
	var m strictjson.Members
	switch {
	case r.Refusal == wire.RefusedUsed:
		m.Raw("redeemedAt", at)
		return border.Conflict("permit_used", "the leave for this payment was taken already", m)
	case state == "expired":
		return lapsed()
	}
	m.Text("state", state)
	return border.Conflict("invalid_transition", "the payment was given back", m)
}

// renderConfirmed is the answer of a confirmation, and what it says of a permit is made anew from the
// leaf.
func renderConfirmed(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	x, err := c.Judge.OpenJudgement(l)
	if err != nil {
		return err
	}
	seesAll := c.OpenRecord(x)
	c.TxnID = x.TxnID()
	m.Text("verdict", x.Verdict.String())
	m.Text("txnId", c.TxnID)
	m.TextOrNull("rule", x.Rule.Code())
	m.Text("reason", x.Reason())
	m.Time("confirmedAt", x.At)
	if err := c.WritePermit(m, x); err != nil {
		return err
	}
	state := l.Text("state")
	m.BeginObject("payment")
	l.CopyTo(m, "state", "amount", "expiresAt")
	m.EndObject()
	if l.Flag("approved") {
		m.BeginObject("approval")
		m.Text("state", approvalStates[state])
		l.CopyAs(m, "expiresAt", "until")
		m.EndObject()
	}
	m.Uint("policyVersion", x.PolicyVersion)
	m.Uint("listVersion", x.ListVersion)
	m.Uint("index", x.Index)
	if seesAll {
		x.AppendCodes(m, "triggered", x.Triggered)
		x.AppendCodes(m, "shadow", x.Shadow)
	}
	return nil
}

// approvalStates say what a confirmation leaves of an approval, by the state of its payment.
var approvalStates = map[string]string{"held": "open", "redeemed": "redeemed", "released": "lapsed"}

// renderRedeemed is the answer of a redeem. A gateway learns no more than whether the payment may be
// made.
func renderRedeemed(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.TxnID = l.Text("txnId")
	redeemed := l.Text("state") == "redeemed"
	if redeemed {
		m.Text("state", "redeemed")
	} else {
		m.Text("state", "refused")
	}
	l.CopyTo(m, "verdict", "txnId")
	if redeemed {
		m.Raw("redeemedAt", l.Raw("time"))
	}
	m.Uint("index", l.Number("index"))
	return nil
}

// payRenderers are the renderers of the leaves that this file's calls write.
func payRenderers(all map[string]border.Renderer) map[string]border.Renderer {
	all["payment.confirmed"], all["payment.redeemed"] = renderConfirmed, renderRedeemed
	return all
}

func payRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/transactions/{txnId}/confirm", Handle: confirmPayment},
		{Method: http.MethodPost, Path: "/v1/permits/redeem", Handle: redeemPermit},
	}
}
