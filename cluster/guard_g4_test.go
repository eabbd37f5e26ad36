package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// slowDisk is a real log store whose appends can be made to hang.
type slowDisk struct {
	datadir.LogStore
	hang atomic.Pointer[chan struct{}]
}

func (d *slowDisk) StoreLogs(logs []*raft.Log) error {
	if release := d.hang.Load(); release != nil {
		<-*release
	}
	return d.LogStore.StoreLogs(logs)
}

// TestGuardG4LeaderWithAHangingDisk: the leader's disk hangs for 8 s. The node gives up, and
// the others write again long before.
func TestGuardG4LeaderWithAHangingDisk(t *testing.T) {
	disks := map[string]*slowDisk{}
	g := newGroup(t, func(c *Config) {
		c.Timing.Stall = 700 * time.Millisecond
		disk := &slowDisk{}
		disks[c.ID] = disk
		c.OpenLog = func(dir string) (datadir.LogStore, error) {
			store, err := datadir.OpenLog(dir)
			disk.LogStore = store
			return disk, err
		}
	})
	g.form(3)
	leader := g.leader()
	other := g.follower()
	propose(t, other, wire.KindRegister, register("before"))
	release := make(chan struct{})
	time.AfterFunc(8*time.Second, func() { close(release) })
	disks[leader.NodeID()].hang.Store(&release)
	start := time.Now()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r, err := other.Propose(ctx, wire.KindRegister, register("after"))
		return err == nil && r.Code == wire.Applied
	}, 7*time.Second, 10*time.Millisecond, "while the disk still hangs")
	t.Logf("writes again after %v", time.Since(start))
	require.Len(t, g.gave[leader.NodeID()].all(), 1)
	require.Contains(t, g.gave[leader.NodeID()].all()[0], "disk stalled")
	<-release
}
