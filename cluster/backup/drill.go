package backup

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/fsm"
)

// ReadBack reads a restored folder as the node that starts on it will: its state must
// have the digest, tree head and key set that were written.
func ReadBack(restored *Restored) (err error) {
	states, err := filepath.Glob(filepath.Join(restored.Dir, datadir.RaftFolder, "snapshots", "*", "state.bin"))
	if err != nil || len(states) != 1 {
		return errors.Join(fmt.Errorf("backup: the restored folder has %d states", len(states)), err)
	}
	file, err := os.Open(states[0])
	if err != nil {
		return fmt.Errorf("backup: the restored state: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	is, err := describeState(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return err
	}
	if is.Digest != restored.Digest || is.Index != restored.Index {
		return fmt.Errorf("backup: the restored state has digest %s at index %d, and %s at %d was written", is.Digest, is.Index, restored.Digest, restored.Index)
	}
	return restored.compareWith(is, restored.Counts)
}

func describeState(state io.Reader) (*Manifest, error) {
	machine, err := fsm.Restore(state)
	if err != nil {
		return nil, fmt.Errorf("backup: the restored state: %w", err)
	}
	return describeView(machine.Freeze())
}

// Lives checks the state of a node that was started on a restored folder: nothing that was
// restored may be missing, and nothing may have been added. keys is how many API keys were made
// on that node since it started.
func Lives(state io.Reader, restored *Restored, keys int) error {
	is, err := describeState(state)
	if err != nil {
		return err
	}
	if is.Index <= restored.Index || is.TreeSize <= restored.TreeSize {
		return fmt.Errorf("backup: the started node stands at index %d with %d leaves: it has written nothing", is.Index, is.TreeSize)
	}
	counts := restored.Counts
	counts.APIKeys += keys
	// Users and reviews can expire, so there may be fewer than were restored.
	counts.Users, counts.OpenReviews = min(counts.Users, is.Counts.Users), min(counts.OpenReviews, is.Counts.OpenReviews)
	return restored.compareWith(is, counts)
}

// compareWith returns an error that names the first thing in which a state differs from what
// was restored. counts are the counts that the state should have.
func (r *Restored) compareWith(is *Manifest, counts Counts) error {
	for _, one := range []struct {
		what        string
		is, written any
	}{
		{"cluster", is.ClusterID, r.ClusterID}, {"lineage", is.Lineage, r.Lineage}, {"epoch", is.Epoch, r.Epoch},
		{"key set", is.JWKS, r.JWKS}, {"list", is.List, r.List}, {"counts", is.Counts, counts},
	} {
		if one.is != one.written {
			return fmt.Errorf("backup: %s is %v on the restored node, and should be %v", one.what, one.is, one.written)
		}
	}
	return nil
}

// HistoryHolds reads every leaf of a restored folder on which no node runs now. No leaf may be
// damaged, and the leaves must lead to the tree head of the backup and to that of the restore.
func HistoryHolds(restored *Restored) (err error) {
	store, err := audit.OpenReadOnly(audit.OSDir(filepath.Join(restored.Dir, datadir.AuditFolder)), audit.Options{})
	if err != nil {
		return fmt.Errorf("backup: restored history: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, head := range []struct {
		size uint64
		root string
	}{{restored.Report.TreeSize, restored.Report.TreeHead}, {restored.TreeSize, restored.TreeHead}} {
		root, err := store.Root(head.size)
		if err != nil {
			return fmt.Errorf("backup: restored history of %d leaves: %w", head.size, err)
		}
		if hex.EncodeToString(root[:]) != head.root {
			return fmt.Errorf("backup: restored history of %d leaves leads to %x, and should to %s", head.size, root, head.root)
		}
	}
	return nil
}
