package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const redeemedPermit = "eyJhbGciOiJFUzI1NiJ9.eyJqdGkiOiJ0eG5fMSJ9.c2lnbmF0dXJl"

// redeemCounter answers redeems as it is told, and keeps what was asked.
type redeemCounter struct {
	status      int
	answer      string
	outcome     string
	body, key   string
	asked       int
	url, permit string // Its address, and a file with a permit.
}

func newRedeemCounter(t *testing.T) *redeemCounter {
	c := &redeemCounter{permit: filepath.Join(t.TempDir(), "permit.jwt")}
	require.NoError(t, os.WriteFile(c.permit, []byte(redeemedPermit+"\n"), 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.body, c.key = r.Method+" "+r.URL.Path+" "+string(body), r.Header.Get("Idempotency-Key")
		c.asked++
		if c.outcome != "" {
			w.Header().Set("X-Railguard-Outcome", c.outcome)
		}
		w.WriteHeader(c.status)
		_, _ = io.WriteString(w, c.answer)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// TestPermitRedeem: what is asked, what is printed, and with which exit code it ends. The permit is
// never printed.
func TestPermitRedeem(t *testing.T) {
	const (
		taken   = `{"state":"redeemed","verdict":"PROCEED","txnId":"txn_1","redeemedAt":"2026-03-22T03:33:28.589Z","index":7}`
		refused = `{"state":"refused","verdict":"BLOCK","txnId":"txn_1","index":7}`
	)
	for name, c := range map[string]struct {
		status          int
		answer, outcome string
		code            int
		says            string
	}{
		"redeemed":                {200, taken, "", exitOK, "redeemed"},
		"refused":                 {200, refused, "", exitFailed, "not redeemed (refused, BLOCK): do not hand over"},
		"a state of a later one":  {200, `{"state":"parked"}`, "", exitFailed, "not redeemed (parked, ): do not hand over"},
		"used":                    {409, `{"code":"permit_used","message":"m"}`, "", exitFailed, "permit_used"},
		"an answer that was lost": {503, `{"code":"outcome_unknown","message":"m"}`, "unknown", exitAway, "not known: do not hand over, and ask again with --idempotency-key order-7"},
	} {
		t.Run(name, func(t *testing.T) {
			counter := newRedeemCounter(t)
			counter.status, counter.answer, counter.outcome = c.status, c.answer, c.outcome
			pay := filepath.Join(t.TempDir(), "pay.json")
			require.NoError(t, os.WriteFile(pay, []byte(testPaying), 0o600))
			out, code, err := run(t, "permit", "redeem", counter.permit, "--url", counter.url, "--key", "k", "--pay", pay, "--idempotency-key", "order-7")
			require.Equal(t, c.code, code, out)
			if err != nil {
				out += err.Error()
			}
			require.Contains(t, out, c.says)
			require.NotContains(t, out, redeemedPermit)
			require.Equal(t, `POST /v1/permits/redeem {"permit":"`+redeemedPermit+`","pay":`+testPaying+`}`, counter.body)
			require.Equal(t, []any{"order-7", 1}, []any{counter.key, counter.asked})
		})
	}
	counter := newRedeemCounter(t)
	counter.status, counter.answer = 200, taken
	_, code, err := run(t, "permit", "redeem", counter.permit, "--url", counter.url, "--key", "k")
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	require.Equal(t, `POST /v1/permits/redeem {"permit":"`+redeemedPermit+`"}`, counter.body)
	drawn := counter.key
	require.NotEmpty(t, drawn)
	_, _, err = run(t, "permit", "redeem", counter.permit, "--url", counter.url, "--key", "k")
	require.NoError(t, err)
	require.NotEqual(t, drawn, counter.key, "each run is a call of its own, or two tills would both be told redeemed")

	misspelt := filepath.Join(t.TempDir(), "pay.json")
	require.NoError(t, os.WriteFile(misspelt, []byte(`{"amount":"25","payee":"0x1","chian":"BASE"}`), 0o600))
	for name, args := range map[string][]string{"the permit is no argument": {redeemedPermit}, "a misspelt member": {counter.permit, "--pay", misspelt}, "no payment": {counter.permit, "--pay", misspelt + "x"}, "nothing": {}} {
		out, code, err := run(t, append([]string{"permit", "redeem", "--url", counter.url, "--key", "k"}, args...)...)
		require.Equal(t, exitUsage, code, name)
		require.NotContains(t, out+err.Error(), strings.Split(redeemedPermit, ".")[2], name)
	}
	require.Equal(t, 2, counter.asked, "nothing else was sent")
}

// TestConfirmAndRedeemByVerbs: a real cluster's payment is confirmed and redeemed, once.
func TestConfirmAndRedeemByVerbs(t *testing.T) {
	d := newAgentDesk(t)
	key, folder := d.node.newKey(t, `{"name":"shop","roles":["screener"]}`), t.TempDir()
	server := httptest.NewServer(d.node.api.Handler())
	defer server.Close()
	verb := func(args ...string) (string, int) {
		out, code, err := run(t, append(args, "--url", server.URL, "--key", key)...)
		if err != nil {
			out += err.Error()
		}
		return out, code
	}
	registered := d.node.must(t, 201, "POST", "/v1/agents/register", `{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays"}`)
	token := filepath.Join(folder, "agent.jwt")
	require.NoError(t, os.WriteFile(token, []byte(registered["token"].(string)), 0o600))
	code, paid := serveCall(d.node.api.Handler(), key, "POST", "/v1/screen", `{"token":"`+registered["token"].(string)+`","amount":25,"cpName":"Corner Shop","permit":{"ttlSeconds":300}}`)
	require.Equal(t, 200, code, paid)
	file, pay, other := filepath.Join(folder, "permit.jwt"), filepath.Join(folder, "pay.json"), filepath.Join(folder, "other.json")
	require.NoError(t, os.WriteFile(file, []byte(paid["permit"].(string)), 0o600))
	require.NoError(t, os.WriteFile(pay, []byte(`{"amount":"25","name":"Corner Shop"}`), 0o600))
	require.NoError(t, os.WriteFile(other, []byte(`{"amount":"2500","name":"Corner Shop"}`), 0o600))
	id := paid["txnId"].(string)

	out, exit := verb("payment", "confirm", id, "--token-file", token)
	require.Equal(t, exitOK, exit, out)
	require.Contains(t, out, "PROCEED")
	out, exit = verb("permit", "redeem", file, "--pay", other)
	require.Equal(t, exitFailed, exit, out)
	require.Contains(t, out, "permit_mismatch")
	for range 2 {
		out, exit = verb("permit", "redeem", file, "--pay", pay, "--idempotency-key", "order-7")
		require.Equal(t, exitOK, exit, out)
		require.Contains(t, out, "redeemed")
	}
	out, exit = verb("permit", "redeem", file, "--pay", pay)
	require.Equal(t, exitFailed, exit, out)
	require.Contains(t, out, "permit_used")
	out, exit = verb("payment", "confirm", id, "--redeem")
	require.Equal(t, exitFailed, exit, out)
	require.Contains(t, out, "permit_used")
}
