package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

func TestClockFile(t *testing.T) {
	c := &clockError{file: filepath.Join(t.TempDir(), "clock")}
	require.NoError(t, c.readFile(), "no file: the clock is right")
	for _, step := range []struct {
		text string
		want time.Duration
		bad  bool
	}{
		{"5m", 5 * time.Minute, false},
		{"-24h\n", -24 * time.Hour, false},
		{"soon", -24 * time.Hour, true},
		{"soon", -24 * time.Hour, false}, // The error is reported once.
		{"", 0, false},
		{"0s", 0, false},
	} {
		require.NoError(t, os.WriteFile(c.file, []byte(step.text), 0o600))
		err := c.readFile()
		require.Equal(t, step.bad, err != nil, "%q: %v", step.text, err)
		require.Equal(t, step.want, time.Duration(c.by.Load()), step.text)
	}
}

// Only development clusters accept a wrong clock.
func TestTestClockIsRefused(t *testing.T) {
	f := &serveFlags{id: "n1", data: t.TempDir(), http: "127.0.0.1:0", testClockFile: "clock"}
	require.ErrorContains(t, f.checkSettings(), "development")
	f.dev = true
	require.NoError(t, f.checkSettings())

	s := &server{flags: f}
	require.NoError(t, s.checkTestClock(&wire.Genesis{Dev: true}))
	require.ErrorContains(t, s.checkTestClock(&wire.Genesis{ClusterID: "cl_1"}), "cl_1 is no development cluster")
	f.testClockFile = ""
	require.NoError(t, s.checkTestClock(&wire.Genesis{}))
	clock, err := s.testClock()
	require.NoError(t, err)
	require.Nil(t, clock, "the machine's own")
}

func TestTestClockFollowsItsFile(t *testing.T) {
	f := &serveFlags{testClockFile: filepath.Join(t.TempDir(), "clock")}
	require.NoError(t, os.WriteFile(f.testClockFile, []byte("1h"), 0o600))
	log, err := newLogs(os.Stderr, "error", "text")
	require.NoError(t, err)
	s := &server{flags: f, log: log, closing: make(chan struct{})}
	defer close(s.closing)
	clock, err := s.testClock()
	require.NoError(t, err)
	off := func() engine.Time { return clock.Wall() - engine.Time(time.Now().UnixNano()) }
	require.InDelta(t, float64(engine.Hour), float64(off()), float64(engine.Minute))
	require.NoError(t, os.WriteFile(f.testClockFile, []byte("-1h"), 0o600))
	require.Eventually(t, func() bool { return off() < 0 }, 30*time.Second, time.Millisecond)
}
