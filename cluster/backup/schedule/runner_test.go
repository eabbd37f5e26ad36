package schedule

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/fsm/wire"
)

// A folder that cannot be written is told with its node and its cause, and tried again more and more
// seldom. When it is there again, the next attempt heals everything.
func TestAFolderThatFailsIsTold(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := filepath.Join(t.TempDir(), "gone")
	m.schedule(folder, 86400)
	failed := copyFailures.Get()
	require.Regexp(t, `^backup on n1 to .*/gone: full copy: the folder does not exist on n1`, c.step(0))
	require.NoDirExists(t, folder, "a mount that is gone is not filled up below")
	tries := func(within time.Duration) (n uint64) {
		before := copyFailures.Get()
		for end := c.at.Add(within); c.at.Before(end); {
			require.NotEmpty(t, c.step(time.Second))
		}
		return copyFailures.Get() - before
	}
	require.EqualValues(t, 1, copyFailures.Get()-failed)
	require.EqualValues(t, 5, tries(29*time.Minute), "after 0:30, 1:30, 3:30, 7:30, 15:30")
	require.EqualValues(t, 4, tries(time.Hour), "each quarter of an hour")
	require.NoError(t, os.Mkdir(folder, 0o700))
	require.Empty(t, c.step(15*time.Minute))
	require.Equal(t, 1, count(t, folder, backup.FileSuffix))
	require.NotNil(t, m.state().Full)

	away := filepath.Join(t.TempDir(), "away")
	require.NoError(t, os.Rename(folder, away))
	m.notes(1)
	require.Contains(t, c.step(time.Minute), "the folder does not exist on n1")
	tries(3 * time.Hour)
	require.NoError(t, os.Rename(away, folder))
	for range 61 {
		c.step(time.Second)
	}
	require.Empty(t, m.problem, "a minute after the mount is back")
	require.Positive(t, count(t, folder, backup.TailSuffix)+count(t, folder, backup.FileSuffix)-1)
}

// While copies fail, tails are shipped to what the folder holds.
func TestTailsGoOnWhileCopiesFail(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	require.Empty(t, c.step(0))
	c.at = c.at.Add(time.Hour)
	require.NoError(t, os.Mkdir(filepath.Join(folder, backup.FileName(c.at)), 0o700)) // In the place of the increment.
	m.notes(1)
	require.Contains(t, c.step(0), "increment: ")
	for want := 2; want < 4; want++ {
		m.notes(1)
		require.Contains(t, c.step(10*time.Second), "increment: ")
		require.Equal(t, want, count(t, folder, backup.TailSuffix))
	}
	require.Empty(t, c.step(time.Minute), "the next one has another name")
	require.Equal(t, 3, count(t, folder, backup.FileSuffix))
}

// Where the log was cut already, an increment takes the tail's place; tails follow it.
func TestAnIncrementTakesTheTailsPlace(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	require.Empty(t, c.step(0))
	m.notes(3)
	m.cut = m.index
	c.step(10 * time.Second)
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	require.Zero(t, count(t, folder, backup.TailSuffix))
	m.notes(1)
	require.Empty(t, c.step(time.Minute))
	require.Equal(t, 1, count(t, folder, backup.TailSuffix))
}

// A tail goes on from the tail before it, so that a copy between them that turns out to be of no use
// is not missed.
func TestTailsGoOnAcrossACopy(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	m.notes(300)
	require.Empty(t, c.step(0))
	m.notes(1)
	require.Empty(t, c.step(10*time.Second))
	c.at = c.at.Add(time.Hour)
	c.runner.trying[tail].done = c.at // None is due before the copy.
	m.notes(1)
	require.Empty(t, c.step(0))
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	m.notes(1)
	require.Empty(t, c.step(10*time.Second))
	require.NoError(t, os.Remove(filepath.Join(folder, m.state().Newest.File)))
	chain, err := backup.FindChain(folder, c.runner.keys)
	require.NoError(t, err)
	require.Len(t, chain.Tails, 2)
	require.Equal(t, m.index, chain.Last)
}

// Log time may be hours behind the wall's clock, or ahead of it. Neither makes a copy a second, and
// neither ends the copies.
func TestCopiesDoNotHangOnTheDistanceToLogTime(t *testing.T) {
	for name, far := range map[string]time.Duration{"behind": 48 * time.Hour, "ahead": -48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			c := newClock(m)
			c.at = c.at.Add(far)
			folder := t.TempDir()
			m.schedule(folder, 3600)
			for range 50 {
				require.Empty(t, c.step(time.Second))
			}
			require.Equal(t, 1, count(t, folder, backup.FileSuffix))
			require.Empty(t, c.step(time.Hour))
			require.Equal(t, 2, count(t, folder, backup.FileSuffix))
		})
	}
}

// The next leader goes on with what stands in the folder. Who leads no more does nothing and tells
// no problem; a copy that is under way then ends without a file.
func TestLeadersChange(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	require.Empty(t, c.step(0))
	m.role = "follower"
	m.notes(1)
	require.Empty(t, c.step(time.Hour))
	require.Equal(t, 1, count(t, folder, backup.FileSuffix))
	require.Zero(t, count(t, folder, backup.TailSuffix))
	require.Zero(t, shipped.Load())
	m.role = "leader"
	next := newClock(m)
	require.Empty(t, next.step(10*time.Second))
	require.Equal(t, 1, count(t, folder, backup.FileSuffix), "no second full one")
	require.Equal(t, 1, count(t, folder, backup.TailSuffix))

	m.silent = 2 // An election when the log is told.
	next.at = next.at.Add(time.Hour)
	require.Empty(t, next.step(0))
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	require.Equal(t, m.state().Newest.File, backup.FileName(next.at))

	var began []func()
	next.runner.begin = func(work func()) { began = append(began, work) }
	next.step(time.Hour)
	require.Len(t, began, 1)
	m.role = "follower"
	next.step(time.Second)
	began[0]()
	require.Empty(t, next.step(time.Second))
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	require.Zero(t, count(t, folder, ".part")+count(t, folder, ".damaged"))
	m.role = "leader"
	next.step(time.Second)
	require.Len(t, began, 2, "it is begun again at once")
}

// A copy or a rehearsal takes hours at times: tails are shipped beside it.
func TestTailsAreShippedBesideLongWork(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	c.step(0)
	var work func()
	c.runner.begin = func(do func()) { work = do }
	c.step(24 * time.Hour)
	require.NotNil(t, work)
	before := count(t, folder, backup.TailSuffix)
	for more := 1; more < 4; more++ {
		m.notes(1)
		require.Empty(t, c.step(10*time.Second))
		require.Equal(t, before+more, count(t, folder, backup.TailSuffix))
	}
	work()
	require.Empty(t, c.step(time.Second))
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.runner.Step(ctx, c.at.Add(time.Hour))
	require.Equal(t, 2, count(t, folder, backup.FileSuffix), "a node that stops begins nothing")
}

// A folder that lost what this node wrote, as a mount that is gone, is not filled again before a
// person sets the schedule again. Another node's copy it need not have.
func TestAnEmptyMountPointIsNotFilled(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 0)
	c.step(0)
	empty := func() {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.Mkdir(folder, 0o700))
	}
	empty()
	require.Contains(t, newClock(m).step(0), "is not in the folder: is it mounted?")
	require.Zero(t, count(t, folder, backup.FileSuffix))
	m.now += 3
	m.schedule(folder, 0)
	require.Empty(t, newClock(m).step(0))
	require.Equal(t, 1, count(t, folder, backup.FileSuffix))
	again := newClock(m)
	again.step(2 * time.Hour)
	require.NoError(t, os.Remove(filepath.Join(folder, m.state().Newest.File)))
	require.Empty(t, again.step(2*time.Hour), "a person took one copy out")
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	empty()
	copied := *m.state().Newest
	copied.Node = "n2"
	m.apply(wire.KindBackups, wire.Encode(&wire.Backups{Op: wire.BackupsCopied, Copy: &copied}))
	require.Empty(t, newClock(m).step(0), "n2 has a folder of its own")
}

// A rehearsal that fails is told to the log and by a line. A full copy is begun and rehearsed once
// more, and nothing old is deleted meanwhile.
func TestARehearsalThatFailsIsTold(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 86400)
	require.Empty(t, c.step(0))
	first := filepath.Join(folder, m.state().Full.File)
	data, err := os.ReadFile(first)
	require.NoError(t, err)
	data[len(data)*2/3] ^= 1
	require.NoError(t, os.WriteFile(first, data, 0o600))
	failed := failures[drill].Get()
	require.Contains(t, c.step(time.Second), "rehearsal of a restore: ")
	require.Contains(t, m.state().Drill.Failed, filepath.Base(first))
	require.EqualValues(t, 1, failures[drill].Get()-failed)
	require.Contains(t, c.step(time.Second), "rehearsal of a restore: ", "a copy does not make it good")
	require.Equal(t, 2, count(t, folder, backup.FileSuffix), "a new full one")
	require.NotEmpty(t, c.step(5*time.Second), "it waits")
	require.Empty(t, c.step(time.Minute))
	require.Empty(t, m.state().Drill.Failed)
	for range 30 {
		require.Empty(t, c.step(time.Minute))
	}
	require.Equal(t, 2, count(t, folder, backup.FileSuffix))
	require.Zero(t, count(t, m.dir, "drill-*"))
}

// What keeps failing does not fill the folder: rehearsals, and copies that do not read back.
func TestFailuresAreBounded(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	folder := t.TempDir()
	m.schedule(folder, 3600)
	require.Empty(t, c.step(0))
	require.NoError(t, os.WriteFile(filepath.Join(folder, backup.TailName(m.index+1, m.index+2)), []byte("no tail"), 0o600))
	for range 600 {
		c.step(time.Second)
	}
	require.LessOrEqual(t, count(t, folder, backup.FileSuffix), 3, "one because of the tail, one because of the rehearsal")
	for _, name := range []string{"railguard-20260101T000000Z.rgbackup.damaged", "railguard-20260102T000000Z.rgbackup.damaged", "railguard-20260103T000000Z.rgbackup.damaged", "railguard-20260103T000000Z.rgbackup.part", "of somebody else.part"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
		old := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(folder, name), old, old))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "railguard-20260104T000000Z.rgbackup.part"), nil, 0o600))
	c.step(time.Hour)
	require.Equal(t, 2, count(t, folder, ".damaged"))
	require.FileExists(t, filepath.Join(folder, "of somebody else.part"))
	require.FileExists(t, filepath.Join(folder, "railguard-20260104T000000Z.rgbackup.part"), "somebody writes it")
	require.NoFileExists(t, filepath.Join(folder, "railguard-20260103T000000Z.rgbackup.part"))
}

func TestRoomIsLookedAt(t *testing.T) {
	require.NoError(t, checkRoom(t.TempDir(), "a copy", 1))
	require.ErrorContains(t, checkRoom(t.TempDir(), "a copy", 1<<60), "a copy needs 1099511627776 MiB")
}

// A started runner works beside its steps, and its stop ends a copy that is under way.
func TestStopEndsWhatIsUnderWay(t *testing.T) {
	m := newMember(t)
	folder := t.TempDir()
	m.schedule(folder, 0)
	left := filepath.Join(m.dir, "drill-left")
	require.NoError(t, os.Mkdir(left, 0o700))
	r := newClock(m).runner
	r.Start()
	require.Eventually(t, func() bool { return m.state().Full != nil }, 20*time.Second, 10*time.Millisecond)
	r.Stop()
	require.NoDirExists(t, left, "what a rehearsal that was killed left")
	require.Zero(t, count(t, folder, ".part"))

	held := make(chan struct{})
	r = newClock(m).runner
	ctx, cancel := context.WithCancel(t.Context())
	r.begin = func(work func()) { go func() { <-held; work() }() }
	m.mu.Lock()
	m.now += 48 * 3600 * 1e9
	m.mu.Unlock()
	r.Step(ctx, time.Now().Add(48*time.Hour))
	cancel()
	close(held)
	is := <-r.ended
	require.ErrorIs(t, is.err, context.Canceled)
	require.Equal(t, 1, count(t, folder, backup.FileSuffix))
}

// The gauges say what the log knows and how far this node has shipped, and end with the schedule.
func TestGaugesOfBackups(t *testing.T) {
	m := newMember(t)
	c := newClock(m)
	m.schedule(t.TempDir(), 86400)
	gauge := func(name string) (value float64) {
		var out bytes.Buffer
		metrics.WritePrometheus(&out, false)
		_, rest, there := strings.Cut(out.String(), "\n"+name+" ")
		require.True(t, there, name)
		_, err := fmt.Sscan(rest, &value)
		require.NoError(t, err)
		return value
	}
	c.step(0)
	c.step(time.Second) // The rehearsal.
	m.notes(1)
	c.step(10 * time.Second)
	at := float64(c.at.UnixNano()) / 1e9
	for name, want := range map[string]float64{
		"scheduled": 1, "shipped_seconds": at, "verified_seconds": at, "verified_full_seconds": at, "drilled_seconds": at, "drill_failed": 0,
	} {
		require.InDelta(t, want, gauge("railguard_backup_"+name), 30, name)
	}
	require.EqualValues(t, m.state().Newest.Size, gauge("railguard_backup_verified_bytes"))
	m.apply(wire.KindBackups, wire.Encode(&wire.Backups{Op: wire.BackupsDrilled, Drill: &wire.BackupDrill{Node: "n2", Failed: "a disk"}}))
	c.step(time.Second)
	require.EqualValues(t, 1, gauge("railguard_backup_drill_failed"))
	m.role = "follower"
	c.step(time.Second)
	require.Zero(t, gauge("railguard_backup_shipped_seconds"), "only the leader ships")
	require.NotZero(t, gauge("railguard_backup_verified_seconds"), "each node knows it from the log")
	m.role = "leader"
	m.apply(wire.KindBackups, wire.Encode(&wire.Backups{Op: wire.BackupsOff}))
	require.Empty(t, c.step(48*time.Hour))
	require.Zero(t, gauge("railguard_backup_scheduled"))
}
