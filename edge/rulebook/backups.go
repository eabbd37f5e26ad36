package rulebook

import (
	"fmt"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// BackupChange sets the schedule of the cluster's own backups, or ends it.
type BackupChange struct {
	schedule wire.BackupSchedule
	off      bool
	grounds  edge.Grounds
}

// The schedule of a call that names nothing but a folder.
const (
	backupFull      = engine.DayLength
	backupIncrement = engine.Hour
	backupTail      = 10 * engine.Second
	backupDrill     = engine.DayLength
	backupKeep      = 7
)

// ReadBackupChange reads {"folder","full","increment","tail","drill","keep"}, or {"off":true}.
func ReadBackupChange(f *strictjson.Fields) *BackupChange {
	off, _ := f.Flag("off")
	c := &BackupChange{off: off, schedule: wire.BackupSchedule{
		Folder: f.Text("folder", engine.FieldMax), Keep: backupKeep,
		Full:      readEvery(f, "full", backupFull, wire.BackupStepMin, wire.BackupStepMax),
		Increment: readEvery(f, "increment", backupIncrement, wire.BackupStepMin, wire.BackupStepMax),
		Tail:      readEvery(f, "tail", backupTail, wire.BackupTailMin, wire.BackupTailMax),
		Drill:     readEvery(f, "drill", backupDrill, 0, wire.BackupStepMax),
	}}
	s := &c.schedule
	if n, ok := f.Integer("keep", 1, wire.BackupKeepMax); ok {
		s.Keep = uint16(n)
	}
	switch {
	case !off && s.Folder == "" && f.Get("folder") == nil:
		f.Missing("folder")
	case !off && (s.Folder == "" || s.Folder[0] != '/'):
		f.Invalid("folder", "must be the absolute path of a folder, as each node sees it")
	case s.Increment > s.Full:
		f.Invalid("increment", "must not be longer than full")
	case s.Drill != 0 && s.Drill < wire.BackupStepMin:
		f.Invalid("drill", "must be 0s or at least 1m")
	}
	c.grounds = edge.ReadGrounds(f)
	return c
}

// readEvery reads a span such as 24h, in seconds.
func readEvery(f *strictjson.Fields, name string, otherwise engine.Time, least, most uint32) uint32 {
	text := f.Text(name, engine.FieldMax)
	if text == "" {
		return uint32(otherwise / engine.Second)
	}
	span, ok := edge.ParseSpan(text)
	if seconds := span / engine.Second; !ok || span%engine.Second != 0 || seconds < engine.Time(least) || seconds > engine.Time(most) {
		f.Invalid(name, fmt.Sprintf("must be a span of whole seconds such as 1h, from %s to %s", time.Duration(least)*time.Second, time.Duration(most)*time.Second))
		return uint32(otherwise / engine.Second)
	}
	return uint32(span / engine.Second)
}

// Record builds the record.
func (c *BackupChange) Record(j *edge.Judge) (*wire.Backups, error) {
	var m strictjson.Members
	c.grounds.Write(&m)
	common, err := j.Recorded(m)
	if c.off {
		return &wire.Backups{Common: common, Op: wire.BackupsOff}, err
	}
	return &wire.Backups{Common: common, Op: wire.BackupsSet, Schedule: &c.schedule}, err
}
