package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"railguard/cluster/testcluster"
)

// place is where processes of a run live: this machine, or a host with an attendant.
type place interface {
	// addresses reserves so many addresses there.
	addresses(ctx context.Context, count int) ([]string, error)
	// launch starts a process for a task.
	launch(ctx context.Context, t *task) (process, error)
}

// process was launched at a place. It can end and be started again on the same folder.
type process interface {
	start(ctx context.Context) error
	stop(ctx context.Context) error   // Asks it to drain and end, and waits.
	kill(ctx context.Context) error   // Gives no warning, and waits for the end.
	forget(ctx context.Context) error // Kills it and gives its addresses back. Its folder stays until the run ends.
	look(ctx context.Context) (sight, error)
}

// sight is what is seen of a process from outside.
type sight struct {
	Running bool   `json:"running"`
	Fell    string `json:"fell,omitempty"` // How it ended, if nobody had asked it to.
	Log     string `json:"log,omitempty"`  // The end of what an ended one wrote.
	Used    usage  `json:"used"`
	Unseen  string `json:"unseen,omitempty"` // Why Used is not known.
}

// usageOf adds up what some processes have used.
func usageOf[P process](ctx context.Context, processes ...P) (usage, error) {
	var sum usage
	for _, p := range processes {
		seen, err := p.look(ctx)
		if err == nil && seen.Unseen != "" {
			err = errors.New(seen.Unseen)
		}
		if err != nil {
			return sum, err
		}
		sum.add(seen.Used)
	}
	return sum, nil
}

// Kinds of tasks. An attendant does the first three.
const (
	taskNode   = "node"   // Addresses: API, admin, port between nodes. Peers: the ports between nodes.
	taskEcho   = "echo"   // Addresses: HTTP.
	taskRaft   = "raft"   // Addresses: HTTP, raft. Peers: the raft addresses.
	taskFloods = "floods" // Addresses: HTTP.
)

// task says what a process does. Its command line follows from these fields alone.
type task struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"` // Its folder and its log are called so. No other of the run has it.
	Addresses []string `json:"addresses"`
	Peers     []string `json:"peers,omitempty"`
	At        int      `json:"at"`               // Which of the peers it is.
	Store     string   `json:"store,omitempty"`  // Of bare raft.
	Secret    string   `json:"secret,omitempty"` // Of a node's cluster, as is Key, its first API key.
	Key       string   `json:"key,omitempty"`
}

const nodesMax = 7

var (
	taskName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)
	taskSecret = regexp.MustCompile(`^[a-zA-Z0-9_]{16,128}$`)
)

// check refuses a task that is not well formed. It comes from the network.
func (t *task) check() error {
	addresses := map[string]int{taskNode: 3, taskEcho: 1, taskRaft: 2, taskFloods: 1}[t.Kind]
	grouped := t.Kind == taskNode || t.Kind == taskRaft
	switch {
	case addresses == 0:
		return fmt.Errorf("there is no task %q", t.Kind)
	case !taskName.MatchString(t.Name):
		return fmt.Errorf("task %q: a name has small letters, digits and hyphens", t.Name)
	case len(t.Addresses) != addresses:
		return fmt.Errorf("task %s: %d addresses, want %d", t.Name, len(t.Addresses), addresses)
	case grouped && (len(t.Peers) > nodesMax || t.At < 0 || t.At >= len(t.Peers)):
		return fmt.Errorf("task %s: no peer %d of %d", t.Name, t.At, len(t.Peers))
	case t.Kind == taskNode && (!taskSecret.MatchString(t.Secret) || !taskSecret.MatchString(t.Key)):
		return fmt.Errorf("task %s: a node needs a secret and a key", t.Name)
	case t.Kind == taskRaft && t.Store != "bolt" && t.Store != "wal":
		return fmt.Errorf("task %s: store %q: want bolt or wal", t.Name, t.Store)
	}
	for _, address := range append(t.Peers[:len(t.Peers):len(t.Peers)], t.Addresses...) {
		if err := checkAddress(address); err != nil {
			return fmt.Errorf("task %s: %w", t.Name, err)
		}
	}
	return nil
}

// checkAddress wants an IP address with a port.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if number, _ := strconv.Atoi(port); err != nil || net.ParseIP(host) == nil || number < 1 || number > 65535 {
		return fmt.Errorf("%q: want an IP address with a port", address)
	}
	return nil
}

// id is a node's name in its cluster.
func (t *task) id() string { return "n" + strconv.Itoa(t.At+1) }

// args is the command line of the process.
func (t *task) args(folder string) []string {
	switch t.Kind {
	case taskEcho:
		return []string{"serve-echo", "--listen", t.Addresses[0]}
	case taskFloods:
		return []string{"serve-floods", "--listen", t.Addresses[0]}
	case taskRaft:
		return []string{
			"serve-raft", "--listen", t.Addresses[0], "--peers", strings.Join(t.Peers, ","),
			"--at", strconv.Itoa(t.At), "--store", t.Store, "--folder", folder,
		}
	}
	args := []string{
		"serve", "--dev", "--id", t.id(), "--data", folder, "--log-level", "warn", "--http", t.Addresses[0], "--admin", t.Addresses[1],
		"--public-url", "http://bench.invalid", "--bootstrap-expect", strconv.Itoa(len(t.Peers)),
	}
	if len(t.Peers) > 1 {
		args = append(args, "--cluster", t.Addresses[2], "--join", strings.Join(t.Peers, ","))
	}
	return args
}

// local is a place on this machine. Its processes die with its spawner.
type local struct {
	folder  string
	product string // The railguard whose nodes run here.
	self    string // This program, which is every other process.
	spawner *testcluster.Spawner
	reserve func(count int) ([]string, error)
	release func(addresses ...string)
}

func (l *local) addresses(_ context.Context, count int) ([]string, error) { return l.reserve(count) }

func (l *local) launch(ctx context.Context, t *task) (process, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	c := &child{local: l, task: t, server: testcluster.Server{
		Name: t.Name, Data: filepath.Join(l.folder, t.Name), Log: filepath.Join(l.folder, t.Name+".log"), Spawner: l.spawner,
	}}
	return c, c.start(ctx)
}

// child is a process of this machine.
type child struct {
	local  *local
	task   *task
	server testcluster.Server
}

func (c *child) start(context.Context) error {
	binary, environment := c.local.self, os.Environ()
	if c.task.Kind == taskNode {
		binary, environment = c.local.product, testcluster.Secrets(c.task.Secret, c.task.Key)
	}
	_, err := c.server.Launch(binary, c.task.args(c.server.Data), environment)
	return err
}

func (c *child) stop(context.Context) error { return c.server.Stop() }
func (c *child) kill(context.Context) error { return c.server.Kill() }

func (c *child) forget(context.Context) error {
	err := c.server.Kill()
	c.local.release(c.task.Addresses...)
	return err
}

func (c *child) look(context.Context) (sight, error) {
	pid := c.server.PID()
	s := sight{Running: pid != 0, Fell: c.server.Fell()}
	if !s.Running {
		s.Log, s.Unseen = c.server.LogTail(), c.server.Name+" does not run"
		return s, nil
	}
	var err error
	if s.Used, err = processUsage(pid); err != nil {
		s.Unseen = err.Error()
	}
	return s, nil
}
