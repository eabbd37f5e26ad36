package timing

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the buckets for two kinds of durations, in seconds.
var (
	// Disk has the bounds for a wait for a disk or a peer.
	Disk = []float64{100e-6, 200e-6, 300e-6, 500e-6, 750e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30}
	// Call has the bounds for the stages of a call.
	Call = []float64{10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 300e-6, 500e-6, 750e-6, 1e-3, 2e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2}
)

// Histogram is one series of a family. It may be used by any number of goroutines.
type Histogram struct {
	labels string // Labels such as `stage="total"`, or empty.
	bounds []time.Duration
	texts  []string        // The bounds as text, in seconds.
	counts []atomic.Uint64 // One more than bounds: the last counts durations above all bounds.
	sum    atomic.Int64    // Nanoseconds.
}

var registered struct {
	sync.Mutex
	families map[string][]*Histogram
}

// New makes a series, which Write shows from now on. The bounds are upper bounds in seconds,
// ascending. Each series may be made only once.
func New(family, labels string, bounds []float64) *Histogram {
	h := &Histogram{labels: labels, counts: make([]atomic.Uint64, len(bounds)+1)}
	for i, bound := range bounds {
		if i > 0 && bound <= bounds[i-1] {
			panic("BUG: bounds of " + family + " do not rise")
		}
		h.bounds = append(h.bounds, time.Duration(math.Round(bound*float64(time.Second))))
		h.texts = append(h.texts, strconv.FormatFloat(bound, 'g', -1, 64))
	}
	registered.Lock()
	defer registered.Unlock()
	if registered.families == nil {
		registered.families = make(map[string][]*Histogram)
	}
	for _, other := range registered.families[family] {
		if other.labels == labels {
			panic("BUG: " + family + "{" + labels + "} is made twice")
		}
	}
	registered.families[family] = append(registered.families[family], h)
	return h
}

// Observe counts one duration. A negative one, after a clock was set back, counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Update is Observe for seconds.
func (h *Histogram) Update(seconds float64) { h.Observe(time.Duration(seconds * float64(time.Second))) }

// Count returns how many durations were counted.
func (h *Histogram) Count() (total uint64) {
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	return total
}

// Sum returns the sum of all durations.
func (h *Histogram) Sum() time.Duration { return time.Duration(h.sum.Load()) }

// Write writes every family in Prometheus' text format 0.0.4. help returns the help text of a
// name.
func Write(w io.Writer, help func(family string) string) error {
	registered.Lock()
	defer registered.Unlock()
	var families []string
	for family := range registered.families {
		families = append(families, family)
	}
	slices.Sort(families)
	var out strings.Builder
	for _, family := range families {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s histogram\n", family, help(family), family)
		for _, h := range registered.families[family] {
			h.write(&out, family)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// write writes one series. It takes the count from the buckets, so that the two agree while
// calls go on.
func (h *Histogram) write(out *strings.Builder, family string) {
	comma, whole := "", ""
	if h.labels != "" {
		comma, whole = ",", "{"+h.labels+"}"
	}
	total := uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		bound := "+Inf"
		if i < len(h.texts) {
			bound = h.texts[i]
		}
		fmt.Fprintf(out, "%s_bucket{%s%sle=%q} %d\n", family, h.labels, comma, bound, total)
	}
	fmt.Fprintf(out, "%s_sum%s %g\n%s_count%s %d\n", family, whole, time.Duration(h.sum.Load()).Seconds(), family, whole, total)
}
