package redteam

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"railguard/bench/conformance"
)

// facilitator stands behind the product's x402 and pays each nonce once.
type facilitator struct {
	*httptest.Server
	mutex  sync.Mutex
	paid   map[string]string // Transactions by nonce.
	bodies []string          // What was asked of it: path and body.
	broken map[string]bool   // Nonces whose settlement ends in 500, so that nobody knows.
}

func newFacilitator(t *testing.T) *facilitator {
	f := &facilitator{paid: map[string]string{}, broken: map[string]bool{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Payload struct {
			Payload struct{ Authorization struct{ From, Nonce string } }
		} `json:"paymentPayload"`
		Requirements struct{ Network string } `json:"paymentRequirements"`
	}
	_ = json.Unmarshal(body, &call) // What is no payment has an empty nonce.
	f.mutex.Lock()
	f.bodies = append(f.bodies, r.URL.Path+" "+string(body))
	nonce := call.Payload.Payload.Authorization.Nonce
	if r.URL.Path == "/settle" && f.paid[nonce] == "" {
		f.paid[nonce] = fmt.Sprintf("0x%064x", len(f.paid)+1)
	}
	transaction, broken := f.paid[nonce], f.broken[nonce]
	f.mutex.Unlock()
	if broken && r.URL.Path == "/settle" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/supported" {
		_, _ = io.WriteString(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}],"extensions":[],"signers":{}}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"isValid":true,"payer":%q,"transaction":%q,"network":%q}`,
		call.Payload.Payload.Authorization.From, transaction, call.Requirements.Network)
}

// sent counts how often the facilitator was asked something about a nonce.
func (f *facilitator) sent(path, nonce string) (count int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, body := range f.bodies {
		if strings.HasPrefix(body, path+" ") && strings.Contains(body, nonce) {
			count++
		}
	}
	return count
}

// x402Payment is a payment as a client of the protocol signs it.
type x402Payment struct {
	token, nonce, units, resource, identifier, payTo string
	more                                             string // Further members of the signed payload.
}

const (
	honestPayee = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	baseUSDC    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

func (p x402Payment) String() string {
	if p.payTo == "" {
		p.payTo = honestPayee
	}
	if p.resource == "" {
		p.resource = "https://a.example/one"
	}
	terms := fmt.Sprintf(`"scheme":"exact","network":"eip155:8453","amount":%q,"asset":%q,"payTo":%q,"maxTimeoutSeconds":60,"extra":{"name":"USDC","version":"2"}`, p.units, baseUSDC, p.payTo)
	extensions := fmt.Sprintf(`"railguard":{"info":{"token":%q}}`, p.token)
	if p.identifier != "" {
		extensions += fmt.Sprintf(`,"payment-identifier":{"info":{"id":%q}}`, p.identifier)
	}
	return fmt.Sprintf(`{"x402Version":2,"paymentPayload":{"x402Version":2,"resource":{"url":%q},"accepted":{%s},"payload":{"signature":"0x00","authorization":{"from":"0x857b06519E91e3A54538791bDbb0E22373e36b66","to":%q,"value":%q,"validAfter":"1","validBefore":"2","nonce":%q}%s},"extensions":{%s}},"paymentRequirements":{%s}}`,
		p.resource, terms, p.payTo, p.units, p.nonce, p.more, extensions, terms)
}

func (w *world) x402(e conformance.Examiner, key, verb string, p x402Payment) *conformance.Answer {
	return w.call(e, key, "POST", "/x402/"+verb, p.String())
}

// oneDoor: a payment opens one door, whoever settles it again, for whatever, however often (T11).
func (w *world) oneDoor(e conformance.Examiner) {
	for _, identifier := range []string{"", newWord("pay_")} {
		p := x402Payment{token: w.house.owned["token"], nonce: "0x" + newWord("00000000") + strings.Repeat("0", 48), units: "1000000", identifier: identifier}
		first := w.x402(e, w.c.keys["screener"], "settle", p)
		e.Must(first.Status == 200 && strings.Contains(string(first.Raw), `"success":true`), "the stage: a payment is not settled: %s", first.Raw)
		again := func(what, key string, change func(*x402Payment)) {
			other := p
			change(&other)
			a := w.x402(e, key, "settle", other)
			e.Expect(!strings.Contains(string(a.Raw), `"success":true`), "%s opens a second door: %s", what, a.Raw)
		}
		again("another merchant", w.d.keys["screener"], func(*x402Payment) {})
		again("another resource", w.c.keys["screener"], func(o *x402Payment) { o.resource = "https://a.example/two" })
		again("another merchant's other resource", w.d.keys["screener"], func(o *x402Payment) { o.resource = "https://d.example/one" })
		again("another identifier", w.c.keys["screener"], func(o *x402Payment) { o.identifier = newWord("pay_") })
		if identifier == "" {
			again("the same call without an identifier", w.c.keys["screener"], func(*x402Payment) {})
		}
		e.Expect(w.upstream.sent("/settle", p.nonce) == 1, "it was sent on %d times", w.upstream.sent("/settle", p.nonce))
	}
}

// forgedSettlement: nothing reaches the facilitator behind that was not judged, and nobody outside
// makes a settlement by hand (T12).
func (w *world) forgedSettlement(e conformance.Examiner) {
	nonce := func() string { return "0x" + newWord("00000001") + strings.Repeat("0", 48) }
	listed := `,"permit2Authorization":{"from":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96","permitted":{"token":"` + baseUSDC + `","amount":"1000000"}}`
	for _, more := range []string{listed, `,"authorizations":[]`, `,"Authorization":{}`} {
		p := x402Payment{token: w.house.owned["token"], nonce: nonce(), units: "1000000", more: more}
		for _, verb := range []string{"verify", "settle"} {
			a := w.x402(e, w.c.keys["screener"], verb, p)
			e.Expect(!strings.Contains(string(a.Raw), `"success":true`) && !strings.Contains(string(a.Raw), `"isValid":true`), "%s with %s: %s", verb, more, a.Raw)
		}
		e.Expect(w.upstream.sent("/settle", p.nonce)+w.upstream.sent("/verify", p.nonce) == 0, "what was not judged was sent on")
	}
	p := x402Payment{token: w.house.owned["token"], nonce: nonce(), units: "1000000", payTo: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"}
	a := w.x402(e, w.c.keys["screener"], "settle", p)
	e.Expect(!strings.Contains(string(a.Raw), `"success":true`) && w.upstream.sent("/settle", p.nonce) == 0, "a listed payee is paid: %s", a.Raw)
	for _, h := range w.holders() {
		if h.role == "screener" || h.role == "admin" {
			continue
		}
		a := w.x402(e, h.key, "settle", x402Payment{token: w.house.owned["token"], nonce: nonce(), units: "1"})
		e.Expect(!strings.Contains(string(a.Raw), `"success":true`), "%s of %s settles: %s", h.role, h.kind, a.Raw)
	}
}

// lostAnswer: a payment whose answer was lost goes on counting, and its spender does not take it out
// (T1, T11).
func (w *world) lostAnswer(e conformance.Examiner) {
	agent := w.must(e, w.root, "POST", "/v1/agents/register", obj{"agentName": e.Name("payer"), "agentType": "supervised", "operatorLegalName": w.house.name, "purpose": "redteam", "spendPolicy": obj{"dailyLimitUSDC": 10}})
	p := x402Payment{token: agent.Text("token"), nonce: "0x" + newWord("00000002") + strings.Repeat("0", 48), units: "10000000"}
	w.upstream.mutex.Lock()
	w.upstream.broken[p.nonce] = true
	w.upstream.mutex.Unlock()
	a := w.x402(e, w.c.keys["screener"], "settle", p)
	e.Must(strings.Contains(string(a.Raw), "settlement_pending"), "the stage: a lost settlement is %s", a.Raw)
	txn := a.Text("extensions.railguard.txnId")
	w.passHold(e, txn, "15m")
	for _, verb := range []string{"release", "settle"} {
		body := map[string]any{"release": obj{"reason": "payment failed"}, "settle": obj{"amount": 0}}[verb]
		refused := w.call(e, w.c.keys["screener"], "POST", "/v1/transactions/"+txn+"/"+verb, body)
		e.Expect(refused.Refused(), "the merchant's key can %s a payment that was sent: %d", verb, refused.Status)
	}
	next := w.call(e, w.c.keys["screener"], "POST", "/v1/screen", obj{"token": agent.Text("token"), "amount": 1})
	e.Expect(next.Text("verdict") == "REVIEW", "a payment that may have been made does not count any more: %s", next.Raw)
}
