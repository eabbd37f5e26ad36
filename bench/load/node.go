package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"railguard/cluster/testcluster"
)

const (
	readyPatience = 90 * time.Second
	stopPatience  = 30 * time.Second // How long the processes of base lines may take to stop.
)

// node is one server of ours.
type node struct {
	testcluster.Server

	id                 string
	api, admin, listen string // The first two with their scheme.
	group              *group
}

// group is a cluster that was spawned for this run, on the loopback.
type group struct {
	binary, folder string
	key, secret    string
	spawner        *testcluster.Spawner
	nodes          []*node
	quiet          *api // Makes calls without a key.
}

// Shared with the other benches.
var (
	until     = testcluster.Until
	randomHex = testcluster.RandomHex
)

// spawn starts a new cluster of the binary and waits until it serves.
func spawn(ctx context.Context, binary, folder string, size int) (*group, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	g := &group{
		binary: binary, folder: folder, key: "rg_live_" + randomHex(14), secret: randomHex(32),
		spawner: testcluster.NewSpawner(), quiet: newAPI(""),
	}
	err := g.start(ctx, size)
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *group) start(ctx context.Context, size int) error {
	ports, err := testcluster.FreePorts(3 * size)
	if err != nil {
		return err
	}
	for i := range size {
		id := "n" + strconv.Itoa(i+1)
		g.nodes = append(g.nodes, &node{
			Server: testcluster.Server{Name: id, Data: filepath.Join(g.folder, id), Log: filepath.Join(g.folder, id+".log"), Spawner: g.spawner},
			id:     id, api: "http://" + ports[3*i], admin: "http://" + ports[3*i+1], listen: ports[3*i+2], group: g,
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
		_ = n.Kill() // The spawner ends what survives this.
	}
	g.spawner.Close()
	g.quiet.client.CloseIdleConnections()
}

// fallen tells which nodes ended by themselves, and why according to their logs.
func (g *group) fallen() error {
	var all []error
	for _, n := range g.nodes {
		why := n.Fell()
		if why == "" {
			continue
		}
		for line := range strings.Lines(n.LogTail()) {
			if strings.Contains(line, "FATAL") {
				why = strings.TrimSpace(line)
			}
		}
		all = append(all, fmt.Errorf("node %s ended by itself: %s", n.id, why))
	}
	return errors.Join(all...)
}

func (g *group) pids() []int {
	var all []int
	for _, n := range g.nodes {
		if pid := n.PID(); pid != 0 {
			all = append(all, pid)
		}
	}
	return all
}

func (n *node) args() []string {
	args := []string{
		"serve", "--dev", "--id", n.id, "--data", n.Data, "--log-level", "warn",
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
	_, err := n.Launch(n.group.binary, n.args(), testcluster.Secrets(n.group.secret, n.group.key))
	return err
}

// ready waits for 200 of /readyz.
func (n *node) ready(ctx context.Context) error {
	return n.Await(ctx, readyPatience, func() error {
		return n.group.quiet.ask(ctx, http.MethodGet, n.api+"/readyz", nil, nil)
	})
}
