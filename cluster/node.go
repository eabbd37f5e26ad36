package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Node is one member of the cluster, or one that waits to become a member.
type Node struct {
	*state // What readers ask for.

	config  Config
	log     *slog.Logger
	life    *life
	folder  *datadir.Folder
	audit   *audit.Store
	store   datadir.LogStore
	snaps   *datadir.Snapshots
	replica *replica

	adapter   *adapter
	waiters   *waiters
	sequencer *sequencer
	lists     *listKeeper
	digester  *digester

	certificates *port.Keeper // nil: no certificates given.
	transport    port.Transport
	door         port.Door // Behind mux, from the start on.
	greeter      *greeter
	peers        *peers
	clocks       *clocks
	forwarder    *forwarder
	arrivals     *arrivals
	reads        *readRounds

	membership  *membership
	finder      *finder
	history     *history
	lineage     *lineage
	retention   []retentionMark // Of the duties, oldest first.
	damaged     int             // Of the duties: damaged places that were told.
	installs    int             // Snapshots in a row. Of the apply goroutine, like installedAt.
	installedAt uint64          // Value of commands after the last of them.

	draining   atomic.Bool
	use        keyUse
	compaction compaction
	disk       *disk
	since      time.Time
	gauges     *gauges
}

const (
	closePatience   = 5 * time.Second
	logCacheEntries = 128 // Of at most 512 KiB each.
)

// Open starts a node on its data folder. It returns when the node's own state is
// loaded; whether it serves is Ready's matter.
func Open(config Config) (*Node, error) {
	config.fill()
	bridgeRaftMetrics()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	n := &Node{
		config: config, log: config.Logger.With("node", config.ID),
		replica: newReplica(config.ID, time.Now()), since: time.Now(),
	}
	n.life = newLife(n.log, config.Fatal)
	n.life.lastly = n.cutOff
	n.waiters = newWaiters(originOf(config.ID), randomSeq(), config.Clock)
	n.gauges = newGauges(config.ID)
	n.compaction.gate = newGate()
	n.adapter = &adapter{node: n, machine: fsm.New()}
	n.state = newState(config.Clock, n.adapter.Freeze)
	if err := n.openStores(); err != nil {
		return nil, errors.Join(err, n.closeStores())
	}
	if err := n.startRaft(); err != nil {
		return nil, errors.Join(err, n.closeStores())
	}
	n.start()
	return n, nil
}

// originOf marks a node's records in the log. Attempt numbers are random enough to
// be unique by themselves, so two nodes of one origin are no harm.
func originOf(id string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // Never fails (hash.Hash).
	sum := h.Sum32()
	return uint16(sum>>16) ^ uint16(sum)
}

// randomSeq is where a process begins to number its attempts: far from where any
// other one did, so that no result in the log can be taken for another's.
func randomSeq() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func (n *Node) openStores() (err error) {
	if n.folder, err = datadir.Open(n.config.Disk, n.config.DataDir, n.config.ID); err != nil {
		return err
	}
	if n.lineage, err = openLineage(n.config.DataDir, n.config.ID, n.folder, n.replica, n.life); err != nil {
		return err
	}
	n.greeter = newGreeter(&n.config, n.log, n.folder, n.state, n.replica, n.lineage)
	n.peers = newPeers(n.life, n.config.Clock, n.replica, n.greeter)
	n.clocks = &clocks{n.config.Clock, n.state, n.replica, n.peers}
	history := n.config.History
	if history == nil {
		history = audit.OSDir(n.folder.Sub(datadir.AuditFolder))
	}
	if n.audit, err = audit.Open(history, audit.Options{}); err != nil {
		return fmt.Errorf("cluster: history: %w", err)
	}
	if n.store, err = n.config.OpenLog(n.folder.Sub(datadir.RaftFolder)); err != nil {
		return err
	}
	if n.snaps, err = datadir.OpenSnapshots(n.config.Disk, n.folder.Sub(datadir.RaftFolder), newRaftLogger(n.log)); err != nil {
		return err
	}
	n.assemble()
	return nil
}

// assemble makes the parts that know of the stores and of each other.
func (n *Node) assemble() {
	n.disk = &disk{life: n.life, dir: n.config.DataDir, free: n.config.FreeSpace}
	n.lists = newListKeeper(n.folder.Sub(datadir.ListFolder), n.life, n.state, n.peers)
	n.history = &history{
		life: n.life, folder: n.folder, audit: n.audit, state: n.state, replica: n.replica, peers: n.peers, disk: n.disk,
		wake: make(chan struct{}, 1),
	}
	n.membership = &membership{
		life: n.life, state: n.state, replica: n.replica, lineage: n.lineage, peers: n.peers, deadAfter: n.config.DeadAfter,
		changing: newGate(),
	}
	n.finder = &finder{
		life: n.life, folder: n.folder, state: n.state, replica: n.replica, greeter: n.greeter, peers: n.peers,
		membership: n.membership, join: n.config.Join, expect: n.config.BootstrapExpect, release: n.config.Version,
	}
	n.digester = newDigester(n.life, n.replica, n.peers)
	n.sequencer = &sequencer{
		log: n.log, life: n.life, state: n.state, replica: n.replica, clocks: n.clocks, lineage: n.lineage,
		waiters: n.waiters, digests: n.digester.digests, pingNow: n.peers.pingNow, clock: stamper{clock: n.config.Clock},
		wake: make(chan struct{}, 1), slots: make(chan struct{}, entriesInFlight),
	}
	if n.config.BootstrapExpect > 0 {
		n.sequencer.founding = n.config.Genesis
	}
	n.forwarder = newForwarder(n.life, n.replica, n.peers, n.waiters, n.sequencer.signal)
	n.sequencer.forwarder = n.forwarder
	n.arrivals = &arrivals{sequencer: n.sequencer}
	n.reads = &readRounds{replica: n.replica, peers: n.peers, progress: &n.progress, patience: n.config.WriteDeadline}
}

func (n *Node) closeStores() error {
	errs := []error{n.closePort()}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.audit != nil {
		errs = append(errs, n.audit.Close())
	}
	if n.folder != nil {
		errs = append(errs, n.folder.Close())
	}
	return errors.Join(errs...)
}

// startRaft loads the state and starts the replica.
func (n *Node) startRaft() error {
	guarded := datadir.Guard(n.store, n.stallLimit, n.life.die)
	cache, err := raft.NewLogCache(logCacheEntries, guarded)
	if err != nil {
		return err
	}
	known, err := raft.HasExistingState(guarded, guarded, n.snaps)
	if err != nil {
		return fmt.Errorf("cluster: raft state: %w", err)
	}
	if !known && n.folder.Identity().ClusterID != "" {
		return fmt.Errorf("cluster: data folder %s was a member of cluster %s and its raft log is gone: "+
			"wipe the folder and let the node join anew", n.config.DataDir, n.folder.Identity().ClusterID)
	}
	if err := n.dropSupersededLog(guarded); err != nil {
		return err
	}
	if err := n.openPort(); err != nil {
		return err
	}
	if err := n.greeter.probeFormer(); err != nil {
		return err
	}
	transport := port.MainLoopHeartbeats{Transport: n.transport}
	config := n.raftConfig()
	if !known && n.config.BootstrapExpect == 1 && len(n.config.Join) == 0 {
		alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: config.LocalID, Address: transport.LocalAddr()}}}
		if err := raft.BootstrapCluster(config, cache, guarded, n.snaps, transport, alone); err != nil {
			return fmt.Errorf("cluster: bootstrap: %w", err)
		}
	}
	n.adapter.machine.Everything(&n.adapter.effects)
	if err := n.restored(&n.adapter.effects); err != nil {
		return err
	}
	replica, err := raft.NewRaft(config, n.adapter, cache, guarded, n.snaps, transport)
	if err != nil {
		return fmt.Errorf("cluster: raft: %w", err)
	}
	n.replica.begin(replica)
	return nil
}

// openPort binds the port between nodes and makes raft's network over it. Nothing is
// accepted before the node's state is loaded.
func (n *Node) openPort() (err error) {
	n.greeter.address = port.Address{Host: n.config.Advertise, Incarnation: port.Shown(n.folder.Identity().Incarnation)}
	if n.config.ListenCluster == "" {
		n.greeter.address.Host = n.config.ID
		n.transport = port.LoneTransport(n.greeter.address)
		return nil
	}
	proof, err := n.proof()
	if err != nil {
		return err
	}
	if n.greeter.mux, err = port.Listen(n.config.Network, proof, n.config.ListenCluster, n.log); err != nil {
		return err
	}
	if n.certificates != nil {
		n.certificates.OnChange(n.greeter.mux.ProveAnew)
	}
	if n.greeter.address.Host == "" {
		n.greeter.address.Host = n.greeter.mux.Addr()
	}
	transport := port.NewPeerTransport(n.greeter.address, newRaftLogger(n.log),
		func() uint64 { return n.replica.raft.CurrentTerm() },
		func(id string, to port.Address, timeout time.Duration) (net.Conn, error) {
			return n.greeter.dial(to.Host, port.ProtocolRaft, id, to.Incarnation, timeout)
		},
		func(id raft.ServerID) (raft.ServerAddress, error) {
			server, known := n.replica.find(id)
			if !known {
				return "", port.ErrNoPeer
			}
			return server.Address, nil
		})
	n.transport = transport
	n.door = port.Door{Arrival: n.greeter.arrival, Raft: transport.Receive, Calls: n.service().Serve}
	return nil
}

// proof is by what nodes know each other on the port; nil: by their word.
func (n *Node) proof() (func() *port.Authority, error) {
	if n.config.Insecure {
		return nil, nil
	}
	if n.config.Certificates.Given() {
		var err error
		if n.certificates, err = port.OpenCertificates(n.config.Certificates, n.config.ID, n.config.wallTime, n.log); err != nil {
			return nil, err
		}
		return n.certificates.Current, nil
	}
	drawn, err := port.NewAuthority(n.config.Secret, n.config.ID)
	return func() *port.Authority { return drawn }, err
}

func (n *Node) closePort() error {
	var errs []error
	if n.transport != nil {
		errs = append(errs, n.transport.Close())
	}
	if n.greeter != nil && n.greeter.mux != nil {
		errs = append(errs, n.greeter.mux.Close())
	}
	return errors.Join(errs...)
}

func (n *Node) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.config.ID)
	c.HeartbeatTimeout = n.config.Timing.Heartbeat
	c.ElectionTimeout = n.config.Timing.Election
	c.LeaderLeaseTimeout = n.config.Timing.Lease
	c.CommitTimeout = n.config.Timing.Commit
	c.SnapshotInterval, c.SnapshotThreshold = never, 1<<62 // A duty decides, by bytes.
	c.TrailingLogs = trailingEntriesMin
	c.NoLegacyTelemetry = true
	c.Logger = newRaftLogger(n.log)
	return c
}

// stallLimit is how long a write to the log may take. Alone, giving up helps nobody
// until it is certain that the disk hangs.
func (n *Node) stallLimit() time.Duration {
	if n.replica.alone.Load() {
		return n.config.Timing.StallAlone
	}
	return n.config.Timing.Stall
}

// start runs the goroutines.
func (n *Node) start() {
	n.replica.watch()
	n.life.running.Add(5)
	go n.scrubHistory()
	go n.sequencer.run()
	go n.runDuties()
	go n.lists.run()
	go n.digester.run()
	if n.greeter.mux == nil {
		return
	}
	n.greeter.mux.Open(n.door)
	if n.certificates != nil {
		n.life.running.Go(func() { n.certificates.Run(n.life.stop) })
	}
	n.life.running.Add(3)
	go n.peers.run()
	go n.finder.run()
	go n.history.run()
}

// Close stops the node: it refuses new work, finishes what is in flight, and
// closes its files. Nothing is lost when it is not called.
func (n *Node) Close() error {
	var err error
	n.life.stopping.Do(func() {
		n.waiters.refuse(wire.ErrShuttingDown)
		n.waiters.failQueued(wire.ErrShuttingDown)
		close(n.life.stop)
		n.forwarder.follow("", 0)
		waitAtMost(closePatience, n.life.running.Wait)
		n.peers.close()
		n.replica.unwatch()
		if shutErr := n.replica.raft.Shutdown().Error(); shutErr != nil {
			err = fmt.Errorf("cluster: raft: %w", shutErr)
		}
		n.waiters.end()
		n.progress.halt(wire.ErrShuttingDown)
		err = errors.Join(err, n.closeStores())
	})
	return err
}

// waitAtMost gives wait some time; a hanging disk must not keep a process alive.
func waitAtMost(patience time.Duration, wait func()) {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// cutOff ends service, and the replica where Fatal returns: it must not go on with a
// broken disk or a wrong state, nor keep its followers waiting by heartbeats, which
// raft sends beside its main loop.
func (n *Node) cutOff() {
	n.waiters.refuse(wire.ErrShuttingDown)
	n.progress.halt(errHalted)
	if !n.replica.started.Load() {
		return
	}
	n.replica.raft.Shutdown()
	if err := n.transport.Close(); err != nil {
		n.log.Warn("transport not closed", "error", err)
	}
	if n.greeter.mux != nil {
		n.greeter.mux.Shut()
	}
}

// Propose puts a record into the log and waits for its outcome, at most until
// ctx ends or the write deadline. Of its errors only wire.ErrUnknown leaves open
// whether it happened.
func (n *Node) Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if len(body) > recordMax(kind) {
		return wire.Result{}, fmt.Errorf("record of %d bytes: %w", len(body), wire.ErrTooLarge)
	}
	if err := n.serving(); err != nil {
		return wire.Result{}, err
	}
	p, err := n.waiters.admit(kind, body)
	if err != nil {
		return wire.Result{}, err
	}
	limit, cancel := context.WithTimeout(ctx, n.config.WriteDeadline)
	defer cancel()
	return n.waiters.wait(limit, p, n.unserved)
}

// applied publishes an entry's effects; the adapter calls it.
func (n *Node) applied(out *fsm.Effects, size int) error {
	if out.Settings != nil && out.Settings.Genesis != nil {
		if err := n.folder.BelongTo(out.Settings.Genesis.ClusterID); err != nil {
			return err
		}
	}
	n.lists.openAhead(out)
	p := n.published.Load()
	p.take(out, n.lists.openList(out))
	live := n.replica.started.Load() && n.replica.raft.CurrentTerm() == out.Term && n.replica.raft.CommitIndex() <= out.Index
	n.logTime.Store(&instant{out.Time, n.config.Clock.Monotonic(), live})
	n.commands.Store(out.Index)
	n.compaction.applied(size)
	n.audit.Prune(out.Oldest)
	entriesApplied.Inc()
	recordsApplied.Add(len(out.Results))
	return nil
}

// restored replaces everything published by that of a restored state.
func (n *Node) restored(out *fsm.Effects) error {
	p := newPublished()
	if genesis := out.Settings.Genesis; genesis != nil {
		if err := n.folder.BelongTo(genesis.ClusterID); err != nil {
			return err
		}
	}
	p.take(out, n.lists.openList(out))
	n.published.Store(p)
	n.logTime.Store(&instant{time: out.Time, at: n.config.Clock.Monotonic()})
	n.commands.Store(out.Index)
	n.installedAt = out.Index
	n.views.drop()
	n.waiters.jumped(out.Term)
	n.progress.advance(out.Index)
	return nil
}

// ReadIndex returns the leader's commit index, confirmed by a quorum after it was
// read, and waits until it is applied here: a read after it sees everything
// that was acknowledged before the call.
func (n *Node) ReadIndex(ctx context.Context) (uint64, error) { return n.reads.await(ctx) }

// Leaf returns a leaf's bytes: this node's own, and where these are not here (not
// yet applied, still being fetched, damaged) a peer's. A peer that is silent costs
// leafPatience.
func (n *Node) Leaf(ctx context.Context, index uint64) ([]byte, error) {
	return n.history.leaf(ctx, index)
}

// Audit returns this node's copy of history.
func (n *Node) Audit() *audit.Store { return n.audit }

// NodeID returns the node's own id.
func (n *Node) NodeID() string { return n.config.ID }
