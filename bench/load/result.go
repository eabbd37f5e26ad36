package load

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Measure is one figure of a run with its samples: one a round, or one a second.
type Measure struct {
	Unit    string    `json:"unit"`
	More    bool      `json:"moreIsBetter,omitempty"`
	Value   float64   `json:"value"` // The median of the samples, or what b.set was given.
	Samples []float64 `json:"samples"`
}

const (
	less = false
	more = true
)

// Curve is the latency of one load over its quantiles, in milliseconds.
type Curve struct {
	Name      string           `json:"name"`
	Rate      int              `json:"rate,omitempty"` // Arrivals a second; 0: a closed loop.
	Callers   int              `json:"callers"`
	Done      int64            `json:"done"`
	Failed    int64            `json:"failed"`
	PerSecond float64          `json:"perSecond"`
	Quantiles []float64        `json:"quantiles"` // The latencies at curveQuantiles.
	LagP99    float64          `json:"lagP99"`    // 99th percentile of how late the loader itself sent, in ms.
	Errors    map[string]int64 `json:"errors,omitempty"`
	Verdicts  map[string]int64 `json:"verdicts,omitempty"`
	P99s      []float64        `json:"p99s,omitempty"` // p99 of every second, in ms.
}

// curveQuantiles are where curves are drawn.
var curveQuantiles = []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100}

// Report is a run, as its file holds it.
type Report struct {
	Build      string              `json:"build"`
	Version    string              `json:"version"`
	Began      time.Time           `json:"began"`
	Took       string              `json:"took"`
	Machine    Machine             `json:"machine"` // The loader's, and without Hosts the nodes' too.
	Fsync      string              `json:"fsync"`
	Placement  string              `json:"placement"` // On how many machines nodes and loader were. Reports with different ones tell of different things.
	Hosts      []HostReport        `json:"hosts,omitempty"`
	RoundTrips []RoundTrip         `json:"roundTrips,omitempty"`
	Workload   Workload            `json:"workload"`
	Targets    []string            `json:"targets,omitempty"` // Addresses; empty: spawned.
	Suites     []string            `json:"suites"`
	Measures   map[string]*Measure `json:"measures"`
	Curves     []Curve             `json:"curves"`
	Courses    []Course            `json:"courses,omitempty"` // Loads that were watched second by second.
	Skipped    map[string]string   `json:"skipped,omitempty"` // Why a suite could not run.
	Notes      []string            `json:"notes,omitempty"`
	Rows       []Row               `json:"table"`
}

// add gives a measure one more sample.
func (b *bench) add(key, unit string, better bool, samples ...float64) {
	m := b.report.Measures[key]
	if m == nil {
		m = &Measure{Unit: unit, More: better}
		b.report.Measures[key] = m
	}
	m.Samples = append(m.Samples, samples...)
	m.Value = median(m.Samples)
}

// set sets a figure that is not a median. Its value is given, and its samples show how it changed
// during the run.
func (b *bench) set(key, unit string, better bool, value float64, samples []float64) {
	if len(samples) == 0 {
		samples = []float64{value}
	}
	b.report.Measures[key] = &Measure{Unit: unit, More: better, Value: value, Samples: samples}
}

func median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// keep puts a load's curve into the report.
func (b *bench) keep(o *outcome) {
	c := Curve{
		Name: o.name, Rate: o.rate, Callers: o.callers, Done: o.done, Failed: o.failed, PerSecond: o.perSecond(),
		LagP99: float64(o.lag.ValueAtQuantile(99)) / 1000, Errors: o.errors, P99s: o.quantiles(99),
	}
	for _, q := range curveQuantiles {
		c.Quantiles = append(c.Quantiles, o.quantile(q))
	}
	for verdict, count := range o.verdicts {
		if verdict != "" {
			if c.Verdicts == nil {
				c.Verdicts = map[string]int64{}
			}
			c.Verdicts[verdict] = count
		}
	}
	b.report.Curves = append(b.report.Curves, c)
	text := fmt.Sprintf("%s: %.0f/s, p50 %.2f, p99 %.1f, worst %.0f ms", o.name, o.perSecond(), o.quantile(50), o.quantile(99), o.worst())
	if o.failed > 0 {
		text += fmt.Sprintf(", %d FAILED %v", o.failed, o.errors)
	}
	b.say("%s", text)
}

// Write puts the report into a file.
func (r *Report) Write(path string) error {
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o600)
}

// ReadReport reads a file that Write wrote.
func ReadReport(path string) (*Report, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%s: no report of a bench: %w", path, err)
	}
	if len(r.Measures) == 0 {
		return nil, fmt.Errorf("%s: a report without a figure", path)
	}
	return &r, nil
}

// Encode writes the report as JSON.
func (r *Report) Encode(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}
