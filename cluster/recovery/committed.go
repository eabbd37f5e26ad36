package recovery

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"railguard/audit"
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
	// FirstIndex is the first index of the log, and SnapshotIndex that of the snapshot before it; 0:
	// there is none.
	FirstIndex, SnapshotIndex uint64
	Warnings                  []string // What is wrong with history, compared with the snapshot.

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
	return &Still{
		View: view, Identity: f.identity, LastIndex: f.lastIndex, Members: f.readMembers(),
		FirstIndex: f.firstIndex, SnapshotIndex: r.SnapshotIndex, Warnings: r.Warnings, folder: f,
	}, nil
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

// EachLeaf visits the leaves that the log gives behind the snapshot, up to the view's index. History
// is not needed for them.
func (s *Still) EachLeaf(visit func(index uint64, leaf audit.Leaf) error) (err error) {
	if s.folder == nil {
		return nil // A state without a folder has no log.
	}
	defer catchFaults(s.folder.dir, &err)()
	machine, first := fsm.New(), uint64(1)
	if s.folder.snapshot != nil {
		first = s.folder.snapshot.Index + 1
		if machine, err = s.folder.restoreSnapshot(); err != nil {
			return err
		}
	}
	var out fsm.Effects
	return s.folder.eachEntry(first, s.View.Index, func(entry *raft.Log) error {
		if entry.Type != raft.LogCommand {
			return nil
		}
		machine.Apply(entry.Index, entry.Term, entry.Data, &out)
		for i := range out.Leaves {
			l := &out.Leaves[i]
			if err := visit(out.FirstLeaf+uint64(i), audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data, Hash: l.Hash}); err != nil {
				return err
			}
		}
		return nil
	})
}

// LoggedLeaf is a leaf that an entry of a stopped node's log gives.
type LoggedLeaf struct {
	Index   uint64
	Data    []byte
	Certain bool // The entry was committed. The leaf of another one may never have been acknowledged.
}

// LoggedLeaves visits the leaves that a stopped node's log gives, from one on. History is not synced
// with each leaf, because the log has the same: after a power cut the newest leaves stand in the log
// alone, and among them what was acknowledged.
func LoggedLeaves(dir string, from uint64, visit func(leaf LoggedLeaf) error) (err error) {
	f, err := openStill(dir, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	defer catchFaults(dir, &err)()
	machine, last := fsm.New(), uint64(0)
	if f.snapshot != nil {
		last = f.snapshot.Index
		if machine, err = f.restoreSnapshot(); err != nil {
			return err
		}
	}
	committed := last
	if applied, _, err := datadir.ReadReached(dir); err == nil { // Without the note it is not known.
		committed = max(committed, applied)
	}
	var out fsm.Effects
	return f.eachEntry(last+1, f.lastIndex, func(entry *raft.Log) error {
		if entry.Type != raft.LogCommand {
			return nil
		}
		machine.Apply(entry.Index, entry.Term, entry.Data, &out)
		if out.Stop != "" {
			return fmt.Errorf("log entry %d: %s", entry.Index, out.Stop)
		}
		for i := range out.Leaves {
			leaf := LoggedLeaf{Index: out.FirstLeaf + uint64(i), Data: out.Leaves[i].Data, Certain: entry.Index <= committed}
			if leaf.Index < from {
				continue
			}
			if err := visit(leaf); err != nil {
				return err
			}
		}
		return nil
	})
}
