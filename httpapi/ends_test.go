package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// TestEveryEndIsMapped: a read that ends with its deadline, its connection or its node
// gives a 503 that says that nothing happened. Only an error of our own gives something
// else.
func TestEveryEndIsMapped(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	for _, c := range []struct {
		err  error
		code string
	}{
		{fmt.Errorf("stopped applying: %w", wire.ErrShuttingDown), "shutting_down"},
		{fmt.Errorf("%w: link down", wire.ErrNoLeader), "no_leader"},
		{context.DeadlineExceeded, ""},
		{context.Canceled, ""},
		{fmt.Errorf("append: %w", audit.ErrBroken), "shutting_down"},
		{audit.ErrClosed, ""},
		{audit.ErrMissing, "overloaded"},
		{fmt.Errorf("profile 7: %w", audit.ErrCorrupt), "overloaded"},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			n.leafError = c.err
			if !errors.Is(c.err, audit.ErrMissing) && !errors.Is(c.err, audit.ErrCorrupt) { // The leader's answer ends in no error of a leaf.
				n.readError = c.err
			}
			defer func() { n.readError, n.leafError = nil, nil }()
			for _, path := range []string{"/v1/audit/" + txn, "/v1/audit/" + txn + "?consistency=leader"} {
				w := n.do("auditor", "GET", path, "")
				require.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s", path, w.Body)
				require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
				require.Equal(t, "1", w.Header().Get("Retry-After"))
				if c.code != "" {
					require.Equal(t, c.code, member(t, w.Body.Bytes(), "code"))
				}
			}
		})
	}
}

// TestStandingDispositionOrUnknown: a 409 of a review shows the existing disposition. If it
// cannot be read in time, the answer is a 503 of unknown outcome: it may be this caller's
// own.
func TestStandingDispositionOrUnknown(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	path, body := "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`
	require.Equal(t, 200, n.do("reviewer", "POST", path, body).Code)

	n.before = func(wire.Kind) { n.leafError = context.DeadlineExceeded }
	w := n.do("reviewer", "POST", path, body)
	n.before, n.leafError = nil, nil
	require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body)
	require.Equal(t, "unknown", w.Header().Get(border.HeaderOutcome))
	require.Equal(t, "outcome_unknown", member(t, w.Body.Bytes(), "code"))

	w = n.do("reviewer", "POST", path, body)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "REJECTED", member(t, w.Body.Bytes(), "disposition"))
	require.Equal(t, "Carla", member(t, w.Body.Bytes(), "reviewedBy"))
}

// A node gets history that its disk corrupted from a peer again. Until then every route
// that reads history tells the caller to retry. It gives neither an internal error nor a
// page with gaps.
func TestRottenHistoryIsNotNow(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	require.Equal(t, http.StatusOK, n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", "").Code)
	for name, length := range n.disk.Files() {
		for at := int64(40); at < length && strings.HasPrefix(name, "tail/"); at += 8 {
			require.NoError(t, n.disk.FlipBit(name, 8*at))
		}
	}
	_, err := n.store.Leaf(n.store.Size() - 1)
	require.ErrorIs(t, err, audit.ErrCorrupt)
	api := n.another(nil) // This API has cached no leaf yet.
	for _, c := range []struct{ role, method, path, accept string }{
		{"auditor", "GET", "/v1/audit/" + txn, ""},
		{"auditor", "GET", "/v1/audit/" + txn + "?consistency=local", ""},
		{"auditor", "GET", "/v1/audit/" + txn + "/proof", ""},
		{"auditor", "GET", "/v1/audit/" + txn + "/proof", "text/x.tlog-proof"},
		{"auditor", "GET", "/v1/audit/" + txn + "/explain", ""},
		{"auditor", "POST", "/v1/audit/" + txn + "/replay", ""},
		{"auditor", "GET", "/v1/audit", ""},
		{"auditor", "GET", "/v1/audit?order=asc", ""},
		{"auditor", "GET", "/v1/audit/export", ""},
		{"auditor", "GET", "/v1/audit/export?format=csv", ""},
		{"auditor", "GET", "/v1/activity", ""},
		{"auditor", "GET", "/log/tile/entries/000.p/1", ""},
		{"admin", "GET", "/v1/events?types=screen.proceed", ""},
		{"admin", "GET", "/v1/events?types=screen.proceed", "text/event-stream"},
	} {
		t.Run(c.method+" "+c.path+" "+c.accept, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			r.Header.Set("Authorization", "Bearer "+testSecret(c.role))
			if c.accept != "" {
				r.Header.Set("Accept", c.accept)
			}
			w := httptest.NewRecorder()
			api.Handler().ServeHTTP(w, r)
			require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body)
			require.Equal(t, "overloaded", member(t, w.Body.Bytes(), "code"))
			require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
			require.Equal(t, "1", w.Header().Get("Retry-After"))
		})
	}
}
