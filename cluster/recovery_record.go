package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"railguard/fsm/wire"
)

// recoveryFile stands in the data folder from the first change of a recovery on.
const recoveryFile = "recovery.json"

// How far a recovery went.
const (
	recoveryBegun    = "begun"    // The folder may be changed in part: no node starts on it.
	recoveryWaiting  = "waiting"  // The folder is done: the next leader writes the leaf first.
	recoveryRecorded = "recorded" // The leaf is in the log.
)

// recoveryRecord is recovery.json: what was decided, by whom and on what grounds.
// Its facts are those of before the first change, so that a recovery that was
// killed goes on as it began.
type recoveryRecord struct {
	Format    int    `json:"format"`
	State     string `json:"state"`
	Recovery  uint64 `json:"recovery"` // The how-manieth of this group.
	Lineage   string `json:"lineage"`  // Random: tells it from any other recovery.
	ClusterID string `json:"clusterId"`
	Node      string `json:"node"`

	By        string `json:"by"`
	Second    string `json:"second"`
	Reason    string `json:"reason"`
	DecidedAt string `json:"decidedAt"` // By this machine's clock.

	Former         []RecoveryMember `json:"former"`
	LastIndex      uint64           `json:"lastIndex"`
	LastTerm       uint64           `json:"lastTerm"`
	LastTime       string           `json:"lastTime"`
	CommittedIndex uint64           `json:"committedIndex"`
	TakenOver      uint64           `json:"takenOver"` // Entries behind CommittedIndex.
	TakenLeaves    uint64           `json:"takenLeaves"`
	AuditLeaves    uint64           `json:"auditLeaves"`
	TreeHead       string           `json:"treeHead"`
	Survivors      []SurvivorIndex  `json:"survivors"`
	Forced         bool             `json:"forced,omitempty"` // Another survivor was further.

	Kept    []string `json:"kept,omitempty"` // Other members of the new group.
	NewTerm uint64   `json:"newTerm"`        // Of the membership entry, which stands at LastIndex+1.
	Backup  string   `json:"backup"`         // Folder, relative to the data folder.
	Leaf    uint64   `json:"leaf,omitempty"`
}

func readRecord(dir string) (*recoveryRecord, error) {
	data, err := os.ReadFile(filepath.Join(dir, recoveryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &recoveryRecord{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %s in %s cannot be read: %w", recoveryFile, dir, err)
	}
	if r.Format > folderFormat {
		return nil, fmt.Errorf("cluster: %s in %s has format %d and this binary knows up to %d", recoveryFile, dir, r.Format, folderFormat)
	}
	return r, nil
}

func (r *recoveryRecord) save(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(dir, recoveryFile, append(data, '\n'))
}

func (r *recoveryRecord) begun() bool { return r != nil && r.State == recoveryBegun }
func (r *recoveryRecord) waits() bool { return r != nil && r.State == recoveryWaiting }

func (r *recoveryRecord) state() RecoveryState {
	return RecoveryState{
		State: r.State, Node: r.Node, Kept: r.Kept, Recovery: r.Recovery, Lineage: r.Lineage, DecidedAt: r.DecidedAt,
		By: r.By, Second: r.Second, Reason: r.Reason, Backup: r.Backup,
	}
}

// note is the record of the leaf. Its key makes a second one of the same recovery,
// after a crash between log and file, an answer instead of a leaf.
func (r *recoveryRecord) note() (*wire.Note, error) {
	fragment, err := json.Marshal(struct {
		ClusterID    string           `json:"clusterId"`
		Node         string           `json:"node"`
		Recovery     uint64           `json:"recovery"`
		Lineage      string           `json:"lineage"`
		LastIndex    uint64           `json:"lastIndex"`
		LastTerm     uint64           `json:"lastTerm"`
		LastTime     string           `json:"lastTime"`
		Committed    uint64           `json:"committedIndex"`
		TakenOver    uint64           `json:"entriesTakenOver"`
		TakenLeaves  uint64           `json:"leavesTakenOver"`
		LostFrom     uint64           `json:"possiblyLostFromIndex"`
		LostAfter    string           `json:"possiblyLostAfter"`
		LeavesBefore uint64           `json:"leavesBefore"`
		TreeHead     string           `json:"treeHead"`
		Former       []RecoveryMember `json:"formerMembers"`
		Kept         []string         `json:"keptMembers,omitempty"`
		Forced       bool             `json:"behindAnotherSurvivor"`
		By           string           `json:"by"`
		Second       string           `json:"second"`
		Reason       string           `json:"reason"`
		DecidedAt    string           `json:"decidedAt"`
	}{
		r.ClusterID, r.Node, r.Recovery, r.Lineage, r.LastIndex, r.LastTerm, r.LastTime, r.CommittedIndex,
		r.TakenOver, r.TakenLeaves, r.LastIndex + 1, r.LastTime, r.AuditLeaves, r.TreeHead, r.Former, r.Kept, r.Forced,
		r.By, r.Second, r.Reason, r.DecidedAt,
	})
	if err != nil {
		return nil, err
	}
	var key wire.Idem
	copy(key.Key[:], r.Lineage)
	copy(key.Body[:], r.Lineage)
	return &wire.Note{Event: wire.EventRecovered, Common: wire.Common{Idem: &key, Fragment: fragment[1 : len(fragment)-1]}}, nil
}
