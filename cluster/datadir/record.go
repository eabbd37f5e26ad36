package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RecoveryFile is in the data folder from the first change of a recovery on.
const RecoveryFile = "recovery.json"

// RecoveryBegun, RecoveryWaiting and RecoveryRecorded say how far a recovery went.
const (
	RecoveryBegun    = "begun"    // The folder may be changed in part: no node starts on it.
	RecoveryWaiting  = "waiting"  // The folder is done: the next leader first writes the leaf.
	RecoveryRecorded = "recorded" // The leaf is in the log.
)

// Record is recovery.json: what was decided, by whom and on what grounds. Its facts are those
// from before the first change, so that a recovery that was killed goes on as it began.
type Record struct {
	Format    int    `json:"format"`
	State     string `json:"state"`
	Recovery  uint64 `json:"recovery"` // The number of this recovery in the group, from 1 on.
	Lineage   string `json:"lineage"`  // A random text that distinguishes this recovery from any other.
	ClusterID string `json:"clusterId"`
	Node      string `json:"node"`

	By        string `json:"by"`
	Second    string `json:"second"`
	Reason    string `json:"reason"`
	DecidedAt string `json:"decidedAt"` // Time by this machine's clock.

	Former         []Member   `json:"former"`
	LastIndex      uint64     `json:"lastIndex"`
	LastTerm       uint64     `json:"lastTerm"`
	LastTime       string     `json:"lastTime"`
	CommittedIndex uint64     `json:"committedIndex"`
	TakenOver      uint64     `json:"takenOver"` // Count of the entries behind CommittedIndex.
	TakenLeaves    uint64     `json:"takenLeaves"`
	AuditLeaves    uint64     `json:"auditLeaves"`
	TreeHead       string     `json:"treeHead"`
	Survivors      []Survivor `json:"survivors"`
	Forced         bool       `json:"forced,omitempty"` // The recovery was forced although another survivor's log was further.

	Kept    []string `json:"kept,omitempty"` // Other members of the new group.
	NewTerm uint64   `json:"newTerm"`        // Term of the membership entry, which is at LastIndex+1.
	Backup  string   `json:"backup"`         // A folder, relative to the data folder.
	Leaf    uint64   `json:"leaf,omitempty"`
}

func ReadRecord(dir string) (*Record, error) {
	data, err := os.ReadFile(filepath.Join(dir, RecoveryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &Record{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %s in %s cannot be read: %w", RecoveryFile, dir, err)
	}
	if err := CheckFormat(RecoveryFile+" in "+dir, r.Format); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Record) Save(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(dir, RecoveryFile, append(data, '\n'))
}

func (r *Record) Begun() bool { return r != nil && r.State == RecoveryBegun }
func (r *Record) Waits() bool { return r != nil && r.State == RecoveryWaiting }

// Survivor is where a survivor's log ends.
type Survivor struct {
	Node  string `json:"node"`
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	From  string `json:"from"` // The folder, or "given".

	// What a folder shows beside the end of its log. Of a survivor that was typed by hand it is not
	// known, and these are 0.
	Applied uint64 `json:"applied,omitempty"` // The last entry that the node had applied.
	Written uint64 `json:"written,omitempty"` // Leaves of history on its disk: each of a committed entry.
	Leaves  uint64 `json:"leaves,omitempty"`  // Leaves when its whole log is applied.
	Head    string `json:"head,omitempty"`    // The tree head of those leaves.
}

// KnowsMore reports whether a survivor has committed entries that another one cannot have: it
// wrote more leaves of history than the other wrote or its whole log gives, or applied an entry
// behind all that the other applied or has in its log.
func (s *Survivor) KnowsMore(than *Survivor) bool {
	if s.Leaves == 0 || than.Leaves == 0 { // One of them was typed by hand.
		return false
	}
	return s.Written > max(than.Leaves, than.Written) || s.Applied > max(than.Index, than.Applied)
}

// Ahead reports whether a survivor is further than another one. What is certainly committed counts
// first. Then the higher last term counts, then the longer log: raft compares candidates in the
// same way.
func (s *Survivor) Ahead(of *Survivor) bool {
	if more, less := s.KnowsMore(of), of.KnowsMore(s); more != less {
		return more
	}
	return s.Term > of.Term || s.Term == of.Term && s.Index > of.Index
}

// Member is a member of the group as the survivor's disk knows it.
type Member struct {
	ID          string `json:"id"`
	Addr        string `json:"addr"`
	Incarnation string `json:"incarnation"`
	Voter       bool   `json:"voter"`
	Self        bool   `json:"self,omitempty"`
}

// TimeFormat is the format of times in recovery.json and in output for people.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// BackupNameStart begins the names of the folders in which a recovery keeps what it changed.
const BackupNameStart = "before-recovery-"

// RestoreAside returns the name of the folder into which a restore moves the former content.
func RestoreAside(at time.Time) string {
	return restoreNameStart + at.UTC().Format(restoreNameTime)
}

const (
	restoreNameStart = BackupNameStart + "restore-"
	restoreNameTime  = "20060102T150405Z"
)

// ForgetRestoredOver deletes the folders that restores moved aside before the given time. Each is
// the whole former content of a node's folder.
func ForgetRestoredOver(dir string, before time.Time) (forgotten int, err error) {
	folders, err := filepath.Glob(filepath.Join(dir, restoreNameStart+"*"))
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		at, err := time.Parse(restoreNameTime, strings.TrimPrefix(filepath.Base(folder), restoreNameStart))
		if err != nil || !at.Before(before) {
			continue // The folder has another name: it is somebody's own.
		}
		if err := os.RemoveAll(folder); err != nil {
			return forgotten, fmt.Errorf("what a restore moved aside: %w", err)
		}
		forgotten++
	}
	return forgotten, nil
}

// ForgetBackups deletes what recoveries kept. That is the log of that time, with personal data.
func ForgetBackups(dir string) (forgotten int, err error) {
	folders, err := filepath.Glob(filepath.Join(dir, BackupNameStart+"*"))
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		if err := os.RemoveAll(folder); err != nil {
			return forgotten, fmt.Errorf("copy of before a recovery: %w", err)
		}
		forgotten++
	}
	return forgotten, nil
}
