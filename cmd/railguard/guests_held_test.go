package main

import (
	"bytes"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/contract"
)

var guestDocument = sync.OnceValues(contract.Load)

// heldGuest checks every exchange of a guest with its callers against openapi.yaml.
func heldGuest(t testing.TB, next http.Handler) http.Handler {
	document, err := guestDocument()
	require.NoError(t, err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		if !slices.ContainsFunc(document.Operations, func(o *contract.Operation) bool { return o.Guest != "" && o.Path == path }) {
			next.ServeHTTP(w, r)
			return
		}
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("a request's body: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if err := document.Check(&contract.Exchange{
			Method: r.Method, Path: path, Query: r.URL.RawQuery, Sent: sent, Status: answer.Code, Header: answer.Header(), Body: answer.Body.Bytes(),
		}); err != nil {
			t.Errorf("not as openapi.yaml says: %v", err)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// requireAllSeen requires, at the end of a guest's test, that every described answer of its
// operations occurred.
func requireAllSeen(t *testing.T, guest string) {
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	document, err := guestDocument()
	require.NoError(t, err)
	require.Empty(t, document.Unseen(guest), "openapi.yaml declares what no test of this guest has seen")
}
