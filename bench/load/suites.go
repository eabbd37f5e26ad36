package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// suites are in the order in which they run: first those that leave a cluster unchanged,
// towards the end those that kill nodes.
var suites = []suite{
	{name: "engine", about: "static rules, a wallet and a name, in process", run: runEngine},
	{name: "verify", about: "a token's signature and claims, in process", run: runVerify},
	{name: "single", about: "one durable node over HTTP", spawned: true, run: runSingle},
	{name: "cluster", about: "one caller at the leader, 256 over all nodes, CPU and bytes a verdict, against bare raft and bare HTTP", run: runCluster},
	{name: "follower", about: "what a verdict costs more where it is taken at a follower", run: runFollower},
	{name: "read", about: "audit records that were just made, at any node", run: runRead},
	{name: "hot", about: "one agent, one fleet, one whitelisted pair, against spread load", run: runHot},
	{name: "names", about: "every call a name never seen before, against calls without one", run: runNames},
	{name: "light", about: "open loop at 200, 1,000 and 2,000 a second, a minute each", run: runLight},
	{name: "connections", about: "500 a second while 10,000 idle and 2,000 busy connections are open", run: runConnections},
	{name: "snapshot", about: "a snapshot written at the leader under load", run: runSnapshot},
	{name: "batch", about: "payments in batches of 100, 16 callers, against single calls", run: runBatch},
	{name: "stream", about: "16 streams with 64 payments under way in each, against batches and single calls", run: runStream},
	{name: "flood", about: "2,048 callers at once; one key's screening while another key, another tenant's names, or one address floods", run: runFlood},
	{name: "overload", about: "open loop at 120 % of saturation: what is admitted, and how fast the rest is refused", run: runOverload},
	{name: "cpu", about: "CPU a verdict: saturated, at 60 % of that, at 1,000/s and 100/s, and nodes that do nothing, half a minute (only when named)", spawned: true, apart: true, run: runCPU},
	{name: "spec", about: "all states of a small model of limits, keys, fence, forwarding, holds and time, in process (only when named)", apart: true, run: runSpec},
	{name: "keys", about: "a day of Idempotency-Keys at 20,000 calls a second of log time, in process, 32 GB of disk (only when named)", apart: true, run: runKeys},
	{name: "soak", about: "open loop at 60 % of saturation, lists activated, snapshots written, the past screened and judged again meanwhile (only when named)", spawned: true, apart: true, run: runSoak},
	{name: "lists", about: "a list of full size activated under load", spawned: true, run: runLists},
	{name: "retro", about: "who was paid screened against a list under load", spawned: true, run: runRetro},
	{name: "roll", about: "every node restarted in turn under load", spawned: true, run: runRoll},
	{name: "kill", about: "the leader killed under load, ten times", spawned: true, run: runKill},
	{name: "memory", about: "a million agents and a hundred thousand open reviews, in process", run: runMemory},
}

const (
	manyCallers  = 256
	quickCallers = 16 // Callers in the brief form.
	recordBytes  = 450
	steadyLoad   = -1 // In place of a rate: the part of saturation at which a soak runs.
	profileSpan  = 5 * time.Second
)

func (b *bench) callers() int {
	if b.options.Brief {
		return quickCallers
	}
	return manyCallers
}

// screening is a load of screening calls on some homes.
func (t *target) screening(name string, homes []*endpoint, callers, rate int, span time.Duration) load {
	w := t.bench.options.Workload
	return load{
		name: name, homes: homes, callers: callers, rate: rate, warm: t.bench.span(time.Second), span: span, seed: w.Seed + t.bench.loads,
		make: t.crew.payments(w), accept: acceptVerdict, verdict: true, greet: true,
	}
}

// acceptVerdict wants 200 with a verdict.
func acceptVerdict(got reply) string {
	if failure := acceptOK(got); failure != "" {
		return failure
	}
	if member(got.body, "verdict") == "" {
		return "no verdict"
	}
	return ""
}

// measured is the outcome of a load with what the nodes used for it.
type measured struct {
	*outcome
	used usage
	took time.Duration // How long the nodes used that.
	err  error         // Why that is not known.
}

// drive warms up, then runs a load and measures what the nodes use for the load alone.
func (t *target) drive(ctx context.Context, l load) (*measured, error) {
	warm := l.warm
	if warm > 0 {
		first := l
		first.name, first.span, first.warm = l.name+", warm-up", warm, 0
		if err := t.bench.warm(ctx, first); err != nil {
			return nil, err
		}
		l.warm = 0
	}
	before, err := t.usage(ctx)
	o, failed := t.bench.drive(ctx, l)
	if failed != nil {
		return nil, failed
	}
	m := &measured{outcome: o, err: err}
	if err == nil {
		var after usage
		if after, m.err = t.usage(ctx); m.err == nil {
			m.used, m.took = after.since(before), after.at.Sub(before.at)
		}
	}
	return m, nil
}

// warm runs a load that is not reported.
func (b *bench) warm(ctx context.Context, l load) error {
	curves := len(b.report.Curves)
	_, err := b.drive(ctx, l)
	b.report.Curves = b.report.Curves[:curves]
	return err
}

// noteUse adds under a key the CPU of a verdict, the KB that each node wrote for it, and
// the memory of a node: now, and the most that it ever had.
func (m *measured) noteUse(b *bench, key string, nodes int) {
	if m.err != nil {
		b.report.Notes = append(b.report.Notes, key+": "+m.err.Error())
		return
	}
	b.add(key+".cpu", "µs", less, micros(m.used.cpu)/float64(m.done))
	b.add(key+".disk", "KB", less, float64(m.used.written)/1000/float64(m.done)/float64(nodes))
	b.add(key+".memory", "MB", less, float64(m.used.held)/1e6/float64(nodes))
	b.add(key+".peak", "MB", less, float64(m.used.peak)/1e6/float64(nodes))
}

func runSingle(ctx context.Context, b *bench) error {
	t, err := b.openTarget(ctx, 1)
	if err != nil {
		return err
	}
	defer t.close()
	m, err := t.drive(ctx, t.screening("one node, one caller", t.homes, 1, 0, b.span(4*time.Second)))
	if err != nil {
		return err
	}
	b.set("single.one.p50", "ms", less, m.quantile(50), m.quantiles(50))
	if m, err = t.drive(ctx, t.screening(fmt.Sprintf("one node, %d callers", b.callers()), t.homes, b.callers(), 0, b.span(6*time.Second))); err != nil {
		return err
	}
	b.set("single.rate", "/s", more, m.perSecond(), m.rates())
	b.set("single.p99", "ms", less, m.quantile(99), m.quantiles(99))
	m.noteUse(b, "single", 1)
	return nil
}

// runCluster alternates between the base lines and us for several rounds, so that other
// work on the machine falls on all of them.
func runCluster(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	if err := b.oneCaller(ctx, t); err != nil {
		return err
	}
	requests := t.crew.payments(b.options.Workload)
	nodes := len(t.homes)
	for round := range b.times(3) {
		if _, err := b.echoRound(ctx, b.callers(), b.span(4*time.Second), requests); err != nil {
			return err
		}
		m, err := t.drive(ctx, t.screening(fmt.Sprintf("cluster, %d callers, round %d", b.callers(), round+1), t.homes, b.callers(), 0, b.span(8*time.Second)))
		if err != nil {
			return err
		}
		b.add("cluster.rate", "/s", more, m.perSecond())
		b.add("cluster.p50", "ms", less, m.quantile(50))
		b.add("cluster.p99", "ms", less, m.quantile(99))
		m.noteUse(b, "cluster", nodes)
	}
	for _, rate := range []int{100, 1000} {
		t.calm(ctx) // Wait for the sealing that the saturating load left: these calls must not pay for it.
		m, err := t.drive(ctx, t.screening(fmt.Sprintf("cluster, %d/s", rate), t.homes, b.callers(), rate, b.span(10*time.Second)))
		if err != nil {
			return err
		}
		key := fmt.Sprintf("cluster.at%d", rate)
		m.noteUse(b, key, nodes)
		b.set(key+".p50", "ms", less, m.quantile(50), m.quantiles(50))
		b.set(key+".p99", "ms", less, m.quantile(99), m.quantiles(99))
		if cpu := b.report.Measures[key+".cpu"]; cpu != nil {
			b.set(key+".cpums", "ms", less, cpu.Value/1000, nil)
		}
	}
	if err := b.idle(ctx, t, b.span(5*time.Second)); err != nil {
		return err
	}
	return b.profile(ctx, t)
}

// runCPU is the part of the cluster suite that tells two builds apart, in one round of half
// a minute. Run both builds in turns.
func runCPU(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	const span = 3 * time.Second
	if _, err := b.echoRound(ctx, b.callers(), b.span(2*time.Second), t.crew.payments(b.options.Workload)); err != nil {
		return err
	}
	saturation := 0.0
	for _, rate := range []int{0, steadyLoad, 1000, 100} {
		t.calm(ctx) // Wait for the sealing that the load before left: this load must not pay for it.
		key := fmt.Sprintf("cpu.at%d", rate)
		if rate == steadyLoad {
			rate, key = max(int(saturation*soakShare), 1), "cpu.steady"
		}
		m, err := t.drive(ctx, t.screening(fmt.Sprintf("%d/s", rate), t.homes, b.callers(), rate, b.span(span)))
		if err != nil {
			return err
		}
		saturation = max(saturation, m.perSecond())
		m.noteUse(b, key, len(t.homes))
		b.set(key+".rate", "/s", more, m.perSecond(), m.rates())
		b.set(key+".p50", "ms", less, m.quantile(50), m.quantiles(50))
		b.set(key+".p99", "ms", less, m.quantile(99), m.quantiles(99))
	}
	if err := b.idle(ctx, t, b.span(span)); err != nil {
		return err
	}
	return b.profile(ctx, t)
}

// idle measures nodes that do nothing, all of them together.
func (b *bench) idle(ctx context.Context, t *target, span time.Duration) error {
	before, err := t.usage(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := t.usage(ctx)
	if err != nil {
		return err
	}
	used := after.since(before)
	b.add("idle.cpu", "ms/s", less, micros(used.cpu)/1000/after.at.Sub(before.at).Seconds())
	return nil
}

// oneCaller compares one caller at the leader with bare raft on both log stores.
func (b *bench) oneCaller(ctx context.Context, t *target) error {
	var trios []*trio
	defer func() {
		for _, one := range trios {
			one.close()
		}
	}()
	for _, store := range []string{"bolt", "wal"} {
		one, err := b.startTrio(ctx, store)
		if err != nil {
			return err
		}
		trios = append(trios, one)
	}
	size, err := b.recordSize(ctx, t)
	if err != nil {
		return err
	}
	requests := t.crew.payments(b.options.Workload)
	for round := range b.times(3) {
		for _, one := range trios {
			r, err := one.apply(ctx, 1, size, b.span(2*time.Second))
			if err != nil {
				return err
			}
			b.add("raft."+one.store+".p50", "ms", less, r.P50)
			b.add("raft."+one.store+".p99", "ms", less, r.P99)
			if r, err = one.apply(ctx, b.callers(), size, b.span(2*time.Second)); err != nil {
				return err
			}
			b.add("raft."+one.store+".rate", "/s", more, r.Rate)
			b.say("bare raft on %s: p50 %.2f ms, %.0f/s with %d callers", one.store, b.report.Measures["raft."+one.store+".p50"].Value, r.Rate, b.callers())
		}
		leader, _, err := t.leader(ctx)
		if err != nil {
			return err
		}
		m, err := t.drive(ctx, t.screening(fmt.Sprintf("leader, one caller, round %d", round+1), []*endpoint{leader}, 1, 0, b.span(3*time.Second)))
		if err != nil {
			return err
		}
		b.add("cluster.one.p50", "ms", less, m.quantile(50))
		b.add("cluster.one.p99", "ms", less, m.quantile(99))
		m.noteUse(b, "cluster.one", len(t.homes))
		if _, err := b.echoRound(ctx, 1, b.span(time.Second), requests); err != nil {
			return err
		}
	}
	best := b.report.Measures["raft.bolt.p50"]
	if other := b.report.Measures["raft.wal.p50"]; other.Value < best.Value {
		best = other
	}
	b.set("raft.best.p50", "ms", less, best.Value, best.Samples)
	return nil
}

// profile keeps CPU profiles of every node: saturated, with batches, at the two low rates,
// and idle.
func (b *bench) profile(ctx context.Context, t *target) error {
	if b.options.Profiles == "" || t.group == nil {
		return nil
	}
	if err := os.MkdirAll(b.options.Profiles, 0o700); err != nil {
		return err
	}
	span := b.span(profileSpan + 2*time.Second)
	for _, l := range []load{
		t.screening("saturated", t.homes, b.callers(), 0, span), t.batches("batches", b.options.Workload, span),
		t.screening("at1000", t.homes, b.callers(), 1000, span), t.screening("at100", t.homes, b.callers(), 100, span),
	} {
		t.calm(ctx)
		name := l.name
		l.name = "under the profiler, " + name
		err := t.profiled(ctx, name, func() error {
			_, err := t.drive(ctx, l)
			return err
		})
		if err != nil {
			return err
		}
	}
	return t.profiled(ctx, "idle", func() error { return nil })
}

// whileProfiled does something, and meanwhile takes a profile of every node if profiles are wanted.
func (b *bench) whileProfiled(ctx context.Context, t *target, name string, do func() error) error {
	if b.options.Profiles == "" || t.group == nil {
		return do()
	}
	if err := os.MkdirAll(b.options.Profiles, 0o700); err != nil {
		return err
	}
	return t.profiled(ctx, name, do)
}

// profiled takes a profile of every node while something runs.
func (t *target) profiled(ctx context.Context, name string, meanwhile func() error) error {
	failures := make(chan error, len(t.group.nodes))
	for _, n := range t.group.nodes {
		go func() { failures <- n.profile(ctx, filepath.Join(t.bench.options.Profiles, n.id+"-"+name+".pprof")) }()
	}
	err := meanwhile()
	for range t.group.nodes {
		if failed := <-failures; failed != nil {
			err = failed
		}
	}
	return err
}

func (n *node) profile(ctx context.Context, path string) error {
	return n.keep(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", n.admin, int(profileSpan.Seconds())), path)
}

// keep writes what the node answers into a file.
func (n *node) keep(ctx context.Context, url, path string) error {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile of %s: %s", n.id, strings.TrimSpace(response.Status))
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, response.Body)
	return err
}
