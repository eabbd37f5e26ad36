package wire

import "railguard/engine"

// What a Backups record does. Numbers never change.
const (
	BackupsSet     uint8 = 1 // A schedule is set.
	BackupsOff     uint8 = 2 // The schedule ends.
	BackupsCopied  uint8 = 3 // A copy was written and verified.
	BackupsDrilled uint8 = 4 // A restore was rehearsed.
)

// Backups changes the schedule of the cluster's own backups, or tells the log what became of it
// (decision 166).
type Backups struct {
	Common
	Op       uint8           `cbor:"4,keyasint"`
	Schedule *BackupSchedule `cbor:"5,keyasint,omitempty"` // With BackupsSet.
	Copy     *BackupCopy     `cbor:"6,keyasint,omitempty"` // With BackupsCopied.
	Drill    *BackupDrill    `cbor:"7,keyasint,omitempty"` // With BackupsDrilled.
}

// BackupSchedule says where and how often the cluster copies itself. Spans are seconds.
type BackupSchedule struct {
	Folder    string `cbor:"1,keyasint"` // As each node sees it.
	Full      uint32 `cbor:"2,keyasint"`
	Increment uint32 `cbor:"3,keyasint"`
	Tail      uint32 `cbor:"4,keyasint"`           // How often the log's entries since the last copy are shipped.
	Drill     uint32 `cbor:"5,keyasint,omitempty"` // 0: restores are not rehearsed.
	Keep      uint16 `cbor:"6,keyasint"`           // So many full backups stay, each with what continues it.
}

// BackupCopy is a copy that was read back after it was written.
type BackupCopy struct {
	File   string      `cbor:"1,keyasint"` // Its name in the folder.
	Node   string      `cbor:"2,keyasint"` // The node that wrote it.
	Size   uint64      `cbor:"3,keyasint"` // Bytes.
	First  uint64      `cbor:"4,keyasint"` // Its first leaf; 0: it is full.
	End    uint64      `cbor:"5,keyasint"` // The leaf after its last one.
	Digest [32]byte    `cbor:"6,keyasint"` // SHA-256 of the file.
	At     engine.Time `cbor:"7,keyasint"` // Set by Apply.
}

// BackupDrill is how the rehearsal of a restore ended.
type BackupDrill struct {
	Node   string      `cbor:"1,keyasint"`
	Files  uint32      `cbor:"2,keyasint"` // So many files were restored, tails among them.
	Leaves uint64      `cbor:"3,keyasint"` // So many leaves came back.
	Failed string      `cbor:"4,keyasint,omitempty"`
	At     engine.Time `cbor:"5,keyasint"` // Set by Apply.
}

// BackupState is what the log knows of the cluster's own backups.
type BackupState struct {
	Schedule *BackupSchedule `cbor:"1,keyasint,omitempty"` // nil: there is none.
	Newest   *BackupCopy     `cbor:"2,keyasint,omitempty"`
	Full     *BackupCopy     `cbor:"3,keyasint,omitempty"` // The newest full one.
	Drill    *BackupDrill    `cbor:"4,keyasint,omitempty"` // The last one.
	Since    engine.Time     `cbor:"5,keyasint,omitempty"` // When the schedule was set.
}

// Bounds of a schedule, in seconds and numbers.
const (
	BackupTailMin = 1
	BackupTailMax = 60
	BackupStepMin = 60         // Between two increments, two full backups, two drills.
	BackupStepMax = 31 * 86400 // Of the same.
	BackupKeepMax = 400
)

// IsSound reports whether a schedule may be kept: nothing is copied never, or more often than a
// copy takes.
func (s *BackupSchedule) IsSound(fieldBytes int) bool {
	step := func(span uint32) bool { return span >= BackupStepMin && span <= BackupStepMax }
	return s != nil && s.Folder != "" && len(s.Folder) <= fieldBytes && step(s.Full) && step(s.Increment) && s.Increment <= s.Full &&
		s.Tail >= BackupTailMin && s.Tail <= BackupTailMax && (s.Drill == 0 || step(s.Drill)) && s.Keep >= 1 && s.Keep <= BackupKeepMax
}
