package datadir

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReplaceGently(t *testing.T) {
	for name, size := range map[string]int{"nothing": 0, "less than a step": 100, "a step": snapshotStep, "more": 2*snapshotStep + 1} {
		t.Run(name, func(t *testing.T) {
			dir, data := t.TempDir(), bytes.Repeat([]byte("abc"), size/3+1)[:size]
			require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte("the one before"), 0o600))
			require.NoError(t, ReplaceGently(dir, "list", data, func() bool { return true }))
			got, err := os.ReadFile(filepath.Join(dir, "list"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

// TestGentleSteps: while more is to come, no more than one step is ever unsynced.
func TestGentleSteps(t *testing.T) {
	var out bytes.Buffer
	var synced []int
	g := &gentle{sink: &out, sync: func() error { synced = append(synced, out.Len()); return nil }, hurry: func() bool { return true }, start: time.Now()}
	require.NoError(t, writeInSteps(g, make([]byte, 3*snapshotStep+7)))
	require.Equal(t, []int{snapshotStep, 2 * snapshotStep, 3 * snapshotStep}, synced)
	require.Equal(t, 3*snapshotStep+7, out.Len())

	g = &gentle{sink: &out, sync: func() error { return os.ErrInvalid }, hurry: func() bool { return true }}
	require.ErrorIs(t, writeInSteps(g, make([]byte, snapshotStep)), os.ErrInvalid)
}
