package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/recorder"
)

// A certificate that has ended, or one whose time has not come, changes nothing when it is copied
// over a good one; it is told. What replaces one that has ended itself is taken.
func TestEndedCertificateReplacesNoGoodOne(t *testing.T) {
	dir, files := listenerFiles(t) // Good for five days.
	old, err := os.ReadFile(files.cert)
	require.NoError(t, err)
	oldKey, err := os.ReadFile(files.key)
	require.NoError(t, err)
	issueFor(t, dir, "door", true)
	var said bytes.Buffer
	log, err := newLogs(&said, "info", "text")
	require.NoError(t, err)
	now := time.Now().Add(time.Minute)
	d, err := newDoorTLS("test", files, log.Logger, func() time.Time { return now })
	require.NoError(t, err)
	first := d.used.Load()
	long := &issueFlags{dir: dir, id: "late", days: 9}
	_, err = long.issueCertificate(now.Add(48 * time.Hour))
	require.NoError(t, err)
	late, err := os.ReadFile(filepath.Join(dir, "late.pem"))
	require.NoError(t, err)
	lateKey, err := os.ReadFile(filepath.Join(dir, "late.key"))
	require.NoError(t, err)
	put := func(cert, key []byte) {
		require.NoError(t, os.WriteFile(files.cert, cert, 0o600))
		require.NoError(t, os.WriteFile(files.key, key, 0o600))
		d.lookNow()
	}
	put(late, lateKey)
	require.Same(t, first, d.used.Load())
	require.Contains(t, said.String(), "and so not now")
	put(old, oldKey)
	require.NotSame(t, first, d.used.Load(), "it is good")
	now = now.Add(6 * 24 * time.Hour)
	put(late, lateKey)
	third := d.used.Load()
	require.NotSame(t, first, third, "the one in use has ended")
	put(old, oldKey)
	require.Same(t, third, d.used.Load(), "that one has ended")
}

// `config check` refuses certificates that are not good now and a folder of lists that is not
// there.
func TestConfigCheckLooksAtDatesAndFolders(t *testing.T) {
	_, files := listenerFiles(t)
	f := &serveFlags{tlsCert: files.cert, tlsKey: files.key}
	require.NoError(t, f.checkDates(time.Now().Add(time.Hour)))
	require.ErrorContains(t, f.checkDates(time.Now().Add(6*24*time.Hour)), files.cert+" is good from ")
	require.Error(t, f.checkDates(time.Now().Add(-24*time.Hour)))
	f.ofacDir = filepath.Join(t.TempDir(), "none")
	require.ErrorContains(t, f.checkListFolder(), "--ofac-dir: ")
	f.ofacDir = t.TempDir()
	require.NoError(t, f.checkListFolder())
	f.ofacDir = files.cert
	require.ErrorContains(t, f.checkListFolder(), "is no folder")
}

// SIGHUP ends nothing: it makes the listeners look at their files.
func TestHangupReadsCertificatesAgain(t *testing.T) {
	dir, files := listenerFiles(t)
	log, err := newLogs(&bytes.Buffer{}, "info", "text")
	require.NoError(t, err)
	d, err := newDoorTLS("test", files, log.Logger, time.Now)
	require.NoError(t, err)
	before := d.used.Load()
	s := &server{log: log, doors: []*doorTLS{d}, closing: make(chan struct{})}
	ended := make(chan struct{})
	go func() { s.answerHangups(); close(ended) }()
	time.Sleep(50 * time.Millisecond) // The handler is in place.
	issueFor(t, dir, "door", true)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return d.used.Load() != before }, 5*time.Second, 5*time.Millisecond)
	close(s.closing)
	<-ended
}

// The target of an upgrade is the newest release that a member runs, and the program of an older
// release gives no advice, unless somebody names the way back.
func TestOlderProgramDoesNotAdvise(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"clusterId":"cl_1","term":2,"leader":{"id":"n2"},"quorum":{"voters":2,"healthy":2,"failureTolerance":1},"writes":{"state":"ok"},"takeDown":{"ok":true},"featureLevel":1,"maxFeatureLevel":1,
			"nodes":[{"id":"n1","role":"follower","version":"99.1.0","healthy":true,"maxFeatureLevel":1},{"id":"n2","role":"leader","version":"` + version + `","healthy":true,"maxFeatureLevel":1}]}`))
	}))
	defer server.Close()
	for _, verb := range []string{"status", "plan", "finalize"} {
		_, _, err := run(t, "cluster", "upgrade", verb, "--url", server.URL, "--key", "k", "--data", t.TempDir())
		require.ErrorContains(t, err, "this program is of release "+version+", and n1 runs 99.1.0", verb)
	}
	out, _, err := run(t, "cluster", "upgrade", "status", "--url", server.URL, "--key", "k", "--data", t.TempDir(), "--to", version)
	require.NoError(t, err)
	require.Contains(t, out, "next: stop n1")
	for _, order := range [][3]string{{"0.2.0", "0.10.0", "-"}, {"1.0.0", "1.0.0-rc1", "+"}, {"1.0.0", "1.0.0", "="}, {"", "0.1.0", "-"}, {"1.0.0-rc1", "1.0.0-rc2", "-"}} {
		got := compareReleases(order[0], order[1])
		require.Equal(t, order[2], map[bool]string{true: "="}[got == 0]+map[bool]string{true: "-"}[got < 0]+map[bool]string{true: "+"}[got > 0], "%v", order)
	}
}

// A node is removed only after its name was typed.
func TestRemoveAsks(t *testing.T) {
	var calls []string
	address := answering(t, 200, "", `{"ok":true,"node":"n3"}`, &calls)
	_, code, err := run(t, "cluster", "remove", "--id", "n3", "--url", address, "--key", "k", "--data", t.TempDir())
	require.Equal(t, exitUsage, code)
	require.ErrorContains(t, err, "not confirmed: type n3")
	_, _, err = run(t, "cluster", "remove", "--id", "n3", "--confirm", "n2", "--url", address, "--key", "k", "--data", t.TempDir())
	require.ErrorContains(t, err, "not confirmed")
	require.Empty(t, calls)
	out, _, err := run(t, "cluster", "remove", "--id", "n3", "--confirm", "n3", "--url", address, "--key", "k", "--data", t.TempDir())
	require.NoError(t, err)
	require.Contains(t, out, "n3")
	require.Len(t, calls, 1)
}

// `doctor` reads the recorders: what the last hour has of stalls, lost leaders and calls that were
// not answered.
func TestDoctorReadsRecorders(t *testing.T) {
	now := time.UnixMilli(1_900_000_000_000)
	d := &doctor{now: func() time.Time { return now }}
	at := now.UnixMilli()
	r := &recorder.Report{Node: "n2", Now: at, Entries: []recorder.Entry{
		{At: at - 2*3_600_000, Kind: recorder.Stall, TookMs: 9000},
		{At: at - 60_000, Kind: recorder.Stall, TookMs: 1800},
		{At: at - 50_000, Kind: recorder.Lost},
		{At: at - 49_000, Kind: recorder.Refused, Code: "no_leader", Count: 41},
		{At: at - 49_000, Kind: recorder.Refused, Code: "unauthorized", Count: 4100},
	}}
	d.tellRecorder(r)
	require.Equal(t, []finding{{Check: "recorder n2", Level: levelWarn, Says: "in the last hour: 1 stalls of the disk, 1 times it lost the leadership, 41 calls that the service could not answer", Do: "tell it: railguard debug"}}, d.found)
	d.found = nil
	d.tellRecorder(&recorder.Report{Node: "n1", Now: at, Entries: r.Entries[:1]})
	require.Equal(t, []finding{{Check: "recorder n1", Level: levelOK, Says: "nothing in the last hour that is worth a look"}}, d.found)
}
