package recovery

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm"
)

const (
	uncertainListed = 50
	survivorsMax    = port.MembersMax
	missingListed   = 1 << 16 // The most stretches of missing history that are counted.
)

// Inspect says what a recovery from a stopped survivor would keep, treat as committed, and
// lose. It opens nothing for writing. It needs memory for the state, as a start of the node
// does.
func Inspect(source Source) (*Report, error) {
	f, err := openStill(source.Dir, source.ID)
	if err != nil {
		return nil, err
	}
	r, err := inspectFolder(f, source)
	return r, errors.Join(err, f.close())
}

func inspectFolder(f *stillFolder, source Source) (r *Report, err error) {
	defer catchFaults(f.dir, &err)()
	r = &Report{
		Dir: f.dir, ClusterID: f.identity.ClusterID, Node: f.identity.ID, Recoveries: f.identity.Recovery,
		Members: f.readMembers(), FirstIndex: f.firstIndex, LastIndex: f.lastIndex, LastTerm: f.lastTerm, Term: f.term,
		Uncertain: Uncertain{Listed: []UncertainLeaf{}}, Survivors: []datadir.Survivor{}, Warnings: []string{}, Problems: []string{},
	}
	if f.snapshot != nil {
		r.SnapshotIndex, r.SnapshotTerm = f.snapshot.Index, f.snapshot.Term
	}
	if f.record != nil {
		state := stateOf(f.record)
		r.Earlier = &state
	}
	r.judgeMembers(f)
	if err := r.judgeHistory(f); err != nil {
		return nil, err
	}
	return r, r.judgeSurvivors(f, source)
}

func (r *Report) addProblem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Report) addWarning(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// judgeMembers reports what forbids a recovery in the group's membership and in this folder's
// place in it.
func (r *Report) judgeMembers(f *stillFolder) {
	voters, vote, member := 0, false, false
	for _, m := range r.Members {
		if m.Voter {
			voters++
		}
		if m.Self {
			member, vote = true, m.Voter
			if m.Incarnation != f.identity.Incarnation {
				r.addProblem("this folder is not the one that the group knows as %s: it was wiped and never joined anew", m.ID)
			}
		}
	}
	switch {
	case r.ClusterID == "":
		r.addProblem("this node never was a member of a cluster")
	case f.identity.Superseded != "":
		r.addProblem("this folder was left behind by another recovery: %s", f.identity.Superseded)
	case len(r.Members) == 0:
		r.addProblem("no membership stands in this node's log")
	case f.record.Begun():
		r.addWarning("a recovery was begun at %s by %s and %s and not finished: no node starts on this folder until it is", f.record.DecidedAt, f.record.By, f.record.Second)
	case f.record.Waits():
		r.addProblem("this folder was recovered already, at %s: start the node", f.record.DecidedAt)
	case voters == 1 && vote:
		r.addProblem("this node is the only voter: it has lost no majority; start it")
	}
	if member && !vote {
		r.addWarning("this node had no vote: entries may have been acknowledged without it")
	}
	if !member && len(r.Members) > 0 {
		r.addWarning("this node is no member in the newest membership on its own disk")
	}
}

// judgeHistory applies the log to the state in memory, and compares the leaves on disk with
// that state.
func (r *Report) judgeHistory(f *stillFolder) (err error) {
	history, err := audit.OpenReadOnly(audit.OSDir(f.fullPath(datadir.AuditFolder)), audit.Options{})
	if err != nil {
		return fmt.Errorf("cluster: history: %w", err)
	}
	defer func() { err = errors.Join(err, history.Close()) }()
	machine := fsm.New()
	if f.snapshot != nil {
		if machine, err = f.restoreSnapshot(); err != nil {
			return err
		}
	}
	r.AuditOnDisk = history.Size()
	r.holdToState(history, machine.Freeze())
	r.replayLog(f, machine)
	after := machine.Freeze()
	history.Prune(after.Oldest)
	for _, stretch := range history.Missing(missingListed) {
		r.AuditMissing += stretch.End - stretch.First
	}
	if r.AuditMissing > 0 {
		r.addWarning("%d leaves of history are not on this disk and cannot be fetched any more: their proofs and texts are lost with the other nodes", r.AuditMissing)
	}
	r.AuditLeaves, r.TreeHead, r.LastTime = after.Size, hex.EncodeToString(after.Root[:]), after.Time.String()
	digest := after.Digest()
	r.StateDigest = hex.EncodeToString(digest[:])
	return nil
}

func (f *stillFolder) restoreSnapshot() (machine *fsm.Machine, err error) {
	state, err := f.snapshot.Open(f.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	if machine, err = fsm.Restore(state); err != nil {
		return nil, fmt.Errorf("cluster: snapshot %s: %w", f.snapshot.ID, err)
	}
	return machine, nil
}

// holdToState compares history with the snapshot's state, as a start of the node does. A start
// would fetch missing leaves from other nodes. A recovered node has none, so here they are
// lost.
func (r *Report) holdToState(history *audit.Store, view *fsm.View) {
	if history.Size() < view.Size {
		r.addWarning("history on disk has %d leaves and the snapshot %d: the rest stood on the other nodes alone; its texts and proofs are lost, the state is not",
			history.Size(), view.Size)
		r.AuditMissing += view.Size - history.Size()
		return
	}
	root, err := history.Root(view.Size)
	switch {
	case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrCorrupt):
		r.addWarning("the tree head of history on disk cannot be computed: %v", err)
	case err != nil:
		r.addProblem("history on disk: %v", err)
	case root != view.Root:
		r.addProblem("history on disk is not that of the snapshot at index %d: its tree head differs", view.Index)
	}
}

// replayLog applies the log behind the snapshot, and finds the last entry that was certainly
// committed. That is the snapshot's, one for which a leader claimed a digest, or one whose
// leaves this node has written, since a node applies only committed entries.
func (r *Report) replayLog(f *stillFolder, machine *fsm.Machine) {
	r.CommittedIndex, r.CommittedBy = r.SnapshotIndex, "the snapshot"
	certain := func(index uint64, by string) {
		if index > r.CommittedIndex {
			r.CommittedIndex, r.CommittedBy = index, by
		}
	}
	if applied, _, err := datadir.ReadReached(f.dir); err == nil { // Without the note it is not known.
		certain(min(applied, r.LastIndex), "what this node had applied")
	}
	var out fsm.Effects
	var leaves []UncertainLeaf
	err := f.eachEntry(r.SnapshotIndex+1, r.LastIndex, func(entry *raft.Log) error {
		if entry.Type != raft.LogCommand {
			return nil
		}
		machine.Apply(entry.Index, entry.Term, entry.Data, &out)
		if out.Stop != "" {
			return fmt.Errorf("log entry %d: %s", entry.Index, out.Stop)
		}
		certain(min(out.CheckIndex, r.LastIndex), "a leader's digest in the log")
		if len(out.Leaves) > 0 && out.FirstLeaf+uint64(len(out.Leaves)) <= r.AuditOnDisk {
			certain(entry.Index, "the leaves this node has written")
			leaves = leaves[:0]
		}
		for i := range out.Leaves {
			leaves = append(leaves, describeLeaf(entry.Index, out.FirstLeaf+uint64(i), out.Leaves[i].Data))
		}
		return nil
	})
	if err != nil {
		r.addProblem("this node's log cannot be applied to its state: %v", err)
	}
	r.Uncertain.Entries = r.LastIndex - r.CommittedIndex
	if r.Uncertain.Entries > 0 {
		r.Uncertain.First, r.Uncertain.Last = r.CommittedIndex+1, r.LastIndex
	}
	for _, leaf := range leaves {
		if leaf.Index > r.CommittedIndex {
			r.Uncertain.Leaves++
			if len(r.Uncertain.Listed) < uncertainListed {
				r.Uncertain.Listed = append(r.Uncertain.Listed, leaf)
			}
		}
	}
}

// describeLeaf names a leaf for people.
func describeLeaf(index, leaf uint64, data []byte) UncertainLeaf {
	var told struct{ Kind, TxnID, EventID, Verdict, Time string }
	_ = json.Unmarshal(data, &told) // Our leaves are JSON; members that a leaf lacks stay empty.
	if told.TxnID == "" {
		told.TxnID = told.EventID
	}
	return UncertainLeaf{Index: index, Leaf: leaf, Kind: told.Kind, ID: told.TxnID, Verdict: told.Verdict, Time: told.Time}
}

// judgeSurvivors compares the end of this log with those of the other survivors.
func (r *Report) judgeSurvivors(f *stillFolder, source Source) error {
	if len(source.Compare)+len(source.Peers) > survivorsMax {
		return fmt.Errorf("at most %d other survivors can be compared", survivorsMax)
	}
	own := r.standing(f)
	r.Own = own
	furthest := own
	if own.Written > own.Leaves {
		r.addProblem("history on this disk has %d leaves and its log gives %d: committed entries are gone from the log, which was cut or put back. Keep this folder: its history proves what was acknowledged", own.Written, own.Leaves)
	}
	if own.Applied > own.Index {
		r.addProblem("this node had applied entry %d and its log ends at %d: committed entries are gone from the log, which was cut or put back. Keep this folder", own.Applied, own.Index)
	}
	for _, dir := range source.Compare {
		end, err := r.compareFolder(f, dir)
		if err != nil {
			return err
		}
		if end.Written > end.Leaves || end.Applied > end.Index {
			r.addWarning("%s had committed entries that are gone from its log (it wrote %d leaves and applied entry %d; its log gives %d leaves and ends at %d): whoever does not have them loses what was acknowledged", end.Node, end.Written, end.Applied, end.Leaves, end.Index)
		}
		r.Survivors = append(r.Survivors, end)
	}
	r.Survivors = append(r.Survivors, source.Peers...)
	for i := range r.Survivors {
		if r.Survivors[i].Node == own.Node {
			return fmt.Errorf("%s is compared with itself", own.Node)
		}
		if r.Survivors[i].Ahead(&furthest) {
			furthest = r.Survivors[i]
		}
	}
	r.Furthest, r.Behind = furthest.Node, furthest.Node != own.Node
	return nil
}

func (r *Report) compareFolder(f *stillFolder, dir string) (datadir.Survivor, error) {
	other, err := openStill(dir, "")
	if err != nil {
		return datadir.Survivor{}, err
	}
	seen, err := inspectFolder(other, Source{Dir: dir})
	end, who := other.logEnd(), other.identity
	if err == nil {
		end = seen.standing(other)
	}
	if err := errors.Join(err, other.close()); err != nil {
		return datadir.Survivor{}, err
	}
	if err := r.holdTogether(f, dir, who.ID); err != nil {
		return datadir.Survivor{}, err
	}
	switch {
	case who.ClusterID != f.identity.ClusterID:
		return end, fmt.Errorf("%s is of cluster %q, %s of cluster %q", f.dir, f.identity.ClusterID, dir, who.ClusterID)
	case who.Lineage != f.identity.Lineage:
		r.addProblem("%s was recovered or left behind in another way than this node (%s): the two cannot be compared", who.ID, dir)
	}
	return end, nil
}

// standing returns where a folder's log ends, and what else the folder shows.
func (r *Report) standing(f *stillFolder) datadir.Survivor {
	s := f.logEnd()
	s.Applied, _, _ = datadir.ReadReached(f.dir) // Without the note it is not known.
	s.Written, s.Leaves, s.Head = r.AuditOnDisk, r.AuditLeaves, r.TreeHead
	return s
}

// holdTogether compares the histories of two folders as far as both go: of one past, the shorter
// is the beginning of the longer.
func (r *Report) holdTogether(f *stillFolder, dir, id string) (err error) {
	var roots [2]audit.Hash
	var stores [2]*audit.Store
	for i, folder := range []string{f.dir, dir} {
		stores[i], err = audit.OpenReadOnly(audit.OSDir(filepath.Join(folder, datadir.AuditFolder)), audit.Options{})
		if err != nil {
			return fmt.Errorf("cluster: history of %s: %w", folder, err)
		}
		defer func() { err = errors.Join(err, stores[i].Close()) }()
	}
	size := min(stores[0].Size(), stores[1].Size())
	for i, store := range stores {
		if roots[i], err = store.Root(size); err != nil {
			r.addWarning("the histories of %s and %s cannot be compared: %v", r.Node, id, err)
			return nil
		}
	}
	if roots[0] != roots[1] {
		r.addProblem("the histories of %s and %s differ within their first %d leaves (%x, %x): they are of different pasts, and only one of them is what was acknowledged. Compare the heads with one that an outside witness keeps",
			r.Node, id, size, roots[0], roots[1])
	}
	return nil
}
