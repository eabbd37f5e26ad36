package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"railguard/cluster/testcluster"
)

// Options are the settings of a run.
type Options struct {
	Binary   string   // The railguard that is spawned.
	Self     string   // This program, which also runs the base lines.
	Version  string   // Version of Binary.
	Folder   string   // Where the run's own folder is made and removed; "": the system's.
	Hosts    []string // Addresses of attendants: nodes are started there; empty: on this machine.
	Secret   string   // Secret of Hosts.
	Targets  []string // Addresses of a running cluster; empty: one is spawned.
	Key      string   // API key of Targets.
	Foreign  bool     // Targets may have agents of others.
	Spawn    int      // Nodes to spawn; with Hosts one on each.
	Suites   []string // Empty: all but cpu, spec, keys and soak.
	Brief    bool     // The run takes seconds instead of minutes. It shows that the program works; its figures mean little.
	Soak     time.Duration
	Workload Workload
	Goals    []Target
	Profiles string    // Folder for CPU profiles and execution traces of the nodes; "": none.
	Progress io.Writer // Where progress is written; nil: nowhere.
	OneLine  bool      // Progress is a terminal: a load's progress stays on one line.
}

func (o *Options) check() error {
	for _, name := range o.Suites {
		if !slices.Contains(SuiteNames(), name) {
			return fmt.Errorf("there is no suite %q: there are %s", name, strings.Join(SuiteNames(), ", "))
		}
	}
	if len(o.Targets) > 0 && len(o.Hosts) > 0 {
		return errors.New("targets are a cluster that runs, hosts are where one is started: give one of them")
	}
	if err := o.checkHosts(); err != nil {
		return err
	}
	if len(o.Targets) == 0 && len(o.Hosts) == 0 && (o.Spawn < 1 || o.Spawn > nodesMax) {
		return fmt.Errorf("spawn %d: want 1 to %d nodes", o.Spawn, nodesMax)
	}
	if len(o.Targets) > 0 && o.Key == "" {
		return errors.New("a cluster that runs needs an API key")
	}
	return o.Workload.check()
}

func (o *Options) progress(text string) {
	switch {
	case o.Progress == nil:
	case o.OneLine:
		fmt.Fprintf(o.Progress, "\r\x1b[K%s", text)
	}
}

// bench is one run.
type bench struct {
	options  Options
	report   *Report
	work     string // The run's own folder.
	here     *local
	hosts    []*host // With attendants; empty: nodes run here.
	places   []place // Where nodes and base lines run.
	echoes   *helper
	target   *target // The cluster that most suites share.
	loads    uint64
	clusters int

	freshNode float64 // What a node held before any load, in GB; 0: not known.
}

// suite is one part of a run.
type suite struct {
	name    string
	about   string
	spawned bool // It needs a cluster of our own.
	apart   bool // It runs only when it is named.
	run     func(context.Context, *bench) error
}

// SuiteNames are all suites in the order in which they run.
func SuiteNames() []string {
	var names []string
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

// DescribeSuites is a line for every suite.
func DescribeSuites() string {
	var b strings.Builder
	for _, s := range suites {
		fmt.Fprintf(&b, "  %-12s %s\n", s.name, s.about)
	}
	return b.String()
}

// Run makes a run. It returns the report also when suites could not run and, with an
// error, when ctx ended.
func Run(ctx context.Context, options Options) (*Report, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	if options.Folder == "" {
		options.Folder = os.TempDir()
	}
	work, err := os.MkdirTemp(options.Folder, "railguard-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	b := &bench{options: options, work: work, report: &Report{
		Version: options.Version, Began: time.Now().UTC(), Workload: options.Workload, Targets: options.Targets,
		Measures: map[string]*Measure{}, Skipped: map[string]string{}, Machine: thisMachine(work),
	}}
	b.here = &local{
		folder: work, product: options.Binary, self: options.Self, spawner: testcluster.NewSpawner(),
		reserve: testcluster.FreePorts, release: testcluster.ReleasePorts,
	}
	defer b.close()
	if err := b.settlePlaces(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHosts, err)
	}
	b.runSuites(ctx)
	b.report.Took = time.Since(b.report.Began).Round(time.Second).String()
	b.report.judgeRows(options.Goals)
	return b.report, ctx.Err()
}

func (b *bench) close() {
	if b.target != nil {
		b.target.close()
	}
	if b.echoes != nil {
		b.echoes.close()
	}
	for _, h := range b.hosts {
		h.close()
	}
	b.here.spawner.Close()
	if err := os.RemoveAll(b.work); err != nil {
		b.say("folder %s stays: %v", b.work, err)
	}
}

func (b *bench) runSuites(ctx context.Context) {
	if err := b.fsyncFloor(ctx, b.span(2*time.Second)); err != nil {
		b.report.Notes = append(b.report.Notes, err.Error())
	}
	for _, s := range suites {
		if wanted := slices.Contains(b.options.Suites, s.name); !wanted && (len(b.options.Suites) > 0 || s.apart) {
			continue
		}
		b.report.Suites = append(b.report.Suites, s.name)
		began := time.Now()
		err := ctx.Err()
		switch {
		case err != nil:
		case s.spawned && len(b.options.Targets) > 0:
			err = errors.New("it needs a cluster of its own: --spawn or --hosts")
		default:
			b.say("== %s: %s", s.name, s.about)
			err = s.run(ctx, b)
		}
		if fell := b.fallen(ctx); fell != nil {
			err = errors.Join(fell, err)
		}
		if err != nil {
			b.say("%s: %v", s.name, err)
			b.report.Skipped[s.name] = err.Error()
			continue
		}
		b.say("== %s took %v", s.name, time.Since(began).Round(100*time.Millisecond))
	}
}

// shared is the cluster that most suites use one after another.
func (b *bench) shared(ctx context.Context) (*target, error) {
	if b.target != nil {
		return b.target, nil
	}
	t, err := b.openTarget(ctx, b.options.Spawn)
	if err != nil {
		return nil, err
	}
	b.target = t
	if used, err := t.usage(ctx); err == nil {
		b.freshNode = float64(used.held) / 1e9 / float64(len(t.homes))
	}
	return t, nil
}

// fallen tells which nodes of the shared cluster ended by themselves; then the next suite gets
// another one. On one machine all three share one disk, so if it stalls for too long, all of them end.
func (b *bench) fallen(ctx context.Context) error {
	if b.target == nil || b.target.group == nil {
		return nil
	}
	err := b.target.group.fallen(ctx)
	if err != nil {
		b.target.close()
		b.target = nil
	}
	return err
}

// span is how long something is measured: in full, or briefly in a brief run.
func (b *bench) span(full time.Duration) time.Duration {
	if b.options.Brief {
		return min(full, briefSpan)
	}
	return full
}

// times is how often something is done: in full, or once in a brief run.
func (b *bench) times(full int) int {
	if b.options.Brief {
		return 1
	}
	return full
}

const briefSpan = 200 * time.Millisecond

// say writes one line of progress.
func (b *bench) say(format string, args ...any) {
	if b.options.Progress == nil {
		return
	}
	clear := ""
	if b.options.OneLine {
		clear = "\r\x1b[K"
	}
	fmt.Fprintf(b.options.Progress, clear+"%6.1fs "+format+"\n", append([]any{time.Since(b.report.Began).Seconds()}, args...)...)
}
