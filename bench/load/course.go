package load

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Course is a load second by second, with the work that was done beside it.
type Course struct {
	Name    string   `json:"name"`
	Rate    int      `json:"rate"`    // Arrivals a second that were asked for.
	Span    float64  `json:"span"`    // How long calls were sent, in seconds. Answers may come later.
	Seconds []Second `json:"seconds"` // By the time of the answer.
	Work    []Work   `json:"work,omitempty"`
}

// Second is what one second of a load was like. Latencies are those of the calls that were done.
type Second struct {
	Done   int64            `json:"done"`
	Failed map[string]int64 `json:"failed,omitempty"` // By status and code.
	P50    float64          `json:"p50"`              // In milliseconds, as the two below.
	P99    float64          `json:"p99"`
	Max    float64          `json:"max"`
	Cores  float64          `json:"cores,omitempty"` // Processors in use on the loader's machine, by whomever.
}

// Kinds of work.
const (
	workList      = "list"
	workSnapshot  = "snapshot"
	workScreening = "screening"
	workBacktest  = "backtest"
)

// workKinds are in the order in which a picture shows them.
var workKinds = []string{workList, workSnapshot, workScreening, workBacktest}

// Work is something that a cluster did beside a load. Its times are seconds since the load's
// start; they are below 0 for what began before.
type Work struct {
	Kind   string  `json:"kind"`
	Name   string  `json:"name"` // Which list, at which node, or why.
	Begin  float64 `json:"begin"`
	Staged float64 `json:"staged,omitempty"` // Of a list: when it was staged, and its activation began.
	End    float64 `json:"end"`
	Open   bool    `json:"open,omitempty"`   // It had not ended when the load did, and was not waited for.
	Failed string  `json:"failed,omitempty"` // Why it was not done.
}

// diary notes work while it is done.
type diary struct {
	mu      sync.Mutex
	entries []*entry
}

type entry struct {
	kind, name         string
	begin, staged, end time.Time // The last is 0 as long as the work is under way.
	failed             error
}

func (d *diary) begins(kind, name string, at time.Time) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := &entry{kind: kind, name: name, begin: at}
	d.entries = append(d.entries, e)
	return e
}

// isStaged notes that a list was staged.
func (d *diary) isStaged(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.staged = time.Now()
}

// ends notes that some work is done, or why it is not. Work that was broken off because the run
// ends is under way.
func (d *diary) ends(e *entry, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.end.IsZero() && !errors.Is(err, context.Canceled) {
		e.end, e.failed = time.Now(), err
	}
}

// work returns what was noted, for a load that began and ended then.
func (d *diary) work(begin, end time.Time) []Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Work
	for _, e := range d.entries {
		w := Work{Kind: e.kind, Name: e.name, Begin: e.begin.Sub(begin).Seconds(), Open: e.end.IsZero()}
		if !e.staged.IsZero() {
			w.Staged = e.staged.Sub(begin).Seconds()
		}
		if w.End = e.end.Sub(begin).Seconds(); w.Open {
			w.End = max(end.Sub(begin).Seconds(), w.Begin)
		}
		if e.failed != nil {
			w.Failed = e.failed.Error()
		}
		all = append(all, w)
	}
	return all
}

// course is a load second by second.
func (o *outcome) course(work []Work) Course {
	c := Course{Name: o.name, Rate: o.rate, Span: o.span.Seconds(), Work: work}
	for at, w := range o.windows {
		s := Second{Done: w.done, Failed: w.errors}
		if w.latency != nil {
			s.P50, s.P99, s.Max = inMillis(w.latency, 50), inMillis(w.latency, 99), float64(w.latency.Max())/1000
		}
		if at < len(o.cores) {
			s.Cores = o.cores[at]
		}
		c.Seconds = append(c.Seconds, s)
	}
	return c
}

// failures adds up the failures of a second.
func (s *Second) failures() int64 {
	sum := int64(0)
	for _, count := range s.Failed {
		sum += count
	}
	return sum
}

// worstSeconds are the seconds with the highest p99, the worst first.
func (c *Course) worstSeconds(most int) []int {
	var all []int
	for at := range c.Seconds {
		if c.Seconds[at].Done > 0 {
			all = append(all, at)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		one, other := &c.Seconds[a], &c.Seconds[b]
		return cmp.Or(cmp.Compare(other.P99, one.P99), cmp.Compare(other.Max, one.Max))
	})
	return all[:min(most, len(all))]
}

// shown is how many seconds of sending are known of: of a load of hours, the first hour.
func (c *Course) shown() float64 { return min(c.Span, windowsMax) }

// silentSeconds are those without any answer while calls were sent.
func (c *Course) silentSeconds() []int {
	var all []int
	for at := range int(c.shown()) {
		if at >= len(c.Seconds) || c.Seconds[at].Done == 0 && c.Seconds[at].failures() == 0 {
			all = append(all, at)
		}
	}
	return all
}

// label names some work in a picture: its kind's letter and its number among its kind.
func (c *Course) label(at int) string {
	number := 0
	for i := range at + 1 {
		if c.Work[i].Kind == c.Work[at].Kind {
			number++
		}
	}
	return workLetters[c.Work[at].Kind] + strconv.Itoa(number)
}

var workLetters = map[string]string{workList: "L", workSnapshot: "S", workScreening: "P", workBacktest: "B"}

// beside returns the labels of the work that was under way while the calls of a second waited:
// from when the slowest of them was due.
func (c *Course) beside(second int) []string {
	from := float64(second) - c.Seconds[second].Max/1000
	var labels []string
	for at := range c.Work {
		if w := &c.Work[at]; w.Begin < float64(second+1) && w.End >= from {
			labels = append(labels, c.label(at))
		}
	}
	return labels
}

// watch looks at the loader's machine once a second.
type watch struct {
	quit, ended chan struct{}
	count       coreCount // The goroutine's until ended is closed.
}

// coreCount is how many processors were in use, by second.
type coreCount struct {
	start, at time.Time
	busy      time.Duration // How long all processors together had worked, at that time.
	cores     []float64
}

// countLeast is how long after a late look the next one comes, since the system counts in steps
// of 10 ms.
const countLeast = windowSpan / 2

// next is when to look again: at the end of a second.
func (c *coreCount) next() time.Time {
	end := c.start.Add(time.Duration(len(c.cores)+1) * windowSpan)
	if least := c.at.Add(countLeast); least.After(end) {
		return least
	}
	return end
}

// add counts what was used since the last look. The seconds that have ended since share it evenly.
func (c *coreCount) add(now time.Time, busy time.Duration) {
	share := (busy - c.busy).Seconds() / now.Sub(c.at).Seconds()
	for ended := int(now.Sub(c.start) / windowSpan); len(c.cores) < min(ended, windowsMax); {
		c.cores = append(c.cores, share)
	}
	c.at, c.busy = now, busy
}

// watchMachine begins to look at an instant.
func watchMachine(start time.Time) *watch {
	w := &watch{quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for next := start; len(w.count.cores) < windowsMax; next = w.count.next() {
			select {
			case <-time.After(time.Until(next)):
			case <-w.quit:
				return
			}
			busy, now := machineBusy(), time.Now()
			switch {
			case busy == 0:
				return // The system does not tell it.
			case w.count.start.IsZero():
				w.count = coreCount{start: start, at: now, busy: busy}
			default:
				w.count.add(now, busy)
			}
		}
	}()
	return w
}

// close ends the looking and returns how many processors were in use, by second. Nobody looks
// with nil.
func (w *watch) close() []float64 {
	if w == nil {
		return nil
	}
	close(w.quit)
	<-w.ended
	return w.count.cores
}
