package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chain is a facilitator for these tests that simulates a chain: each nonce pays once.
type chain struct {
	*httptest.Server
	mutex    sync.Mutex
	mode     string
	paid     map[string]string // Transactions by nonce.
	verified int
	settled  int      // Number of calls of settle.
	bodies   []string // Calls, in the order of arrival.
	kinds    string
}

func newChain(t testing.TB) *chain {
	c := &chain{paid: map[string]string{}, kinds: `{"x402Version":2,"scheme":"exact","network":"eip155:8453"}`}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// say changes how the chain answers, and forgets earlier calls.
func (c *chain) say(mode string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.mode, c.verified, c.settled, c.bodies = mode, 0, 0, nil
}

func (c *chain) asked() (verified, settled int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.verified, c.settled
}

func (c *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mutex.Lock()
	mode := c.mode
	c.bodies = append(c.bodies, string(body))
	var call struct {
		Payload struct {
			Payload struct {
				Authorization struct{ From, Nonce string }
			}
		} `json:"paymentPayload"`
		Requirements struct{ Network string } `json:"paymentRequirements"`
	}
	_ = json.Unmarshal(body, &call)
	signed, network := call.Payload.Payload.Authorization, call.Requirements.Network
	transaction := "0x" + strings.Repeat("0", 62) + fmt.Sprintf("%02x", len(c.paid)+1)
	switch r.URL.Path {
	case "/verify":
		c.verified++
	case "/settle":
		c.settled++
		if _, twice := c.paid[signed.Nonce]; twice && mode == "" {
			mode = "used"
		} else if mode == "" || mode == "pays and times out" || mode == "pays slowly" {
			c.paid[signed.Nonce] = transaction
		}
	}
	c.mutex.Unlock()
	c.answer(w, r, mode, signed.From, transaction, network)
}

// answer returns the chain's answer in a mode.
func (c *chain) answer(w http.ResponseWriter, r *http.Request, mode, payer, transaction, network string) {
	w.Header().Set("Content-Type", "application/json")
	good := fmt.Sprintf(`{"success":true,"isValid":true,"payer":%q,"transaction":%q,"network":%q}`, payer, transaction, network)
	bad := func(reason, more string) string {
		return fmt.Sprintf(`{"success":false,"isValid":false,"errorReason":%q,"invalidReason":%q,"payer":%q,"transaction":%q,"network":%q}`, reason, reason, payer, more, network)
	}
	switch {
	case r.URL.Path == "/supported":
		good = `{"kinds":[` + c.kinds + `],"extensions":["bazaar"],"signers":{"eip155:*":["0x1234"]}}`
	case mode == "used":
		good = bad("invalid_exact_evm_nonce_already_used", "")
	}
	switch mode {
	case "times out", "pays and times out":
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
		return
	case "pays slowly":
		time.Sleep(300 * time.Millisecond)
	case "500":
		w.WriteHeader(500)
	case "502 that succeeds":
		w.WriteHeader(502)
	case "refuses":
		good = bad("insufficient_funds", "")
	case "refuses with 402":
		w.WriteHeader(402)
		good = bad("insufficient_funds", "")
	case "is not sure":
		good = bad("settlement_pending", "")
	case "fails on the chain":
		good = bad("transaction_failed", transaction)
	case "says nothing":
		good = `{}`
	case "is no JSON":
		good = `<html>`
	case "answers twice":
		good += good
	case "names a member twice":
		good = strings.Replace(good, `{"success":true`, `{"success":true,"Success":false`, 1)
	case "names another payer":
		good = strings.Replace(good, payer, "0x"+strings.Repeat("9", 40), 1)
	case "names another network":
		good = strings.Replace(good, `"network":"`+network, `"network":"eip155:1`, 1)
	case "names no transaction":
		good = strings.Replace(good, transaction, "", 1)
	case "talks without end":
		good = `{"a":"` + strings.Repeat("a", 80<<10) + `"}`
	case "sends elsewhere":
		w.Header().Set("Location", "/verify")
		w.WriteHeader(307)
	}
	_, _ = io.WriteString(w, good)
}

// x402Body is one payment as an SDK sends it.
type x402Body struct {
	version      int
	nonce        int
	units, payTo string
	token        string
	space        string
	lasts        int
}

const (
	goodPayee = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	badPayee  = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" // On the sample list.
	baseUSDC  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

func (b x402Body) String() string {
	if b.payTo == "" {
		b.payTo = goodPayee
	}
	if b.lasts == 0 {
		b.lasts = 60
	}
	terms := fmt.Sprintf(`"scheme":"exact","network":"eip155:8453","amount":%q,"asset":%q,"payTo":%q,"maxTimeoutSeconds":%d,"extra":{"name":"USDC","version":"2"}`,
		b.units, baseUSDC, b.payTo, b.lasts)
	signed := fmt.Sprintf(`{"signature":"0x00","authorization":{"from":"0x857b06519E91e3A54538791bDbb0E22373e36b66","to":%q,"value":%q,"validAfter":"1","validBefore":"2","nonce":"0x%064x"}}`,
		b.payTo, b.units, b.nonce)
	extensions := ""
	if b.token != "" {
		extensions = fmt.Sprintf(`,"extensions":{"railguard":{"info":{"token":%q}},"payment-identifier":{"info":{"id":"pay_%d"}}}`, b.token, b.nonce)
	}
	if b.version == 1 {
		terms = strings.Replace(strings.Replace(terms, `"amount"`, `"maxAmountRequired"`, 1), "eip155:8453", "base", 1)
		return fmt.Sprintf(`{%s"x402Version":1,"paymentPayload":{"x402Version":1,"scheme":"exact","network":"base","payload":%s%s},"paymentRequirements":{"resource":"https://a.example","description":"d","mimeType":"text/plain",%s}}`,
			b.space, signed, extensions, terms)
	}
	return fmt.Sprintf(`{%s"x402Version":2,"paymentPayload":{"x402Version":2,"resource":{"url":"https://a.example"},"accepted":{%s},"payload":%s%s},"paymentRequirements":{%s}}`,
		b.space, terms, signed, extensions, terms)
}

// x402Answer has the members of all answers of the facilitator.
type x402Answer struct {
	IsValid, Success                                         bool
	InvalidReason, InvalidMessage, ErrorReason, ErrorMessage string
	Payer, Transaction, Network                              string
	Extensions                                               struct {
		Railguard struct{ Verdict, TxnID, Rule, Reason, HoldExpiresAt string }
	}
}

func (a *x402Answer) reason() string { return a.InvalidReason + a.ErrorReason }

// x402Call makes a call that must be answered with 200.
func x402Call(t testing.TB, handler http.Handler, path, body string, headers ...string) *x402Answer {
	t.Helper()
	w := x402Do(handler, groupKey, "POST", "/x402"+path, body, headers...)
	require.Equal(t, 200, w.Code, w.Body)
	a := new(x402Answer)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), a))
	return a
}

func x402Do(handler http.Handler, key, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}
