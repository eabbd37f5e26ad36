package recovery

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/fsm"
)

// Still is a stopped node's state as of the last entry that was certainly committed. Until
// Close no node starts on the folder.
type Still struct {
	View     *fsm.View
	Identity datadir.Identity
	// LastIndex is the last index of the log. Entries after the view's index may never have been
	// committed, so the view does not have them.
	LastIndex uint64
	Members   []datadir.Member // Members of the group, as the folder's log ends.

	folder *stillFolder
}

// Close releases the folder.
func (s *Still) Close() error { return s.folder.close() }

// Committed reads a stopped node's folder: its snapshot and the log behind it, up to the last
// entry that this disk knows to be committed. It changes nothing. It needs memory for two
// copies of the state.
func Committed(dir string) (s *Still, err error) {
	f, err := openStill(dir, "")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	defer catchFaults(dir, &err)()
	switch {
	case f.identity.ClusterID == "":
		return nil, fmt.Errorf("cluster: the node of %s never was a member of a cluster", dir)
	case f.identity.Superseded != "":
		return nil, fmt.Errorf("cluster: %s was left behind: %s", dir, f.identity.Superseded)
	case f.record.Begun():
		return nil, fmt.Errorf("cluster: a recovery of %s was begun and not finished: finish it first", dir)
	}
	r := &Report{FirstIndex: f.firstIndex, LastIndex: f.lastIndex}
	if f.snapshot != nil {
		r.SnapshotIndex, r.SnapshotTerm = f.snapshot.Index, f.snapshot.Term
	}
	if err := r.judgeHistory(f); err != nil {
		return nil, err
	}
	if len(r.Problems) > 0 {
		return nil, fmt.Errorf("cluster: %s: %s", dir, r.Problems[0])
	}
	view, err := f.stateAt(r.CommittedIndex)
	if err != nil {
		return nil, err
	}
	return &Still{View: view, Identity: f.identity, LastIndex: f.lastIndex, Members: f.readMembers(), folder: f}, nil
}

// stateAt returns the state after the entry at an index, from the snapshot and the log.
func (f *stillFolder) stateAt(index uint64) (view *fsm.View, err error) {
	machine, first := fsm.New(), uint64(1)
	if f.snapshot != nil {
		first = f.snapshot.Index + 1
		if machine, err = f.restoreSnapshot(); err != nil {
			return nil, err
		}
	}
	var out fsm.Effects
	err = f.eachEntry(first, index, func(entry *raft.Log) error {
		if entry.Type == raft.LogCommand {
			machine.Apply(entry.Index, entry.Term, entry.Data, &out)
		}
		return nil
	})
	return machine.Freeze(), err
}
