package testcluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server's name, folder and log outlive its processes. A process that ended by itself is told
// from one that was asked to.
func TestServer(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no shell")
	}
	spawner := NewSpawner()
	defer spawner.Close()
	dir := t.TempDir()
	s := &Server{Name: "n1", Data: filepath.Join(dir, "n1"), Log: filepath.Join(dir, "n1.log"), Spawner: spawner}
	run := func(script string) *Child {
		child, err := s.Launch("/bin/sh", []string{"-c", script}, Secrets("secret", "key"))
		require.NoError(t, err)
		return child
	}
	said := errors.New("not yet")
	child := run(`echo "$RAILGUARD_CLUSTER_SECRET $RAILGUARD_BOOTSTRAP_KEY"; exec sleep 1000`)
	require.True(t, s.Running())
	require.Nil(t, run("exit 1"), "one that runs stays")
	require.NoError(t, s.Await(t.Context(), time.Minute, func() error {
		if len(s.LogTail()) > len("--- log of n1:\n") {
			said = nil
		}
		return said
	}))
	require.Equal(t, "--- log of n1:\nsecret key\n", s.LogTail())
	require.False(t, s.EndWasExpected(child))
	require.NoError(t, s.Stop())
	require.True(t, s.EndWasExpected(child))
	require.Zero(t, s.PID())
	require.Empty(t, s.Fell())
	require.NoError(t, s.Kill(), "there is none")
	require.DirExists(t, s.Data)

	child = run("echo gives up; exit 3")
	<-child.Done
	require.False(t, s.EndWasExpected(child))
	require.Contains(t, s.Fell(), "3")
	s.ExpectEnd()
	require.True(t, s.EndWasExpected(child))
	err := s.Await(t.Context(), time.Minute, func() error { return errors.New("never asked") })
	require.ErrorContains(t, err, "n1 is not ready: the process has ended\n--- log of n1:\nsecret key\ngives up")
}

func TestUntil(t *testing.T) {
	count := 0
	require.NoError(t, Until(t.Context(), time.Minute, func() bool { count++; return count == 3 }))
	require.ErrorIs(t, Until(t.Context(), time.Nanosecond, func() bool { return false }), context.DeadlineExceeded)
}
