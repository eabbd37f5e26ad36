package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
)

// BenchmarkRejoin fills a group of three, on real disks and over real connections. Then it
// wipes one node while the others go on serving:
//
//	RAILGUARD_REJOIN_AGENTS=100000 RAILGUARD_REJOIN_RECORDS=5000000 \
//	go test ./cluster -run '^$' -bench Rejoin -benchtime 1x -timeout 2h
//
// RAILGUARD_REJOIN_DIR is a folder for the data (if empty, the system's temporary one).
// RAILGUARD_REJOIN_RATE is the constant load in calls a second. RAILGUARD_REJOIN_MINUTES limits
// the filling: a busy machine gets as many records as it makes in that time, and the run says
// how many.
func BenchmarkRejoin(b *testing.B) {
	for range b.N {
		r := &rejoin{
			B: b, agents: fromEnvironment(b, "RAILGUARD_REJOIN_AGENTS", 10_000),
			records: fromEnvironment(b, "RAILGUARD_REJOIN_RECORDS", 500_000), rate: fromEnvironment(b, "RAILGUARD_REJOIN_RATE", 500),
		}
		r.until = time.Now().Add(time.Duration(fromEnvironment(b, "RAILGUARD_REJOIN_MINUTES", 60)) * time.Minute)
		r.run()
	}
}

func fromEnvironment(b *testing.B, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	require.NoError(b, err, name)
	return value
}

type rejoin struct {
	*testing.B
	agents, records, rate int
	until                 time.Time // When the filling ends at the latest.

	g    *group
	load *screenLoad
}

func (r *rejoin) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, "rejoin:", line) // Printed at once, as a full run takes a while.
}

func (r *rejoin) run() {
	r.g = newGroup(r.B, func(c *Config) {
		c.Timing = Timing{Heartbeat: 2 * time.Second, Stall: time.Minute} // Three nodes and all load share this machine.
		c.Snapshot = r.snapshotPolicy()
		c.WriteDeadline = 10 * time.Second // While the history is filled, calls may wait long, because only the rate matters.
	})
	if dir := os.Getenv("RAILGUARD_REJOIN_DIR"); dir != "" {
		made, err := os.MkdirTemp(dir, "rejoin")
		require.NoError(r, err)
		r.Cleanup(func() { require.NoError(r, os.RemoveAll(made)) })
		r.Cleanup(r.g.closeAll)
		r.g.dir = made
	}
	r.g.form(3)
	r.load = &screenLoad{b: r.B, agents: r.agents}
	start := time.Now()
	r.load.registerAll(r.nodes())
	for _, n := range r.nodes() { // A record names its agent's revision, so every node must have them all.
		require.NoError(r, n.WaitApplied(r.Context(), r.g.leader().Applied()))
	}
	r.note("%d agents registered in %v", r.agents, rounded(time.Since(start)))
	r.snapshotSize("no screening record")
	r.fill(r.records / 5)
	r.snapshotSize("20 % of the records")
	r.fill(r.records - r.records/5)
	size := r.snapshotSize("all records")
	r.ReportMetric(float64(size)/float64(r.agents), "snapshot-B/agent")
	r.disks()
	r.snapshotsUnderLoad()
	r.wipe()
	if failed, odd := r.load.failed.Load(), r.load.odd.Load(); failed+odd > 0 {
		r.note("%d calls had to be sent again or failed, %d verdicts were no PROCEED", failed, odd)
	}
}

// snapshotPolicy returns the default policy. Small runs get another one: the default would keep
// their whole log, and a wiped node would need no snapshot.
func (r *rejoin) snapshotPolicy() SnapshotPolicy {
	if r.records >= 2_000_000 {
		return SnapshotPolicy{}
	}
	return SnapshotPolicy{LogBytes: 32 * engine.MiB, TrailingBytes: 16 * engine.MiB, Interval: 5 * time.Second}
}

func (r *rejoin) nodes() []*Node {
	var nodes []*Node
	for _, id := range []string{"n1", "n2", "n3"} {
		if n := r.g.all()[id]; n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (r *rejoin) fill(count int) {
	start, entries, before := time.Now(), entriesProposed.Get(), r.g.leader().audit.Size()
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Minute):
				r.note("... %d leaves", r.g.leader().audit.Size())
			}
		}
	}()
	r.load.fill(r.nodes, count, r.until)
	close(stop)
	took, wrote := time.Since(start), r.g.leader().audit.Size()-before
	r.note("%d records in %v: %.0f records/s, %.1f records an entry", wrote, rounded(took),
		float64(wrote)/took.Seconds(), float64(wrote)/float64(entriesProposed.Get()-entries))
	r.ReportMetric(float64(wrote)/took.Seconds(), "fill-records/s")
}

// snapshotSize takes a snapshot on the leader and reports its size, time and memory.
func (r *rejoin) snapshotSize(when string) int64 {
	leader := r.g.leader()
	start := time.Now()
	info, err := leader.Snapshot(r.Context())
	require.NoError(r, err)
	took := time.Since(start)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	r.note("%s: snapshot of %d bytes (%.0f an agent) in %v; history %d leaves; heap of the three nodes %.0f MB", when,
		info.Size, float64(info.Size)/float64(r.agents), rounded(took), leader.audit.Size(), float64(memory.HeapAlloc)/1e6)
	return info.Size
}

func (r *rejoin) disks() {
	leader := r.g.leader()
	history := folderBytes(r, leader.folder.Sub(datadir.AuditFolder))
	log := folderBytes(r, leader.folder.Sub(datadir.RaftFolder)) - folderBytes(r, leader.snaps.Dir)
	r.note("on the leader's disk: history %.1f MB, %.0f bytes a leaf; raft log file %.1f MB", float64(history)/1e6,
		float64(history)/float64(leader.audit.Size()), float64(log)/1e6)
	r.ReportMetric(float64(history)/float64(leader.audit.Size()), "audit-B/leaf")
}

// folderBytes sums up file sizes. Files that vanish meanwhile count nothing.
func folderBytes(t testing.TB, dir string) (sum int64) {
	require.NoError(t, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	}))
	return sum
}

const (
	calmTime     = 10 * time.Second
	snapshotRuns = 5
)

// snapshotsUnderLoad compares the latency of proposals in three phases: no snapshot, one on the
// leader, one on all nodes.
func (r *rejoin) snapshotsUnderLoad() {
	s := r.load.steadily(r.rate, r.nodes)
	defer s.end()
	time.Sleep(time.Second) // Time to warm up.
	start := time.Now()
	time.Sleep(calmTime)
	calm := s.between(start, time.Now())
	alone := r.writeSnapshots([]*Node{r.g.leader()})
	all := r.writeSnapshots(r.nodes())
	time.Sleep(time.Second)
	leader, everyone := s.within(alone), s.within(all)
	r.note("no snapshot:             %v", calm)
	r.note("leader writes one:       %v (%d snapshots)", leader, len(alone))
	r.note("all three write one:     %v (%d snapshots)", everyone, len(all))
	r.ReportMetric(float64(leader.p99)/float64(calm.p99), "p99-snapshot/calm")
}

// writeSnapshots takes snapshots one after another, and returns when they were being written.
func (r *rejoin) writeSnapshots(nodes []*Node) (spans []span) {
	for range snapshotRuns {
		time.Sleep(time.Second) // Time for entries that the snapshot covers.
		start := time.Now()
		inParallel(len(nodes), len(nodes), func(i int, _ *rand.Rand) {
			if _, err := nodes[i].Snapshot(r.Context()); err != nil {
				r.Errorf("snapshot: %v", err)
			}
		})
		spans = append(spans, span{start, time.Now()})
	}
	return spans
}

// wipe deletes a node's disk under load, and follows the node until it is complete again.
func (r *rejoin) wipe() {
	leader := r.g.leader()
	wiped := r.g.follower().NodeID()
	staying := func() (stay []*Node) {
		for _, n := range r.nodes() {
			if n.NodeID() != wiped {
				stay = append(stay, n)
			}
		}
		return stay
	}
	s := r.load.steadily(r.rate, staying)
	time.Sleep(time.Second)
	start := time.Now()
	time.Sleep(calmTime)
	before := s.between(start, time.Now())
	size := leader.audit.Size()
	r.g.close(wiped)
	require.NoError(r, os.RemoveAll(filepath.Join(r.g.dir, wiped)))
	start = time.Now()
	n := r.g.open(wiped, expect(3), join(r.g.host("n1"), r.g.host("n2"), r.g.host("n3")))
	reader := &oldReader{leader: leader, asked: n, random: rand.New(rand.NewPCG(9, 9)), below: size}
	done := r.follow(n, leader, reader, size, start)
	during := s.between(start, start.Add(done))
	s.end()
	r.note("load before: %v", before)
	r.note("load during: %v, %d calls failed", during, s.failed)
	r.ReportMetric(done.Seconds(), "complete-s")
	r.ReportMetric(float64(during.p99)/float64(before.p99), "p99-rejoin/calm")
	check := time.Now()
	require.NoError(r, n.WaitApplied(r.Context(), leader.Applied()))
	requireSameHistory(r.B, leader, n, leader.audit.Size())
	requireSameState(r.B, leader, n)
	r.note("all %d leaves of the wiped node read, hashed and compared with the leader's in %v: equal; digests equal", leader.audit.Size(), rounded(time.Since(check)))
}

// follow waits until a node has come back, and returns how long that took.
func (r *rejoin) follow(n, leader *Node, reader *oldReader, size uint64, start time.Time) time.Duration {
	id := raft.ServerID(n.NodeID())
	steps := []struct {
		name    string
		reached func() bool
	}{
		{"member without a vote", func() bool {
			server, known := leader.replica.findServer(id)
			to, err := port.ParseAddress(string(server.Address))
			return known && err == nil && to.Incarnation == n.greeter.address.Incarnation
		}},
		{"state restored, its tree head the leader's", func() bool { return r.sameHead(n, leader, size) }},
		{"in step with the log", func() bool { return n.Applied()+promoteLag >= leader.Applied() }},
		{"voter", func() bool {
			server, known := leader.replica.findServer(id)
			return known && server.Suffrage == raft.Voter
		}},
		{"history complete", func() bool { return n.audit.Size() >= size && len(n.audit.Missing(1)) == 0 && !n.history.busy.Load() }},
	}
	at := make([]time.Duration, len(steps))
	var peak uint64
	for left := len(steps); left > 0; time.Sleep(20 * time.Millisecond) {
		require.Less(r, time.Since(start), rejoinPatience, "%v", at)
		for i := range steps {
			if at[i] == 0 && (i < 2 || at[1] > 0) && steps[i].reached() {
				at[i], left = time.Since(start), left-1
				r.note("%-44s after %v", steps[i].name, rounded(at[i]))
			}
		}
		if at[1] > 0 {
			reader.read()
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		peak = max(peak, memory.HeapAlloc)
	}
	require.Zero(r, reader.wrong)
	require.Zero(r, reader.failed)
	worst := time.Duration(0)
	for _, took := range reader.throughPeer {
		worst = max(worst, took)
	}
	r.note("%d old leaves read at the wiped node through a peer meanwhile, slowest %v; peak heap of the three nodes %.0f MB", len(reader.throughPeer), rounded(worst), float64(peak)/1e6)
	return at[len(at)-1]
}

func (r *rejoin) sameHead(n, leader *Node, size uint64) bool {
	if n.Settings().Genesis == nil || len(n.replica.listServers()) == 0 {
		return false
	}
	view, err := n.View(context.Background(), 0)
	if err != nil || view.Size < size || leader.audit.Size() < view.Size {
		return false
	}
	require.Equal(r, mustRoot(r.B, leader, view.Size), view.Root)
	return true
}
