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
)

func newHistogram(digits int) *hdr.Histogram { return hdr.New(1, latencyMax.Microseconds(), digits) }

func note(h *hdr.Histogram, took time.Duration) {
	_ = h.RecordValue(max(min(took, latencyMax).Microseconds(), 1)) // The value is within the range.
}

// window is what one second of a load was like.
type window struct {
	done, failed int64
	latency      *hdr.Histogram // Latencies of the calls that were done, in µs; nil: there were none.
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
	lag      *hdr.Histogram
	windows  []window
	errors   map[string]int64
	verdicts map[string]int64
	_        [64]byte
}

func newRecorder(start time.Time) *recorder {
	r := &recorder{start: start}
	for i := range r.shards {
		r.shards[i].latency, r.shards[i].lag = newHistogram(3), newHistogram(3)
		r.shards[i].errors, r.shards[i].verdicts = map[string]int64{}, map[string]int64{}
	}
	return r
}

// event is one call.
type event struct {
	due, sent, done time.Time
	failure         string // "" for a success.
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
	if e.failure != "" {
		w.failed++
		if _, known := s.errors[e.failure]; known || len(s.errors) < errorKindsMax {
			s.errors[e.failure]++
		} else {
			s.errors["other"]++
		}
		return
	}
	if w.latency == nil {
		w.latency = newHistogram(2)
	}
	w.done++
	note(w.latency, e.done.Sub(e.due))
	note(s.latency, e.done.Sub(e.due))
	s.verdicts[e.verdict]++
}

// outcome is the result of a load.
type outcome struct {
	name          string
	start         time.Time
	span          time.Duration
	done, failed  int64
	latency, lag  *hdr.Histogram
	windows       []window
	errors        map[string]int64
	verdicts      map[string]int64
	rate, callers int // The rate and the callers that were asked for; rate 0: a closed loop.
}

// sum puts the shards together.
func (r *recorder) sum(end time.Time) *outcome {
	o := &outcome{
		start: r.start, span: end.Sub(r.start), latency: newHistogram(3), lag: newHistogram(3),
		errors: map[string]int64{}, verdicts: map[string]int64{},
	}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		o.latency.Merge(s.latency)
		o.lag.Merge(s.lag)
		for len(o.windows) < len(s.windows) {
			o.windows = append(o.windows, window{})
		}
		for at, w := range s.windows {
			o.windows[at].join(w)
		}
		for name, count := range s.errors {
			o.errors[name] += count
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
func (o *outcome) quantile(q float64) float64 { return float64(o.latency.ValueAtQuantile(q)) / 1000 }

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
