package testcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const readyPatience = 150 * time.Second

// Development is a cluster that `railguard dev` runs, as described in dev.json.
type Development struct {
	Key   string   `json:"apiKey"`
	Nodes []Member `json:"nodes"`

	Binary, Folder string // The program; the folder of its data.

	server Server // The process that runs the nodes.
	flags  []string
	size   int
}

// Member is one node of a development cluster; its addresses have no scheme.
type Member struct {
	ID          string
	PID         int
	HTTP, Admin string
}

// test is the part of *testing.T that is needed. The benches' program does not link testing.
type test interface {
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Failed() bool
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// StartDevelopment runs so many nodes on fresh data until the test ends.
// flags are additional flags of `railguard dev`. It returns when every node is ready.
func StartDevelopment(t test, nodes int, flags ...string) *Development {
	t.Helper()
	folder := t.TempDir()
	binary, err := built()
	if err != nil {
		t.Fatalf("%v", err)
	}
	d := &Development{Binary: binary, Folder: filepath.Join(folder, "data"), size: nodes}
	base, err := FreeBase(nodes)
	if err != nil {
		t.Fatalf("%v", err)
	}
	d.flags = append([]string{"dev", "--nodes", strconv.Itoa(nodes), "--data", d.Folder, "--http-base", strconv.Itoa(base)}, flags...)
	d.server = Server{Name: "railguard dev", Data: d.Folder, Log: filepath.Join(folder, "said"), Spawner: NewSpawner()}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Logf("%v", err)
		}
		d.server.Spawner.Close()
		if t.Failed() {
			t.Logf("%s", d.server.LogTail())
		}
	})
	if err := d.Start(t.Context()); err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

// Start runs the cluster again on its data and waits until every node is ready.
func (d *Development) Start(ctx context.Context) error {
	if err := os.RemoveAll(filepath.Join(d.Folder, "dev.json")); err != nil { // The file is of the former processes.
		return err
	}
	if _, err := d.server.Launch(d.Binary, d.flags, os.Environ()); err != nil {
		return err
	}
	return d.AwaitReady(ctx)
}

// AwaitReady waits until every node is ready.
func (d *Development) AwaitReady(ctx context.Context) error {
	return d.server.Await(ctx, readyPatience, func() error {
		raw, err := os.ReadFile(filepath.Join(d.Folder, "dev.json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, d); err != nil {
			return err
		}
		if len(d.Nodes) != d.size {
			return fmt.Errorf("%d of %d nodes have been started", len(d.Nodes), d.size)
		}
		for _, node := range d.Nodes {
			if err := askReady(ctx, node.HTTP); err != nil {
				return err
			}
		}
		return nil
	})
}

// LetOneAct puts a policy in force that demands two persons for nothing. A test calls it before
// it makes a second key, because from then on a second person would have to agree.
func (d *Development) LetOneAct(ctx context.Context) error {
	call, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+d.Nodes[0].HTTP+"/v1/policy", strings.NewReader(`{"policy":{"twoPersons":[]},"reason":"one person walks through the tests"}`))
	if err != nil {
		return err
	}
	call.Header.Set("Authorization", "Bearer "+d.Key)
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the policy for one person: %s", answer.Status)
	}
	return nil
}

// askReady asks a node whether it is ready.
func askReady(ctx context.Context, address string) error {
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, answer.Status)
	}
	return nil
}

// Stop ends the cluster regularly. If it does not end, Stop kills it and returns an error. It
// also returns an error if the cluster ended with one.
func (d *Development) Stop() error {
	child, _ := d.server.Signal(SignalEnd, true)
	if child == nil {
		return nil
	}
	if child.Wait(stopPatience) == nil {
		if !child.Command.ProcessState.Success() {
			return fmt.Errorf("the cluster ended with %s", child.ExitText())
		}
		return nil
	}
	err := errors.Join(errors.New("the cluster did not stop when asked, and was killed"), d.server.Kill())
	for _, node := range d.Nodes { // The nodes are its children, which it can no longer stop itself.
		if child, failed := os.FindProcess(node.PID); failed == nil {
			_ = child.Kill()
		}
	}
	return err
}

// URLs returns the nodes' addresses with their scheme.
func (d *Development) URLs() []string {
	all := make([]string, 0, len(d.Nodes))
	for _, node := range d.Nodes {
		all = append(all, "http://"+node.HTTP)
	}
	return all
}
