package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForwarderFollows: when the leader is lost its calls are given up at once; the
// same leader in the same term is asked what arrived, another one never is.
func TestForwarderFollows(t *testing.T) {
	f := newForwarder(nil)
	f.follow("n1", 3)
	calls := f.remember(1, []attempt{{seq: 7}})
	f.follow("n1", 3)
	require.NoError(t, calls.Err())
	require.False(t, f.broken)

	f.follow("", 0)
	require.Error(t, calls.Err(), "nobody waits for a leader that is gone")
	again := f.context
	f.follow("", 0)
	require.NoError(t, again.Err())
	f.follow("n1", 3)
	require.True(t, f.broken, "it is asked what arrived")
	require.Contains(t, f.open, uint64(1))
	lost := f.mended(true, f.number.Load()+1, nil)
	require.Equal(t, [][]attempt{{{seq: 7}}}, lost, "and what did not is tried again")
	require.Empty(t, f.open)

	f.remember(2, []attempt{{seq: 8}})
	f.follow("", 0)
	f.follow("n2", 4)
	require.False(t, f.broken)
	require.Empty(t, f.open, "the own log tells")
	require.False(t, f.settle(2))
}
