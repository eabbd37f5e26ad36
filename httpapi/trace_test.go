package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The id of the caller's trace stands in the record.
func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	n := newTestNode(t)
	_, token := n.register("")
	r := httptest.NewRequest("POST", "/v1/screen", strings.NewReader(`{"token":"`+token+`","amount":1}`))
	r.Header.Set("Authorization", "Bearer "+testSecret("screener"))
	r.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	w := httptest.NewRecorder()
	n.api.Handler().ServeHTTP(w, r)
	require.Equal(t, 200, w.Code, w.Body)
	record := n.do("auditor", "GET", "/v1/audit/"+member(t, w.Body.Bytes(), "txnId"), "")
	require.Equal(t, id, member(t, record.Body.Bytes(), "traceId"))
}
