package load

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built has what buildBinary built for all tests of this process.
var built struct {
	mutex    sync.Mutex
	folder   string
	binaries map[string]string
}

func TestMain(m *testing.M) {
	var err error
	if built.folder, err = os.MkdirTemp("", "railguard-bench-test-"); err != nil {
		panic(err)
	}
	built.binaries = map[string]string{}
	code := m.Run()
	_ = os.RemoveAll(built.folder) // The system's folder for temporary files is cleared in its time.
	os.Exit(code)
}

// buildBinary builds a program from its folder, once: to link it takes seconds.
func buildBinary(t *testing.T, folder string) string {
	t.Helper()
	built.mutex.Lock()
	defer built.mutex.Unlock()
	if built.binaries[folder] != "" {
		return built.binaries[folder]
	}
	binary := filepath.Join(built.folder, filepath.Base(folder))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = folder
	raw, err := build.CombinedOutput()
	require.NoError(t, err, "%s", raw)
	built.binaries[folder] = binary
	return binary
}

// TestBrief runs suites in their brief form on one node: every figure that a
// target names is there, nothing failed, and nothing is left behind.
func TestBrief(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and runs it for half a minute")
	}
	folder := t.TempDir()
	w := StandardWorkload()
	w.Agents, w.Delegates, w.Fleets = 12, 4, 2
	goals, err := LoadTargets("")
	require.NoError(t, err)
	var said bytes.Buffer
	report, err := Run(t.Context(), Options{
		Binary: buildBinary(t, "../../cmd/railguard"), Self: buildBinary(t, "../cmd/railguard-bench"), Folder: folder, Spawn: 1, Brief: true, Workload: w, Progress: &said,
		Suites: briefSuites, Goals: goals,
	})
	require.NoError(t, err)
	require.Empty(t, report.Skipped, "%s", &said)
	for _, row := range report.Rows {
		require.NotEqual(t, NotMeasured, row.Outcome, "%s %s: %s", row.Suite, row.Name, row.Why)
	}
	for _, c := range report.Curves {
		require.NotZero(t, c.Done, c.Name)
		failed := c.Failed
		if strings.HasPrefix(c.Name, "overload") {
			failed -= c.Errors["503 overloaded"] // More was offered than could be done.
		}
		require.Zero(t, failed, "%s: %v", c.Name, c.Errors)
	}
	require.Len(t, report.Courses, 2, "overload and soak")
	for _, kind := range workKinds {
		require.True(t, slices.ContainsFunc(report.Courses[1].Work, func(w Work) bool { return w.Kind == kind && w.Failed == "" }), kind)
	}
	require.NoError(t, report.WriteHTML(io.Discard))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)

	var table bytes.Buffer
	report.WriteTable(&table)
	require.Contains(t, table.String(), "MEASURED")
	kept := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, report.Write(kept))
	again, err := ReadReport(kept)
	require.NoError(t, err)
	require.Equal(t, report.Measures, again.Measures)
	require.Equal(t, report.Courses, again.Courses)
}

// briefSuites are those that one node can do; follower, roll and kill need more.
var briefSuites = []string{
	"engine", "verify", "single", "cluster", "read", "hot", "names", "light", "connections", "snapshot", "batch", "stream", "flood", "overload", "cpu", "spec", "keys", "soak", "lists", "retro", "memory",
}

func home(t *testing.T, handler http.HandlerFunc) *endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	e, err := parseEndpoint(server.URL)
	require.NoError(t, err)
	return e
}

func testBench() *bench {
	return &bench{report: &Report{Measures: map[string]*Measure{}, Began: time.Now()}}
}

func simple(_ *caller, _ uint64, out []byte) []byte {
	return append(out, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"...)
}

// TestOpenLoopOmitsNothing uses one connection to a service that stalls at its first call.
// A loader that counts from the sending of a call would see one slow call; here every call
// due meanwhile counts its wait.
func TestOpenLoopOmitsNothing(t *testing.T) {
	const stall, rate, span = 300 * time.Millisecond, 200, 400 * time.Millisecond
	var calls atomic.Int64
	e := home(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			time.Sleep(stall)
		}
		_, _ = w.Write([]byte("{}"))
	})
	var events []event
	o, err := testBench().drive(t.Context(), load{name: "stall", homes: []*endpoint{e}, callers: 1, rate: rate, span: span, make: simple, events: &events})
	require.NoError(t, err)
	due := int64(rate*span/time.Second) + 1
	require.Equal(t, due, o.done)
	require.Zero(t, o.failed)
	require.NotZero(t, o.full, "the one connection was taken")
	slow := 0
	for _, e := range events {
		if e.done.Sub(e.due) >= stall/2 {
			slow++
		}
	}
	require.GreaterOrEqual(t, slow, int(rate*stall/2/time.Second), "all that were due in the first half of the stall waited for at least its second half")
}

// TestFailuresAreCounted: a refusal is a failure, and a retry goes to the next home with
// the same bytes.
func TestFailuresAreCounted(t *testing.T) {
	bad := home(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"code":"overloaded"}`)
	})
	good := home(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"verdict":"PROCEED","rule":null}`)
	})
	l := load{name: "bad", homes: []*endpoint{bad}, callers: 2, span: 300 * time.Millisecond, make: simple}
	o, err := testBench().drive(t.Context(), l)
	require.ErrorContains(t, err, "overloaded")
	require.Equal(t, o.failed, o.errors["503 overloaded"])

	l.homes, l.retries, l.accept, l.verdict = []*endpoint{bad, good}, 1, acceptVerdict, true
	o, err = testBench().drive(t.Context(), l)
	require.NoError(t, err)
	require.Zero(t, o.failed)
	require.Equal(t, o.done, o.verdicts["PROCEED"])
}

func TestLinkReadsWhatServersSend(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	e := home(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chunks":
			for range 3 {
				_, _ = io.WriteString(w, long)
				w.(http.Flusher).Flush()
			}
		case "/close":
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "bye")
		default:
			w.Header().Set("X-Railguard-Outcome", "none")
			w.WriteHeader(503)
		}
	})
	l := newLink([]*endpoint{e}, 0)
	defer l.close()
	ask := func(path string) reply {
		r, err := l.exchange([]byte("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"))
		require.NoError(t, err)
		return r
	}
	require.Equal(t, 3*len(long), len(ask("/chunks").body))
	require.Equal(t, "bye", string(ask("/close").body))
	require.Nil(t, l.conn, "the server has closed it")
	r := ask("/none")
	require.Equal(t, 503, r.status)
	require.Equal(t, "none", r.outcome)
}

// TestStrangersAreLeftAlone: nothing is written to a cluster with others' agents.
func TestStrangersAreLeftAlone(t *testing.T) {
	var posts atomic.Int64
	e := home(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			posts.Add(1)
			_, _ = io.WriteString(w, `{}`)
			return
		}
		if r.URL.Query().Get("cursor") == "" {
			_, _ = io.WriteString(w, `{"data":[{"operatorLegalName":"`+operatorName+`"}],"nextCursor":"more"}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"operatorLegalName":"Somebody Else"}],"nextCursor":null}`)
	})
	w := StandardWorkload()
	w.Agents, w.Delegates, w.Fleets = 1, 0, 0
	open := func(foreign bool) error {
		b := testBench()
		b.options = Options{Targets: []string{e.url}, Key: "k", Workload: w, Foreign: foreign}
		_, err := b.openTarget(context.Background(), 0)
		return err
	}
	require.ErrorIs(t, open(false), ErrStrangers)
	require.Zero(t, posts.Load())
	require.NoError(t, open(true))
	require.NotZero(t, posts.Load())
}

func TestWorkloadIsSeeded(t *testing.T) {
	c := &crew{run: "b", key: "k", tokens: []string{"t1", "t2", "t3"}}
	w := StandardWorkload()
	calls := func(seed uint64) []string {
		w.Seed = seed
		make, call := c.payments(w), &caller{random: newRandom(seed, 0)}
		var all []string
		for i := range uint64(50) {
			all = append(all, string(make(call, i, nil)))
		}
		return all
	}
	require.Equal(t, calls(1), calls(1))
	require.NotEqual(t, calls(1), calls(2))
	for _, request := range calls(3) {
		parsed, err := http.ReadRequest(newReader(request))
		require.NoError(t, err)
		body, err := io.ReadAll(parsed.Body)
		require.NoError(t, err)
		require.Equal(t, parsed.ContentLength, int64(len(body)))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Spawn: 1, Workload: StandardWorkload()}
	require.NoError(t, good.check())
	for name, change := range map[string]func(*Options){
		"no suite":  func(o *Options) { o.Suites = []string{"speed"} },
		"no nodes":  func(o *Options) { o.Spawn = 0 },
		"no key":    func(o *Options) { o.Targets = []string{"http://127.0.0.1:1"} },
		"no agents": func(o *Options) { o.Workload.Agents = 0 },
		"shares":    func(o *Options) { o.Workload.NamedPermille, o.Workload.FreshPermille = 600, 600 },
	} {
		bad := good
		change(&bad)
		require.Error(t, bad.check(), name)
	}
	for _, text := range []string{"127.0.0.1:80", "ftp://x", "http://", "http://x/v1"} {
		_, err := parseEndpoint(text)
		require.Error(t, err, text)
	}
}
