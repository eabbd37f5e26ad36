package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Node is one member of the cluster, or one that waits to become a member.
type Node struct {
	*state // The state that readers ask for.
	stores

	config Config
	life   *life

	// These parts know the other nodes.
	replica    *replica
	lineage    *lineage
	greeter    *greeter
	gateway    *gateway
	peers      *peers
	clocks     *clocks
	membership *membership
	finder     *finder

	// A record, and a read that must be the newest, pass through these parts.
	waiters   *waiters
	sequencer *sequencer
	forwarder *forwarder
	arrivals  *arrivals
	adapter   *adapter
	reads     *readRounds
	contact   *contact

	// These parts run beside the records.
	duties     *duties
	disk       *disk
	storage    *storage
	compaction *compaction
	digester   *digester
	lists      *listKeeper
	history    *history
	scrubber   *scrubber
	retention  *retention

	draining atomic.Bool
	use      keyUse
	since    time.Time
	gauges   *gauges
}

const (
	closePatience   = 5 * time.Second
	logCacheEntries = 128 // Entries have at most 512 KiB each.
)

// Open starts a node on its data folder. It returns when the node's own state is loaded; Ready
// tells whether the node serves.
func Open(config Config) (*Node, error) {
	config.fillDefaults()
	bridgeRaftMetrics()
	if err := config.validateConfig(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	n := &Node{
		config: config, life: newLife(config.Logger.With("node", config.ID), config.Fatal),
		replica: newReplica(config.ID, time.Now()), since: time.Now(),
	}
	n.life.sever, n.life.lastly = config.Sever, n.cutOff
	n.life.record, n.replica.record = config.Recorder, config.Recorder
	n.waiters = newWaiters(originOf(config.ID), randomSeq(), config.Clock)
	n.gauges = newGauges(config.ID)
	n.adapter = &adapter{machine: fsm.New(), installing: newInstalling(config.restore)}
	n.state = newState(config.Clock, n.adapter.Freeze)
	n.state.statuses = newStatusKeeper(n.life)
	n.state.asks = n.adapter
	config.Recorder.Follow(func() int64 { return int64(n.state.LogTime() / engine.Millisecond) })
	if err := n.openNode(); err != nil {
		return nil, errors.Join(err, n.closeStores())
	}
	if err := n.startRaft(); err != nil {
		return nil, errors.Join(err, n.closeStores())
	}
	n.startGoroutines()
	n.life.record.Note(recorder.Entry{Kind: recorder.Started, Text: "release " + config.Version, Term: n.replica.raft.CurrentTerm(), Index: n.Applied()})
	return n, nil
}

// originOf returns the mark of a node's records in the log. Attempt numbers are random enough
// to be unique by themselves, so two nodes may have the same origin.
func originOf(id string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // Never fails (hash.Hash).
	sum := h.Sum32()
	return uint16(sum>>16) ^ uint16(sum)
}

// randomSeq returns where a process begins to number its attempts. It is so far from other
// processes' numbers that no result in the log can be taken for another's.
func randomSeq() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// openNode opens the folder and its stores, and makes the parts that use them.
func (n *Node) openNode() (err error) {
	if n.folder, err = datadir.Open(n.config.Disk, n.config.DataDir, n.config.ID); err != nil {
		return err
	}
	if n.lineage, err = openLineage(n.config.DataDir, n.config.ID, n.folder, n.replica, n.life); err != nil {
		return err
	}
	if err = n.stores.openStores(&n.config, n.life); err != nil {
		return err
	}
	n.assembleParts()
	return nil
}

// assembleParts makes the parts that use the stores and each other.
func (n *Node) assembleParts() {
	n.storage = newStorage(&n.config, n.life, n.replica, n.gauges.stalled)
	n.guarded = datadir.Guard(n.store, n.storage.Stalls, n.life.endProcess)
	n.guarded.KeepReached(n.reached, n.newestSnapshot)
	n.folder.Watched = n.storage.watchFile
	n.snaps.Watched = n.storage.WatchBeside
	n.disk = &disk{life: n.life, dir: n.config.DataDir, free: n.config.FreeSpace}
	n.greeter = newGreeter(&n.config, n.life, n.folder, n.state, n.replica, n.lineage)
	n.gateway = &gateway{config: &n.config, life: n.life, folder: n.folder, replica: n.replica, greeter: n.greeter}
	n.gateway.behind = func(index, term uint64) bool { return beginsBehind(n.guarded, n.snaps, index, term) }
	n.peers = newPeers(n.life, n.config.Clock, n.replica, n.greeter)
	n.storage.peers = n.peers
	n.clocks = &clocks{clock: n.config.Clock, state: n.state, replica: n.replica, peers: n.peers, leapMax: n.config.LeapMax}
	n.lists = newListKeeper(n.folder.Sub(datadir.ListFolder), n.config.Matchers, n.life, n.state, n.peers, n.config.Calls)
	n.history = &history{
		life: n.life, folder: n.folder, audit: n.audit, state: n.state, replica: n.replica, peers: n.peers, disk: n.disk,
		wake: make(chan struct{}, 1),
	}
	n.membership = &membership{
		life: n.life, state: n.state, replica: n.replica, lineage: n.lineage, peers: n.peers, secret: n.greeter.secret,
		deadAfter: n.config.DeadAfter, admitAll: n.config.AdmitAll, named: n.config.Certificates.Given(), changing: newGate(), propose: n.proposeAnyway,
	}
	n.finder = &finder{
		life: n.life, folder: n.folder, state: n.state, replica: n.replica, greeter: n.greeter, peers: n.peers,
		membership: n.membership, secret: n.greeter.secret, join: n.config.Join, expect: n.config.BootstrapExpect, release: n.config.Version,
	}
	n.greeter.askAbout = n.finder.askAbout
	n.digester = newDigester(n.life, n.replica, n.peers)
	n.scrubber = newScrubber(n.life, n.audit, n.config.ScrubEvery)
	n.scrubber.lists, n.scrubber.loss = n.lists.checkNext, n.history.describeLoss
	n.compaction = &compaction{
		policy: n.config.Snapshot, installing: n.adapter.installing, life: n.life, replica: n.replica, peers: n.peers, disk: n.disk, taken: n.gauges.snapshotTime, snaps: n.snaps, gate: newGate(),
	}
	n.retention = &retention{
		life: n.life, dataDir: n.config.DataDir, audit: n.audit, snaps: n.snaps, state: n.state, lineage: n.lineage,
		compaction: n.compaction,
	}
	n.lineage.lives = func() bool { return n.clocks.hasFreshEntry() || n.peers.anyStays() }
	n.assembleWay()
	n.duties = &duties{
		life: n.life, state: n.state, replica: n.replica, peers: n.peers, clocks: n.clocks, waiters: n.waiters,
		signal: n.sequencer.wakeSequencer, membership: n.membership, disk: n.disk, compaction: n.compaction, lists: n.lists,
		scrubber: n.scrubber, askGroup: n.finder.askBeside, measure: n.setMetrics,
	}
}

// assembleWay makes the parts through which a record passes.
func (n *Node) assembleWay() {
	n.sequencer = &sequencer{
		life: n.life, state: n.state, replica: n.replica, clocks: n.clocks, lineage: n.lineage,
		waiters: n.waiters, digests: n.digester.digests, pingNow: n.peers.pingNow, clock: stamper{clock: n.config.Clock},
		said: make(chan saying), wake: make(chan struct{}, 1), slots: make(chan struct{}, entriesInFlight),
	}
	if n.config.BootstrapExpect > 0 {
		n.sequencer.founding = n.config.Genesis
	}
	n.forwarder = newForwarder(n.life, n.replica, n.peers, n.waiters, n.sequencer.wakeSequencer)
	committed := func(leader string, term, index uint64) { n.gateway.committed(leader, term, index) }
	n.forwarder.committed = committed
	n.sequencer.forwarder = n.forwarder
	n.arrivals = &arrivals{sequencer: n.sequencer}
	n.reads = &readRounds{
		replica: n.replica, peers: n.peers, progress: &n.progress, patience: n.config.WriteDeadline, stop: n.life.stop, opened: n.since, committed: committed,
	}
	n.contact = &contact{life: n.life, reads: n.reads, progress: &n.progress, within: n.config.SilentAfter}
	n.lists.replays = n.contact.replays
	n.state.hasten = n.reads.hastenRound
	a := n.adapter
	a.life, a.folder, a.audit, a.state, a.replica, a.waiters = n.life, n.folder, n.audit, n.state, n.replica, n.waiters
	a.lists, a.history, a.digester, a.compaction = n.lists, n.history, n.digester, n.compaction
	a.storage, a.reached, a.indexes = n.storage, n.reached, &n.indexes
	a.log, a.snaps = n.guarded, n.snaps
}

func (n *Node) closeStores() error {
	if n.gateway == nil {
		return n.stores.closeStores()
	}
	return errors.Join(n.gateway.closeGateway(), n.stores.closeStores())
}

// startRaft loads the state and starts the replica.
func (n *Node) startRaft() error {
	guarded := n.guarded
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
	if err := n.dropSupersededLog(guarded, n.life.log); err != nil {
		return err
	}
	if sized, can := n.store.(interface{ Bytes() int64 }); can {
		first, err := n.store.FirstIndex()
		if err != nil {
			return fmt.Errorf("cluster: raft log: %w", err)
		}
		n.compaction.ages.noteFound(first, sized.Bytes())
	}
	if err := n.gateway.openPort(n.answerPeers()); err != nil {
		return err
	}
	if err := n.greeter.probeFormer(); err != nil {
		return err
	}
	transport := port.MainLoopHeartbeats{Transport: port.Silenced{Transport: n.gateway.transport, Silent: n.mayNotLead}}
	config := n.raftConfig()
	if !known && n.config.BootstrapExpect == 1 && len(n.config.Join) == 0 {
		alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: config.LocalID, Address: transport.LocalAddr()}}}
		if err := raft.BootstrapCluster(config, cache, guarded, n.snaps, transport, alone); err != nil {
			return fmt.Errorf("cluster: bootstrap: %w", err)
		}
	}
	if err := n.adapter.publishEverything(n.adapter.machine); err != nil {
		return err
	}
	replica, err := newRaft(config, n.adapter, cache, guarded, n.snaps, transport)
	switch {
	case err != nil && strings.Contains(err.Error(), noSnapshotLoads):
		return datadir.SpoiltSnapshots(n.config.DataDir, err)
	case err != nil:
		return fmt.Errorf("cluster: raft: %w", err)
	}
	n.replica.beginWith(replica)
	return n.folder.NoteStarted(n.greeter.unreached, n.config.wallTime())
}

// mayNotLead reports whether this node must not lead: its disk hangs, or it has no state yet.
func (n *Node) mayNotLead() bool { return n.storage.Standing() || n.adapter.installing.underWay() }

// noSnapshotLoads is the text of raft's error when there are snapshots and none can be loaded.
const noSnapshotLoads = "failed to load any existing snapshots"

// newRaft calls raft.NewRaft and turns its panic into an error. It panics if the log begins
// after the end of the newest snapshot, because the disk lost snapshots.
func newRaft(config *raft.Config, state raft.FSM, log raft.LogStore, stable raft.StableStore, snaps raft.SnapshotStore, transport raft.Transport) (replica *raft.Raft, err error) {
	defer func() {
		switch lost := recover(); {
		case lost == raft.ErrLogNotFound:
			err = fmt.Errorf("%w: no snapshot that can be read reaches to where the log begins: "+
				"keep the folder aside and let the node join with an empty one, or restore a backup where no quorum is left", datadir.ErrDamaged)
		case lost != nil:
			panic(lost)
		}
	}()
	return raft.NewRaft(config, state, log, stable, snaps, transport)
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
	c.ShutdownOnRemove = false // A leader that loses its vote goes on without one; a removed node is told so.
	c.NoLegacyTelemetry = true
	c.Logger = newRaftLogger(n.life.log)
	return c
}

// startGoroutines starts the node's goroutines.
func (n *Node) startGoroutines() {
	n.replica.watchLeader()
	for _, run := range []func(){
		n.sequencer.sequenceRecords, n.duties.doDuties, n.duties.doUpkeep, n.disk.watchDisk, n.retention.enforceRetention, n.scrubber.scrubHistory, n.lists.keepLists, n.digester.compareDigests,
		n.state.statuses.keepStatuses, n.contact.keepContact, n.history.fillHistory,
	} {
		n.life.running.Go(run)
	}
	n.gateway.beginServing()
	if n.peers.hasNoPort() {
		return
	}
	if len(n.greeter.unreached) > 0 {
		n.life.running.Go(n.greeter.askUnreached)
	}
	for _, run := range []func(){n.peers.watchPeers, n.finder.findGroup} {
		n.life.running.Go(run)
	}
}

// Close stops the node: it refuses new work, finishes what is in flight, and closes its files.
// A node that ends without Close loses nothing.
func (n *Node) Close() error {
	var err error
	n.life.stopping.Do(func() {
		n.life.note(recorder.Stopping, "the node is closed")
		n.waiters.refuseNew(wire.ErrShuttingDown)
		n.waiters.failQueued(wire.ErrShuttingDown)
		close(n.life.stop)
		n.forwarder.followLeader("", 0)
		waitAtMost(closePatience, n.life.running.Wait)
		n.peers.closePeers()
		n.replica.stopWatching()
		n.guarded.Release()
		if shutErr := n.replica.raft.Shutdown().Error(); shutErr != nil {
			err = fmt.Errorf("cluster: raft: %w", shutErr)
		}
		waitAtMost(closePatience, n.adapter.endInstall)
		n.waiters.endAll()
		n.progress.haltWith(wire.ErrShuttingDown)
		err = errors.Join(err, n.closeStores())
	})
	return err
}

// waitAtMost runs wait, but returns after patience: a hanging disk must not keep a process
// alive.
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

// cutOff ends service and shuts the replica down, for the case that Fatal returns. The replica
// must not go on with a broken disk or a wrong state, nor keep its followers waiting by
// heartbeats, which raft sends outside its main loop.
func (n *Node) cutOff() {
	if n.guarded != nil {
		n.guarded.End()
	}
	n.waiters.refuseNew(wire.ErrShuttingDown)
	n.progress.haltWith(errHalted)
	if !n.replica.started.Load() {
		return
	}
	n.replica.raft.Shutdown()
	n.gateway.cutLinks()
}

// Propose puts a record into the log and waits for its outcome, at most until ctx ends or the
// write deadline. wire.ErrUnknown leaves open whether it happened; after any other error it did
// not.
func (n *Node) Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if len(body) > recordMax(kind) {
		return wire.Result{}, fmt.Errorf("record of %d bytes: %w", len(body), wire.ErrTooLarge)
	}
	err := n.checkServing()
	if errors.Is(err, wire.ErrTimeUncertain) {
		return n.proposeTime(ctx, kind, body)
	}
	if err != nil {
		return wire.Result{}, err
	}
	return n.proposeAnyway(ctx, kind, body)
}

// proposeAnyway is Propose without the checks that turn callers away.
func (n *Node) proposeAnyway(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	p, err := n.waiters.admitRecord(kind, body, timing.StepsOf(ctx))
	if err != nil {
		return wire.Result{}, n.whyRefused(err)
	}
	limit, cancel := withinLimit(ctx, n.config.WriteDeadline)
	defer cancel()
	return n.waiters.awaitAnswer(limit, p, n.whyUnserved)
}

// withinLimit returns a context that ends after limit. If the given one ends sooner it returns
// that, which saves a timer.
func withinLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if end, set := ctx.Deadline(); set && time.Until(end) <= limit {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, limit)
}

// checkServing returns why this node takes no proposals at all, or nil.
func (n *Node) checkServing() error {
	if n.life.dead.Load() != nil {
		return wire.ErrShuttingDown
	}
	if err := n.peers.leaderlessError(); err != nil {
		return err
	}
	if n.clocks.waiting.Load() != nil {
		return wire.ErrTimeUncertain
	}
	if n.storageLow() {
		return wire.ErrStorageLow
	}
	return nil
}

// storageLow reports whether this node's disk is nearly full and no other voter has room.
func (n *Node) storageLow() bool { return n.disk.isLow() && n.peers.findRoomiest() == "" }

// whyRefused returns the error of a proposal that the queue did not take. A queue that an
// election has filled is no overload.
func (n *Node) whyRefused(err error) error {
	if errors.Is(err, wire.ErrOverloaded) && n.replica.wasUnled(time.Now(), time.Duration(drainSteady)) {
		return n.peers.noLeaderError()
	}
	return err
}

// whyUnserved returns the error of a proposal that was still queued at its deadline: there is
// no leader, or was none while it waited, the leader does not answer this node, storage is low, or
// there is too much to do.
func (n *Node) whyUnserved() error {
	now := time.Now()
	leader, _, _ := n.replica.currentLeader(now)
	if n.replica.wasUnled(now, n.config.WriteDeadline) || !n.peers.isAnswering(string(leader)) {
		return n.peers.noLeaderError()
	}
	if n.clocks.waiting.Load() != nil {
		return wire.ErrTimeUncertain
	}
	if n.replica.isLeader() && n.replica.opened.Load() == 0 {
		return wire.ErrNoLeader // This node leads, and its term is not open yet.
	}
	if n.storageLow() {
		return wire.ErrStorageLow
	}
	return wire.ErrOverloaded
}

// ReadIndex returns the leader's commit index, confirmed by a quorum after it was
// read, and waits until it is applied here: a read after it sees everything
// that was acknowledged before the call. Its error is one of wire's, or that of ctx.
func (n *Node) ReadIndex(ctx context.Context) (uint64, error) { return n.reads.awaitRound(ctx) }

// Leaf returns a leaf's bytes from this node, or from a peer if they are not here (not yet
// applied, still being fetched, damaged). A silent peer costs leafPatience.
func (n *Node) Leaf(ctx context.Context, index uint64) ([]byte, error) {
	return n.history.fetchLeaf(ctx, index)
}

// Audit returns this node's copy of history.
func (n *Node) Audit() *audit.Store { return n.audit }

// NodeID returns the node's own id.
func (n *Node) NodeID() string { return n.config.ID }
