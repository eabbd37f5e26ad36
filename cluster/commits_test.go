package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// TestFollowersLearnWhatIsCommitted: here raft tells followers the commit index only with new
// entries, or once an hour. A follower still applies what it forwarded, what another node
// wrote, and what a reader asks it for.
func TestFollowersLearnWhatIsCommitted(t *testing.T) {
	g := newGroup(t, func(c *Config) { c.Timing.Commit = time.Hour })
	g.form(3)
	ctx, cancel := context.WithTimeout(context.Background(), groupPatience)
	defer cancel()
	follower := g.follower()
	forwarded := proposalsForwarded.Get()
	for name, at := range map[string]*Node{"at-follower": follower, "at-leader": g.leader()} {
		result := propose(t, at, wire.KindRegister, register(name))
		require.NoError(t, follower.WaitApplied(ctx, result.Index))
	}
	require.Greater(t, proposalsForwarded.Get(), forwarded)
	index, err := follower.ReadIndex(ctx)
	require.NoError(t, err)
	require.GreaterOrEqual(t, follower.Applied(), index)
	g.awaitEqual()
}
