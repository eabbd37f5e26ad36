package fsm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// The state keeps the schedule, the newest verified copy and full copy, and the last rehearsal; what
// cannot be is refused, and all of it survives a snapshot.
func TestBackupsAreKept(t *testing.T) {
	w := newWorld(t)
	schedule := wire.BackupSchedule{Folder: "/mnt/b", Full: 86_400, Increment: 3600, Tail: 10, Drill: 86_400, Keep: 7}
	for name, spoil := range map[string]func(s *wire.BackupSchedule){
		"no folder":                  func(s *wire.BackupSchedule) { s.Folder = "" },
		"a full copy too often":      func(s *wire.BackupSchedule) { s.Full, s.Increment = 59, 59 },
		"an increment too seldom":    func(s *wire.BackupSchedule) { s.Increment = s.Full + 1 },
		"a tail never":               func(s *wire.BackupSchedule) { s.Tail = 0 },
		"a tail after over a minute": func(s *wire.BackupSchedule) { s.Tail = 61 },
		"a drill too often":          func(s *wire.BackupSchedule) { s.Drill = 59 },
		"nothing kept":               func(s *wire.BackupSchedule) { s.Keep = 0 },
		"too much kept":              func(s *wire.BackupSchedule) { s.Keep = wire.BackupKeepMax + 1 },
	} {
		spoilt := schedule
		spoil(&spoilt)
		r := w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsSet, Schedule: &spoilt})
		require.Equal(t, wire.RefusedMalformed, r.Refusal, name)
	}
	require.Equal(t, wire.Applied, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsSet, Schedule: &schedule}).Code)
	end := w.m.Freeze().Size
	full := wire.BackupCopy{File: "a.rgbackup", Node: "n1", Size: 9, End: end}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsCopied, Copy: &wire.BackupCopy{File: "a", Node: "n1", End: end + 100}}).Refusal, "leaves that nobody wrote")
	require.Equal(t, wire.Applied, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsCopied, Copy: &full}).Code)
	next := wire.BackupCopy{File: "b.rgbackup", Node: "n1", Size: 3, First: end, End: end}
	require.Equal(t, wire.Applied, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsCopied, Copy: &next}).Code)
	require.Equal(t, wire.Applied, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsDrilled, Drill: &wire.BackupDrill{Node: "n1", Failed: "a byte"}}).Code)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindBackups, &wire.Backups{Op: 9}).Refusal)

	is := w.m.Freeze().Settings().Backups
	require.Equal(t, schedule, *is.Schedule)
	require.Equal(t, []string{"b.rgbackup", "a.rgbackup", "a byte"}, []string{is.Newest.File, is.Full.File, is.Drill.Failed})
	require.NotZero(t, is.Newest.At)
	var snapshot bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&snapshot)
	require.NoError(t, err)
	again, err := Restore(&snapshot)
	require.NoError(t, err)
	require.Equal(t, is, again.Freeze().Settings().Backups)
	require.Equal(t, wire.Applied, w.do(wire.KindBackups, &wire.Backups{Op: wire.BackupsOff}).Code)
	require.Nil(t, w.m.Freeze().Settings().Backups.Schedule)
}
