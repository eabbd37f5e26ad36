package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/report"
	"railguard/cluster/testcluster"
	"railguard/fsm/wire"
)

// The table of ends: every write that a node makes, and everything that a disk can do to it. Each
// line is a process of its own with the nodes of a group in it, because the exit code is what a
// supervisor sees. All limits are a fifth of the real ones.

// endsCase is the environment variable with the line for which this test binary runs nodes.
const endsCase = "RAILGUARD_TEST_ENDS"

const (
	endsLead  = 300 * time.Millisecond // 1.5 s
	endsEnd   = 3 * time.Second        // 15 s
	endsNever = 9 * time.Second        // 5 minutes, of a node that is alone
	endsBusy  = 45 * time.Second       // What a busy machine may add.
	endsCalls = 500 * time.Millisecond // 2 s

	forever = time.Hour
)

// ending is one line of the table.
type ending struct {
	Dir    string
	Write  string
	Alone  bool
	Fails  bool
	Stalls time.Duration
}

func (e *ending) name() string {
	what := "stalls " + e.Stalls.String()
	switch {
	case e.Fails:
		what = "fails"
	case e.Stalls == forever:
		what = "never returns"
	}
	if e.Alone {
		what += ", alone"
	}
	return e.Write + " " + what
}

// ends reports whether the node must end, and with which word in the reason.
func (e *ending) ends() (reason string, must bool) {
	switch {
	case e.Fails:
		return "FATAL", e.Write != "snapshot" // A snapshot that fails is written again, to a new file.
	case e.Stalls == forever:
		return "disk stalled", true
	}
	return "", false // Slowness delays. Of a node that is alone it delays, however long, until nothing is to be hoped for.
}

// mayEnd reports whether the node ends if it is clear in time that the others go on without it.
func (e *ending) mayEnd() bool { return !e.Alone && e.Stalls > endsEnd }

// TestTableOfEnds: whatever a disk does to a write, the node goes on or its process ends with 70;
// callers are answered or reset in time; nothing that was applied is cut; and the shipped unit
// brings the node back.
func TestTableOfEnds(t *testing.T) {
	requireBroughtBack(t)
	for _, write := range []string{"log", "term", "vote", "history", "snapshot", "node file"} {
		for _, alone := range []bool{false, true} {
			if alone && (write == "term" || write == "vote") {
				continue // Nobody asks it for a vote.
			}
			for _, stall := range []time.Duration{0, 280 * time.Millisecond, 320 * time.Millisecond, 600 * time.Millisecond, 6 * time.Second, forever} {
				e := &ending{Write: write, Alone: alone, Fails: stall == 0, Stalls: stall}
				if testing.Short() && (alone || stall != 0 && stall != forever) {
					continue
				}
				t.Run(e.name(), func(t *testing.T) {
					t.Parallel()
					e.Dir = t.TempDir()
					playEnding(t, e)
				})
			}
		}
	}
}

// requireBroughtBack reads the shipped unit: it starts a node again after every end but that of
// wrong settings, a panic's included, and counts no starts.
func requireBroughtBack(t *testing.T) {
	data, err := os.ReadFile("../deploy/systemd/railguard.service")
	require.NoError(t, err)
	setting := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + `=(.*)$`).FindSubmatch(data)
		require.NotNil(t, found, name)
		return string(found[1])
	}
	require.Equal(t, "always", setting("Restart"))
	require.Equal(t, "0", setting("StartLimitIntervalSec"), "ten stalls in five minutes must not end a node for good")
	require.NotContains(t, strings.Fields(setting("RestartPreventExitStatus")), strconv.Itoa(ExitEnded))
	require.NotContains(t, strings.Fields(setting("RestartPreventExitStatus")), "2", "every panic of Go exits with 2")
	require.NotContains(t, strings.Fields(setting("RestartPreventExitStatus")), "1")
}

// played is the process of one line, as its supervisor and its callers see it.
type played struct {
	command *exec.Cmd
	stderr  bytes.Buffer
	lines   chan string
}

// await returns what stands behind a word in the next line that begins with it, or "" if the
// process ends before.
func (p *played) await(t *testing.T, word string) (rest string, said bool) {
	for {
		select {
		case line, open := <-p.lines:
			if !open {
				return "", false
			}
			if rest, is := strings.CutPrefix(line, word); is {
				return strings.TrimSpace(rest), true
			}
		case <-time.After(groupPatience):
			_ = p.command.Process.Kill()
			require.Fail(t, "the process does not say "+word, p.stderr.String())
		}
	}
}

func playEnding(t *testing.T, e *ending) {
	p := &played{command: exec.Command(os.Args[0]), lines: make(chan string, 64)}
	line, err := json.Marshal(e)
	require.NoError(t, err)
	p.command.Env, p.command.Stderr = append(os.Environ(), endsCase+"="+string(line)), &p.stderr
	out, err := p.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	t.Cleanup(func() { _ = p.command.Process.Kill() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
		close(p.lines)
	}()
	address, said := p.await(t, "listening")
	require.True(t, said, &p.stderr)
	idle, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer idle.Close()
	reset := make(chan time.Time, 1)
	go func() {
		_, _ = io.ReadAll(idle)
		reset <- time.Now()
	}()
	before, said := p.await(t, "hit")
	require.True(t, said, &p.stderr)
	began := time.Now()
	called := make(chan time.Duration, 1)
	go func() { // A call to the node whose disk has hung by now.
		client := &http.Client{Transport: &http.Transport{}}
		if response, err := client.Get("http://" + address); err == nil {
			_ = response.Body.Close()
		}
		called <- time.Since(began)
	}()

	reason, must := e.ends()
	_, served := p.await(t, "served")
	ended := p.command.Wait()
	code := p.command.ProcessState.ExitCode()
	if must {
		require.Equal(t, ExitEnded, code, "%v: %s", ended, &p.stderr)
		require.Contains(t, p.stderr.String(), reason)
		require.NotContains(t, p.stderr.String(), "panic")
		took := (<-reset).Sub(began)
		t.Logf("callers reset after %v", took)
		if e.Fails {
			require.Less(t, took, 2*time.Second, "the idle caller is reset")
		} else {
			require.Less(t, took, endsNever+endsBusy, "the idle caller is reset")
		}
	} else if !served && e.mayEnd() {
		require.Equal(t, ExitEnded, code, "%v: %s", ended, &p.stderr)
	} else {
		require.True(t, served, &p.stderr)
		require.Zero(t, code, &p.stderr)
	}
	require.Less(t, <-called, endsCalls+10*time.Second, "no caller is held")
	requireUncut(t, e, before)
}

// requireUncut requires that the node's log still has what was in it when the disk began to fail,
// and that its folder can be opened again.
func requireUncut(t *testing.T, e *ending, before string) {
	dir := filepath.Join(e.Dir, "hit")
	applied, _, err := datadir.ReadReached(dir)
	require.NoError(t, err)
	store, err := datadir.OpenLog(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	defer store.Close()
	last, err := store.LastIndex()
	require.NoError(t, err)
	was, err := strconv.ParseUint(before, 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, last, max(was, applied), "nothing that was applied is cut")
	first, err := store.FirstIndex()
	require.NoError(t, err)
	if first > 1 {
		kept, err := datadir.NewestSnapshot(dir)
		require.NoError(t, err)
		require.LessOrEqual(t, first, kept.Index+1, "what a snapshot has may go")
	}
	for index := first; index <= max(was, applied); index++ {
		var entry raft.Log
		require.NoError(t, store.GetLog(index, &entry))
	}
}

// faultyDisk is the disk of the node that is hit.
type faultyDisk struct {
	ending
	datadir.SystemDisk

	armed atomic.Bool
	once  sync.Once
	last  func() uint64 // The last entry that was applied.
}

// trouble is called in each write of the kind that is to be hit. The first one is hit, and all
// that come while the disk is like that.
func (d *faultyDisk) trouble(kind string) error {
	if kind != d.Write || !d.armed.Load() {
		return nil
	}
	d.once.Do(func() {
		fmt.Println("hit", d.last())
		time.AfterFunc(d.Stalls, func() { d.armed.Store(d.Fails && d.Write != "snapshot") })
	})
	if d.Fails {
		return errors.New("input/output error")
	}
	for d.armed.Load() {
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (d *faultyDisk) SyncFile(file *os.File) error {
	data, err := os.ReadFile(file.Name())
	if err == nil && strings.Contains(string(data), `"clusterId"`) {
		err = d.trouble("node file")
	}
	return errors.Join(err, d.SystemDisk.SyncFile(file))
}

func (d *faultyDisk) SyncFolder(path string) error {
	if strings.Contains(path, datadir.SnapshotFolder) {
		if err := d.trouble("snapshot"); err != nil {
			return err
		}
	}
	return d.SystemDisk.SyncFolder(path)
}

type faultyLog struct {
	datadir.LogStore
	disk *faultyDisk
}

func (l *faultyLog) StoreLogs(logs []*raft.Log) error {
	if err := l.disk.trouble("log"); err != nil {
		return err
	}
	return l.LogStore.StoreLogs(logs)
}

func (l *faultyLog) SetUint64(key []byte, value uint64) error {
	if string(key) == string(datadir.RaftTermKey) {
		if err := l.disk.trouble("term"); err != nil {
			return err
		}
	}
	return l.LogStore.SetUint64(key, value)
}

func (l *faultyLog) Set(key, value []byte) error {
	if string(key) == "LastVoteCand" {
		if err := l.disk.trouble("vote"); err != nil {
			return err
		}
	}
	return l.LogStore.Set(key, value)
}

type faultyHistory struct {
	audit.Dir
	disk *faultyDisk
}

type faultyHistoryFile struct {
	audit.File
	disk *faultyDisk
}

func (h *faultyHistory) Create(name string) (audit.File, error) {
	file, err := h.Dir.Create(name)
	return &faultyHistoryFile{file, h.disk}, err
}

func (f *faultyHistoryFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.trouble("history"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// slowReader is the log of a node whose last line nobody takes: it is written, and then the
// writer waits for ever.
type slowReader struct{ slog.Handler }

func (s slowReader) Handle(ctx context.Context, record slog.Record) error {
	err := s.Handler.Handle(ctx, record)
	if strings.HasPrefix(record.Message, "FATAL") {
		select {}
	}
	return err
}

// playNodes runs the nodes of one line of the table.
func playNodes(line string) error {
	var e ending
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var hit atomic.Pointer[Node]
	disk := &faultyDisk{ending: e, last: func() uint64 {
		if n := hit.Load(); n != nil {
			return n.Applied()
		}
		return 0
	}}
	conns := &sync.Map{}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := hit.Load(); n != nil {
				_, _ = n.Propose(r.Context(), wire.KindRegister, register("called"))
			}
		}),
		ConnState: func(c net.Conn, _ http.ConnState) { conns.Store(c, true) },
	}
	go func() { _ = server.Serve(listener) }()
	fmt.Println("listening", listener.Addr())
	nodes, err := openEnding(&e, disk, func() {
		_ = listener.Close()
		conns.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil || true })
	}, &hit)
	if err != nil {
		return err
	}
	hitEnding(&e, disk, nodes, hit.Load())
	served := func(n *Node) bool {
		ctx, cancel := context.WithTimeout(context.Background(), endsCalls)
		defer cancel()
		r, err := n.Propose(ctx, wire.KindRegister, register("served"))
		return err == nil && r.Code == wire.Applied
	}
	for disk.armed.Load() || !hit.Load().Ready(context.Background(), report.ReadyQuery{}).Ready || !served(hit.Load()) {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(endsLead) // What ends a node although it goes on would have done so by now.
	fmt.Println("served")
	return nil
}

// openEnding opens the nodes. The one that is hit is the last; if its node file is to be hit, that
// is hit while the group is formed.
func openEnding(e *ending, disk *faultyDisk, sever func(), hit *atomic.Pointer[Node]) (nodes []*Node, err error) {
	count := 3
	if e.Alone {
		count = 1
	}
	ports, err := testcluster.FreePorts(count)
	if err != nil {
		return nil, err
	}
	disk.armed.Store(e.Write == "node file")
	for i, address := range ports {
		config := Config{
			ID: "n" + strconv.Itoa(i+1), DataDir: filepath.Join(e.Dir, "other"+strconv.Itoa(i)), ListenCluster: address, Genesis: testGenesis,
			Secret: testSecret, AdmitAll: true, Version: "test", BootstrapExpect: count, WriteDeadline: endsCalls,
			Timing: Timing{Heartbeat: 300 * time.Millisecond, Commit: 5 * time.Millisecond, Stall: time.Minute},
		}
		if count > 1 {
			config.Join = ports
		}
		if i == count-1 {
			config.DataDir, config.Disk, config.Sever = filepath.Join(e.Dir, "hit"), disk, sever
			config.Timing.Stall, config.Timing.StallEnds, config.Timing.StallNever = endsLead, endsEnd, endsNever
			if !e.Alone {
				config.Timing.StallNever = time.Hour // It ends because the others go on.
			}
			config.Logger = slog.New(slowReader{slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})})
			if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
				return nil, err
			}
			config.History = &faultyHistory{audit.OSDir(filepath.Join(config.DataDir, datadir.AuditFolder)), disk}
			config.OpenLog = func(dir string) (datadir.LogStore, error) {
				store, err := datadir.OpenLog(dir)
				return &faultyLog{store, disk}, err
			}
		}
		n, err := Open(config)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		hit.Store(n)
	}
	for i, n := range nodes {
		for (i < count-1 || e.Write != "node file") && !n.Ready(context.Background(), report.ReadyQuery{}).Ready {
			time.Sleep(time.Millisecond)
		}
	}
	return nodes, nil
}

// hitEnding has the group write all the time, arms the disk, and causes the write that is hit.
func hitEnding(e *ending, disk *faultyDisk, nodes []*Node, hit *Node) {
	for _, n := range nodes {
		go func() {
			for {
				ctx, cancel := context.WithTimeout(context.Background(), endsCalls)
				_, _ = n.Propose(ctx, wire.KindRegister, register("load"))
				cancel()
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	if e.Write == "node file" {
		return
	}
	if !e.Alone && (e.Write == "log" || e.Write == "history") { // The worst node to be hit is the leader.
		for hit.replica.opened.Load() == 0 {
			_ = hit.TransferLeader(context.Background(), hit.NodeID())
			time.Sleep(50 * time.Millisecond)
		}
	}
	disk.armed.Store(true)
	switch e.Write {
	case "snapshot":
		go func() { _, _ = hit.Snapshot(context.Background()) }()
	case "term", "vote":
		go func() {
			for i := 0; disk.armed.Load(); i++ { // Terms begin, of the others.
				_ = nodes[i%2].TransferLeader(context.Background(), nodes[i%2].NodeID())
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
}
