package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
)

// greeter judges the node at the other end of a connection, dialled or accepted: it must be of
// the right cluster and lineage, and a member must have its own folder.
type greeter struct {
	id, version string
	process     uint64 // Random, of this process.
	log         *slog.Logger
	folder      *datadir.Folder
	state       *state
	replica     *replica
	lineage     *lineage
	secret      *secretProver // It is used also where nodes show certificates.
	life        *life
	mux         *port.Mux    // nil: no port between nodes. Set before anything is dialled.
	address     port.Address // Where this node can be dialled. Set like mux.

	mu                 sync.Mutex
	reached            map[string]reached
	trouble, unwelcome trouble
	foreignTold        time.Time // When a node with a foreign key was last logged.

	vouchers vouchers
	join     []string // Where this node looks for its group.
	wallTime func() time.Time
	// unreached is whom the start after a restore could not reach. Set before anything is served.
	unreached []datadir.Member
	askAbout  func(port.Peer) // Asks members whether a node is one of them. Set before the port opens.
}

func newGreeter(config *Config, l *life, folder *datadir.Folder, s *state, r *replica, k *lineage) *greeter {
	return &greeter{
		id: config.ID, version: config.Version, process: randomSeq(), log: l.log, life: l, folder: folder, state: s, replica: r, lineage: k,
		secret:  &secretProver{config.Secret, config.SecretsAlso, config.ID, folder.Identity().Incarnation},
		reached: map[string]reached{}, join: config.Join, wallTime: config.wallTime,
	}
}

// reached is the highest index that a peer said it has applied. The index is committed, so the
// peer's log on disk can never end below it again.
type reached struct {
	incarnation string
	applied     uint64
}

// wentBack reports whether a node's log ends below what that node had applied before. Then its
// folder is an older copy, which has forgotten votes and entries that the group counts on.
func (r reached) wentBack(incarnation string, lastIndex uint64) bool {
	return r.incarnation == incarnation && lastIndex < r.applied
}

// nodesHeard returns what each peer said it has applied.
func (g *greeter) nodesHeard() map[string]reached {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.reached)
}

// noteNode records what a peer says it has applied.
func (g *greeter) noteNode(p *port.Pong, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before := g.reached[id]; before.incarnation != p.Incarnation || before.applied < p.Applied {
		g.reached[id] = reached{p.Incarnation, p.Applied}
	}
}

// forgetNode drops the record of a node that is no longer a member.
func (g *greeter) forgetNode(id string) {
	g.mu.Lock()
	delete(g.reached, id)
	g.mu.Unlock()
}

// meetNode opens a connection to a node that has proven itself. It returns whom it met, also
// after an error.
func (g *greeter) meetNode(host string, protocol byte, id, incarnation string, timeout time.Duration) (conn net.Conn, w port.Welcome, err error) {
	if g.mux == nil {
		return nil, w, errNoPort
	}
	defer func() { g.noteTrouble(host, err) }()
	heard := g.nodesHeard()
	conn, w, err = g.mux.Dial(host, protocol, g.greetPeer, id, incarnation, timeout)
	if strange := g.checkWelcome(&w, err != nil); strange != nil {
		return nil, w, errors.Join(strange, conn.Close())
	}
	if err == nil && protocol == port.ProtocolRaft && heard[w.ID].wentBack(w.Incarnation, w.LastIndex) {
		g.log.Error("raft is not spoken with a node whose log went back", "peer", w.ID)
		return nil, w, errors.Join(port.ErrWentBack, conn.Close())
	}
	return conn, w, err
}

func (g *greeter) greetPeer() port.Hello {
	h := port.Hello{ID: g.id, Incarnation: g.folder.Identity().Incarnation, Release: g.version}
	if genesis := g.state.Settings().Genesis; genesis != nil {
		h.ClusterID = genesis.ClusterID
	}
	if g.replica.started.Load() {
		h.LastIndex = g.replica.raft.LastIndex()
	}
	g.lineage.fillHello(&h)
	return h
}

// noteArrival is called when a connection arrives at the port. The returned function judges the
// dialler by what was heard of the peers up to then.
func (g *greeter) noteArrival() func(port.Hello, byte) port.Welcome {
	heard := g.nodesHeard()
	return func(h port.Hello, protocol byte) port.Welcome { return g.greetNode(h, protocol, heard) }
}

// greetNode judges a dialler. It refuses a node of another cluster, a stranger to this lineage
// and a removed node. It also refuses raft to a node that is no member, or has another key than
// the member of its name, or whose folder went back.
func (g *greeter) greetNode(h port.Hello, protocol byte, heard map[string]reached) port.Welcome {
	own := g.greetPeer()
	w := port.Welcome{
		ID: own.ID, Incarnation: own.Incarnation, ClusterID: own.ClusterID, Release: own.Release, LastIndex: own.LastIndex,
		Recovery: own.Recovery, Lineage: own.Lineage, Recorded: own.Recorded,
		Process: g.process, Lives: g.lineage.lives(),
	}
	switch {
	case h.ID == own.ID && h.Incarnation != own.Incarnation:
		w.Refused = fmt.Sprintf("another node with another data folder runs as %q: stop one of the two, or give it an --id of its own and an empty --data", own.ID)
	case h.ClusterID != "" && own.ClusterID != "" && h.ClusterID != own.ClusterID:
		w.Refused = fmt.Sprintf("node %q is of cluster %s, this one is of cluster %s", h.ID, h.ClusterID, own.ClusterID)
	case g.lineage.refusesKin(&own, &h, protocol, &w):
	case isGone(g.state, h.ID, h.Incarnation) && !isMember(g.replica, h.ID, h.Incarnation):
		w.Refused, w.Removed = wasRemoved(h.ID), h.Incarnation
	case protocol == port.ProtocolRaft:
		peer := port.Peer{ID: h.ID, Incarnation: h.Incarnation}
		if err := g.refuseStranger(peer); err != nil {
			w.Refused = port.Plain(err.Error())
			g.askAbout(peer)
		}
		if heard[h.ID].wentBack(h.Incarnation, h.LastIndex) {
			w.Refused, w.Reached = port.ErrWentBack.Error(), heard[h.ID].applied
		}
	}
	return w
}

// checkWelcome is the dialler's counterpart of greetNode. After a refusal it refuses nothing
// more, but ends this node if it was removed or is outdated.
func (g *greeter) checkWelcome(w *port.Welcome, refused bool) error {
	own := g.greetPeer()
	other := w.AsHello()
	if other.ClusterID == "" || own.ClusterID == "" || other.ClusterID != own.ClusterID {
		return nil
	}
	if stranger := g.lineage.judgeLineage(&own, other, port.ProtocolCalls); stranger != "" && !refused {
		return fmt.Errorf("%w: %s", errStranger, stranger)
	}
	if g.judgeStanding(port.Peer{ID: w.ID, Incarnation: w.Incarnation}) != nil {
		return nil //nolint:nilerr // No node ends because a stranger says so.
	}
	if refused && w.Removed == own.Incarnation && w.Lineage == own.Lineage {
		endRemoved(g.folder, g.life, w.ID)
	}
	if refused && w.Reached > 0 && w.Lineage == own.Lineage && g.replica.started.Load() {
		g.endOutdated(w)
	}
	return nil
}

// formerMembers returns whom this node asks before its first start after a recovery. The members
// that a recovery keeps have this lineage, so they are not among them.
func (g *greeter) formerMembers() (former []datadir.Member) {
	if k := g.lineage; k.waiting.Load() {
		for _, m := range k.record.Former {
			if m.ID != g.id && m.ID != k.record.Node && !slices.Contains(k.record.Kept, m.ID) {
				former = append(former, m)
			}
		}
	}
	return former
}

// probeFormer keeps a recovered or restored node from its first start while a member of the old
// group answers, as then the majority may not be lost at all. Nothing has been applied or
// promised yet, so the recovery can still be given up. Later starts ask whom the first start after
// a restore did not reach.
func (g *greeter) probeFormer() error {
	restored := g.restoredWithout()
	former := slices.Concat(restored, g.formerMembers())
	if len(former) == 0 {
		return nil
	}
	if g.mux == nil {
		g.log.Warn("this node has no port between nodes: nobody can be asked whether the old group is still alive")
		return nil
	}
	alive, unreached := g.askFormer(former)
	if g.folder.Identity().Unreached != nil {
		alive, unreached = onlyLiving(alive, unreached)
	}
	if len(alive) == 0 {
		g.unreached = slices.DeleteFunc(unreached, func(m datadir.Member) bool { return !slices.Contains(restored, m) })
		return nil
	}
	var names []string
	for _, one := range alive {
		names = append(names, one.String())
	}
	slices.Sort(names)
	return fmt.Errorf("cluster: this folder was recovered or restored without them, and yet they answer as the old group: %s. What they decided since is not in this folder. Stop them (and wipe them, to join anew), or give the recovery or restore up",
		strings.Join(slices.Compact(names), ", "))
}

// oldNode is a node that answers as the old group.
type oldNode struct {
	id     string
	member datadir.Member
	lives  bool // A majority stands behind it.
}

// String names the node and its address.
func (o oldNode) String() string { return o.id + " at " + o.member.Addr }

// onlyLiving leaves those behind whom a majority stands. The others are asked again.
func onlyLiving(alive []oldNode, unreached []datadir.Member) (living []oldNode, left []datadir.Member) {
	for _, one := range alive {
		if one.lives {
			living = append(living, one)
		} else {
			unreached = append(unreached, one.member)
		}
	}
	return living, unreached
}

// askFormer asks former members at once. It returns who answers as the old group, and whom it could
// not reach.
func (g *greeter) askFormer(former []datadir.Member) (alive []oldNode, unreached []datadir.Member) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, m := range former {
		all.Go(func() {
			old, reached := g.stillOld(m)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case old != nil:
				alive = append(alive, *old)
			case !reached:
				unreached = append(unreached, m)
			}
		})
	}
	all.Wait()
	return alive, unreached
}

// stillOld returns the node of the old group that answers at a member's address, or nil, and
// whether anybody answers there. Who answers is told nothing of this folder's lineage being on
// record, and so does not end.
func (g *greeter) stillOld(m datadir.Member) (old *oldNode, reached bool) {
	greet := func() port.Hello {
		own := g.greetPeer()
		own.Recorded = false
		return own
	}
	conn, w, err := g.mux.Dial(m.Addr, port.ProtocolCalls, greet, "", "", probePatience)
	if err == nil {
		err = conn.Close()
	}
	if w.ID == "" {
		g.log.Info("a former member does not answer", "addr", m.Addr, "error", err)
		return nil, false
	}
	own := g.greetPeer()
	if w.ClusterID != own.ClusterID || w.Lineage == own.Lineage {
		return nil, true
	}
	return &oldNode{w.ID, m, w.Lives}, true
}

// newestGroup returns the node through which a node without data joins. It prefers a recovered
// group to the one that it left behind. It returns nil if nobody knows a cluster.
func newestGroup(seen map[string]*port.Pong) (through *port.Pong) {
	for _, p := range seen {
		if p.ClusterID != "" && (through == nil || p.Recovery > through.Recovery) {
			through = p
		}
	}
	return through
}
