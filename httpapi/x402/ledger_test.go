package x402

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

	"railguard/httpapi/guest"
)

// fakeLedger answers as the API does, as far as the facilitator asks: it keeps holds,
// payment references and idempotency keys.
type fakeLedger struct {
	mutex    sync.Mutex
	now      time.Time
	verdicts []string                  // Verdicts of the next screenings, in order; then PROCEED.
	review   string                    // What the API says of a review that a payment has already; "": it has none.
	override map[string]fakeAnswer     // Answers that replace the ledger's own, by the start of "METHOD path".
	before   func(call *http.Request)  // Runs before each call.
	screened []map[string]any          // Bodies of the screened calls.
	records  map[string]map[string]any // Records by txnId.
	users    map[string]string         // txnId by payment reference.
	answered map[string]fakeReplay     // Answers by idempotency key.
	calls    []string                  // "METHOD path" of every call.
	headers  []http.Header
}

type fakeAnswer struct {
	status int
	body   string
}

type fakeReplay struct{ body, txnID string }

func newLedger() *fakeLedger {
	return &fakeLedger{
		now: time.Date(2026, 3, 22, 3, 33, 28, 0, time.UTC), override: map[string]fakeAnswer{}, records: map[string]map[string]any{},
		users: map[string]string{}, answered: map[string]fakeReplay{},
	}
}

func (l *fakeLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.before != nil {
		l.before(r)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	call := r.Method + " " + r.URL.Path
	l.calls, l.headers = append(l.calls, call), append(l.headers, r.Header)
	for start, answer := range l.override {
		if strings.HasPrefix(call, start) {
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
			return
		}
	}
	body, _ := io.ReadAll(r.Body)
	status, answer := l.answerCall(w, r, body)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (l *fakeLedger) answerCall(w http.ResponseWriter, r *http.Request, body []byte) (int, any) {
	missing := map[string]any{"code": "not_found", "message": "no such transaction"}
	switch parts := strings.Split(r.URL.Path, "/"); {
	case r.URL.Path == "/v1/key":
		return 200, map[string]any{"keyId": l.keyOf(r), "roles": []string{"screener"}}
	case r.URL.Path == "/v1/screen":
		return l.screenPayment(w, r, string(body))
	case r.URL.Path == "/v1/transactions":
		if id, used := l.users[r.URL.Query().Get("paymentRef")]; used {
			return 200, l.records[id]
		}
		return 404, missing
	case len(parts) == 4 && parts[2] == "audit" && l.records[parts[3]] != nil:
		return 200, l.records[parts[3]]
	case len(parts) == 5 && parts[2] == "transactions" && l.records[parts[3]] != nil:
		var said map[string]any
		_ = json.Unmarshal(body, &said)
		if said["state"] = parts[4] + "d"; said["state"] == "settled" && guest.ByFacilitator(r.Context()) {
			said["forwarded"] = true
		}
		l.records[parts[3]]["payment"] = said
		if parts[4] == "release" {
			l.freeReference(parts[3])
		}
		return 200, l.records[parts[3]]
	}
	return 404, missing
}

// keyOf names the key that calls.
func (l *fakeLedger) keyOf(r *http.Request) string { return "key of " + r.Header.Get("Authorization") }

func (l *fakeLedger) screenPayment(w http.ResponseWriter, r *http.Request, body string) (int, any) {
	key := r.Header.Get("Idempotency-Key")
	if before, known := l.answered[key]; known && key != "" {
		if before.body != body {
			return 422, map[string]any{"code": "idempotency_conflict", "message": "another body came with this key"}
		}
		w.Header().Set("Idempotent-Replayed", "true")
		first := map[string]any{}
		for _, name := range []string{"verdict", "txnId", "rule", "reason", "index", "hold"} {
			first[name] = l.records[before.txnID][name]
		}
		return 200, first
	}
	var call map[string]any
	if json.Unmarshal([]byte(body), &call) != nil {
		return 400, map[string]any{"code": "invalid_json"}
	}
	l.screened = append(l.screened, call)
	id := fmt.Sprintf("txn_%d", len(l.records)+1)
	record := map[string]any{"verdict": "PROCEED", "txnId": id, "rule": nil, "reason": "all rules passed", "index": len(l.records) + 100, "screenedAt": l.now,
		"keyId": l.keyOf(r), "requestId": r.Header.Get("X-Request-Id")}
	reference, _ := call["paymentRef"].(string)
	switch {
	case len(l.verdicts) > 0:
		record["verdict"] = l.verdicts[0]
		l.verdicts = l.verdicts[1:]
	case reference != "" && l.users[reference] != "":
		record["verdict"] = "REVIEW"
	}
	if record["verdict"] != "PROCEED" {
		record["rule"], record["reason"] = "R12", "the reason of R12"
	} else if hold, held := call["hold"].(map[string]any); held {
		seconds, _ := hold["ttlSeconds"].(float64)
		record["hold"] = map[string]any{"state": "held", "expiresAt": l.now.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)}
	}
	if record["verdict"] == "REVIEW" && l.review != "" {
		w.Header().Set("X-Railguard-Review", l.review)
	}
	if reference != "" && l.users[reference] == "" {
		l.users[reference] = id
	}
	l.records[id] = record
	if key != "" {
		l.answered[key] = fakeReplay{body, id}
	}
	return 200, record
}

func (l *fakeLedger) freeReference(txnID string) {
	for reference, user := range l.users {
		if user == txnID {
			delete(l.users, reference)
		}
	}
}

// expire ends a hold as the passing of time does.
func (l *fakeLedger) expire(txnID string) {
	l.records[txnID]["payment"] = map[string]any{"state": "expired"}
	l.freeReference(txnID)
}

// leaveUnresolved ends the time of a hold that nobody ended.
func (l *fakeLedger) leaveUnresolved(txnID string) {
	l.records[txnID]["payment"] = map[string]any{"state": "unresolved"}
}

// ending returns the outcome of a transaction's payment; nil while its hold is open.
func (l *fakeLedger) ending(txnID string) map[string]any {
	said, _ := l.records[txnID]["payment"].(map[string]any)
	return said
}

// fakeChain is the facilitator behind.
type fakeChain struct {
	mutex  sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
	bodies []string // "path body" of each call.
}

func (c *fakeChain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mutex.Lock()
	c.bodies = append(c.bodies, r.URL.Path+" "+string(body))
	answer := c.answer
	c.mutex.Unlock()
	answer(w, r)
}

// says sets the answer of the facilitator behind to every call.
func (c *fakeChain) says(status int, body string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	network   = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	chainGood = `{"isValid":true,"success":true,"transaction":"5sig","network":"` + network + `"}`
)

// desk is a facilitator between a fake ledger and a fake chain.
type desk struct {
	*Facilitator
	ledger *fakeLedger
	chain  *fakeChain
}

func newDesk(t *testing.T) *desk {
	d := &desk{ledger: newLedger(), chain: &fakeChain{}}
	d.chain.says(200, chainGood)
	behind := httptest.NewServer(d.chain)
	t.Cleanup(behind.Close)
	var err error
	d.Facilitator, err = New(Config{API: d.ledger, Upstream: behind.URL + "/", Now: func() time.Time { return d.ledger.now }})
	require.NoError(t, err)
	d.insists = 60 * time.Millisecond
	return d
}

// send makes one call and returns the status and the members of the answer.
func (d *desk) send(t *testing.T, path, body string, headers ...string) (int, map[string]any) {
	r := httptest.NewRequest(http.MethodPost, Root+path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	return w.Code, answer
}

func (d *desk) verifies(t *testing.T) map[string]any {
	status, answer := d.send(t, "/verify", goodBody)
	require.Equal(t, 200, status)
	return answer
}

func (d *desk) settles(t *testing.T) map[string]any {
	status, answer := d.send(t, "/settle", goodBody)
	require.Equal(t, 200, status)
	return answer
}
