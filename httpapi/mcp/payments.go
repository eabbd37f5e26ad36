package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railguard/httpapi/guest"
)

// ownKey describes the argument idempotencyKey of the tools that do not need one: whatever they do to a
// payment, they do once.
const ownKey = `{"type":"string","minLength":1,"maxLength":255,"description":"Of your own making; the same when a call is repeated."}`

// paymentTools are the tools about a payment that was screened.
func (g *Guest) paymentTools(transaction members) []tool {
	return []tool{
		{
			"confirm", "Confirm a payment", "Judge a screened payment again, right before it is made: one that an officer approved, or one that was let through some time ago. Nothing is counted twice. Pay on PROCEED alone.",
			transaction.withMore(members{
				"idempotencyKey": ownKey, "token": payment["token"], "proof": payment["proof"], "permit": permitSchema,
				"redeem": `{"type":"boolean","description":"Take the leave at once: no other call gets it, and you make the payment now."}`,
			}), verdictMembers, []string{"txnId"}, true, g.confirmPayment,
		},
		{
			"settle", "Say that a payment was made", "Say that a payment was made, by the amount that was allowed or more. Less is said by a settler, never by an agent.",
			transaction.withMore(members{
				"idempotencyKey": ownKey, "amount": `{"type":"number","minimum":0,"maximum":1000000000000,"description":"What was paid, in US dollars; without it, the amount that was screened."}`,
				"railRef": `{"type":"string","maxLength":256,"description":"What the rail calls the payment: a transaction hash, a bank's reference."}`,
			}), endingMembers, []string{"txnId"}, true, g.settlePayment,
		},
		{
			"release", "Say that a payment was not made", "Say that a payment was not made, so that it counts no more. Where the policy leaves that to a settler, an agent is refused.",
			transaction.withMore(members{"idempotencyKey": ownKey, "reason": `{"type":"string","minLength":1,"description":"Why it was not made."}`}), endingMembers, []string{"txnId", "reason"}, true, g.releasePayment,
		},
	}
}

// askPayment makes a call about the payment that the argument txnId names.
func (g *Guest) askPayment(ctx context.Context, r *http.Request, in arguments, verb string) (*guest.Answer, *failure) {
	id, bad := in.transaction()
	if bad != nil {
		return nil, bad
	}
	key := ""
	if _, given := in["idempotencyKey"]; given {
		if key, bad = in.readText("idempotencyKey"); bad != nil {
			return nil, bad
		}
	}
	said := arguments{}
	for name, value := range in {
		if name != "txnId" && name != "idempotencyKey" {
			said[name] = value
		}
	}
	return g.askAPI(ctx, r, http.MethodPost, "/v1/transactions/"+id+"/"+verb, key, said.body()), nil
}

func (g *Guest) confirmPayment(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	a, bad := g.askPayment(ctx, r, in, "confirm")
	if bad != nil {
		return nil, bad
	}
	if a.Status != http.StatusOK {
		f := failureOf(a)
		if a.Status == http.StatusConflict {
			f.sentence = refusedStates[f.stateWord()]
		}
		return nil, f
	}
	var said confirmed
	if err := json.Unmarshal(a.Body.Bytes(), &said); err != nil {
		return nil, failureOf(&guest.Answer{Status: http.StatusInternalServerError})
	}
	return g.firstHand(ctx, r, a, said.sentence)
}

// confirmed is what is read of a confirmation.
type confirmed struct {
	decided
	Payment struct {
		State string `json:"state"`
	} `json:"payment"`
}

// back says what became of a payment that is a BLOCK now, by its state.
var back = map[string]string{"released": "The payment was given back. "}

// sentence says what a confirmation means to its caller.
func (d *confirmed) sentence() string {
	switch {
	case d.Verdict == "PROCEED" && d.Payment.State == "redeemed":
		return "PROCEED: the payment may be made now, once: its leave is taken."
	case d.Verdict == "REVIEW":
		return "REVIEW" + d.rule() + ": do not pay. It has no leave now, and no officer is asked: screen the payment anew. " + d.Reason
	case d.Verdict == "BLOCK":
		return "BLOCK" + d.rule() + ": do not pay, and do not ask again in other words. " + back[d.Payment.State] + d.Reason
	}
	return d.decided.leave()
}

// endings are what the API's answer to settle and release shows.
var endings = []string{"txnId", "state", "amount", "countedUSDC", "railRef", "reason", "late", "overLimit", "notAllowed", "forwarded", "unpermitted", "eventId", "time", "unchanged"}

// endedSentences say what a settle or a release means, by the state that it leaves.
var endedSentences = map[string]string{
	"settled":  "Settled: the payment is booked as paid. Do not pay again.",
	"released": "Released: the payment was given back and has no leave any more. Do not pay; screen a payment that is to be made.",
}

// settlerSentence is told where only a settler may say what became of a payment.
const settlerSentence = "Nothing was changed (settler_required): only a settler gives back what counts of a payment, and an agent's key never is one. " +
	"The payment goes on counting until the operator's settler says what became of it. Do not pay again."

func (g *Guest) settlePayment(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	return g.endPayment(ctx, r, in, "settle")
}

func (g *Guest) releasePayment(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	return g.endPayment(ctx, r, in, "release")
}

// endPayment says to the API what became of a payment.
func (g *Guest) endPayment(ctx context.Context, r *http.Request, in arguments, verb string) (*sdk.CallToolResult, *failure) {
	a, bad := g.askPayment(ctx, r, in, verb)
	if bad != nil {
		return nil, bad
	}
	if a.Status != http.StatusOK {
		f := failureOf(a)
		switch {
		case f.Code == "settler_required":
			f.sentence = settlerSentence
		case f.Outcome == "none":
			f.sentence = "Nothing was changed: " + f.Code + ": " + f.Message + ". Do not pay again."
		}
		return nil, f
	}
	var said struct {
		State string `json:"state"`
	}
	out, ok := passMembers(a.Body.Bytes(), endings)
	if err := json.Unmarshal(a.Body.Bytes(), &said); err != nil || !ok || !slices.Contains([]string{"settled", "released"}, said.State) {
		return nil, failureOf(&guest.Answer{Status: http.StatusInternalServerError})
	}
	return newResult(endedSentences[said.State], out.body()), nil
}
