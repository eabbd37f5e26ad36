package cluster

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/engine"
)

// loggedFor returns a compaction that saw an entry of so many bytes in every step of log time.
func loggedFor(entries uint64, step engine.Time, bytes int64, policy SnapshotPolicy) *compaction {
	c := &compaction{policy: policy, disk: &disk{}}
	for index := uint64(1); index <= entries; index++ {
		c.ages.noteApplied(index, engine.Time(index)*step, bytes)
	}
	return c
}

// TestTrailingLogByTime: the log keeps ten minutes whatever the load, and an hour while a
// member is behind, within its bound of bytes and its age.
func TestTrailingLogByTime(t *testing.T) {
	policy := SnapshotPolicy{TrailingAge: trailingAge, LogAge: engine.DayLength, LogBytes: 128 * engine.MiB}
	const last = 40_000
	near := func(t *testing.T, want, got uint64, by uint64) {
		require.LessOrEqual(t, got, want, "more is cut than may be")
		require.GreaterOrEqual(t, got+by, want, "less is cut than can be")
	}
	t.Run("ten minutes", func(t *testing.T) {
		c := loggedFor(last, 100*engine.Millisecond, 500, policy) // 4,000 s.
		near(t, last-6_000, c.keptFrom(last, trailingBytesMax, 0), 110)
	})
	t.Run("an hour for a member that is behind", func(t *testing.T) {
		c := loggedFor(last, 100*engine.Millisecond, 500, policy)
		require.EqualValues(t, 20_000, c.keptFrom(last, trailingBytesMax, 20_000))
		near(t, last-36_000, c.keptFrom(last, trailingBytesMax, 10), 110)
		near(t, last-6_000, c.keptFrom(last, trailingBytesMax, last-3_000), 110)
	})
	t.Run("within its bytes", func(t *testing.T) {
		c := loggedFor(last, engine.Millisecond, 300_000, policy) // 300 MB/s.
		from := c.keptFrom(last, 2048*engine.MiB, 10)
		require.LessOrEqual(t, int64(last-from)*300_000, int64(2048*engine.MiB))
		require.Greater(t, int64(last-from)*300_000, int64(2000*engine.MiB))
	})
	t.Run("some entries always", func(t *testing.T) {
		c := loggedFor(last, engine.Minute, 1<<20, policy)
		require.EqualValues(t, last-trailingEntriesMin, c.keptFrom(last, engine.MiB, 0))
	})
	t.Run("but none past the age", func(t *testing.T) {
		short := policy
		short.LogAge = engine.Minute
		c := loggedFor(last, engine.Second, 500, short)
		near(t, last-60, c.keptFrom(last, trailingBytesMax, 10), 11)
	})
}

// TestTheLogWaitsForAFirstSnapshot: a member that installs its first snapshot needs the log from
// there on, however many snapshots are taken meanwhile. Once it has applied something, that counts.
func TestTheLogWaitsForAFirstSnapshot(t *testing.T) {
	snaps := raft.NewInmemSnapshotStore()
	take := func(index uint64) {
		_, nowhere := raft.NewInmemTransport("")
		sink, err := snaps.Create(raft.SnapshotVersionMax, index, 1, raft.Configuration{}, 1, nowhere)
		require.NoError(t, err)
		require.NoError(t, sink.Close())
	}
	p := &peers{clock: SystemClock(), samples: map[string]sample{}}
	c := &compaction{peers: p, snaps: snaps}
	others := []raft.ServerID{"n2"}
	require.Zero(t, c.furthestBehind(others, 50_000), "it never answered")
	take(10_000)
	p.samples["n2"] = sample{}
	require.EqualValues(t, 10_000, c.furthestBehind(others, 50_000))
	take(40_000)
	require.EqualValues(t, 10_000, c.furthestBehind(others, 90_000), "it may still install the first one")
	p.samples["n2"] = sample{pong: port.Pong{Applied: 10_000}}
	require.EqualValues(t, 10_000, c.furthestBehind(others, 90_000))
	p.samples["n2"] = sample{pong: port.Pong{Applied: 89_000}}
	require.Zero(t, c.furthestBehind(others, 90_000))
}

// TestTrailingLogBytes: the log may take 2 GiB, a tenth of a small disk, and next to nothing on
// a nearly full disk.
func TestTrailingLogBytes(t *testing.T) {
	c := &compaction{policy: SnapshotPolicy{LogBytes: 128 * engine.MiB}, disk: &disk{}}
	require.EqualValues(t, trailingBytesMax, c.bytesMax())
	c.disk.total.Store(1000 * engine.MiB)
	require.EqualValues(t, 100*engine.MiB, c.bytesMax())
	c.disk.total.Store(1 << 40)
	require.EqualValues(t, trailingBytesMax, c.bytesMax())
	c.disk.level.Store(int32(diskLow))
	require.EqualValues(t, 128*engine.MiB, c.bytesMax())
}

// TestMarksAreBounded: the marks stay bounded however long a node runs and whatever the load.
func TestMarksAreBounded(t *testing.T) {
	c := loggedFor(3*marksMax, ageStep, bytesStep, SnapshotPolicy{})
	require.LessOrEqual(t, len(c.ages.marks), marksMax)
	require.NotZero(t, c.ages.indexBefore(engine.DayLength))
	c.ages.forgetMarks(engine.Hour)
	require.Less(t, len(c.ages.marks), 400)
}

// TestSnapshotsTakeTurns: no two nodes begin a snapshot at the same moment, and each has its
// turn within every interval, even if it looks only once a second.
func TestSnapshotsTakeTurns(t *testing.T) {
	interval := engine.Time(30 * time.Second)
	for _, members := range []int64{1, 3, 5} {
		turns := make([]int, members)
		for now := engine.Time(0); now < 10*interval; now += engine.Second {
			at := 0
			for place := range members {
				if isSnapshotTurn(now, interval, place, members) {
					turns[place]++
					at++
				}
			}
			require.LessOrEqual(t, at, 1)
		}
		for _, n := range turns {
			require.GreaterOrEqual(t, n, 10*2)
		}
	}
	require.True(t, isSnapshotTurn(0, 2*engine.Second, 2, 3), "too short to be divided")
}
