package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/cluster"
	"railguard/engine"
	"railguard/fsm/wire"
)

// World is some nodes and everything around them.
type World struct {
	t       testing.TB
	Net     *Network
	Random  *rand.Rand // Of the one who makes the faults.
	dir     string
	genesis func() wire.Genesis

	mu    sync.Mutex
	hosts []*Host
	gave  []string // Reasons of nodes that gave up though nothing was done to them.
}

// Host is a place where a node runs: what survives the node's process.
type Host struct {
	ID    string
	world *World
	Clock *Clock
	log   *raft.InmemStore

	mu      sync.Mutex
	history *audittest.MemDir
	node    *cluster.Node
	session *session
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

// session is one life of a node's process: after its end it writes nothing any more.
type session struct {
	*raft.InmemStore
	ended atomic.Bool
}

var errPowerOff = errors.New("sim: power is off")

func (s *session) StoreLogs(logs []*raft.Log) error {
	if s.ended.Load() {
		return errPowerOff
	}
	return s.InmemStore.StoreLogs(logs)
}

func (s *session) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *session) DeleteRange(low, high uint64) error {
	if s.ended.Load() {
		return errPowerOff
	}
	return s.InmemStore.DeleteRange(low, high)
}

func (s *session) Set(key, value []byte) error {
	if s.ended.Load() {
		return errPowerOff
	}
	return s.InmemStore.Set(key, value)
}

func (s *session) SetUint64(key []byte, value uint64) error {
	if s.ended.Load() {
		return errPowerOff
	}
	return s.InmemStore.SetUint64(key, value)
}

func (s *session) Close() error { return nil }

// NewWorld makes hosts n1 to n<count>; nothing runs yet.
func NewWorld(t testing.TB, seed uint64, count int) *World {
	w := &World{t: t, Net: NewNetwork(seed), Random: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir()}
	for i := range count {
		w.hosts = append(w.hosts, &Host{
			ID: fmt.Sprintf("n%d", i+1), world: w, Clock: &Clock{start: time.Now()},
			log: raft.NewInmemStore(), history: audittest.NewMemDir(),
		})
	}
	return w
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

// Node returns the running node, nil when the host is down.
func (h *Host) Node() *cluster.Node {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.node
}

// Start runs the node.
func (h *Host) Start() {
	var others []string
	for _, other := range h.world.hosts {
		others = append(others, other.address())
	}
	s := &session{InmemStore: h.log}
	h.mu.Lock()
	history := h.history
	h.mu.Unlock()
	node, err := cluster.Open(cluster.Config{
		Logger: h.world.logger(),
		ID:     h.ID, DataDir: filepath.Join(h.world.dir, h.ID), ListenCluster: h.address(), Join: others,
		BootstrapExpect: len(h.world.hosts), Genesis: Genesis, Insecure: true, Version: "sim",
		Clock: h.Clock, Network: h.world.Net.Of(h.ID), History: history,
		OpenLog:   func(string) (cluster.LogStore, error) { return s, nil },
		FreeSpace: func(string) (uint64, uint64, error) { return 1 << 40, 1 << 41, nil },
		Snapshot:  cluster.SnapshotPolicy{LogBytes: 256 << 10, Interval: 2 * time.Second, TrailingBytes: 64 << 10},
		Timing:    cluster.Timing{Heartbeat: 200 * time.Millisecond, Commit: 5 * time.Millisecond},
		Fatal: func(reason string) {
			if !s.ended.Load() {
				h.world.mu.Lock()
				h.world.gave = append(h.world.gave, h.ID+": "+reason)
				h.world.mu.Unlock()
			}
		},
	})
	require.NoError(h.world.t, err, h.ID)
	h.mu.Lock()
	h.node, h.session = node, s
	h.mu.Unlock()
}

// logger writes the nodes' lines with virtual time where RAILGUARD_SIM_LOG is set.
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

// Stop ends the node in good order.
func (h *Host) Stop() {
	h.mu.Lock()
	node := h.node
	h.node = nil
	h.mu.Unlock()
	if node != nil {
		require.NoError(h.world.t, node.Close(), h.ID)
	}
}

// Crash cuts the power: what was not synced is lost, in part or whole.
func (h *Host) Crash(loss audittest.Loss) {
	h.mu.Lock()
	node, s := h.node, h.session
	h.node = nil
	if s != nil {
		s.ended.Store(true)
	}
	h.history = h.history.CrashClone(loss, h.world.Random)
	h.mu.Unlock()
	if node == nil {
		return
	}
	h.world.Net.Isolate(h.ID, h.world.IDs()...)
	for _, other := range h.world.IDs() {
		h.world.Net.Break(h.ID, other)
	}
	_ = node.Close() // To end its goroutines; nobody hears it any more.
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

// AwaitReady waits until every node is ready.
func (w *World) AwaitReady(patience time.Duration) {
	limit := time.Now().Add(patience)
	for _, h := range w.hosts {
		for {
			ready := h.Node().Ready(context.Background(), wire.ReadyQuery{Exclude: []string{"clock"}})
			if ready.Ready {
				break
			}
			require.True(w.t, time.Now().Before(limit), "%s is not ready: %+v; gave up: %v", h.ID, ready, w.GaveUp())
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// StopAll ends all nodes.
func (w *World) StopAll() {
	for _, h := range w.hosts {
		h.Stop()
	}
}

// Genesis is the first record of a simulated cluster.
func Genesis() wire.Genesis {
	return wire.Genesis{
		ClusterID: "sim", Dev: true, Issuer: "did:kya:sim", PublicURL: "https://sim.example",
		IDKey: [16]byte{1}, SaltKey: [16]byte{2},
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{1}},
		Policy:     *engine.DefaultPolicy(),
	}
}
