package chaos

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/bench/process"
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
	binary, folder string
	key, secret    string
	shape          shape
	nodes          []*node // Replaced, never changed in place, under mu: clients read it at any time.
	wires          network // nil for a cluster of one.
	relays         *wires  // The same, where nodes stand behind relays.
	fabric         *fabric // The same, where nodes live in namespaces.
	spawner        *process.Spawner
	ended          atomic.Bool // Nothing is started any more.

	mu     sync.Mutex
	deaths []string // Processes that ended unasked.
	stalls int      // Processes that gave up a stalled disk, and were started again.
}

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
	cluster *cluster
	spawner *process.Spawner // Of its process: it lives where the node does.
	id      string
	binary  string      // Another one than the cluster's.
	strayed atomic.Bool // Its states are to be others than the cluster's.
	api     string      // http://host:port
	admin   string
	listen  string // Cluster port; "" in a cluster of one.
	shown   string // Where peers find it: its relay.
	data    string
	log     string
	clock   string // File that says by how much its clock is wrong.
	join    []string
	expect  int

	mu     sync.Mutex
	child  *process.Child
	mayEnd bool // A scenario expects the process to give up by itself.
}

// startCluster starts a new cluster and waits until every node is ready.
func startCluster(ctx context.Context, binary, folder string, s shape) (*cluster, error) {
	c := &cluster{
		binary: binary, folder: folder, shape: s, spawner: process.NewSpawner(),
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
			err = fmt.Errorf("%w\n%s", err, n.logTail())
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func randomHex(size int) string {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // Never fails (crypto/rand).
	return hex.EncodeToString(raw)
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
	ports, err := process.FreePorts(3)
	if err != nil {
		return nil, err
	}
	n := &node{
		cluster: c, id: id, api: "http://" + ports[0], admin: "http://" + ports[1], expect: expect,
		data: filepath.Join(c.folder, id), log: filepath.Join(c.folder, id+".log"), clock: filepath.Join(c.folder, id+".clock"),
	}
	if err := c.place(n, ports[2]); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.nodes {
		n.join = append(n.join, other.shown)
	}
	c.nodes = append(c.nodes[:len(c.nodes):len(c.nodes)], n)
	return n, nil
}

// place gives a node its cluster address.
func (c *cluster) place(n *node, port string) (err error) {
	n.spawner = c.spawner
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
		n.spawner = home.thread
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
		if pid := n.pid(); pid != 0 {
			pids = append(pids, pid)
			owners[pid] = n.id
		}
	}
	return owners[socketOwner(from, relay, pids)]
}

func (n *node) args() []string {
	args := []string{
		"serve", "--dev", "--test-clock", "--id", n.id, "--data", n.data, "--log-level", "info",
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
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child != nil && !n.child.Ended() {
		return nil
	}
	if n.cluster.ended.Load() {
		return fmt.Errorf("%s: its cluster has ended", n.id)
	}
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		return err
	}
	env := append(os.Environ(), "RAILGUARD_CLUSTER_SECRET="+n.cluster.secret, "RAILGUARD_BOOTSTRAP_KEY="+n.cluster.key)
	started, err := n.spawner.Launch(cmp.Or(n.binary, n.cluster.binary), n.args(), env, n.log)
	if err != nil {
		return fmt.Errorf("%s: %w", n.id, err)
	}
	n.child = started
	go n.watch(started)
	return nil
}

// watch notes an end that nobody asked for. A node that gave up because its disk
// did not answer in time did as it should; on a busy machine that happens, and it is
// started again, as its supervisor would.
func (n *node) watch(c *process.Child) {
	<-c.Done
	n.mu.Lock()
	asked := c.Asked || n.mayEnd
	n.mu.Unlock()
	if asked {
		return
	}
	if strings.Contains(n.logTail(), stalledWords) {
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

func (n *node) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child == nil || n.child.Ended() {
		return 0
	}
	return n.child.PID()
}

func (n *node) running() bool { return n.pid() != 0 }

// signal sends a signal to the node's own process, if it runs.
func (n *node) signal(s os.Signal, ends bool) (*process.Child, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child == nil || n.child.Ended() {
		return nil, nil
	}
	if ends {
		n.child.Asked = true
	}
	if err := n.child.Command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("%s: %w", n.id, err)
	}
	n.child.Paused = s == process.SignalPause
	return n.child, nil
}

// kill is kill -9: no warning, nothing flushed.
func (n *node) kill() error {
	c, err := n.signal(os.Kill, true)
	if err != nil || c == nil {
		return err
	}
	return c.Wait(stopPatience)
}

// stop asks the node to drain and end.
func (n *node) stop() error {
	c, err := n.signal(process.SignalEnd, true)
	if err != nil || c == nil {
		return err
	}
	if err := c.Wait(stopPatience); err != nil {
		return errors.Join(fmt.Errorf("%s was asked to stop: %w", n.id, err), n.kill())
	}
	return nil
}

// pause stops the process where it stands, as a long pause of the machine would.
func (n *node) pause() error { _, err := n.signal(process.SignalPause, false); return err }

func (n *node) resume() error { _, err := n.signal(process.SignalResume, false); return err }

// setClock makes the node's clock wrong by so much, at once: a jump. 0 mends it.
func (n *node) setClock(by time.Duration) error {
	fresh := n.clock + ".new"
	if err := os.WriteFile(fresh, []byte(by.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, n.clock)
}

// expectEnd says that the process may give up by itself.
func (n *node) expectEnd() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mayEnd = true
}

// restart starts a node that was killed or stopped and waits until it is ready.
func (n *node) restart(ctx context.Context) error {
	for try := 0; ; try++ {
		err := n.start()
		if err == nil {
			err = n.ready(ctx, readyPatience)
		}
		if err == nil || try+1 == spawnTries || n.running() {
			return err
		}
	}
}

// wipe removes the data of a node that does not run.
func (n *node) wipe() error {
	if n.running() {
		return fmt.Errorf("%s runs: its data stay", n.id)
	}
	return os.RemoveAll(n.data)
}

// ready waits for 200 of /readyz.
func (n *node) ready(ctx context.Context, patience time.Duration) error {
	last := "no answer"
	err := until(ctx, patience, func() bool {
		if !n.running() {
			last = "the process has ended"
			return true
		}
		a, err := plainCaller.get(ctx, n.api+"/readyz")
		if err != nil {
			return false
		}
		last = strings.TrimSpace(string(a.body))
		return a.status == 200
	})
	if err != nil || last == "the process has ended" {
		return fmt.Errorf("%s is not ready: %s", n.id, strings.ReplaceAll(last, "\n", " "))
	}
	return nil
}

// until asks again and again until done or patience ends.
func until(ctx context.Context, patience time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v: %w", patience, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// logTail is the end of what the node said.
func (n *node) logTail() string {
	raw, err := os.ReadFile(n.log)
	if err != nil {
		return ""
	}
	if len(raw) > logTailBytes {
		raw = raw[len(raw)-logTailBytes:]
	}
	return "--- log of " + n.id + ":\n" + string(raw)
}

// close ends every process and connection of the cluster.
func (c *cluster) close() {
	c.ended.Store(true)
	for _, n := range c.nodes {
		_ = n.kill() // A paused process dies of it too.
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
