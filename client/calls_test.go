package client

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sent is a call as the service received it.
type sent struct {
	call, body, key, contentType, authorization string
}

// service answers every call with the same body, and records the calls.
type service struct {
	status int
	answer string
	got    []sent
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.got = append(s.got, sent{
		r.Method + " " + r.URL.RequestURI(), string(body), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), r.Header.Get("Authorization"),
	})
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.answer)
}

func newPair(t *testing.T) (*Client, *service) {
	t.Helper()
	s := &service{status: http.StatusOK}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := New(Options{Addresses: []string{server.URL + "/"}, Key: "rg_live_1", Attempts: 3, Wait: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func dollars(t *testing.T, text string) USD {
	t.Helper()
	var amount USD
	if err := json.Unmarshal([]byte(text), &amount); err != nil {
		t.Fatal(err)
	}
	return amount
}

// call is one method of the client, with the request it must send and the result it must return
// for an answer.
type call struct {
	make   func(ctx context.Context, c *Client) (any, error)
	sends  string // Method and path with query.
	body   string // "": none.
	key    string // Idempotency-Key; "": a POST has one that the client drew; "none": it changes nothing and has none.
	answer string
	want   any
}

func allCalls(t *testing.T) map[string]call {
	ten := dollars(t, "10.5")
	const status = `{"agentId":"a/1","previousStatus":"ACTIVE","credentialStatus":"REVOKED","changedAt":"t","eventId":"evt_1"}`
	changed := &StatusChange{AgentID: "a/1", PreviousStatus: "ACTIVE", CredentialStatus: "REVOKED", ChangedAt: "t", EventID: "evt_1"}
	const ended = `{"txnId":"txn_1","state":"settled","amount":10.5,"countedUSDC":10.5,"late":true,"unpermitted":true,"eventId":"evt_1","time":"t"}`
	transaction := &Transaction{TxnID: "txn_1", State: "settled", Amount: ten, CountedUSDC: ten, Late: true, Unpermitted: true, EventID: "evt_1", Time: "t"}
	all := registryCalls()
	maps.Copy(all, permitCalls(t))
	maps.Copy(all, caseworkCalls())
	for name, c := range map[string]call{
		"Screen": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Screen(ctx, &Payment{Token: "t", Amount: ten, Wallet: "0x1", PaymentRef: "inv-7", Hold: &HoldRequest{TTLSeconds: 60}, IdempotencyKey: "order-1"})
			},
			"POST /v1/screen", `{"token":"t","amount":10.5,"cpWallet":"0x1","paymentRef":"inv-7","hold":{"ttlSeconds":60}}`, "order-1",
			`{"verdict":"BLOCK","txnId":"txn_1","rule":"R5","reason":"r","index":7}`, &Verdict{Verdict: VerdictBlock, TxnID: "txn_1", Rule: "R5", Reason: "r", Index: 7},
		},
		"DryRun": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.DryRun(ctx, &Payment{Token: "t", Amount: ten})
			},
			"POST /v1/screen/dry-run", `{"token":"t","amount":10.5}`, "",
			`{"verdict":"PROCEED","triggered":["R10"],"ladder":[]}`, &DryRun{Verdict: Verdict{Verdict: VerdictProceed, Triggered: []string{"R10"}}, Ladder: json.RawMessage("[]")},
		},
		"Settle": {
			func(ctx context.Context, c *Client) (any, error) { return c.Settle(ctx, "txn/1", &ten, "0xabc") },
			"POST /v1/transactions/txn%2F1/settle", `{"amount":10.5,"railRef":"0xabc"}`, "", ended, transaction,
		},
		"Release": {
			func(ctx context.Context, c *Client) (any, error) { return c.Release(ctx, "txn_1", "not sent") },
			"POST /v1/transactions/txn_1/release", `{"reason":"not sent"}`, "", ended, transaction,
		},
		"Review": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Review(ctx, "txn_1", DispositionApproved, "Ann", "known")
			},
			"POST /v1/reviews/txn_1", `{"disposition":"APPROVED","reviewedBy":"Ann","notes":"known"}`, "",
			`{"txnId":"txn_1","disposition":"APPROVED","reviewedBy":"Ann"}`, &Record{Verdict: Verdict{TxnID: "txn_1"}, Disposition: "APPROVED", ReviewedBy: "Ann"},
		},
		"Audit": {
			func(ctx context.Context, c *Client) (any, error) { return c.Audit(ctx, "txn_1?x=y") },
			"GET /v1/audit/txn_1%3Fx=y", "", "", `{"verdict":"REVIEW","txnId":"txn_1","leafHash":"h"}`, &Record{Verdict: Verdict{Verdict: VerdictReview, TxnID: "txn_1"}, Basis: Basis{LeafHash: "h"}},
		},
		"Suspend": {
			func(ctx context.Context, c *Client) (any, error) { return c.Suspend(ctx, "a/1", "lost") },
			"POST /v1/agents/a%2F1/suspend", `{"reason":"lost"}`, "", status, changed,
		},
		"Reinstate": {
			func(ctx context.Context, c *Client) (any, error) { return c.Reinstate(ctx, "a/1", "found") },
			"POST /v1/agents/a%2F1/reinstate", `{"reason":"found"}`, "", status, changed,
		},
		"Revoke": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Revoke(ctx, "a/1", "stolen", "KEY_COMPROMISE")
			},
			"POST /v1/agents/a%2F1/revoke", `{"reason":"stolen","reasonCode":"KEY_COMPROMISE"}`, "", status, changed,
		},
	} {
		all[name] = c
	}
	return all
}

// permitCalls take the leave of a recorded payment.
func permitCalls(t *testing.T) map[string]call {
	ten := dollars(t, "10.5")
	return map[string]call{
		"Confirm": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Confirm(ctx, "txn/1", &Confirm{Permit: &PermitAsked{TTLSeconds: 60}, Token: "t", Redeem: true, IdempotencyKey: "c-1"})
			},
			"POST /v1/transactions/txn%2F1/confirm", `{"permit":{"ttlSeconds":60},"token":"t","redeem":true}`, "c-1",
			`{"verdict":"PROCEED","txnId":"txn_1","rule":null,"permit":"p","payment":{"state":"redeemed","amount":10.5},"approval":{"state":"redeemed","until":"t"},"index":7}`,
			&Confirmation{Verdict: VerdictProceed, TxnID: "txn_1", Permit: "p", Payment: &Waiting{State: "redeemed", Amount: ten}, Approval: &Approval{State: "redeemed", Until: "t"}, Index: 7},
		},
		"RedeemPermit": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.RedeemPermit(ctx, &Redeem{Permit: "p", Pay: &Paying{Amount: ten, Name: "Ann", Identifiers: []Identifier{{Type: "bic", Value: "COBADEFF"}}, Ref: "inv-7"}})
			},
			"POST /v1/permits/redeem", `{"permit":"p","pay":{"amount":10.5,"name":"Ann","identifiers":[{"type":"bic","value":"COBADEFF"}],"ref":"inv-7"}}`, "",
			`{"state":"redeemed","verdict":"PROCEED","txnId":"txn_1","redeemedAt":"t","index":7}`,
			&Redemption{State: "redeemed", Verdict: VerdictProceed, TxnID: "txn_1", RedeemedAt: "t", Index: 7},
		},
	}
}

// Only what says so gives leave.
func TestLeave(t *testing.T) {
	for _, verdict := range []string{VerdictReview, VerdictBlock, VerdictUnknown, ""} {
		if (&Confirmation{Verdict: verdict}).Proceed() {
			t.Errorf("%q is a leave", verdict)
		}
	}
	for _, state := range []string{"refused", "held", ""} {
		if (&Redemption{State: state, Verdict: VerdictProceed}).Taken() {
			t.Errorf("%q was taken", state)
		}
	}
	if !(&Confirmation{Verdict: VerdictProceed}).Proceed() || !(&Redemption{State: "redeemed"}).Taken() {
		t.Error("a leave is none")
	}
}

// registryCalls are the calls about agents, keys, nodes and events.
func registryCalls() map[string]call {
	const change = `{"webhookId":"whk_1","op":"create","secret":"whsec_1","webhook":{"webhookId":"whk_1","url":"https://x.example","state":"on"}}`
	changed := &WebhookChange{WebhookID: "whk_1", Op: "create", Secret: "whsec_1", Webhook: &Webhook{WebhookID: "whk_1", URL: "https://x.example", State: "on"}}
	return map[string]call{
		"Register": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Register(ctx, &Agent{AgentName: "A", AgentType: "supervised", OperatorLegalName: "Acme", Purpose: "p", IdempotencyKey: "reg-1"})
			},
			"POST /v1/agents/register", `{"agentName":"A","agentType":"supervised","operatorLegalName":"Acme","purpose":"p"}`, "reg-1",
			`{"agentId":"agt_1","token":"t","credentialVersion":1}`, &Registration{AgentID: "agt_1", Token: "t", CredentialVersion: 1},
		},
		"Delegate": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Delegate(ctx, &Delegate{AgentName: "B", ParentAgentID: "agt_1", ExpiresAt: "2027-01-01T00:00:00Z", IdempotencyKey: "del-1"})
			},
			"POST /v1/delegates/create", `{"agentName":"B","parentAgentId":"agt_1","expiresAt":"2027-01-01T00:00:00Z"}`, "del-1",
			`{"agentId":"agt_2","parentAgentId":"agt_1","depth":1}`, &Registration{AgentID: "agt_2", ParentAgentID: "agt_1", Depth: 1},
		},
		"Attest": {
			func(ctx context.Context, c *Client) (any, error) { return c.Attest(ctx, "agt_1", "Ann", "seen") },
			"POST /v1/agents/agt_1/attest", `{"attestedBy":"Ann","note":"seen"}`, "",
			`{"agentId":"agt_1","attestedBy":"Ann","attestationId":"att_1","validUntil":"t"}`, &Attestation{AgentID: "agt_1", AttestedBy: "Ann", AttestationID: "att_1", ValidUntil: "t"},
		},
		"Limits": {
			func(ctx context.Context, c *Client) (any, error) { return c.Limits(ctx, "agt_1") },
			"GET /v1/agents/agt_1/limits", "", "", `{"agentId":"agt_1","date":"d","dailyLimitUSDC":null}`, &Limits{AgentID: "agt_1", Date: "d"},
		},
		"JWKS": {
			func(ctx context.Context, c *Client) (any, error) { return c.JWKS(ctx) },
			"GET /v1/.well-known/jwks.json", "", "", `{"keys":[]}`, nil,
		},
		"Health": {
			func(ctx context.Context, c *Client) (any, error) { return c.Health(ctx) },
			"GET /v1/health", "", "", `{"status":"ok","version":"1","node":"n1","role":"leader","leader":"n1"}`, &Health{Status: "ok", Version: "1", Node: "n1", Role: "leader", Leader: "n1"},
		},
		"Events": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Events(ctx, "cur+1", 1500*time.Millisecond, "hold.*", "agent.registered")
			},
			"GET /v1/events?after=cur%2B1&types=hold.%2A%2Cagent.registered&wait=1", "", "", `{"data":[],"nextCursor":"cur2"}`, &EventList{Data: []Event{}, Next: "cur2"},
		},
		"CreateWebhook": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.CreateWebhook(ctx, &Webhook{Name: "w", URL: "https://x.example", Types: []string{"hold.*"}, SARAllowed: true})
			},
			"POST /v1/webhooks", `{"name":"w","url":"https://x.example","types":["hold.*"],"sarAllowed":true}`, "", change, changed,
		},
		"Redeliver": {
			func(ctx context.Context, c *Client) (any, error) { return c.Redeliver(ctx, "whk/1", "evt_1") },
			"POST /v1/webhooks/whk%2F1/redeliver", `{"eventId":"evt_1"}`, "", change, changed,
		},
	}
}

// Every method sends the request of docs/API.md, and reads the answer.
func TestEveryCall(t *testing.T) {
	all := allCalls(t)
	methods := reflect.TypeFor[*Client]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if _, listed := all[name]; !listed && !strings.Contains("Call Batch Pay Resume Stream", name) { // Those have tests of their own.
			t.Errorf("%s is called by no test of this module", name)
		}
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			c, s := newPair(t)
			s.answer = want.answer
			got, err := want.make(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if want.want != nil && !reflect.DeepEqual(got, want.want) {
				t.Errorf("returned %+v, and should %+v", got, want.want)
			}
			requireSent(t, s, want)
			s.status, s.answer = http.StatusForbidden, `{"code":"forbidden","message":"no"}`
			_, err = want.make(t.Context(), c)
			var failure *Error
			if failure, _ = err.(*Error); failure == nil || failure.Code != "forbidden" || failure.Outcome != OutcomeNone || failure.Attempts != 1 {
				t.Errorf("a refusal is %v", err)
			}
		})
	}
}

func requireSent(t *testing.T, s *service, want call) {
	t.Helper()
	if len(s.got) != 1 {
		t.Fatalf("%d calls were made", len(s.got))
	}
	got := s.got[0]
	if got.call != want.sends || got.authorization != "Bearer rg_live_1" {
		t.Errorf("sent %q with %q, and should %q", got.call, got.authorization, want.sends)
	}
	if want.body != got.body {
		t.Errorf("sent the body %s, and should %s", got.body, want.body)
	}
	if (want.body != "") != (got.contentType == "application/json") {
		t.Errorf("sent the content type %q", got.contentType)
	}
	switch {
	case strings.HasPrefix(want.sends, "GET"), want.key == "none":
		if got.key != "" {
			t.Errorf("a read has the key %q", got.key)
		}
	case want.key != "" && got.key != want.key, !strings.HasPrefix(got.key, "rgc_") && want.key == "":
		t.Errorf("sent the key %q, and should %q", got.key, want.key)
	}
}

// Empty members are not sent.
func TestWhatIsLeftOut(t *testing.T) {
	c, s := newPair(t)
	s.answer = "{}"
	for want, make := range map[string]func() error{
		"POST /v1/transactions/t/settle {}":          func() error { _, err := c.Settle(t.Context(), "t", nil, ""); return err },
		`POST /v1/agents/a/revoke {"reason":"r"}`:    func() error { _, err := c.Revoke(t.Context(), "a", "r", ""); return err },
		`POST /v1/webhooks/w/redeliver {"all":true}`: func() error { _, err := c.Redeliver(t.Context(), "w", ""); return err },
		"GET /v1/events ":                            func() error { _, err := c.Events(t.Context(), "", 0); return err },
		"GET /v1/events?wait=1 ":                     func() error { _, err := c.Events(t.Context(), "", time.Second); return err },
		"POST /v1/transactions/t/confirm {}":         func() error { _, err := c.Confirm(t.Context(), "t", &Confirm{}); return err },
		`POST /v1/permits/redeem {"permit":"p"}`:     func() error { _, err := c.RedeemPermit(t.Context(), &Redeem{Permit: "p"}); return err },
		"GET /v1/events?after=latest ":               func() error { _, err := c.Events(t.Context(), "latest", time.Second-1); return err },
	} {
		s.got = nil
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if got := s.got[0].call + " " + s.got[0].body; got != want {
			t.Errorf("sent %s, and should %s", got, want)
		}
	}
}

// A batch sends payments again that the service could not take: without the others, and with
// their own keys.
func TestBatchSendsAgainWhatWasNotTaken(t *testing.T) {
	var bodies []string
	answers := []string{
		`{"results":[{"status":200,"verdict":"PROCEED","txnId":"txn_1"},{"status":503,"code":"no_leader","outcome":"none"},{"status":400,"code":"invalid_field","outcome":"none"}]}`,
		`{"results":[{"status":200,"verdict":"REVIEW","txnId":"txn_2","replayed":true}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		_, _ = io.WriteString(w, answers[min(len(bodies), len(answers))-1])
	}))
	defer server.Close()
	c, err := New(Options{Addresses: []string{server.URL}, Key: "k", Wait: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	payments := []Payment{{Token: "a", IdempotencyKey: "1"}, {Token: "b"}, {Token: "c", IdempotencyKey: "3"}}
	results, err := c.Batch(t.Context(), payments)
	if err != nil || len(results) != 3 || len(bodies) != 2 {
		t.Fatal(results, err, bodies)
	}
	if drawn := payments[1].IdempotencyKey; drawn == "" || bodies[1] != `{"payments":[{"token":"b","amount":0,"idempotencyKey":"`+drawn+`"}]}` {
		t.Errorf("sent again: %s", bodies[1])
	}
	if !results[0].Verdict.Proceed() || results[1].Verdict.TxnID != "txn_2" || !results[1].Replayed || results[2].Error.Code != "invalid_field" || results[2].Error.IdempotencyKey != "3" {
		t.Errorf("%+v", results)
	}
	answers = []string{`{"results":[]}`}
	bodies = nil
	if _, err := c.Batch(t.Context(), payments); err == nil || err.(*Error).Code != CodeBadAnswer {
		t.Errorf("too few results are %v", err)
	}
}
