package cluster

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// slowDisk is a real log store whose writes can be made to hang.
type slowDisk struct {
	datadir.LogStore
	hang atomic.Pointer[chan struct{}]
}

func (d *slowDisk) wait() {
	if release := d.hang.Load(); release != nil {
		<-*release
	}
}

func (d *slowDisk) StoreLogs(logs []*raft.Log) error {
	d.wait()
	return d.LogStore.StoreLogs(logs)
}

func (d *slowDisk) Set(key, value []byte) error {
	d.wait()
	return d.LogStore.Set(key, value)
}

func (d *slowDisk) SetUint64(key []byte, value uint64) error {
	d.wait()
	return d.LogStore.SetUint64(key, value)
}

// slowGroup returns a group of three, and their disks by the nodes' names.
func slowGroup(t *testing.T, ends time.Duration) (*group, map[string]*slowDisk) {
	disks := map[string]*slowDisk{}
	g := newGroup(t, func(c *Config) {
		c.Timing.Stall, c.Timing.StallEnds = 700*time.Millisecond, ends
		disk := &slowDisk{}
		disks[c.ID] = disk
		c.OpenLog = func(dir string) (datadir.LogStore, error) {
			store, err := datadir.OpenLog(dir)
			disk.LogStore = store
			return disk, err
		}
	})
	g.form(3)
	return g, disks
}

// writesAgain waits until a node takes records again, and returns how long that took.
func writesAgain(t *testing.T, n *Node, within time.Duration) time.Duration {
	start := time.Now()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r, err := n.Propose(ctx, wire.KindRegister, register("after"))
		return err == nil && r.Code == wire.Applied
	}, within, 10*time.Millisecond)
	return time.Since(start)
}

// TestGuardG4LeaderWithAHangingDisk: the leader's disk hangs for 8 s. The others write again long
// before, the node does not end, and takes part again when its disk answers.
func TestGuardG4LeaderWithAHangingDisk(t *testing.T) {
	g, disks := slowGroup(t, time.Minute)
	leader := g.leader()
	other := g.follower()
	propose(t, other, wire.KindRegister, register("before"))
	release := make(chan struct{})
	time.AfterFunc(8*time.Second, func() { close(release) })
	disks[leader.NodeID()].hang.Store(&release)
	t.Logf("writes again after %v", writesAgain(t, other, 7*time.Second))
	node := leader.Ready(t.Context(), report.ReadyQuery{}).Checks[0]
	require.False(t, node.OK, node.Text)
	require.Contains(t, node.Text, "the disk does not answer: append to the log")
	<-release
	require.Empty(t, g.gave[leader.NodeID()].all(), "slowness ends no node")
	writesAgain(t, leader, 10*time.Second)
	require.Eventually(t, func() bool { return leader.Ready(t.Context(), report.ReadyQuery{}).Ready }, 10*time.Second, 10*time.Millisecond)
}

// TestHangingDiskEndsWhereOthersGoOn: a leader, or a follower, whose disk hangs for longer than
// its patience ends when the others go on without it, so that its callers go to them.
func TestHangingDiskEndsWhereOthersGoOn(t *testing.T) {
	for _, leads := range []bool{true, false} {
		g, disks := slowGroup(t, 3*time.Second)
		hung, other := g.leader(), g.follower()
		if !leads {
			hung, other = other, hung
		}
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		disks[hung.NodeID()].hang.Store(&release)
		require.Eventually(t, func() bool {
			writesAgain(t, other, 10*time.Second)
			return len(g.gave[hung.NodeID()].all()) == 1
		}, 20*time.Second, 10*time.Millisecond)
		require.Contains(t, g.gave[hung.NodeID()].all()[0], "disk stalled")
		require.Empty(t, g.gave[other.NodeID()].all())
	}
}

// TestAllDisksHang: the disks of all nodes hang, longer than any node's patience. Nobody ends,
// as nobody could go on, and the group writes again about a second after the disks answer.
func TestAllDisksHang(t *testing.T) {
	g, disks := slowGroup(t, 2*time.Second)
	leader := g.leader()
	propose(t, leader, wire.KindRegister, register("before"))
	release := make(chan struct{})
	for _, disk := range disks {
		disk.hang.Store(&release)
	}
	go func() { _, _ = leader.Propose(t.Context(), wire.KindRegister, register("while they hang")) }()
	time.Sleep(5 * time.Second)
	for _, disk := range disks {
		disk.hang.Store(nil)
	}
	close(release)
	t.Logf("writes again after %v", writesAgain(t, g.follower(), 10*time.Second))
	for id := range disks {
		require.Empty(t, g.gave[id].all(), id)
	}
}
