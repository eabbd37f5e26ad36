package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

const (
	rejoinPatience = 30 * time.Minute
	sendAgain      = 50 * time.Millisecond // Pause after a call without a verdict: no leader, or a full queue.
)

// screenLoad makes usual screening records for many agents.
type screenLoad struct {
	b      testing.TB
	agents int
	failed atomic.Int64 // Calls without a verdict.
	odd    atomic.Int64 // Verdicts other than PROCEED.
}

// registerAll registers the agents through all nodes.
func (l *screenLoad) registerAll(nodes []*Node) {
	inParallel(l.agents, 256, func(i int, _ *rand.Rand) {
		name := fmt.Sprintf("Procurement Agent %d", i)
		body := wire.Encode(&wire.Register{
			Common:   wire.Common{Fragment: []byte(`"agentName":"` + name + `"`)},
			Operator: wire.OperatorRef{Name: fmt.Sprintf("example holdings %d gmbh", i%2000)},
			Profile: engine.AgentProfile{
				AgentName: name, OperatorLegalName: fmt.Sprintf("Example Holdings %d GmbH", i%2000), Type: engine.Supervised,
				Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.NoLimit},
			},
		})
		for l.send(nodes[i%len(nodes)], wire.KindRegister, body) != nil {
			time.Sleep(sendAgain)
		}
	})
}

// fill screens until history has count more records, or until a given time.
func (l *screenLoad) fill(nodes func() []*Node, count int, until time.Time) {
	inParallel(count, 3072, func(i int, random *rand.Rand) {
		for time.Now().Before(until) {
			all := nodes()
			n := all[i%len(all)]
			if l.send(n, wire.KindScreen, l.screen(n, random)) == nil {
				return
			}
			time.Sleep(sendAgain)
		}
	})
}

// inParallel calls do for 0 to count-1 from several goroutines.
func inParallel(count, callers int, do func(i int, random *rand.Rand)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(count), uint64(c)))
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				do(int(i-1), random)
			}
		})
	}
	all.Wait()
}

func (l *screenLoad) send(n *Node, kind wire.Kind, body []byte) error {
	r, err := n.Propose(context.Background(), kind, body)
	if err == nil && r.Code != wire.Applied {
		err = fmt.Errorf("%+v", r)
	}
	if err != nil {
		l.failed.Add(1)
		return err
	}
	var s leaf.Screen
	if kind == wire.KindScreen && (leaf.DecodeScreen(r.Data, &s) != nil || s.Verdict != engine.Proceed) {
		l.odd.Add(1)
	}
	return nil
}

// screen makes one record: a fragment of about 300 bytes, partly random like wallets and
// hashes, and five filter keys.
func (l *screenLoad) screen(n *Node, random *rand.Rand) []byte {
	slot := engine.AgentSlot(1 + random.IntN(l.agents))
	settings, agent := n.Settings(), n.Agent(slot)
	basis := engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version, Matcher: settings.Matcher, Rules: settings.Rules().Number}
	basis.Fold(engine.RevAgent, uint32(slot), agent.Rev)
	basis.Fold(engine.RevOperator, uint32(agent.Operator), n.Operator(agent.Operator).Rev)
	party := random.IntN(50_000)
	var request [32]byte
	for i := 0; i < len(request); i += 8 {
		binary.LittleEndian.PutUint64(request[i:], random.Uint64())
	}
	fragment := benchFragment(fmt.Sprintf("%d.%02d", random.IntN(500), random.IntN(100)),
		fmt.Sprintf("0x%016x%016x%08x", random.Uint64(), random.Uint64(), random.Uint32()), fmt.Sprintf("Vendor %d Ltd", party), request)
	screen := &wire.Screen{
		Agent: slot, Version: 1, Expires: agent.ExpiresAt, Amount: engine.USD(1+random.IntN(500)) * engine.Dollar, Basis: basis, Fragment: fragment,
		Filters: []uint64{uint64(slot), 1 << 40, 2<<40 + 25, random.Uint64(), 3<<40 + uint64(party)},
	}
	screen.Party[0], screen.Party[1], screen.Party[2] = byte(party), byte(party>>8), 1
	return wire.Encode(screen)
}

// steady is a load at a constant rate, however long the answers take. Each call is timed from
// the moment when it was due.
type steady struct {
	load  *screenLoad
	nodes func() []*Node
	stop  chan struct{}
	done  sync.WaitGroup

	mu      sync.Mutex
	samples []sampledCall
	failed  int
}

type sampledCall struct {
	due  time.Time
	took time.Duration
}

const steadyInFlight = 4096

func (l *screenLoad) steadily(perSecond int, nodes func() []*Node) *steady {
	s := &steady{load: l, nodes: nodes, stop: make(chan struct{})}
	s.done.Go(func() { s.run(time.Second / time.Duration(perSecond)) })
	return s
}

func (s *steady) run(every time.Duration) {
	slots := make(chan struct{}, steadyInFlight)
	random := rand.New(rand.NewPCG(7, 7))
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	due := time.Now()
	for i := 0; ; {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		for ; !due.After(time.Now()); due = due.Add(every) {
			nodes, at := s.nodes(), due
			n := nodes[i%len(nodes)]
			body := s.load.screen(n, random)
			i++
			slots <- struct{}{}
			s.done.Go(func() {
				defer func() { <-slots }()
				err := s.load.send(n, wire.KindScreen, body)
				s.mu.Lock()
				defer s.mu.Unlock()
				if err != nil {
					s.failed++
					return
				}
				s.samples = append(s.samples, sampledCall{at, time.Since(at)})
			})
		}
	}
}

func (s *steady) end() {
	close(s.stop)
	s.done.Wait()
}

// latencies describes the calls due between two moments.
type latencies struct {
	count    int
	p50, p99 time.Duration
	worst    time.Duration
	rate     float64 // Answers per second.
}

func (l latencies) String() string {
	return fmt.Sprintf("%.0f/s, p50 %v, p99 %v, worst %v", l.rate, rounded(l.p50), rounded(l.p99), rounded(l.worst))
}

func (s *steady) between(from, to time.Time) latencies {
	return s.within([]span{{from, to}})
}

type span struct{ from, to time.Time }

// within returns the latencies of the calls due within any of the spans.
func (s *steady) within(spans []span) latencies {
	s.mu.Lock()
	defer s.mu.Unlock()
	var took []time.Duration
	var length time.Duration
	for _, w := range spans {
		length += w.to.Sub(w.from)
	}
	for _, call := range s.samples {
		if slices.ContainsFunc(spans, func(w span) bool { return !call.due.Before(w.from) && call.due.Before(w.to) }) {
			took = append(took, call.took)
		}
	}
	if len(took) == 0 {
		return latencies{}
	}
	slices.Sort(took)
	return latencies{
		count: len(took), p50: took[len(took)/2], p99: took[len(took)*99/100], worst: took[len(took)-1],
		rate: float64(len(took)) / length.Seconds(),
	}
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > 100*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// oldReader reads leaves from before the snapshot at a node that does not have them.
type oldReader struct {
	leader, asked *Node
	random        *rand.Rand
	below         uint64
	throughPeer   []time.Duration
	wrong         int
	failed        int
}

// read reads one leaf and compares it with the leader's.
func (r *oldReader) read() {
	index := r.random.Uint64N(r.below)
	_, err := r.asked.audit.Leaf(index)
	absent := err != nil
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	start := time.Now()
	got, err := r.asked.Leaf(ctx, index)
	took := time.Since(start)
	if err != nil {
		r.failed++
		return
	}
	want, err := r.leader.audit.Leaf(index)
	if err != nil || !bytes.Equal(want, got) {
		r.wrong++
	}
	if absent {
		r.throughPeer = append(r.throughPeer, took)
	}
}

// requireSameHistory compares a node's whole history with another's. It reads and hashes
// everything, and compares every leaf hash.
func requireSameHistory(t testing.TB, want, got *Node, size uint64) {
	t.Helper()
	require.Empty(t, got.audit.Missing(1))
	require.GreaterOrEqual(t, got.audit.Size(), size)
	require.Equal(t, mustRoot(t, want, size), mustRoot(t, got, size))
	summary, err := got.audit.Verify(context.Background(), nil)
	require.NoError(t, err)
	require.Zero(t, summary.Damaged)
	require.Zero(t, summary.Missing)
	require.GreaterOrEqual(t, summary.Leaves, size)
	for first := uint64(0); first < size; first += audit.BundleLeaves {
		width := int(min(audit.BundleLeaves, size-first))
		theirs, err := want.audit.Tile(0, first/audit.BundleLeaves, width)
		require.NoError(t, err)
		ours, err := got.audit.Tile(0, first/audit.BundleLeaves, width)
		require.NoError(t, err)
		if !bytes.Equal(theirs, ours) {
			t.Fatalf("leaf hashes from %d differ", first)
		}
	}
	random := rand.New(rand.NewPCG(size, 1))
	for range min(1000, size) {
		index := random.Uint64N(size)
		theirs, err := want.audit.Record(index)
		require.NoError(t, err)
		ours, err := got.audit.Record(index)
		require.NoError(t, err)
		require.Equal(t, theirs, ours, "leaf %d", index)
	}
}

// requireSameState compares the digests of two nodes at one index. Meanwhile only the cluster
// itself may propose records.
func requireSameState(t testing.TB, a, b *Node) {
	t.Helper()
	for range 100 {
		mine, err := a.View(context.Background(), 0)
		require.NoError(t, err)
		require.NoError(t, b.WaitApplied(context.Background(), mine.Index))
		theirs, err := b.View(context.Background(), 0)
		require.NoError(t, err)
		if mine.Index == theirs.Index {
			require.Equal(t, mine.Digest(), theirs.Digest())
			return
		}
	}
	require.Fail(t, "no two states of one index")
}
