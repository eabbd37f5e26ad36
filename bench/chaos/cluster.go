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

// shape says how many nodes a cluster starts with and what lies between them.
type shape struct {
	nodes int
	wired bool // A relay, which can be cut, stands in front of every cluster port.
	apart bool // Every node lives in a network namespace of its own.
}

// cluster is a group of nodes on this machine. Each is a real `railguard serve --dev` with a data
// folder of its own.
type cluster struct {
	programs    programs
	folder      string
	key, secret string
	shape       shape
	born        int     // How many nodes were ever added, including those that are gone.
	nodes       []*node // Guarded by mu. The slice is replaced and never changed in place, because clients keep reading an old one.
	wires       network // nil for a cluster of one.
	relays      *wires  // Equals wires if nodes stand behind relays, else nil.
	fabric      *fabric // Equals wires if nodes live in namespaces, else nil.
	spawner     *testcluster.Spawner
	ended       atomic.Bool // Set by close: no process is started any more.

	mu     sync.Mutex
	deaths []string // Processes that ended although nothing had told them to.
	starts [2]int   // Starts of this release and of the other one, if there are two.
	stalls int      // How many processes gave up because their disk stalled, and were started again.
}

// programs are the binaries that nodes run. If other is set, half of the nodes begin with it, and
// each node changes to the other binary with every start, which is an upgrade or the way back.
type programs struct{ release, other string }

// members returns the present nodes.
func (c *cluster) members() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes
}

// forget removes a node, whose process must not run, from the cluster.
func (c *cluster) forget(gone *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n == gone })
}

// node is one member: an identity, addresses and a folder that outlive its process.
type node struct {
	testcluster.Server // Its spawner is in the node's network namespace.

	cluster *cluster
	id      string
	binary  string      // Binary to run instead of the cluster's; "": the cluster's.
	turn    int         // If it is odd, the next start runs the other release.
	strayed atomic.Bool // The node is meant to diverge, so its digests are not compared.
	api     string      // http://host:port
	admin   string
	listen  string // Cluster port; "" in a cluster of one.
	shown   string // Address that peers dial: the node's relay.
	clock   string // File that says by how much its clock is wrong.
	join    []string
	expect  int
}

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

// lay chooses the addresses and folders of all nodes.
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

// add makes a node and does not start it. With expect 0 the node joins the cluster that exists.
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

// dialler returns the id of the node that dialled a relay.
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

// start starts the node's process if it does not run.
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

// program returns the binary for the node's next start.
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

// turned counts a start, so that the next start runs the other release.
func (n *node) turned() {
	c := n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.programs.other != "" && n.binary == "" {
		c.starts[n.turn%2]++
		n.turn++
	}
}

// watch notes a process that ended although nothing had told it to. A node must give up if its
// disk does not answer in time, and on a busy machine that happens. watch starts such a node
// again, as a supervisor would.
func (n *node) watch(c *testcluster.Child) {
	<-c.Done
	if n.EndWasExpected(c) {
		return
	}
	if strings.Contains(n.LogTail(), stalledWords) {
		n.cluster.mu.Lock()
		n.cluster.stalls++
		n.cluster.mu.Unlock()
		_ = n.start() // If the start fails, the code that waits for the node reports it.
		return
	}
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	n.cluster.deaths = append(n.cluster.deaths, fmt.Sprintf("%s ended by itself (%s)", n.id, c.ExitText()))
}

// pause stops the process (SIGSTOP), as a long pause of the machine would.
func (n *node) pause() error { _, err := n.Signal(testcluster.SignalPause, false); return err }

func (n *node) resume() error { _, err := n.Signal(testcluster.SignalResume, false); return err }

// countStalls returns how many nodes gave up their disk and were started again.
func (c *cluster) countStalls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stalls
}

// setClock makes the node's clock jump, so that it is wrong by the given time from now on. 0
// mends it.
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
		_ = n.Kill() // This ends even a paused process.
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
