package tracing

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	someTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	someSpan  = "00f067aa0ba902b7"
	sampled   = "00-" + someTrace + "-" + someSpan + "-01"
)

func newTracer(t *testing.T, change func(*Config)) *Tracer {
	config := Config{Collector: "http://127.0.0.1:1/v1/traces", Node: "n1", Version: "1.2.3", Logger: slog.New(slog.DiscardHandler)}
	change(&config)
	tracer, err := New(config)
	require.NoError(t, err)
	return tracer
}

func TestReadParent(t *testing.T) {
	p, ok := ReadParent(sampled)
	require.True(t, ok)
	require.Equal(t, Parent{Trace: someTrace, Span: someSpan, Sampled: true}, p)
	for flags, want := range map[string]bool{"00": false, "01": true, "02": false, "03": true, "0a": false, "ff": true} {
		p, ok = ReadParent(sampled[:53] + flags)
		require.True(t, ok, flags)
		require.Equal(t, want, p.Sampled, flags)
	}
	for _, header := range []string{
		"", someTrace, "01" + sampled[2:], sampled + "-x", strings.Replace(sampled, "-0", "_0", 1), strings.ToUpper(sampled),
		"00-" + strings.Repeat("0", 32) + "-" + someSpan + "-01", "00-" + someTrace + "-" + strings.Repeat("0", 16) + "-01", sampled[:53] + "0g", sampled[:53] + "é",
	} {
		_, ok = ReadParent(header)
		require.False(t, ok, header)
	}
}

// A traceparent decides by its flag, and the share decides where there is none.
func TestWhatIsSampled(t *testing.T) {
	var none *Tracer
	require.Nil(t, none.Begin(sampled, time.Now()))
	for share, want := range map[float64]bool{0: false, 1: true} {
		tracer := newTracer(t, func(c *Config) { c.Share = share })
		require.NotNil(t, tracer.Begin(sampled, time.Now()))
		require.Nil(t, tracer.Begin(sampled[:53]+"00", time.Now()))
		for _, header := range []string{"", "junk"} {
			require.Equal(t, want, tracer.Begin(header, time.Now()) != nil)
		}
	}
	half, count := newTracer(t, func(c *Config) { c.Share = 0.5 }), 0
	for range 1000 {
		if w := half.Begin("", time.Now()); w != nil {
			count++
			require.True(t, isID(w.trace) && isID(w.span) && w.parent == "")
		}
	}
	require.InDelta(t, 500, count, 150)
}

// The spans of a call follow each other without a gap, below the span of the call. Their form was read with
// the published messages of OTLP (go.opentelemetry.io/proto/otlp v1.11.1) once; here its members are held.
func TestSpansOfACall(t *testing.T) {
	tracer := newTracer(t, func(*Config) {})
	began := time.Now().Add(-time.Second)
	w := tracer.Begin(sampled, began)
	w.Enter()
	w.Judged()
	log := w.Log()
	log.Taken, log.Committed, log.Attempts = time.Now(), time.Now().Add(time.Microsecond), 2
	time.Sleep(time.Millisecond)
	w.Logged()
	w.Fail("no_leader")
	end := time.Now()
	w.End(Outcome{Method: "POST", Route: "/v1/screen", Status: 503, Ended: end})
	body, err := tracer.encode([]finished{<-tracer.queue})
	require.NoError(t, err)
	var read request
	require.NoError(t, json.Unmarshal(body, &read))
	require.Len(t, read.ResourceSpans, 1)
	spans := read.ResourceSpans[0].ScopeSpans[0].Spans
	require.Contains(t, string(body), `{"key":"service.name","value":{"stringValue":"railguard"}},{"key":"service.version","value":{"stringValue":"1.2.3"}},{"key":"service.instance.id","value":{"stringValue":"n1"}}`)
	call := spans[0]
	require.Equal(t, "POST /v1/screen", call.Name)
	require.Equal(t, []string{someTrace, someSpan, nanos(began), nanos(end)}, []string{call.TraceID, call.ParentID, call.Start, call.End})
	require.Equal(t, &status{statusError}, call.Status)
	require.Contains(t, string(body), `{"key":"http.response.status_code","value":{"intValue":"503"}},{"key":"http.route","value":{"stringValue":"/v1/screen"}},{"key":"error.type","value":{"stringValue":"no_leader"}}`)
	last, names := call.Start, []string{}
	for _, step := range spans[1:] {
		require.Equal(t, []string{someTrace, call.SpanID, last}, []string{step.TraceID, step.ParentID, step.Start})
		require.GreaterOrEqual(t, step.End, step.Start)
		require.Equal(t, kindInternal, step.Kind)
		last, names = step.End, append(names, step.Name)
	}
	require.Equal(t, []string{"border", "judge", "queue", "commit", "apply", "answer"}, names)
	require.Equal(t, call.End, last)
	require.Contains(t, string(body), `{"key":"railguard.attempts","value":{"intValue":"2"}}`)
}

// A record that is judged again has its steps again, and no call has more than a bounded number.
func TestStepsAreBounded(t *testing.T) {
	tracer := newTracer(t, func(*Config) {})
	w := tracer.Begin(sampled, time.Now())
	for range 100 {
		w.Judged()
		w.Log().Taken = time.Now()
		w.Logged() // The leader's reply came first: nothing was applied here.
	}
	require.Len(t, w.steps, stepsMax)
	require.Equal(t, []string{"judge", "queue", "commit", "judge"}, []string{w.steps[0].name, w.steps[1].name, w.steps[2].name, w.steps[3].name})
	var none *Walk
	none.Enter()
	none.Judged()
	none.Logged()
	none.Fail("x")
	none.End(Outcome{})
	require.Nil(t, none.Log())
}

// A collector that does not answer, or refuses, costs no call any time, and its traces are counted.
func TestCollectorAway(t *testing.T) {
	var status atomic.Int64
	status.Store(500)
	bodies := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(int(status.Load()))
		bodies <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("X-Key") + " " + string(body)
	}))
	defer collector.Close()
	tracer := newTracer(t, func(c *Config) { c.Collector, c.Share, c.Header = collector.URL, 1, "X-Key: secret" })
	sent, dropped := callsSent.Get(), callsDropped.Get()
	call := func() { tracer.Begin("", time.Now()).End(Outcome{Method: "GET", Status: 200, Ended: time.Now()}) }
	for range queueMax + 10 { // Nobody sends yet.
		call()
	}
	require.EqualValues(t, 10, callsDropped.Get()-dropped)
	tracer.Start()
	for range queueMax / batchMax {
		require.Contains(t, <-bodies, "POST /v1/traces application/json secret {")
	}
	require.Eventually(t, func() bool { return callsDropped.Get()-dropped == queueMax+10 }, 5*time.Second, time.Millisecond)
	status.Store(200)
	call()
	tracer.Stop() // What is left is sent at the end.
	require.Contains(t, <-bodies, `"name":"GET"`)
	require.EqualValues(t, 1, callsSent.Get()-sent)
}

func TestSettings(t *testing.T) {
	for _, config := range []Config{
		{Collector: "collector:4318"}, {Collector: "ftp://x"}, {Collector: "http://"}, {Collector: "http://x", Share: 1.01}, {Collector: "http://x", Share: -1},
		{Collector: "http://x", Header: "no colon"}, {Collector: "http://x", Header: ": x"}, {Collector: "http://x", Header: "a: b\r\nc: d"},
	} {
		_, err := New(config)
		require.Error(t, err, config)
	}
	tracer, err := New(Config{Collector: "https://collector.example"})
	require.NoError(t, err)
	require.Equal(t, "https://collector.example/v1/traces", tracer.config.Collector)
}
