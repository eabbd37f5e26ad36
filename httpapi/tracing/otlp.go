package tracing

import (
	"encoding/json"
	"strconv"
	"time"
)

// The members of ExportTraceServiceRequest that are filled here (OTLP 1.3, JSON encoding: ids in hexadecimal
// digits, 64-bit numbers as text, enumerations as numbers).
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string `json:"stringValue,omitempty"`
		Number string  `json:"intValue,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
)

const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
)

func said(key, text string) attribute { return attribute{key, value{Text: &text}} }

func counted(key string, n int) attribute {
	return attribute{key, value{Number: strconv.Itoa(n)}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// finished is a walk with its end.
type finished struct {
	walk *Walk
	out  Outcome
}

// spans returns the span of a call and, below it, those of its steps.
func (f *finished) spans() []span {
	w := f.walk
	call := span{
		TraceID: w.trace, SpanID: w.span, ParentID: w.parent, Name: f.out.Method, Kind: kindServer, Start: nanos(w.began), End: nanos(f.out.Ended),
		Attributes: []attribute{said("http.request.method", f.out.Method), counted("http.response.status_code", f.out.Status)},
	}
	if f.out.Route != "" {
		call.Name += " " + f.out.Route
		call.Attributes = append(call.Attributes, said("http.route", f.out.Route))
	}
	if w.code != "" {
		call.Attributes = append(call.Attributes, said("error.type", w.code))
	}
	if f.out.Status >= 500 {
		call.Status = &status{statusError}
	}
	all := []span{call}
	for _, s := range w.steps {
		below := span{TraceID: call.TraceID, SpanID: makeID(8), ParentID: call.SpanID, Name: s.name, Kind: kindInternal, Start: nanos(s.began), End: nanos(s.end)}
		if s.attempts > 0 {
			below.Attributes = []attribute{counted("railguard.attempts", s.attempts)}
		}
		all = append(all, below)
	}
	return all
}

// encode makes the body of one export.
func (t *Tracer) encode(batch []finished) ([]byte, error) {
	var spans []span
	for i := range batch {
		spans = append(spans, batch[i].spans()...)
	}
	return json.Marshal(request{[]resourceSpans{{
		Resource:   resource{[]attribute{said("service.name", "railguard"), said("service.version", t.config.Version), said("service.instance.id", t.config.Node)}},
		ScopeSpans: []scopeSpans{{scope{"railguard", t.config.Version}, spans}},
	}}})
}
