package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyBackups keeps the schedule of the cluster's own backups, and what became of it: the newest
// verified copy, and how the last rehearsal of a restore ended.
func (m *core) applyBackups(b *wire.Backups, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	state := wire.BackupState{}
	if m.settings.Backups != nil {
		state = *m.settings.Backups
	}
	var kind string
	var event any
	switch {
	case b.Op == wire.BackupsSet && b.Schedule.IsSound(m.limits.FieldBytes):
		s := *b.Schedule
		state.Schedule, state.Since = &s, m.now
		kind, event = leaf.KindBackupSchedule, leaf.BackupScheduled{Folder: s.Folder, Full: s.Full, Increment: s.Increment, Tail: s.Tail, Drill: s.Drill, Keep: s.Keep}
	case b.Op == wire.BackupsOff:
		state.Schedule = nil
		kind, event = leaf.KindBackupSchedule, leaf.BackupScheduled{}
	case b.Op == wire.BackupsCopied && soundCopy(b.Copy, m.limits, m.size):
		c := *b.Copy
		c.At, state.Newest = m.now, &c
		if c.First == 0 {
			state.Full = &c
		}
		kind, event = leaf.KindBackupTaken, leaf.BackupTaken{File: c.File, Node: c.Node, Bytes: c.Size, First: c.First, End: c.End, Digest: c.Digest, Full: c.First == 0}
	case b.Op == wire.BackupsDrilled && soundDrill(b.Drill, m.limits):
		d := *b.Drill
		d.At, state.Drill = m.now, &d
		kind, event = leaf.KindBackupDrilled, leaf.BackupDrilled{Node: d.Node, Files: d.Files, Leaves: d.Leaves, Failed: d.Failed}
	default:
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.editSettings().Backups = &state
	m.writeEvent(kind, event, &b.Common, r)
}

func soundCopy(c *wire.BackupCopy, limits *engine.Limits, size uint64) bool {
	return c != nil && c.File != "" && len(c.File) <= limits.FieldBytes && c.Node != "" && len(c.Node) <= limits.KeyIDBytes && c.First <= c.End && c.End <= size
}

func soundDrill(d *wire.BackupDrill, limits *engine.Limits) bool {
	return d != nil && d.Node != "" && len(d.Node) <= limits.KeyIDBytes && len(d.Failed) <= limits.FieldBytes
}

// fitsBackups tells whether what a snapshot says of backups could have come from this log.
func (m *core) fitsBackups(b *wire.BackupState) bool {
	return b == nil || (b.Schedule == nil || b.Schedule.IsSound(m.limits.FieldBytes)) && (b.Newest == nil || soundCopy(b.Newest, m.limits, m.size)) &&
		(b.Full == nil || soundCopy(b.Full, m.limits, m.size)) && (b.Drill == nil || soundDrill(b.Drill, m.limits))
}
