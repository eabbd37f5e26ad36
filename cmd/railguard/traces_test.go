package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spanSeen is what the test reads of a span.
type spanSeen struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
}

// TestTracesOfACluster: three nodes send the walk of a sampled call to a collector. A payment's steps reach
// from its first byte to its answer at the leader and at a follower, and nothing of the payment is in them.
func TestTracesOfACluster(t *testing.T) {
	bodies := make(chan []byte, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer collector.Close()
	p := newPark(t, 3)
	p.extra = []string{"--trace-to", collector.URL}
	p.form()
	_, token := p.agent(p.machines[0], "traced")
	for i, m := range p.machines {
		trace := fmt.Sprintf("%032x", 0xabc0+i)
		body := fmt.Sprintf(`{"token":%q,"amount":1.25,"counterpartyName":"Somebody Private","memo":"for nobody else"}`, token)
		r, err := http.NewRequest(http.MethodPost, p.url(m)+"/v1/screen", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+parkKey)
		r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		answer, err := p.client.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, 200, answer.StatusCode, string(text))
		var verdict struct{ TxnID string }
		require.NoError(t, json.Unmarshal(text, &verdict))
		require.NotEqual(t, 200, p.unsampled(m, body, trace), "a body that is not read")
		said := string(<-bodies)
		for _, private := range []string{"Somebody", "nobody else", "1.25", token, parkKey, verdict.TxnID, "127.0.0.1"} {
			require.NotContains(t, said, private)
		}
		spans := spansIn(t, said)
		call := spans[0]
		require.Equal(t, []string{trace, "00f067aa0ba902b7", "POST /v1/screen"}, []string{call.TraceID, call.ParentSpanID, call.Name})
		require.Equal(t, "00-"+trace+"-"+call.SpanID+"-01", answer.Header.Get("Traceresponse"))
		names, last := []string{}, call.StartTimeUnixNano
		for _, step := range spans[1:] {
			require.Equal(t, []string{trace, call.SpanID, last}, []string{step.TraceID, step.ParentSpanID, step.StartTimeUnixNano})
			names, last = append(names, step.Name), step.EndTimeUnixNano
		}
		require.Equal(t, call.EndTimeUnixNano, last)
		require.Subset(t, names, []string{"border", "judge", "queue", "commit", "answer"})
		require.Equal(t, "answer", names[len(names)-1])
	}
}

// unsampled makes a call whose caller does not want its trace.
func (p *park) unsampled(m *machine, body, trace string) int {
	r, err := http.NewRequest(http.MethodPost, p.url(m)+"/v1/screen", strings.NewReader(body[1:]))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+parkKey)
	r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-00")
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	require.NoError(p.t, answer.Body.Close())
	return answer.StatusCode
}

// spansIn returns the spans of one export, that of the call first.
func spansIn(t *testing.T, body string) []spanSeen {
	var read struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []spanSeen }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &read), body)
	require.Len(t, read.ResourceSpans, 1)
	spans := read.ResourceSpans[0].ScopeSpans[0].Spans
	require.NotEmpty(t, spans)
	return spans
}

// TestTraceSettings: wrong settings end the program with what is wrong, and before it listens.
func TestTraceSettings(t *testing.T) {
	for _, f := range []traceFlags{{collector: "collector"}, {share: 0.1}, {collector: "http://x", share: 2}, {collector: "http://x", headerFile: "/does/not/exist"}} {
		require.ErrorContains(t, f.check(), "--trace-", f)
	}
	var none traceFlags
	require.NoError(t, none.check())
}
