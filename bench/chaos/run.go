package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Options say what to break and for how long.
type Options struct {
	Binary string   // The railguard binary.
	Other  string   // Binary of another release, which runs in the same clusters; "": there is none.
	Folder string   // Where clusters keep their data and logs; removed by the caller.
	Long   bool     // The long form: more faults, longer storms, fresh clusters.
	Only   []string // Ids of scenarios; none means all.
	Seed   uint64   // Seed of the clients' choices; 0: a random one.
	Races  int      // How often N1 is repeated; 0: not at all.

	// Diverging makes a binary that computes a wrong state with every screening call; nil: there
	// is none.
	Diverging func() (path string, err error)
}

// Outcome of a scenario.
type Outcome uint8

// The outcomes. A scenario passes if none of its checks found a violation.
const (
	Pass Outcome = iota
	Fail
	Skipped
)

func (o Outcome) String() string { return [...]string{"pass", "FAIL", "skipped"}[o] }

// Result is the result of one scenario.
type Result struct {
	ID, Statement string
	Outcome       Outcome
	Reason        string   // Why it was skipped or could not be finished.
	Violations    []string // What the checks found.
	Figures       []string // What was measured, in words.
	Seed          uint64
	Took          time.Duration
}

// String returns the result as a report prints it.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%v, seed %d): %s", r.ID, r.Outcome, r.Took.Round(100*time.Millisecond), r.Seed, r.Statement)
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n    %s", r.Reason)
	}
	for _, violation := range r.Violations {
		fmt.Fprintf(&b, "\n    VIOLATION: %s", violation)
	}
	if len(r.Figures) > 0 {
		fmt.Fprintf(&b, "\n    %s", strings.Join(r.Figures, "; "))
	}
	return b.String()
}

// Summary counts outcomes.
type Summary struct{ Pass, Fail, Skipped int }

// Run runs scenarios one after another and reports each as it ends. It returns an
// error only when nothing could be run.
func Run(ctx context.Context, options Options, report func(Result)) (Summary, error) {
	e := NewExamination(options)
	defer e.Close()
	var s Summary
	known := 0
	for i := range scenarios {
		if !options.wants(scenarios[i].id) {
			continue
		}
		known++
		result := e.Examine(ctx, scenarios[i].id)
		switch result.Outcome {
		case Pass:
			s.Pass++
		case Fail:
			s.Fail++
		default:
			s.Skipped++
		}
		report(result)
	}
	if known == 0 {
		return s, fmt.Errorf("no scenario is called %s", strings.Join(options.Only, " or "))
	}
	return s, nil
}

func (o *Options) wants(id string) bool {
	if len(o.Only) == 0 {
		return true
	}
	for _, name := range o.Only {
		if strings.EqualFold(name, id) {
			return true
		}
	}
	return false
}

// scenario is one named fault test.
type scenario struct {
	id, statement string
	shape         shape
	fresh         bool // It leaves the cluster or its clock in a state that no other scenario can use.
	rounds        int  // How often the long form runs it, each time with a new cluster; 0 means once.
	repeat        bool // Options.Races says how often its race is repeated.
	calm          bool // It measures times or fills the machine, so no other scenario runs beside it.
	run           func(context.Context, *stage) error
}

// stage is the cluster that a scenario uses, and the report that it fills.
type stage struct {
	*room
	*report
	options *Options
}

// report gathers what a scenario measures and finds.
type report struct {
	figures  []string // Those of the last round.
	findings findings

	races, wins int // Those of the last round.
	raced       int // Repeats of N1, over all rounds.

	names   []string // Names of the samples, in the order in which they first occurred.
	samples map[string]*hdr.Histogram
}

const sampleMax = 10 * time.Minute

// sample adds one duration to those of a thing that is done several times.
func (r *report) sample(name string, took time.Duration) {
	if r.samples == nil {
		r.samples = make(map[string]*hdr.Histogram)
	}
	h := r.samples[name]
	if h == nil {
		h = hdr.New(1, sampleMax.Microseconds(), 3)
		r.samples[name] = h
		r.names = append(r.names, name)
	}
	_ = h.RecordValue(min(took, sampleMax).Microseconds()) // Limited to the histogram's range.
}

// all returns the samples and figures as text.
func (r *report) all() []string {
	var texts []string
	for _, name := range r.names {
		texts = append(texts, name+" "+sampleText(r.samples[name]))
	}
	return append(texts, r.figures...)
}

func sampleText(h *hdr.Histogram) string {
	at := func(quantile float64) time.Duration {
		return (time.Duration(h.ValueAtQuantile(quantile)) * time.Microsecond).Round(time.Millisecond)
	}
	if h.TotalCount() == 1 {
		return at(100).String()
	}
	return fmt.Sprintf("median %v, worst %v of %d", at(50), at(100), h.TotalCount())
}

func (r *report) figure(name string, value any) {
	r.figures = append(r.figures, fmt.Sprintf("%s %v", name, value))
}

// skipped is the error of a scenario that cannot be run here.
type skipped string

func (s skipped) Error() string { return string(s) }

// times returns how often something is done: few times, or many times in the long form.
func (s *stage) times(short, long int) int {
	if s.options.Long {
		return long
	}
	return short
}

func (s *stage) span(short, long time.Duration) time.Duration {
	if s.options.Long {
		return long
	}
	return short
}

// Examination runs scenarios and keeps healthy clusters for the next ones. Scenarios may run beside
// one another: each has a cluster of its own meanwhile.
type Examination struct {
	options Options

	mu     sync.Mutex // Guards the fields below.
	rooms  map[shape]*room
	serial int
}

// NewExamination makes an examination. Close ends its clusters.
func NewExamination(options Options) *Examination {
	if options.Seed == 0 {
		options.Seed = uint64(time.Now().UnixNano())
	}
	return &Examination{options: options, rooms: make(map[shape]*room)}
}

// Close ends every cluster that is still there.
func (e *Examination) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s, r := range e.rooms {
		r.close()
		delete(e.rooms, s)
	}
}

// take takes a healthy cluster of a shape out of the examination; nil: there is none.
func (e *Examination) take(s shape) *room {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.rooms[s]
	delete(e.rooms, s)
	return r
}

// keep keeps a healthy cluster for a later scenario, unless there is one of its shape.
func (e *Examination) keep(r *room, s shape) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rooms[s] != nil {
		return false
	}
	e.rooms[s] = r
	return true
}

// Examine runs one scenario by its id.
func (e *Examination) Examine(ctx context.Context, id string) Result {
	s := find(id)
	if s == nil {
		return Result{ID: id, Outcome: Fail, Reason: "no such scenario"}
	}
	return e.examine(ctx, s)
}

// find returns the scenario with an id; nil: there is none.
func find(id string) *scenario {
	for i := range scenarios {
		if scenarios[i].id == id {
			return &scenarios[i]
		}
	}
	return nil
}

func (e *Examination) examine(ctx context.Context, s *scenario) Result {
	began := time.Now()
	result := Result{ID: s.id, Statement: s.statement, Seed: e.options.Seed}
	found := &report{}
	rounds := 1
	switch {
	case s.repeat:
		rounds = max((e.options.Races+racesPerCluster-1)/racesPerCluster, 1)
	case e.options.Long:
		rounds = max(s.rounds, 1)
	}
	var err error
	if s.repeat && e.options.Races == 0 {
		err = skipped("say how often, such as with RAILGUARD_N1=1000")
	}
	done := 0
	for ; done < rounds && err == nil && len(found.findings.list) == 0; done++ {
		found.figures = nil
		err = e.perform(ctx, s, found)
	}
	if rounds > 1 {
		found.figure("rounds", done)
	}
	result.Took = time.Since(began)
	result.Figures, result.Violations = found.all(), found.findings.all()
	var skip skipped
	switch {
	case errors.As(err, &skip) && len(result.Violations) == 0:
		result.Outcome, result.Reason = Skipped, string(skip)
	case err != nil:
		result.Outcome, result.Reason = Fail, err.Error()
	case len(result.Violations) > 0:
		result.Outcome = Fail
	}
	return result
}

// perform finds or starts a cluster of the scenario's shape, runs the scenario on it and inspects
// it. It keeps the cluster if no violation was found.
func (e *Examination) perform(ctx context.Context, s *scenario, found *report) error {
	if s.shape.nodes == 0 {
		return s.run(ctx, &stage{report: found, options: &e.options})
	}
	var r *room
	fresh := s.fresh || e.options.Long
	if !fresh {
		r = e.take(s.shape)
	}
	if r == nil {
		var err error
		if r, err = e.open(ctx, s); err != nil {
			return err
		}
	}
	err := s.run(ctx, &stage{room: r, report: found, options: &e.options})
	if err == nil && !r.inspected {
		err = r.inspect(ctx, found)
	}
	if stalls := r.cluster.countStalls(); stalls > 0 {
		found.figure("nodes that gave up a stalled disk and were started again", stalls)
	}
	if err != nil || len(found.findings.list) > 0 {
		found.figure("data and logs in", r.cluster.folder)
		r.close()
		return err
	}
	if fresh || !e.keep(r, s.shape) {
		r.close()
		return os.RemoveAll(r.cluster.folder)
	}
	return nil
}

// open starts a cluster. Another program on the machine may take a port after it was chosen and
// before it is used. Then other ports are tried.
func (e *Examination) open(ctx context.Context, s *scenario) (r *room, err error) {
	for range spawnTries {
		if r, err = e.tryOpen(ctx, s); err == nil || ctx.Err() != nil {
			return r, err
		}
	}
	return nil, err
}

func (e *Examination) tryOpen(ctx context.Context, s *scenario) (*room, error) {
	e.mu.Lock()
	e.serial++
	serial := e.serial
	e.mu.Unlock()
	folder := filepath.Join(e.options.Folder, fmt.Sprintf("%s-%d", s.id, serial))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	r, err := openRoom(ctx, programs{e.options.Binary, e.options.Other}, folder, s.shape, e.options.Seed+uint64(serial))
	if err != nil {
		return nil, err
	}
	r.porcupine = porcupineBudget
	if e.options.Long {
		r.porcupine = porcupineLong
	}
	return r, nil
}
