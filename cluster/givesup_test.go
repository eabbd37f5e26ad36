package cluster

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

type gaveUp struct {
	mu      sync.Mutex
	reasons []string
}

func (g *gaveUp) fatal(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reasons = append(g.reasons, reason)
}

func (g *gaveUp) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.reasons...)
}

// failingLog is a log in memory whose disk can fail.
type failingLog struct {
	*raft.InmemStore
	fail atomic.Pointer[error]
}

func (f *failingLog) StoreLogs(logs []*raft.Log) error {
	if err := f.fail.Load(); err != nil {
		return *err
	}
	return f.InmemStore.StoreLogs(logs)
}

func (f *failingLog) Close() error { return nil }

// A node that cannot write its log gives up once and then answers nothing.
func TestNodeGivesUpOnDiskError(t *testing.T) {
	gave := &gaveUp{}
	var memory *failingLog
	config := aloneConfig(t, t.TempDir())
	config.Fatal = gave.fatal
	config.OpenLog = func(string) (datadir.LogStore, error) {
		memory = &failingLog{InmemStore: raft.NewInmemStore()}
		return memory, nil
	}
	n, err := Open(config)
	require.NoError(t, err)
	defer n.Close()
	awaitReady(t, n)
	propose(t, n, wire.KindRegister, register("a"))
	full := errors.New("no space left on device")
	memory.fail.Store(&full)
	_, err = n.Propose(t.Context(), wire.KindRegister, register("b"))
	require.ErrorIs(t, err, wire.ErrUnknown, "an append error leaves the outcome open")
	require.Len(t, gave.all(), 1)
	_, err = n.Propose(t.Context(), wire.KindRegister, register("c"))
	require.ErrorIs(t, err, wire.ErrShuttingDown)
	require.False(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
	require.Equal(t, "stopped", n.Role())
}
