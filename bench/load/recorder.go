package load

import (
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	latencyMax     = 60 * time.Second
	recorderShards = 8
	windowSpan     = time.Second
	windowsMax     = 3600
	errorKindsMax  = 16
	answerLong     = time.Second // No call may wait longer for its answer, be it a verdict or a refusal.
)

func newHistogram(digits int) *hdr.Histogram { return hdr.New(1, latencyMax.Microseconds(), digits) }

func note(h *hdr.Histogram, took time.Duration) {
	_ = h.RecordValue(max(min(took, latencyMax).Microseconds(), 1)) // The value is within the range.
}

// window is what one second of a load was like.
type window struct {
	done, failed int64
	latency      *hdr.Histogram // Latencies of the calls that were done, in µs; nil: there were none.
	errors       map[string]int64
}

// countError counts one more, or several, of a failure. A few kinds are told apart.
func countError(errors map[string]int64, failure string, count int64) {
	if _, known := errors[failure]; !known && len(errors) >= errorKindsMax {
		failure = "other"
	}
	errors[failure] += count
}

// recorder gathers what callers saw. Its shards keep callers from waiting for
// each other.
type recorder struct {
	start  time.Time // End of the warm-up: calls due before are not recorded.
	shards [recorderShards]shard
}

type shard struct {
	mu       sync.Mutex
	latency  *hdr.Histogram
	served   *hdr.Histogram // As latency, but from the instant at which the call was sent.
	refused  *hdr.Histogram // Of the calls that were answered, and not with what was wanted.
	lag      *hdr.Histogram
	windows  []window
	errors   map[string]int64
	verdicts map[string]int64
	long     int64 // Answers of both kinds that took longer than answerLong.
	_        [64]byte
}

func newRecorder(start time.Time) *recorder {
	r := &recorder{start: start}
	for i := range r.shards {
		s := &r.shards[i]
		s.latency, s.served, s.refused, s.lag = newHistogram(3), newHistogram(3), newHistogram(3), newHistogram(3)
		r.shards[i].errors, r.shards[i].verdicts = map[string]int64{}, map[string]int64{}
	}
	return r
}

// event is one call.
type event struct {
	due, sent, done time.Time
	failure         string // "" for a success.
	silent          bool   // There was no answer.
	verdict         string
}

func (r *recorder) record(caller int, e event) {
	if e.due.Before(r.start) {
		return
	}
	at := int(e.done.Sub(r.start) / windowSpan)
	if at >= windowsMax {
		return
	}
	s := &r.shards[caller%recorderShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.windows) <= at {
		s.windows = append(s.windows, window{})
	}
	w := &s.windows[at]
	note(s.lag, e.sent.Sub(e.due))
	took := e.done.Sub(e.due)
	if took > answerLong && !e.silent {
		s.long++
	}
	if e.failure != "" {
		w.failed++
		if w.errors == nil {
			w.errors = map[string]int64{}
		}
		countError(w.errors, e.failure, 1)
		countError(s.errors, e.failure, 1)
		if !e.silent {
			note(s.refused, took)
		}
		return
	}
	if w.latency == nil {
		w.latency = newHistogram(2)
	}
	w.done++
	note(w.latency, took)
	note(s.latency, took)
	note(s.served, e.done.Sub(e.sent))
	s.verdicts[e.verdict]++
}

// outcome is the result of a load.
type outcome struct {
	name          string
	start         time.Time
	span          time.Duration
	done, failed  int64
	latency, lag  *hdr.Histogram
	served        *hdr.Histogram // Of the calls that were done, from the instant at which each was sent.
	refused       *hdr.Histogram // Of those that were answered otherwise.
	long          int64          // Answers that took longer than answerLong.
	full          int64          // Calls of an open loop that waited because each connection had a call under way.
	windows       []window
	cores         []float64 // Processors in use on the loader's machine, by second; empty: nobody looked, or the system does not tell it.
	errors        map[string]int64
	verdicts      map[string]int64
	rate, callers int // The rate and the callers that were asked for; rate 0: a closed loop.
}

// sum puts the shards together.
func (r *recorder) sum(end time.Time) *outcome {
	o := &outcome{
		start: r.start, span: end.Sub(r.start), latency: newHistogram(3), lag: newHistogram(3), served: newHistogram(3), refused: newHistogram(3),
		errors: map[string]int64{}, verdicts: map[string]int64{},
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		o.latency.Merge(s.latency)
		o.lag.Merge(s.lag)
		o.served.Merge(s.served)
		o.refused.Merge(s.refused)
		o.long += s.long
		for len(o.windows) < len(s.windows) {
			o.windows = append(o.windows, window{})
		}
		for at, w := range s.windows {
			o.windows[at].join(w)
		}
		for name, count := range s.errors {
			countError(o.errors, name, count)
		}
		for name, count := range s.verdicts {
			o.verdicts[name] += count
		}
		s.mu.Unlock()
	}
	for _, w := range o.windows {
		o.done += w.done
		o.failed += w.failed
	}
	return o
}

func (w *window) join(other window) {
	w.done += other.done
	w.failed += other.failed
	if w.errors == nil && len(other.errors) > 0 {
		w.errors = map[string]int64{}
	}
	for name, count := range other.errors {
		countError(w.errors, name, count)
	}
	if other.latency == nil {
		return
	}
	if w.latency == nil {
		w.latency = newHistogram(2)
	}
	w.latency.Merge(other.latency)
}

// perSecond is how many calls were done in a second, over the whole load.
func (o *outcome) perSecond() float64 { return float64(o.done) / o.span.Seconds() }

// quantile returns a quantile of the latencies, in milliseconds.
func (o *outcome) quantile(q float64) float64 { return inMillis(o.latency, q) }

// inMillis returns a quantile of a histogram, in milliseconds.
func inMillis(h *hdr.Histogram, q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }

func (o *outcome) worst() float64 { return float64(o.latency.Max()) / 1000 }

// whole returns the windows that lie wholly within the load.
func (o *outcome) whole() []window {
	return o.windows[:min(len(o.windows), int(o.span/windowSpan))]
}

// rates returns how many calls were done in each whole second.
func (o *outcome) rates() []float64 {
	var all []float64
	for _, w := range o.whole() {
		all = append(all, float64(w.done)/windowSpan.Seconds())
	}
	return all
}

// quantiles returns a quantile of each whole second, in milliseconds.
func (o *outcome) quantiles(q float64) []float64 {
	var all []float64
	for _, w := range o.whole() {
		if w.latency != nil {
			all = append(all, float64(w.latency.ValueAtQuantile(q))/1000)
		}
	}
	return all
}
