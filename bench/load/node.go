package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"railguard/cluster/testcluster"
)

const (
	readyPatience = 90 * time.Second
	closePatience = 30 * time.Second // How long the processes of a run may take to end.
)

// node is one server of ours.
type node struct {
	process

	id                 string
	api, admin, listen string // The first two with their scheme.
	group              *group
}

// group is a cluster that was started for this run.
type group struct {
	key, secret string
	nodes       []*node
	quiet       *api // Makes calls without a key.
}

// Shared with the other benches.
var (
	until     = testcluster.Until
	randomHex = testcluster.RandomHex
)

// spawn starts a new cluster, its nodes at the places in turn, and waits until it serves.
func spawn(ctx context.Context, places []place, name string, size int) (*group, error) {
	g := &group{key: "rg_live_" + randomHex(14), secret: randomHex(32), quiet: newAPI("")}
	err := g.start(ctx, places, name, size)
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *group) start(ctx context.Context, places []place, name string, size int) error {
	var tasks []*task
	var peers []string
	for i := range size {
		addresses, err := places[i%len(places)].addresses(ctx, 3)
		if err != nil {
			return err
		}
		t := &task{Kind: taskNode, Addresses: addresses, At: i, Secret: g.secret, Key: g.key}
		t.Name = name + "-" + t.id()
		tasks, peers = append(tasks, t), append(peers, addresses[2])
	}
	for i, t := range tasks {
		t.Peers = peers
		p, err := places[i%len(places)].launch(ctx, t)
		if err != nil {
			return err
		}
		g.nodes = append(g.nodes, &node{process: p, id: t.id(), api: "http://" + t.Addresses[0], admin: "http://" + t.Addresses[1], listen: t.Addresses[2], group: g})
	}
	for _, n := range g.nodes {
		if err := n.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends every process; the folders are the places' to remove.
func (g *group) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	for _, n := range g.nodes {
		_ = n.forget(ctx) // What survives this ends with its place.
	}
	g.quiet.client.CloseIdleConnections()
}

// fallen tells which nodes ended by themselves, and why according to their logs.
func (g *group) fallen(ctx context.Context) error {
	var all []error
	for _, n := range g.nodes {
		seen, err := n.look(ctx)
		if err != nil {
			all = append(all, fmt.Errorf("node %s is not seen: %w", n.id, err))
			continue
		}
		why := seen.Fell
		if why == "" {
			continue
		}
		for line := range strings.Lines(seen.Log) {
			if strings.Contains(line, "FATAL") {
				why = strings.TrimSpace(line)
			}
		}
		all = append(all, fmt.Errorf("node %s ended by itself: %s", n.id, why))
	}
	return errors.Join(all...)
}

// ready waits for 200 of /readyz.
func (n *node) ready(ctx context.Context) error {
	return await(ctx, n, readyPatience, n.id, func() error {
		return n.group.quiet.ask(ctx, http.MethodGet, n.api+"/readyz", nil, nil)
	})
}

// await asks until there is no error. It stops waiting when the process has ended.
func await(ctx context.Context, p process, patience time.Duration, name string, ask func() error) error {
	last := errors.New("no answer")
	err := until(ctx, patience, func() bool {
		if last = ask(); last == nil {
			return true
		}
		seen, failed := p.look(ctx)
		if failed != nil {
			last = failed
			return false
		}
		if !seen.Running {
			last = fmt.Errorf("the process has ended\n%s", seen.Log)
		}
		return !seen.Running
	})
	if last == nil {
		return nil
	}
	return fmt.Errorf("%s is not ready: %w", name, errors.Join(last, err))
}
