package tracing

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	"railguard/cluster/timing"
)

// The steps of a call, each a span of its own below that of the call.
const (
	stepBorder = "border" // From the first byte until the handler begins: key, rate, body, place.
	stepJudge  = "judge"  // The payment is judged and its record built.
	stepQueue  = "queue"  // The record waits for an entry.
	stepCommit = "commit" // The entry becomes durable on a quorum.
	stepApply  = "apply"  // The entry is applied and the caller woken.
	stepAnswer = "answer" // The answer is written.
)

// stepsMax bounds the spans of one call: a record may be judged and proposed again.
const stepsMax = 24

// step is one part of a call.
type step struct {
	name       string
	began, end time.Time
	attempts   int // How often the record was proposed in this step; 0: not said.
}

// Walk is the way of one sampled call. A nil Walk takes every note and keeps none.
type Walk struct {
	tracer *Tracer
	trace  string
	span   string
	parent string // "": the call has no parent.
	began  time.Time
	last   time.Time // Until when the steps reach.
	steps  []step
	code   string // Error code of the answer; "": none.

	log timing.Steps // Of the proposal in progress.
}

// Outcome is how a call ended.
type Outcome struct {
	Method string
	Route  string // The pattern, never the path; "": no route.
	Status int
	Ended  time.Time
}

// SpanID returns the id of the call's span in hexadecimal digits.
func (w *Walk) SpanID() string { return w.span }

// Log returns where the proposal of the call writes its moments; nil: nobody wants them.
func (w *Walk) Log() *timing.Steps {
	if w == nil {
		return nil
	}
	w.log = timing.Steps{}
	return &w.log
}

// Reach ends the step that began where the last one ended.
func (w *Walk) reach(name string, at time.Time, attempts int) {
	if at.Before(w.last) || len(w.steps) == stepsMax {
		return
	}
	w.steps = append(w.steps, step{name: name, began: w.last, end: at, attempts: attempts})
	w.last = at
}

// Enter notes that the handler begins.
func (w *Walk) Enter() {
	if w != nil {
		w.reach(stepBorder, time.Now(), 0)
	}
}

// Judged notes that the record is built and will be proposed.
func (w *Walk) Judged() {
	if w != nil {
		w.reach(stepJudge, time.Now(), 0)
	}
}

// Logged notes that the proposal has its outcome.
func (w *Walk) Logged() {
	if w == nil {
		return
	}
	if !w.log.Taken.IsZero() {
		w.reach(stepQueue, w.log.Taken, 0)
	}
	if !w.log.Committed.IsZero() {
		w.reach(stepCommit, w.log.Committed, w.log.Attempts)
		w.reach(stepApply, time.Now(), 0)
		return
	}
	w.reach(stepCommit, time.Now(), w.log.Attempts) // The leader's reply told what the log holds.
}

// End hands the walk over to be sent. It never waits.
func (w *Walk) End(out Outcome) {
	if w == nil {
		return
	}
	w.reach(stepAnswer, out.Ended, 0)
	select {
	case w.tracer.queue <- finished{w, out}:
	default:
		callsDropped.Inc()
	}
}

// Fail notes the error code of the answer.
func (w *Walk) Fail(code string) {
	if w != nil {
		w.code = code
	}
}

// Parent is what a traceparent header says (W3C Trace Context, version 00).
type Parent struct {
	Trace   string // 32 hexadecimal digits.
	Span    string // 16 hexadecimal digits.
	Sampled bool
}

// ReadParent reads a traceparent header; false: it is none, or of another version.
func ReadParent(header string) (p Parent, ok bool) {
	const length = 55 // 00-<trace>-<span>-<flags>
	if len(header) != length || header[:3] != "00-" || header[35] != '-' || header[52] != '-' {
		return p, false
	}
	p.Trace, p.Span = header[3:35], header[36:52]
	flags := header[53:]
	if !isID(p.Trace) || !isID(p.Span) || strings.Trim(flags, hexDigits) != "" {
		return Parent{}, false
	}
	p.Sampled = strings.IndexByte(hexDigits, flags[1])&1 == 1
	return p, true
}

const hexDigits = "0123456789abcdef"

// isID reports whether a text has hexadecimal digits alone, and not all of them are zero.
func isID(text string) bool {
	return strings.Trim(text, hexDigits) == "" && strings.Trim(text, "0") != ""
}

// makeID returns a random id of so many bytes.
func makeID(bytes int) string {
	id := make([]byte, bytes)
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
	id[0] |= 1 // All zeros are no id.
	return hex.EncodeToString(id)
}
