package load

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"railguard/bench/process"
)

const (
	readyPatience = 90 * time.Second
	stopPatience  = 30 * time.Second
	pollEvery     = 20 * time.Millisecond
	logTailBytes  = 2 << 10
)

// node is one server of ours.
type node struct {
	id                 string
	api, admin, listen string // The first two with their scheme.
	data, log          string
	group              *group

	mu    sync.Mutex
	child *process.Child
}

// group is a cluster that was spawned for this run, on the loopback.
type group struct {
	binary, folder string
	key, secret    string
	spawner        *process.Spawner
	nodes          []*node
	quiet          *api // Without a key.
}

func randomHex(size int) string {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // Never fails (crypto/rand).
	return hex.EncodeToString(raw)
}

// spawn starts a new cluster of this very binary and waits until it serves.
func spawn(ctx context.Context, binary, folder string, size int) (*group, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	g := &group{
		binary: binary, folder: folder, key: "rg_live_" + randomHex(14), secret: randomHex(32),
		spawner: process.NewSpawner(), quiet: newAPI(""),
	}
	err := g.start(ctx, size)
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *group) start(ctx context.Context, size int) error {
	ports, err := process.FreePorts(3 * size)
	if err != nil {
		return err
	}
	for i := range size {
		id := "n" + strconv.Itoa(i+1)
		g.nodes = append(g.nodes, &node{
			id: id, api: "http://" + ports[3*i], admin: "http://" + ports[3*i+1], listen: ports[3*i+2],
			data: filepath.Join(g.folder, id), log: filepath.Join(g.folder, id+".log"), group: g,
		})
	}
	for _, n := range g.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range g.nodes {
		if err := n.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends every process; the folder is the run's to remove.
func (g *group) close() {
	for _, n := range g.nodes {
		_ = n.kill() // What does not end of it ends with the spawner.
	}
	g.spawner.Close()
	g.quiet.client.CloseIdleConnections()
}

func (g *group) pids() []int {
	var all []int
	for _, n := range g.nodes {
		if pid := n.pid(); pid != 0 {
			all = append(all, pid)
		}
	}
	return all
}

func (n *node) args() []string {
	args := []string{
		"serve", "--dev", "--id", n.id, "--data", n.data, "--log-level", "warn",
		"--http", strings.TrimPrefix(n.api, "http://"), "--admin", strings.TrimPrefix(n.admin, "http://"),
		"--public-url", "http://bench.invalid", "--bootstrap-expect", strconv.Itoa(len(n.group.nodes)),
	}
	if len(n.group.nodes) > 1 {
		var peers []string
		for _, other := range n.group.nodes {
			peers = append(peers, other.listen)
		}
		args = append(args, "--cluster", n.listen, "--join", strings.Join(peers, ","))
	}
	return args
}

func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child != nil && !n.child.Ended() {
		return nil
	}
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		return err
	}
	env := append(os.Environ(), "RAILGUARD_CLUSTER_SECRET="+n.group.secret, "RAILGUARD_BOOTSTRAP_KEY="+n.group.key)
	child, err := n.group.spawner.Launch(n.group.binary, n.args(), env, n.log)
	if err != nil {
		return fmt.Errorf("%s: %w", n.id, err)
	}
	n.child = child
	return nil
}

func (n *node) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child == nil || n.child.Ended() {
		return 0
	}
	return n.child.PID()
}

// end sends a signal and waits for the end.
func (n *node) end(signal os.Signal) error {
	n.mu.Lock()
	child := n.child
	n.mu.Unlock()
	if child == nil || child.Ended() {
		return nil
	}
	if err := child.Command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", n.id, err)
	}
	return child.Wait(stopPatience)
}

func (n *node) kill() error { return n.end(os.Kill) }

func (n *node) stop() error { return n.end(process.SignalEnd) }

// ready waits for 200 of /readyz.
func (n *node) ready(ctx context.Context) error {
	var last error
	err := until(ctx, readyPatience, func() bool {
		if n.pid() == 0 {
			last = errors.New("the process has ended")
			return true
		}
		last = n.group.quiet.ask(ctx, http.MethodGet, n.api+"/readyz", nil, nil)
		return last == nil
	})
	if last != nil {
		return fmt.Errorf("%s is not ready: %w\n%s", n.id, last, n.logTail())
	}
	return err
}

func (n *node) logTail() string {
	raw, err := os.ReadFile(n.log)
	if err != nil {
		return ""
	}
	if len(raw) > logTailBytes {
		raw = raw[len(raw)-logTailBytes:]
	}
	return string(raw)
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
