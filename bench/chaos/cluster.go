package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/testcluster"
)

// shape is what a cluster is started as.
type shape struct {
	nodes int
	wired bool // Cluster ports stand behind relays that can be cut.
	apart bool // Every node lives in a network namespace of its own.
}

// cluster is some nodes on this machine, each a real `railguard serve --dev` with
// a data folder of its own.
type cluster struct {
	programs    programs
	folder      string
	key, secret string
	shape       shape
	born        int     // Nodes there ever were.
	nodes       []*node // Replaced, never changed in place, under mu: clients read it at any time.
	wires       network // nil for a cluster of one.
	relays      *wires  // The same, where nodes stand behind relays.
	fabric      *fabric // The same, where nodes live in namespaces.
	spawner     *testcluster.Spawner
	ended       atomic.Bool // Nothing is started any more.

	mu     sync.Mutex
	deaths []string // Processes that ended unasked.
	starts [2]int   // Of this release and of the other one, where there are two.
	stalls int      // Processes that gave up a stalled disk, and were started again.
}

// programs are the binaries that nodes run. Where there is another release besides, half
// of the nodes begin with it, and with every start a node goes over from the one to the
// other: an upgrade, or the way back.
type programs struct{ release, other string }

// members are the nodes as they are now.
func (c *cluster) members() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes
}

// forget takes a node out; it must not run.
func (c *cluster) forget(gone *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n == gone })
}

// node is one member: an identity, addresses and a folder that outlive its process.
type node struct {
	testcluster.Server // Its spawner lives where the node does.

	cluster *cluster
	id      string
	binary  string      // Another one than the cluster's.
	turn    int         // Odd: the other release's turn.
	strayed atomic.Bool // Its states are to be others than the cluster's.
	api     string      // http://host:port
	admin   string
	listen  string // Cluster port; "" in a cluster of one.
	shown   string // Where peers find it: its relay.
	clock   string // File that says by how much its clock is wrong.
	join    []string
	expect  int
}

// What every bench does alike.
var (
	until     = testcluster.Until
	randomHex = testcluster.RandomHex
)

// startCluster starts a new cluster and waits until every node is ready.
func startCluster(ctx context.Context, p programs, folder string, s shape) (*cluster, error) {
	c := &cluster{
		programs: p, folder: folder, shape: s, spawner: testcluster.NewSpawner(),
		key: "rg_live_" + randomHex(14), secret: randomHex(32),
	}
	if err := c.lay(); err != nil {
		c.close()
		return nil, err
	}
	for _, n := range c.nodes {
		if err := n.start(); err != nil {
			c.close()
			return nil, err
		}
	}
	for _, n := range c.nodes {
		if err := n.ready(ctx, readyPatience); err != nil {
			err = fmt.Errorf("%w\n%s", err, n.LogTail())
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// lay chooses addresses and folders.
func (c *cluster) lay() error {
	switch {
	case c.shape.apart:
		c.fabric = newFabric()
		c.wires = c.fabric
	case c.shape.nodes > 1:
		c.relays = newWires(c.dialler)
		c.wires = c.relays
	}
	for i := range c.shape.nodes {
		if _, err := c.add("n"+strconv.Itoa(i+1), c.shape.nodes); err != nil {
			return err
		}
	}
	var peers []string
	for _, n := range c.nodes {
		peers = append(peers, n.shown)
	}
	for _, n := range c.nodes {
		n.join = peers
	}
	return nil
}

// add makes a node, not yet started. expect 0 joins what there is.
func (c *cluster) add(id string, expect int) (*node, error) {
	ports, err := testcluster.FreePorts(3)
	if err != nil {
		return nil, err
	}
	n := &node{
		Server:  testcluster.Server{Name: id, Data: filepath.Join(c.folder, id), Log: filepath.Join(c.folder, id+".log")},
		cluster: c, id: id, api: "http://" + ports[0], admin: "http://" + ports[1], expect: expect, clock: filepath.Join(c.folder, id+".clock"),
	}
	if err := c.place(n, ports[2]); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.turn = c.born
	c.born++
	for _, other := range c.nodes {
		n.join = append(n.join, other.shown)
	}
	c.nodes = append(c.nodes[:len(c.nodes):len(c.nodes)], n)
	return n, nil
}

// place gives a node its cluster address.
func (c *cluster) place(n *node, port string) (err error) {
	n.Spawner = c.spawner
	switch {
	case c.fabric != nil:
		home, err := c.fabric.enter(n.id)
		if err != nil {
			return err
		}
		_, number, err := net.SplitHostPort(port)
		if err != nil {
			return err
		}
		n.Spawner = home.thread
		n.listen = net.JoinHostPort(home.address.String(), number)
		n.shown = n.listen
		for _, url := range []string{n.api, n.admin} {
			homes.Store(strings.TrimPrefix(url, "http://"), home.thread)
		}
	case c.relays != nil:
		n.listen, n.shown = port, port
		if c.shape.wired {
			n.shown, err = c.relays.front(n.id, n.listen)
		}
	}
	return err
}

// dialler names the node that dialled a relay.
func (c *cluster) dialler(from, relay netip.AddrPort) string {
	var pids []int
	owners := make(map[int]string)
	for _, n := range c.members() {
		if pid := n.PID(); pid != 0 {
			pids = append(pids, pid)
			owners[pid] = n.id
		}
	}
	return owners[socketOwner(from, relay, pids)]
}

func (n *node) args() []string {
	args := []string{
		"serve", "--dev", "--test-clock", "--id", n.id, "--data", n.Data, "--log-level", "info",
		"--http", strings.TrimPrefix(n.api, "http://"), "--admin", strings.TrimPrefix(n.admin, "http://"),
		"--public-url", "http://chaos.invalid", "--test-clock-file", n.clock,
	}
	if n.expect > 0 {
		args = append(args, "--bootstrap-expect", strconv.Itoa(n.expect))
	}
	if n.listen != "" {
		args = append(args, "--cluster", n.listen, "--advertise", n.shown, "--join", strings.Join(n.join, ","))
	}
	return args
}

// start starts the node's process, unless it runs.
func (n *node) start() error {
	if n.cluster.ended.Load() {
		return fmt.Errorf("%s: its cluster has ended", n.id)
	}
	started, err := n.Launch(n.program(), n.args(), testcluster.Secrets(n.cluster.secret, n.cluster.key))
	if started != nil {
		n.turned()
		go n.watch(started)
	}
	return err
}

// program is the binary of the node's next start.
func (n *node) program() string {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case n.binary != "":
		return n.binary
	case c.programs.other != "" && n.turn%2 == 1:
		return c.programs.other
	}
	return c.programs.release
}

// turned notes a start: the next one is of the other release.
func (n *node) turned() {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.programs.other != "" && n.binary == "" {
		c.starts[n.turn%2]++
		n.turn++
	}
}

// watch notes an end that nobody asked for. A node that gave up because its disk
// did not answer in time did as it should; on a busy machine that happens, and it is
// started again, as its supervisor would.
func (n *node) watch(c *testcluster.Child) {
	<-c.Done
	if n.EndWasExpected(c) {
		return
	}
	if strings.Contains(n.LogTail(), stalledWords) {
		n.cluster.mu.Lock()
		n.cluster.stalls++
		n.cluster.mu.Unlock()
		_ = n.start() // If it does not run then, whoever waits for it says so.
		return
	}
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.cluster.deaths = append(n.cluster.deaths, fmt.Sprintf("%s ended by itself (%s)", n.id, c.ExitText()))
}

// pause stops the process where it stands, as a long pause of the machine would.
func (n *node) pause() error { _, err := n.Signal(testcluster.SignalPause, false); return err }

func (n *node) resume() error { _, err := n.Signal(testcluster.SignalResume, false); return err }

// setClock makes the node's clock wrong by so much, at once: a jump. 0 mends it.
func (n *node) setClock(by time.Duration) error {
	fresh := n.clock + ".new"
	if err := os.WriteFile(fresh, []byte(by.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, n.clock)
}

// restart starts a node that was killed or stopped and waits until it is ready.
func (n *node) restart(ctx context.Context) error {
	for try := 0; ; try++ {
		err := n.start()
		if err == nil {
			err = n.ready(ctx, readyPatience)
		}
		if err == nil || try+1 == spawnTries || n.Running() {
			return err
		}
	}
}

// wipe removes the data of a node that does not run.
func (n *node) wipe() error {
	if n.Running() {
		return fmt.Errorf("%s runs: its data stay", n.id)
	}
	return os.RemoveAll(n.Data)
}

// ready waits for 200 of /readyz.
func (n *node) ready(ctx context.Context, patience time.Duration) error {
	return n.Await(ctx, patience, func() error {
		a, err := plainCaller.get(ctx, n.api+"/readyz")
		if err == nil && a.status != http.StatusOK {
			err = errors.New(strings.TrimSpace(string(a.body)))
		}
		return err
	})
}

// close ends every process and connection of the cluster.
func (c *cluster) close() {
	c.ended.Store(true)
	for _, n := range c.nodes {
		_ = n.Kill() // A paused process dies of it too.
	}
	c.spawner.Close()
	if c.wires != nil {
		c.wires.close()
	}
	for _, n := range c.nodes {
		homes.Delete(strings.TrimPrefix(n.api, "http://"))
		homes.Delete(strings.TrimPrefix(n.admin, "http://"))
	}
}
