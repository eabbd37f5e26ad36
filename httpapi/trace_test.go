package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
)

func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	require.Equal(t, id, border.TraceID("00-"+id+"-00f067aa0ba902b7-01"))
	for _, header := range []string{
		"", id, "01-" + id + "-00f067aa0ba902b7-01", "00-" + id + "-00f067aa0ba902b7-01-x", "00-" + id + "_00f067aa0ba902b7-01",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
	} {
		require.Empty(t, border.TraceID(header), header)
	}
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
