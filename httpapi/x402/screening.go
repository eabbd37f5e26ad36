package x402

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"railguard/engine/possession"
	"railguard/httpapi/guest"
)

// The calls of the API that the facilitator makes, with its caller's key.

const (
	holdBeyond  = 5 * time.Minute // How much longer a hold lasts than the payment's own time.
	apiPatience = 8 * time.Second // Time limit for one question with its retries. It is longer than an election takes.
	apiPause    = 50 * time.Millisecond
)

var (
	errUnavailable = errors.New("the screening service cannot answer now")
	errConflict    = errors.New("the same body came with another credential before")
	errOutrun      = errors.New("this signed payment was sent on before with another credential, or for another payee or amount")
)

// refused is the API's refusal of a call.
type refused struct{ code, message string }

func (r *refused) Error() string { return r.code + ": " + r.message }

// guestCall is a caller's call; the facilitator asks the API in its name.
type guestCall struct {
	f         *Facilitator
	r         *http.Request // The caller's request.
	keyID     string        // Id of the caller's API key; "": it is not known.
	requestID string        // Request id for the calls of the API; "": the caller's.
}

// readKey reads which key called from the API's answer about it. Without an answer no call counts
// as a repetition.
func (g *guestCall) readKey(answer *guest.Answer) {
	var key struct {
		KeyID string `json:"keyId"`
	}
	if answer.Status == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), &key) == nil {
		g.keyID = key.KeyID
	}
}

// verdict is the API's verdict on a payment.
type verdict struct {
	Verdict string  `json:"verdict"`
	TxnID   string  `json:"txnId"`
	Rule    *string `json:"rule"`
	Reason  string  `json:"reason"`
	Index   uint64  `json:"index"`
	Hold    *held   `json:"hold"`

	Permit        string `json:"permit"`
	PermitExpires string `json:"permitExpiresAt"`

	review   string // What it means if it is that of a review that the payment has already: a word below.
	replayed bool   // The API repeated its answer to an earlier call with the same body.
}

// What a review means for a payment, in the API's words.
const (
	reviewWaiting  = "waiting"  // No officer has approved it.
	reviewApproved = "approved" // It may be confirmed and redeemed.
	reviewOther    = "other"    // It is approved, and the payment shows what the officer did not see.
	reviewUsed     = "used"     // The payment took its leave.
)

type held struct {
	State     string `json:"state"`
	ExpiresAt string `json:"expiresAt"`
}

// record is a screening record, with the outcome of its payment.
type record struct {
	verdict
	KeyID      string    `json:"keyId"`
	RequestID  string    `json:"requestId"`
	ScreenedAt time.Time `json:"screenedAt"`
	Payment    *ending   `json:"payment"`
	Late       *ending   `json:"lateSettlement"`

	Disposition string `json:"disposition"`
}

type ending struct {
	State     string `json:"state"`
	RailRef   string `json:"railRef"`
	Reason    string `json:"reason"`
	Forwarded bool   `json:"forwarded"` // This facilitator, on any node, sent the payment on and was told that it was made.
}

// settledEnding returns the payment's settlement, in time or late; nil: it was not settled.
func (r *record) settledEnding() *ending {
	if r.Payment != nil && r.Payment.State == "settled" {
		return r.Payment
	}
	return r.Late
}

// holdIsOpen tells whether the record's hold lasts still.
func (r *record) holdIsOpen() bool {
	return r.Verdict == "PROCEED" && r.Hold != nil && r.Payment == nil
}

// isUnresolved tells whether the time of the record's hold is over and nobody has said what
// became of the payment. It still counts.
func (r *record) isUnresolved() bool { return r.Payment != nil && r.Payment.State == unresolved }

// unresolved is the API's word for that state.
const unresolved = "unresolved"

// screeningCall is the body of POST /v1/screen. The same payment gives the same bytes.
type screeningCall struct {
	Token      string            `json:"token"`
	UserToken  string            `json:"userToken,omitempty"`
	Amount     json.RawMessage   `json:"amount"`
	Chain      string            `json:"chain"`
	Rail       string            `json:"rail"`
	Wallet     string            `json:"cpWallet"`
	Protocol   string            `json:"protocol"`
	TravelRule string            `json:"travelRuleRef,omitempty"`
	Reference  string            `json:"paymentRef,omitempty"`
	Hold       *ttl              `json:"hold,omitempty"`
	Payer      string            `json:"payerWallet"`
	Wallets    []roleWallet      `json:"wallets,omitempty"`
	Memo       string            `json:"memo,omitempty"`
	Parties    []partyIdentifier `json:"cpIdentifiers,omitempty"`
	X402       *signedPayment    `json:"x402,omitempty"`
	Permit     *permitAsked      `json:"permit,omitempty"`
}

// signedPayment tells the API which payment it is, beside what every payment has.
type signedPayment struct {
	Asset  string `json:"asset"`
	Units  string `json:"units"`
	Nonce  string `json:"nonce"`
	Review string `json:"review,omitempty"` // The review whose leave it is to take; a payment without one is not screened then.
}

type permitAsked struct {
	Seconds  int64  `json:"ttlSeconds"`
	Audience string `json:"aud"`
}

// The bounds of a permit.
const (
	permitLeast = time.Minute
	permitMost  = 5 * time.Minute
	audienceMax = 256
)

// askPermit is what the payment asks of a permit; nil: nothing. It is for the origin of the resource, and
// lasts as long as the payment.
func (p *payment) askPermit() *permitAsked {
	address, err := url.Parse(p.resource)
	if !p.permit || err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return nil
	}
	origin := address.Scheme + "://" + strings.ToLower(address.Host)
	if utf8.RuneCountInString(origin) > audienceMax {
		return nil
	}
	return &permitAsked{int64(min(max(p.lasts, permitLeast), permitMost) / time.Second), origin}
}

// sign tells the API which payment it is; nil for one that does not say who pays, which is never made.
func (p *payment) sign(review string) *signedPayment {
	if p.payer == "" {
		return nil
	}
	return &signedPayment{p.asset.assetID(), p.units, p.nonceID(), review}
}

// partyIdentifier is an identifier of the counterparty.
type partyIdentifier struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

type roleWallet struct {
	Role    string `json:"role"`
	Address string `json:"address"`
}

// unreadPayer stands for a wallet that could not be read. It is no wallet of any chain, so that the
// verdict is REVIEW R19. Where the policy switches that rule off or shadows it, the payment is refused
// here, with the reason payerUnread.
const (
	unreadPayer = "the transaction does not say who pays"
	payerUnread = "payer_unread"
)

type ttl struct {
	Seconds int64 `json:"ttlSeconds"`
}

// screenWithHold screens the payment with a hold. If there is a review of it already, the verdict is that
// review's; review, if it is not "", is the only one that it may be.
func (g *guestCall) screenWithHold(ctx context.Context, p *payment, key, reference, review string, permit *permitAsked) (*verdict, error) {
	call := p.screeningCall(p.asset.dollars(p.units), reference)
	call.X402, call.Permit = p.sign(review), permit
	call.Hold = &ttl{int64((p.lasts + holdBeyond) / time.Second)}
	return g.askVerdict(p.proving(ctx), call, key)
}

// judgeAgain screens payer and payee once more, with the amount 0: the amount of the payment is
// held already.
func (g *guestCall) judgeAgain(ctx context.Context, p *payment, key, reference string) (*verdict, error) {
	return g.askVerdict(p.proving(ctx), p.screeningCall("0", reference), key)
}

// proving shows the API the payment's proof, if it has one.
func (p *payment) proving(ctx context.Context) context.Context {
	if p.proof == "" {
		return ctx
	}
	return guest.Proving(ctx, &guest.Proof{Text: p.proof, Act: possession.ActX402, Request: p.proves})
}

// foresee is judgeAgain without a record.
func (g *guestCall) foresee(ctx context.Context, p *payment) (*verdict, error) {
	body, err := json.Marshal(p.screeningCall("0", ""))
	if err != nil {
		return nil, err
	}
	answer, err := g.askUntilAnswered(p.proving(ctx), http.MethodPost, "/v1/screen/dry-run", "", 0, body)
	if err != nil {
		return nil, err
	}
	v := new(verdict)
	if err := json.Unmarshal(answer.Body.Bytes(), v); err != nil || v.Verdict == "" {
		return nil, errUnavailable
	}
	return v, nil
}

func (p *payment) screeningCall(dollars, reference string) *screeningCall {
	call := &screeningCall{
		Token: p.token, UserToken: p.userToken, Amount: json.RawMessage(dollars), Chain: p.asset.Chain, Rail: "USDC", Wallet: p.payee,
		Protocol: "x402", TravelRule: p.travelRule, Reference: reference, Payer: cmp.Or(p.payer, unreadPayer),
	}
	call.Memo = p.memo()
	if host := websiteOf(p.resource); host != "" {
		call.Parties = []partyIdentifier{{"website", host}}
	}
	for _, signer := range p.signers {
		call.Wallets = append(call.Wallets, roleWallet{"payer", signer})
	}
	return call
}

func (g *guestCall) askVerdict(ctx context.Context, call *screeningCall, key string) (*verdict, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	answer, err := g.askUntilAnswered(ctx, http.MethodPost, "/v1/screen", key, 0, body)
	if err != nil {
		return nil, err
	}
	return readVerdict(answer)
}

// readVerdict reads a verdict from an answer of the API.
func readVerdict(answer *guest.Answer) (*verdict, error) {
	v := &verdict{replayed: answer.Head.Get("Idempotent-Replayed") == "true", review: answer.Head.Get("X-Railguard-Review")}
	if err := json.Unmarshal(answer.Body.Bytes(), v); err != nil || v.Verdict == "" || v.TxnID == "" {
		return nil, errUnavailable
	}
	return v, nil
}

// readByReference returns the record that uses a payment reference; nil: none does. The answer
// takes all log entries up to index into account; with 0 it takes into account all entries that
// were ever acknowledged.
func (g *guestCall) readByReference(ctx context.Context, reference string, index uint64) (*record, error) {
	query := "?paymentRef=" + url.QueryEscape(reference)
	if index == 0 {
		query += "&consistency=leader"
	}
	return g.readRecord(ctx, "/v1/transactions"+query, index)
}

func (g *guestCall) readRecord(ctx context.Context, path string, index uint64) (*record, error) {
	answer, err := g.askUntilAnswered(ctx, http.MethodGet, path, "", index, nil)
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
	return g.endTransaction(ctx, txnID, "settle", map[string]any{"amount": json.RawMessage(p.asset.dollars(p.units)), "railRef": transaction})
}

// bookReleased gives back what was held for a payment that was not made.
func (g *guestCall) bookReleased(ctx context.Context, txnID, reason string) error {
	return g.endTransaction(ctx, txnID, "release", map[string]any{"reason": reason})
}

func (g *guestCall) endTransaction(ctx context.Context, txnID, verb string, said map[string]any) error {
	body, err := json.Marshal(said)
	if err != nil {
		return err
	}
	_, err = g.askUntilAnswered(ctx, http.MethodPost, "/v1/transactions/"+url.PathEscape(txnID)+"/"+verb, "", 0, body)
	return err
}

// askUntilAnswered repeats a call of the API while its outcome is unknown or nothing happened.
// Every call made here may be repeated. The error is a *refused, errConflict or errUnavailable.
func (g *guestCall) askUntilAnswered(ctx context.Context, method, path, key string, index uint64, body []byte) (*guest.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, g.f.insists)
	defer cancel()
	for {
		answer := g.askAPI(ctx, method, path, key, index, body)
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

// askAPI makes one call of the API.
func (g *guestCall) askAPI(ctx context.Context, method, path, key string, index uint64, body []byte) *guest.Answer {
	headers := map[string]string{"Idempotency-Key": key, "X-Request-Id": g.requestID}
	if index != 0 {
		headers["X-Railguard-Min-Index"] = strconv.FormatUint(index, 10)
	}
	return guest.Ask(guest.AsFacilitator(ctx), g.f.config.API, g.r, method, path, headers, body)
}
