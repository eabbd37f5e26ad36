package x402

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"railguard/httpapi/guest"
)

// What the facilitator asks the API, as any caller of it would: with the caller's key.

const (
	holdBeyond  = 5 * time.Minute // A hold outlasts what the payment may take by so much.
	apiPatience = 8 * time.Second // Of one question, retries included: an election is shorter.
	apiPause    = 50 * time.Millisecond
)

var (
	errUnavailable = errors.New("the screening service cannot answer now")
	errConflict    = errors.New("the same body came with another credential before")
)

// refused is a call that the API does not take as it is.
type refused struct{ code, message string }

func (r *refused) Error() string { return r.code + ": " + r.message }

// guest asks the API in the name of one caller.
type guestCall struct {
	f *Facilitator
	r *http.Request // Of the caller.
}

// verdict is what the API says of a payment.
type verdict struct {
	Verdict string  `json:"verdict"`
	TxnID   string  `json:"txnId"`
	Rule    *string `json:"rule"`
	Reason  string  `json:"reason"`
	Index   uint64  `json:"index"`
	Hold    *held   `json:"hold"`

	replayed bool // It is the answer to an earlier call with the same body.
}

type held struct {
	State     string `json:"state"`
	ExpiresAt string `json:"expiresAt"`
}

// record is a screening record, and what became of its payment.
type record struct {
	verdict
	ScreenedAt time.Time `json:"screenedAt"`
	Payment    *ending   `json:"payment"`
	Late       *ending   `json:"lateSettlement"`
}

type ending struct {
	State   string `json:"state"`
	RailRef string `json:"railRef"`
	Reason  string `json:"reason"`
}

// settled returns how the payment was settled, in time or late; nil when it was not.
func (r *record) settled() *ending {
	if r.Payment != nil && r.Payment.State == "settled" {
		return r.Payment
	}
	return r.Late
}

// open tells whether the record's hold still counts.
func (r *record) open() bool { return r.Verdict == "PROCEED" && r.Hold != nil && r.Payment == nil }

// screeningCall is the body of POST /v1/screen. The same payment gives the same bytes.
type screeningCall struct {
	Token      string          `json:"token"`
	UserToken  string          `json:"userToken,omitempty"`
	Amount     json.RawMessage `json:"amount"`
	Chain      string          `json:"chain"`
	Rail       string          `json:"rail"`
	Wallet     string          `json:"cpWallet"`
	Protocol   string          `json:"protocol"`
	TravelRule string          `json:"travelRuleRef,omitempty"`
	Reference  string          `json:"paymentRef,omitempty"`
	Hold       *ttl            `json:"hold,omitempty"`
}

type ttl struct {
	Seconds int64 `json:"ttlSeconds"`
}

// hold screens the payment with a hold.
func (g *guestCall) hold(ctx context.Context, p *payment, key, reference string) (*verdict, error) {
	call := p.screening(p.asset.dollars(p.units), reference)
	call.Hold = &ttl{int64((p.lasts + holdBeyond) / time.Second)}
	return g.screen(ctx, call, key)
}

// judgeAgain screens who pays whom once more, of no amount: what the payment is worth is
// held already.
func (g *guestCall) judgeAgain(ctx context.Context, p *payment, key, reference string) (*verdict, error) {
	return g.screen(ctx, p.screening("0", reference), key)
}

func (p *payment) screening(dollars, reference string) *screeningCall {
	return &screeningCall{
		Token: p.token, UserToken: p.userToken, Amount: json.RawMessage(dollars), Chain: p.asset.Chain, Rail: "USDC", Wallet: p.payee,
		Protocol: "x402", TravelRule: p.travelRule, Reference: reference,
	}
}

func (g *guestCall) screen(ctx context.Context, call *screeningCall, key string) (*verdict, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	answer, err := g.insist(ctx, http.MethodPost, "/v1/screen", key, 0, body)
	if err != nil {
		return nil, err
	}
	v := &verdict{replayed: answer.Head.Get("Idempotent-Replayed") == "true"}
	if err := json.Unmarshal(answer.Body.Bytes(), v); err != nil || v.Verdict == "" || v.TxnID == "" {
		return nil, errUnavailable
	}
	return v, nil
}

// uses returns the record that uses a payment reference; nil when none does. index is that
// of the log from which on the answer must be true; 0: all that was ever acknowledged.
func (g *guestCall) uses(ctx context.Context, reference string, index uint64) (*record, error) {
	query := "?paymentRef=" + url.QueryEscape(reference)
	if index == 0 {
		query += "&consistency=leader"
	}
	return g.record(ctx, "/v1/transactions"+query, index)
}

func (g *guestCall) record(ctx context.Context, path string, index uint64) (*record, error) {
	answer, err := g.insist(ctx, http.MethodGet, path, "", index, nil)
	var no *refused
	if errors.As(err, &no) && no.code == "not_found" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(answer.Body.Bytes(), r); err != nil || r.TxnID == "" {
		return nil, errUnavailable
	}
	return r, nil
}

// bookSettled books a payment that was made.
func (g *guestCall) bookSettled(ctx context.Context, p *payment, txnID, transaction string) error {
	return g.end(ctx, txnID, "settle", map[string]any{"amount": json.RawMessage(p.asset.dollars(p.units)), "railRef": transaction})
}

// bookReleased gives back what was held for a payment that was not made.
func (g *guestCall) bookReleased(ctx context.Context, txnID, reason string) error {
	return g.end(ctx, txnID, "release", map[string]any{"reason": reason})
}

func (g *guestCall) end(ctx context.Context, txnID, verb string, said map[string]any) error {
	body, err := json.Marshal(said)
	if err != nil {
		return err
	}
	_, err = g.insist(ctx, http.MethodPost, "/v1/transactions/"+url.PathEscape(txnID)+"/"+verb, "", 0, body)
	return err
}

// insist asks until there is an answer: it asks again what has no outcome or an unknown
// one, which every question here may be. The error is a *refused, errConflict or
// errUnavailable.
func (g *guestCall) insist(ctx context.Context, method, path, key string, index uint64, body []byte) (*guest.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, g.f.insists)
	defer cancel()
	for {
		answer := g.ask(ctx, method, path, key, index, body)
		if answer.Status == http.StatusOK {
			return answer, nil
		}
		var said struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(answer.Body.Bytes(), &said)
		switch {
		case said.Code == "idempotency_conflict":
			return nil, errConflict
		case answer.Status == http.StatusTooManyRequests:
			return nil, errUnavailable
		case answer.Status < 500 && said.Code != "idempotency_in_flight":
			return nil, &refused{said.Code, said.Message}
		}
		select {
		case <-ctx.Done():
			return nil, errUnavailable
		case <-time.After(apiPause):
		}
	}
}

// ask makes one call of the API.
func (g *guestCall) ask(ctx context.Context, method, path, key string, index uint64, body []byte) *guest.Answer {
	headers := map[string]string{"Idempotency-Key": key}
	if index != 0 {
		headers["X-Railguard-Min-Index"] = strconv.FormatUint(index, 10)
	}
	return guest.Ask(ctx, g.f.config.API, g.r, method, path, headers, body)
}
