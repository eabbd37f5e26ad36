package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railguard/cluster/port"
)

// Follow makes another survivor a member of a recovered group with the folder it
// has. from is recovery.json of the survivor that was recovered. Its log is left as
// it is: the recovered node leads, and what this one has more or other at its end
// was never committed, and goes as raft lets such entries go. The two people have
// given their word there; clusterID is typed again here.
func Follow(source RecoverySource, from, clusterID string) (report *RecoveryReport, err error) {
	f, err := openStill(source.Dir, source.ID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	report, err = inspect(f, source)
	if err != nil {
		return nil, err
	}
	record, err := readRecord(filepath.Dir(from))
	if filepath.Base(from) != recoveryFile || record == nil || err != nil {
		return report, errors.Join(fmt.Errorf("%w: %s is not the recovered node's %s", ErrRecoveryOrder, from, recoveryFile), err)
	}
	switch {
	case clusterID != report.ClusterID:
		err = fmt.Errorf("the folder is of cluster %q, not of %q", report.ClusterID, clusterID)
	case len(report.Problems) > 0:
		err = errors.New(strings.Join(report.Problems, "; "))
	default:
		err = record.admits(f)
	}
	if err != nil {
		return report, fmt.Errorf("%w: %w", ErrRecoveryOrder, err)
	}
	if f.lock == nil {
		if f.lock, err = lockPath(f.path(lockFile)); err != nil {
			return report, fmt.Errorf("cluster: %s: %w (%w)", f.dir, ErrFolderInUse, err)
		}
	}
	if err := follow(f, record, func(string) error { return nil }); err != nil {
		return report, err
	}
	f.record = record
	state := record.state()
	report.Earlier = &state
	return report, nil
}

// follow writes the two files; killed between them, the folder is refused at start
// until it is done again.
func follow(f *stillFolder, record *recoveryRecord, after func(step string) error) error {
	mine := *record
	mine.State = recoveryBegun
	if err := mine.save(f.dir); err != nil {
		return err
	}
	if err := after("begun"); err != nil {
		return err
	}
	who := folder{path: f.dir, identity: f.identity}
	if err := who.inherit(record.Recovery, record.Lineage); err != nil {
		return err
	}
	if err := after("identity"); err != nil {
		return err
	}
	mine.State = recoveryWaiting
	return mine.save(f.dir)
}

// admits says why a folder may not follow this recovery.
func (r *recoveryRecord) admits(f *stillFolder) error {
	end := f.end()
	origin := SurvivorIndex{Index: r.LastIndex, Term: r.LastTerm}
	resumed := f.record.begun() && f.record.Lineage == r.Lineage
	switch {
	case r.State == recoveryBegun:
		return fmt.Errorf("the recovery of %s is not finished: finish it first", r.Node)
	case r.ClusterID != f.identity.ClusterID:
		return fmt.Errorf("the recovery is of cluster %q, the folder of cluster %q", r.ClusterID, f.identity.ClusterID)
	case !slices.Contains(r.Kept, f.identity.ID):
		return fmt.Errorf("the recovery of %s does not keep %s: wipe the folder and let the node join anew", r.Node, f.identity.ID)
	case !resumed && f.identity.Recovery+1 != r.Recovery:
		return fmt.Errorf("the folder is of recovery %d and cannot follow recovery %d", f.identity.Recovery, r.Recovery)
	case f.record.begun() && !resumed:
		return errors.New("another recovery was begun on this folder")
	case end.ahead(&origin):
		return fmt.Errorf("%s ends at %d/%d, further than %s at %d/%d: recover from %s instead", end.Node, end.Index, end.Term, r.Node, r.LastIndex, r.LastTerm, end.Node)
	}
	for _, m := range r.Former {
		if m.ID == f.identity.ID && m.Incarnation != port.Shown(f.identity.Incarnation) {
			return fmt.Errorf("the folder is not the one that the group knows as %s: wipe it and let the node join anew", m.ID)
		}
	}
	if _, err := os.Stat(f.path(filepath.Join(raftFolder, logFile))); err != nil {
		return err
	}
	return nil
}
