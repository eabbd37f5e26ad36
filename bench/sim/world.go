package sim

import (
	"context"
	"crypto/elliptic"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/cluster"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// World is some nodes with their hosts, disks, clocks and network.
type World struct {
	t      testing.TB
	Net    *Network
	Random *rand.Rand // Source of random choices for the goroutine that makes the faults.
	seed   uint64
	dir    string

	folders atomic.Int64 // How many folders the hosts have had.

	mu    sync.Mutex
	hosts []*Host
	gave  []string // Reasons of nodes that gave up although no fault was made that explains it.

	restarts []string // Reasons of nodes that gave up and whom a restart helped.
	observed observed
	beside   sync.WaitGroup // Counts the faults that go on while others are made.

	tellLock sync.Mutex
	tell     func(what string) // Is told what is done; nil: nobody is.

	calls          *History // What callers were told; nil: nobody looks at nodes that start.
	segments       uint     // The height of the history's segments; 0: as servers have them.
	backups        int
	saved          *saved // The last backup; nil: none was taken.
	noTransferUpTo uint64 // In terms up to this one no leadership is transferred any more.

	need  engine.PermitNeed // Which payments are to be redeemed before they are settled.
	lapse engine.Time       // How long an approval is good; 0: as long as by the default policy.

	countLock sync.Mutex
	counted   map[string]int // How often each thing happened in this world.

	// Adjust, if set before Start, may change every log entry as a host writes it.
	Adjust func(host *Host, log *raft.Log)
}

// count notes that something happened.
func (w *World) count(what string, times int) {
	w.countLock.Lock()
	defer w.countLock.Unlock()
	if w.counted == nil {
		w.counted = map[string]int{}
	}
	w.counted[what] += times
}

// Host is the machine on which a node runs. It survives the node's process.
type Host struct {
	ID    string
	world *World
	Clock *Clock
	luck  *rand.Rand // Decides what power cuts leave. It is no world's source, because how often it is asked depends on the files.

	mu      sync.Mutex
	history *audittest.MemDir
	indexes map[string]*audittest.MemDir // Of history, by their names.
	node    *cluster.Node
	dying   *cluster.Node // A node without power whose goroutines have not ended yet.
	disk    *disk
	port    *Port // The access of the node's process to the network.
	files   *files
	left    []string      // Old folders to which a process without power may still write.
	doomed  bool          // A fault was made that may make the node give up.
	gaveUp  bool          // The node gave up for a reason that a restart mends.
	build   ofac.Matchers // What the node's build knows; nil: what this one does.
	late    bool          // The host came when there was a group: it never forms one.
}

// Clock is a host's clock: the bubble's, with an offset of its own.
type Clock struct {
	start  time.Time
	offset atomic.Int64
}

// Wall implements cluster.Clock.
func (c *Clock) Wall() engine.Time { return engine.Time(time.Now().UnixNano() + c.offset.Load()) }

// Monotonic implements cluster.Clock.
func (c *Clock) Monotonic() engine.Time { return engine.Time(time.Since(c.start)) }

// Jump moves the wall clock.
func (c *Clock) Jump(d time.Duration) { c.offset.Add(int64(d)) }

// Right sets the wall clock right again.
func (c *Clock) Right() { c.offset.Store(0) }

// NewWorld makes the hosts n1 to n<count>. No node runs yet.
func NewWorld(t testing.TB, seed uint64, count int) *World {
	w := &World{t: t, Net: NewNetwork(seed), Random: rand.New(rand.NewPCG(seed, 2)), seed: seed, dir: memoryDir(t)}
	w.observed.digests, w.observed.roots = map[uint64][32]byte{}, map[uint64][32]byte{}
	for i := range count {
		w.hosts = append(w.hosts, w.addHost(i+1))
	}
	return w
}

// addHost makes a host that is not of the world yet.
func (w *World) addHost(number int) *Host {
	return &Host{ID: fmt.Sprintf("n%d", number), world: w, luck: rand.New(rand.NewPCG(w.seed, 100+uint64(number))), Clock: &Clock{start: time.Now()}, history: audittest.NewMemDir(), indexes: emptyIndexes()}
}

// indexNames are the indexes that a node makes from its history.
var indexNames = []string{"calls", "references", "endings"}

func emptyIndexes() map[string]*audittest.MemDir {
	indexes := map[string]*audittest.MemDir{}
	for _, name := range indexNames {
		indexes[name] = audittest.NewMemDir()
	}
	return indexes
}

// memoryDir makes a folder that is removed after the test. If the system has a file system in
// memory, it is there, because nodes sync many small files.
func memoryDir(t testing.TB) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "railguard-sim-*"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return t.TempDir()
}

// newFolder returns the path of a folder that no host has had, not even another machine of this name.
func (h *Host) newFolder() string {
	return filepath.Join(h.world.dir, fmt.Sprintf("%s-%d", h.ID, h.world.folders.Add(1)))
}

func (h *Host) address() string { return "127.0.0.1:" + h.ID[1:] }

// Hosts returns all hosts.
func (w *World) Hosts() []*Host { return w.hosts }

// IDs returns the ids of all hosts.
func (w *World) IDs() (ids []string) {
	for _, h := range w.hosts {
		ids = append(ids, h.ID)
	}
	return ids
}

// Node returns the running node; nil: the host is down.
func (h *Host) Node() *cluster.Node {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.node
}

// Start runs the node.
func (h *Host) Start() { require.NoError(h.world.t, h.open(), h.ID) }

// open runs the node, unless it refuses to start.
func (h *Host) open() error {
	h.world.trace(h.ID + " starts")
	var others []string
	for _, other := range h.world.hosts {
		others = append(others, other.address())
	}
	h.mu.Lock()
	if h.files == nil {
		h.takeFiles()
	}
	kept := h.files
	life := &disk{files: kept, host: h, adjust: h.world.Adjust, released: make(chan struct{}), fallen: make(chan struct{})}
	history, indexes, expect := h.history, h.indexes, len(h.world.hosts)
	if h.late {
		expect = 0
	}
	h.doomed, h.gaveUp = false, false
	port := h.world.Net.Of(h.ID)
	h.port = port
	h.mu.Unlock()
	h.world.Net.Up(h.ID)
	node, err := cluster.Open(cluster.Config{
		Logger: h.world.logger(),
		ID:     h.ID, DataDir: kept.root, Disk: kept, ListenCluster: h.address(), Join: others,
		BootstrapExpect: expect, Genesis: h.world.genesis, Insecure: true, AdmitAll: true, Version: "sim",
		Clock: h.Clock, Network: port, History: history, Keys: func(name string) audit.Dir { return indexes[name] },
		SegmentLevel: h.world.segments,
		OpenLog:      life.open,
		Matchers:     h.build,
		FreeSpace:    func(string) (uint64, uint64, error) { return 1 << 40, 1 << 41, nil },
		Snapshot:     cluster.SnapshotPolicy{LogBytes: 256 << 10, Interval: 2 * time.Second, TrailingBytes: 64 << 10},
		Timing:       cluster.Timing{Heartbeat: 200 * time.Millisecond, Commit: 5 * time.Millisecond},
		Fatal:        func(reason string) { h.gave(life, reason) },
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.node, h.disk = node, life
	h.mu.Unlock()
	return nil
}

// gave notes why a node gave up. It does not return before the process has ended, as in reality.
// If the reason was to be expected, or is one that a restart mends, it leaves the node to the
// supervisor.
func (h *Host) gave(life *disk, reason string) {
	h.mu.Lock()
	if life.over() { // PowerOff may have come first: the next process has not given up.
		h.mu.Unlock()
		return
	}
	expected := h.doomed || strings.Contains(reason, "restart this node")
	h.gaveUp = true
	h.mu.Unlock()
	h.world.trace(h.ID + " gives up: " + reason)
	life.fall()
	h.world.mu.Lock()
	if expected {
		h.world.restarts = append(h.world.restarts, h.ID+": "+reason)
	} else {
		h.world.gave = append(h.world.gave, h.ID+": "+reason)
	}
	h.world.mu.Unlock()
	<-life.released
}

// Doom notes that the next fault may make the node give up.
func (h *Host) Doom() *disk {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doomed = true
	return h.disk
}

func (h *Host) isDoomed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doomed
}

// Supervise restarts the node if it gave up for a reason that a restart mends, and reports
// whether it did so.
func (h *Host) Supervise() bool {
	h.mu.Lock()
	again := h.gaveUp && h.node != nil
	h.mu.Unlock()
	if again {
		h.Crash(audittest.LoseNone)
		h.Start()
	}
	return again
}

// logger returns a log for a node. It prints lines with virtual time if RAILGUARD_SIM_LOG is set.
func (w *World) logger() *slog.Logger {
	level := slog.LevelInfo
	switch os.Getenv("RAILGUARD_SIM_LOG") {
	case "":
		return nil
	case "warn":
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// Stop ends the node in an orderly way.
func (h *Host) Stop() {
	h.mu.Lock()
	node, life, dead := h.node, h.disk, h.gaveUp
	if !dead {
		h.node = nil
	}
	h.mu.Unlock()
	if dead {
		h.Crash(audittest.LoseNone)
	} else if node != nil {
		h.world.trace(h.ID + " stops")
		h.close(node, life)
	}
}

// close ends a node in an orderly way. If its disk hangs, the node gives up while it ends; then
// its process ends as well.
func (h *Host) close(node *cluster.Node, life *disk) {
	closed := make(chan error, 1)
	go func() { closed <- node.Close() }()
	select {
	case err := <-closed:
		require.NoError(h.world.t, err, h.ID)
		life.end()
	case <-life.fallen:
		h.mu.Lock()
		h.node = node
		h.mu.Unlock()
		h.PowerOff(audittest.LoseNone)
		<-closed // Close waits with a lock, in which virtual time stands still for a second caller.
		h.reap()
	}
}

// Crash cuts the power: unsynced data is lost in part or as a whole. If nothing is to be lost, it
// only kills the process, and the host still sends what the process wrote.
func (h *Host) Crash(loss audittest.Loss) {
	h.PowerOff(loss)
	h.reap()
}

// PowerOff is the moment of the crash. From then on the node can write nothing and send nothing. The
// order is such that what is kept is of one moment, although the node runs meanwhile: first nobody
// hears it any more, then nothing becomes durable, and history, which is written from the log, is kept
// last. So it may be ahead of the log's files by what the log has in any case, and is never behind.
func (h *Host) PowerOff(loss audittest.Loss) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.node != nil {
		h.world.trace(h.ID + [...]string{" loses its power", " is killed", " loses its power and parts of what was not synced"}[loss])
		h.port.end(loss != audittest.LoseNone)
		h.dying, h.node = h.node, nil
	}
	if h.disk != nil {
		h.disk.end()
	}
	if h.files != nil {
		kept, err := h.files.cut(h.newFolder(), loss, h.luck)
		require.NoError(h.world.t, err, h.ID)
		h.left, h.files = append(h.left, h.files.root), kept
	}
	cut := map[string]*audittest.MemDir{}
	for _, name := range indexNames {
		cut[name] = h.indexes[name].CrashClone(loss, h.luck)
	}
	h.indexes = cut
	h.history = h.history.CrashClone(loss, h.luck)
}

// reap ends the goroutines of a node without power.
func (h *Host) reap() {
	h.mu.Lock()
	node, left := h.dying, h.left
	h.dying, h.left = nil, nil
	h.mu.Unlock()
	if node != nil {
		_ = node.Close()
	}
	for _, folder := range left {
		_ = os.RemoveAll(folder)
	}
}

// Wipe removes everything that the host has stored, as if it got a new disk.
func (h *Host) Wipe() {
	h.Crash(audittest.LoseAll)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history, h.indexes = audittest.NewMemDir(), emptyIndexes()
	require.NoError(h.world.t, os.RemoveAll(h.files.root))
	h.takeFiles()
}

// Restarts returns why nodes gave up and were started again.
func (w *World) Restarts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.restarts...)
}

// GaveUp returns why nodes gave up by themselves.
func (w *World) GaveUp() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.gave...)
}

// StartAll runs all nodes and waits until they are ready.
func (w *World) StartAll() {
	for _, h := range w.hosts {
		if h.Node() == nil {
			h.Start()
		}
	}
	w.AwaitReady(time.Minute)
}

// trace tells what is done to the world, and prints it if the nodes' lines are printed, too.
func (w *World) trace(what string) {
	w.tellLock.Lock()
	defer w.tellLock.Unlock()
	if w.tell != nil {
		w.tell(what)
	}
	if log := w.logger(); log != nil {
		log.Warn("SIM " + what)
	}
}

// AwaitReady waits until every node is ready. It restarts a node that gave up for a reason that a
// restart mends. Then the time to become ready begins anew for all.
func (w *World) AwaitReady(patience time.Duration) {
	limit := time.Now().Add(patience)
	for _, h := range w.hosts {
		for {
			w.requireCurrent()
			ready := h.Node().Ready(context.Background(), report.ReadyQuery{Exclude: []string{"clock"}})
			if ready.Ready {
				break
			}
			require.True(w.t, time.Now().Before(limit), "%s is not ready: %+v; gave up: %v", h.ID, ready, w.GaveUp())
			time.Sleep(20 * time.Millisecond)
			for _, other := range w.hosts {
				if other.Supervise() {
					limit = time.Now().Add(patience)
				}
			}
		}
	}
}

// requireCurrent has the history look at every node.
func (w *World) requireCurrent() {
	for _, host := range w.hosts {
		if w.calls != nil {
			w.calls.requireCurrent(host)
		}
	}
}

// StopAll ends all nodes and waits until everything that they began, such as a dial that gets no
// answer, has ended, too. It must wait because the time of a bubble stands still when the
// bubble's first goroutine is done.
func (w *World) StopAll() {
	for _, h := range w.hosts {
		h.Stop()
	}
	time.Sleep(lastPatience)
}

const lastPatience = 30 * time.Second

// Genesis is the first record of a simulated cluster.
func Genesis() wire.Genesis {
	return wire.Genesis{
		ClusterID: "sim", Dev: true, Issuer: "did:kya:sim", PublicURL: "https://sim.example",
		IDKey: [16]byte{1}, SaltKey: [16]byte{2},
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: somePoint(), Sealed: []byte{1}},
		Policy:     simulatedPolicy(),
	}
}

// genesis is the first record of this world.
func (w *World) genesis() wire.Genesis {
	first := Genesis()
	first.Policy.PermitNeed = w.need
	if w.lapse != 0 {
		first.Policy.ApprovalLapse = w.lapse
	}
	return first
}

// simulatedPolicy is the default policy without an oldest list: nobody fetches lists here, and
// payments that are all reviewed would show nothing of limits.
func simulatedPolicy() engine.Policy {
	policy := *engine.DefaultPolicy()
	policy.ListReviewAge = 0
	return policy
}

// somePoint is a public key that nobody signs with: a point of the curve, without which no backup is
// written.
func somePoint() []byte {
	point, at := make([]byte, 64), elliptic.P256().Params()
	at.Gx.FillBytes(point[:32])
	at.Gy.FillBytes(point[32:])
	return point
}
