package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railguard/cluster/datadir"
)

// Follow makes another survivor, with its folder, a member of a recovered group. from is
// recovery.json of the survivor that was recovered. Follow leaves the log as it is: the
// recovered node leads, and raft replaces the entries in which this log's end differs.
// recovery.json names the two people who answer for the recovery; clusterID is typed again
// here.
func Follow(source Source, from, clusterID string) (*Report, error) {
	return FollowStepwise(source, from, clusterID, func(string) error { return nil })
}

// FollowStepwise is Follow, and calls after behind each step. If after returns an error, it
// ends there, as a kill would. Tests use it.
func FollowStepwise(source Source, from, clusterID string, after func(step string) error) (report *Report, err error) {
	f, err := openStill(source.Dir, source.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	report, err = inspectFolder(f, source)
	if err != nil {
		return nil, err
	}
	record, err := datadir.ReadRecord(filepath.Dir(from))
	if filepath.Base(from) != datadir.RecoveryFile || record == nil || err != nil {
		return report, errors.Join(fmt.Errorf("%w: %s is not the recovered node's %s", ErrOrder, from, datadir.RecoveryFile), err)
	}
	switch {
	case clusterID != report.ClusterID:
		err = fmt.Errorf("the folder is of cluster %q, not of %q", report.ClusterID, clusterID)
	case len(report.Problems) > 0:
		err = errors.New(strings.Join(report.Problems, "; "))
	default:
		err = checkFollower(record, f)
	}
	if err != nil {
		return report, fmt.Errorf("%w: %w", ErrOrder, err)
	}
	if f.lock == nil {
		if f.lock, err = datadir.Lock(f.fullPath(datadir.LockFile)); err != nil {
			return report, fmt.Errorf("cluster: %s: %w (%w)", f.dir, ErrFolderInUse, err)
		}
	}
	if err := writeFollower(f, record, after); err != nil {
		return report, err
	}
	f.record = record
	state := stateOf(record)
	report.Earlier = &state
	return report, nil
}

// writeFollower writes recovery.json and node.json. If it is killed between the two, no node
// starts on the folder until Follow has run again.
func writeFollower(f *stillFolder, record *datadir.Record, after func(step string) error) error {
	mine := *record
	mine.State = datadir.RecoveryBegun
	if err := mine.Save(f.dir); err != nil {
		return err
	}
	if err := after("begun"); err != nil {
		return err
	}
	if _, err := datadir.Inherit(f.dir, f.identity, record.Recovery, record.Lineage); err != nil {
		return err
	}
	if err := after("identity"); err != nil {
		return err
	}
	mine.State = datadir.RecoveryWaiting
	return mine.Save(f.dir)
}

// checkFollower returns why a folder may not follow this recovery, or nil if it may.
func checkFollower(r *datadir.Record, f *stillFolder) error {
	end := f.logEnd()
	origin := datadir.Survivor{Index: r.LastIndex, Term: r.LastTerm}
	resumed := f.record.Begun() && f.record.Lineage == r.Lineage
	switch {
	case r.State == datadir.RecoveryBegun:
		return fmt.Errorf("the recovery of %s is not finished: finish it first", r.Node)
	case r.ClusterID != f.identity.ClusterID:
		return fmt.Errorf("the recovery is of cluster %q, the folder of cluster %q", r.ClusterID, f.identity.ClusterID)
	case !slices.Contains(r.Kept, f.identity.ID):
		return fmt.Errorf("the recovery of %s does not keep %s: wipe the folder and let the node join anew", r.Node, f.identity.ID)
	case !resumed && f.identity.Recovery+1 != r.Recovery:
		return fmt.Errorf("the folder is of recovery %d and cannot follow recovery %d", f.identity.Recovery, r.Recovery)
	case f.record.Begun() && !resumed:
		return errors.New("another recovery was begun on this folder")
	case end.Ahead(&origin):
		return fmt.Errorf("%s ends at %d/%d, further than %s at %d/%d: recover from %s instead", end.Node, end.Index, end.Term, r.Node, r.LastIndex, r.LastTerm, end.Node)
	}
	for _, m := range r.Former {
		if m.ID == f.identity.ID && m.Incarnation != f.identity.Incarnation {
			return fmt.Errorf("the folder is not the one that the group knows as %s: wipe it and let the node join anew", m.ID)
		}
	}
	if _, err := os.Stat(f.fullPath(filepath.Join(datadir.RaftFolder, datadir.LogFile))); err != nil {
		return err
	}
	return nil
}
