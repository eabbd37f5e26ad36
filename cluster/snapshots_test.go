package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// TestSavedSnapshotIsTheFile: a download is read from the newest snapshot's file and keeps no
// state in memory. If there is no file, one is written first.
func TestSavedSnapshotIsTheFile(t *testing.T) {
	n := openAlone(t, t.TempDir())
	saved := func() *fsm.View {
		var data bytes.Buffer
		require.NoError(t, n.SaveSnapshot(t.Context(), &data))
		machine, err := fsm.Restore(&data)
		require.NoError(t, err)
		return machine.Freeze()
	}
	propose(t, n, wire.KindRegister, register("first"))
	require.Equal(t, 1, saved().Agents())
	propose(t, n, wire.KindRegister, register("second"))
	require.Equal(t, 1, saved().Agents(), "the newest file")
	info, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, saved().Agents())
	require.Equal(t, info.Index, saved().Index)
}

// TestRestoreKeepsNothingOfTheOldState: the effects that Apply reuses keep no profile that was
// published when the node started or installed a snapshot.
func TestRestoreKeepsNothingOfTheOldState(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	for i := range 20 {
		propose(t, n, wire.KindRegister, register(fmt.Sprint("agent ", i)))
	}
	_, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	n = openAlone(t, dir)
	require.NotNil(t, n.Agent(20))
	n.adapter.mu.Lock()
	require.Less(t, cap(n.adapter.effects.Agents), 20)
	n.adapter.mu.Unlock()
}

// TestLastViewIsForgotten: a state frozen for readers is dropped at a restore, and when no
// reader comes.
func TestLastViewIsForgotten(t *testing.T) {
	views := viewCache{gate: newGate()}
	view := fsm.New().Freeze()
	views.last = view
	views.dropViews()
	require.Nil(t, views.last)
	views.last, views.frozen = view, time.Now()
	views.dropOldViews(views.frozen.Add(viewKept))
	require.NotNil(t, views.last)
	views.dropOldViews(views.frozen.Add(viewKept + 1))
	require.Nil(t, views.last, "nobody has asked for it")
}

// TestFullTableOfPairsIsTold: a metric and a line of the status show it, for an hour.
func TestFullTableOfPairsIsTold(t *testing.T) {
	n := openAlone(t, t.TempDir())
	const told = "R25 forgets payments that still count: there are more pairs of agent and counterparty than its table holds"
	require.NotContains(t, n.Status(t.Context()).Warnings, told)
	before, now := pairsDisplaced.Get(), n.LogTime()
	require.NoError(t, n.adapter.publishEffects(&fsm.Effects{PairsDisplaced: 3, Time: now}, 0))
	require.Equal(t, before+3, pairsDisplaced.Get())
	require.Contains(t, n.Status(t.Context()).Warnings, told)
	n.state.displaced.Store(int64(now - engine.Hour - engine.Minute))
	require.NotContains(t, n.Status(t.Context()).Warnings, told)
}
