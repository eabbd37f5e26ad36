package load

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

const testSecret = "a secret for tests"

// fakeProgram writes its process id into a file beside itself, and stays.
const fakeProgram = "#!/bin/sh\necho $$ >> \"$0.pids\"\nexec sleep 600\n"

// attend runs an attendant of this process until the test ends. It returns its options.
func attend(t *testing.T, o HostOptions) HostOptions {
	t.Helper()
	ports, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	if o.Listen == "" {
		o.Listen = ports[0]
	}
	o.Secret = testSecret
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	if o.Self == "" {
		o.Self = filepath.Join(t.TempDir(), "fake")
		require.NoError(t, os.WriteFile(o.Self, []byte(fakeProgram), 0o700))
		o.Binary = o.Self
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ServeHost(ctx, o) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	require.NoError(t, until(t.Context(), childPatient, func() bool {
		_, err := reach(t.Context(), o.Listen)
		return err == nil
	}))
	return o
}

func claim(t *testing.T, o HostOptions) *host {
	t.Helper()
	h, err := claimHost(t.Context(), o.Listen, Options{Secret: o.Secret})
	require.NoError(t, err)
	t.Cleanup(h.close)
	return h
}

// launchFake launches a process that stays, and returns it with its id.
func launchFake(t *testing.T, h *host, o HostOptions) (process, int) {
	t.Helper()
	addresses, err := h.addresses(t.Context(), 1)
	require.NoError(t, err)
	p, err := h.launch(t.Context(), &task{Kind: taskEcho, Name: "echo", Addresses: addresses})
	require.NoError(t, err)
	var id int
	require.NoError(t, until(t.Context(), childPatient, func() bool {
		raw, _ := os.ReadFile(o.Self + ".pids")
		id, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil
	}))
	return p, id
}

func lives(id int) bool { return syscall.Kill(id, 0) == nil }

func requireEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// requireStatus wants a refusal with a status.
func requireStatus(t *testing.T, status int, err error, what string) {
	t.Helper()
	var refused *refusal
	require.True(t, errors.As(err, &refused), "%s: %v", what, err)
	require.Equal(t, status, refused.status, "%s: %v", what, err)
}

// An attendant obeys nobody without its secret, one loader at a time, and no order but those that
// it knows. A refused order starts nothing.
func TestAttendantRefuses(t *testing.T) {
	o := attend(t, HostOptions{})
	for _, secret := range []string{"", "another secret of tests", testSecret + "x", testSecret[:len(testSecret)-1]} {
		_, err := claimHost(t.Context(), o.Listen, Options{Secret: secret})
		requireStatus(t, http.StatusUnauthorized, err, secret)
	}
	requireEmpty(t, o.Folder)
	h := claim(t, o)
	_, err := claimHost(t.Context(), o.Listen, Options{Secret: testSecret})
	requireStatus(t, http.StatusConflict, err, "a second loader")
	own, err := h.addresses(t.Context(), 3)
	require.NoError(t, err)
	foreign := []string{own[0], own[1], "127.0.0.1:1"}
	good := task{Kind: taskNode, Name: "n", Addresses: own, Peers: own[2:], Secret: randomHex(16), Key: randomHex(16)}
	for name, change := range map[string]func(j *task){
		"another kind":          func(j *task) { j.Kind = "shell" },
		"floods":                func(j *task) { j.Kind, j.Addresses = taskFloods, own[:1] },
		"a name that leads out": func(j *task) { j.Name = "../n" },
		"a name as a flag":      func(j *task) { j.Name = "-n" },
		"a foreign address":     func(j *task) { j.Addresses = foreign },
		"too few addresses":     func(j *task) { j.Addresses = own[:2] },
		"a peer as a flag":      func(j *task) { j.Peers = []string{"--log-level"} },
		"two peers in one":      func(j *task) { j.Peers = []string{own[2] + "," + own[2]} },
		"no peers":              func(j *task) { j.Peers = nil },
		"no such peer":          func(j *task) { j.At = 1 },
		"a short secret":        func(j *task) { j.Secret = "s" },
		"a key of two lines":    func(j *task) { j.Key += "\nX=y" },
		"another store":         func(j *task) { j.Kind, j.Addresses, j.Store = taskRaft, own[:2], "/etc" },
	} {
		bad := good
		change(&bad)
		_, err := h.launch(t.Context(), &bad)
		requireStatus(t, http.StatusBadRequest, err, name)
	}
	for name, ask := range map[string]struct {
		status int
		verb   string
		order  any
	}{
		"another order":      {http.StatusNotFound, "run", struct{}{}},
		"an unknown member":  {http.StatusBadRequest, "launch", map[string]any{"kind": taskEcho, "command": "sh"}},
		"two objects":        {http.StatusBadRequest, "beat", []byte("{}{}")},
		"no process":         {http.StatusNotFound, "start", processOrder{"n"}},
		"a long body":        {http.StatusRequestEntityTooLarge, "beat", bytes.Repeat([]byte(" "), orderBytesMax+1)},
		"too many addresses": {http.StatusConflict, "addresses", addressesOrder{HostPorts}},
		"no addresses":       {http.StatusConflict, "addresses", addressesOrder{-1}},
		"a way to a name":    {http.StatusBadRequest, "reach", reachOrder{"example.invalid:80"}},
	} {
		requireStatus(t, ask.status, h.ask(t.Context(), ask.verb, ask.order, nil), name)
	}
	session := h.facts.Session
	h.facts.Session = randomHex(16)
	requireStatus(t, http.StatusGone, h.ask(t.Context(), "beat", beatOrder{}, nil), "another loader's session")
	h.facts.Session = session
	require.NoFileExists(t, o.Self+".pids", "nothing was started")
}

// A process is ended, started again and forgotten at a loader's word; then its addresses and its
// name are free. Everything has ended when the loader releases the attendant, which is free again.
func TestAttendantObeys(t *testing.T) {
	o := attend(t, HostOptions{})
	h := claim(t, o)
	p, id := launchFake(t, h, o)
	require.True(t, lives(id))
	seen, err := p.look(t.Context())
	require.NoError(t, err)
	require.True(t, seen.Running)
	if seen.Unseen == "" { // A system that tells it.
		require.Positive(t, seen.Used.held)
		require.GreaterOrEqual(t, seen.Used.peak, seen.Used.held)
	}
	require.NoError(t, p.kill(t.Context()))
	require.False(t, lives(id))
	seen, err = p.look(t.Context())
	require.NoError(t, err)
	require.False(t, seen.Running)
	require.Empty(t, seen.Fell, "it was asked to end")
	require.NoError(t, p.start(t.Context()))
	require.NoError(t, p.stop(t.Context()))
	require.NoError(t, p.forget(t.Context()))
	requireStatus(t, http.StatusNotFound, p.start(t.Context()), "it is forgotten")
	require.NoError(t, os.Remove(o.Self+".pids"))
	_, id = launchFake(t, h, o)
	rest, err := h.addresses(t.Context(), HostPorts-1)
	require.NoError(t, err, "the forgotten one's address is free")
	require.Len(t, rest, HostPorts-1)
	h.close()
	require.False(t, lives(id))
	requireEmpty(t, o.Folder)
	claim(t, o)
}

// An attendant whose loader vanishes ends everything, removes the folder and is free again.
func TestAttendantEndsWithItsLoader(t *testing.T) {
	o := attend(t, HostOptions{Lease: 300 * time.Millisecond})
	h := claim(t, o)
	_, id := launchFake(t, h, o)
	time.Sleep(2 * h.facts.Lease)
	require.True(t, lives(id), "beats keep it")
	h.stop() // No beat any more, and no word.
	require.NoError(t, until(t.Context(), childPatient, func() bool {
		left, err := os.ReadDir(o.Folder)
		return err == nil && len(left) == 0
	}))
	require.False(t, lives(id))
	requireStatus(t, http.StatusGone, h.ask(t.Context(), "beat", beatOrder{}, nil), "its time is over")
	claim(t, o)
}

// An attendant that is told to end takes its processes and its folder with it.
func TestAttendantEnds(t *testing.T) {
	folder := t.TempDir()
	var id int
	t.Run("while a process runs", func(t *testing.T) {
		o := attend(t, HostOptions{Folder: folder})
		h, err := claimHost(t.Context(), o.Listen, Options{Secret: o.Secret})
		require.NoError(t, err)
		t.Cleanup(h.stop) // It does not release the attendant.
		_, id = launchFake(t, h, o)
		require.True(t, lives(id))
	})
	require.False(t, lives(id))
	requireEmpty(t, folder)
}

func TestHostOptionsAreChecked(t *testing.T) {
	good := HostOptions{Listen: "127.0.0.1:19000", Folder: t.TempDir(), Secret: testSecret}
	_, _, err := good.check()
	require.NoError(t, err)
	for name, change := range map[string]func(*HostOptions){
		"all addresses": func(o *HostOptions) { o.Listen = "0.0.0.0:19000" },
		"no address":    func(o *HostOptions) { o.Listen = ":19000" },
		"a name":        func(o *HostOptions) { o.Listen = "localhost:19000" },
		"no port":       func(o *HostOptions) { o.Listen = "127.0.0.1" },
		"a high port":   func(o *HostOptions) { o.Listen = "127.0.0.1:65530" },
		"no secret":     func(o *HostOptions) { o.Secret = "" },
		"short secret":  func(o *HostOptions) { o.Secret = "fifteen bytes.." },
		"no folder":     func(o *HostOptions) { o.Folder += "/none" },
	} {
		bad := good
		change(&bad)
		require.ErrorIs(t, ServeHost(t.Context(), bad), ErrHostOptions, name)
	}
}

func TestHostsAreChecked(t *testing.T) {
	good := Options{Spawn: 3, Workload: StandardWorkload(), Hosts: []string{"10.0.0.1:9000", "b:9000"}, Secret: testSecret}
	require.NoError(t, good.check())
	for name, change := range map[string]func(*Options){
		"no secret":     func(o *Options) { o.Secret = "" },
		"with targets":  func(o *Options) { o.Targets, o.Key = []string{"http://127.0.0.1:1"}, "k" },
		"one twice":     func(o *Options) { o.Hosts = []string{"b:9000", "b:9000"} },
		"no port":       func(o *Options) { o.Hosts = []string{"b"} },
		"no address":    func(o *Options) { o.Hosts = []string{":9000"} },
		"eight of them": func(o *Options) { o.Hosts = strings.Split("a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1", ",") },
	} {
		bad := good
		change(&bad)
		require.Error(t, bad.check(), name)
	}
}
