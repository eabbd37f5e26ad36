package cluster

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
)

// stores are the files that a node has on disk.
type stores struct {
	folder *datadir.Folder
	audit  *audit.Store
	indexes
	store datadir.LogStore
	snaps *datadir.Snapshots

	reached *datadir.Reached
	guarded *datadir.Guarded // Guards store.
}

// openStores opens the stores in the folder, which is open already.
func (s *stores) openStores(config *Config, l *life) (err error) {
	history := config.History
	if history == nil {
		history = audit.OSDir(s.folder.Sub(datadir.AuditFolder))
	}
	if s.audit, err = audit.Open(history, audit.Options{SegmentLevel: config.SegmentLevel, MakeWay: config.Calls.MakeWay}); err != nil {
		return fmt.Errorf("cluster: history: %w", err)
	}
	tellFound(l.log, s.audit.Report())
	if err = s.openIndexes(config, s.folder, s.audit, l); err != nil {
		return fmt.Errorf("cluster: index of history: %w", err)
	}
	if s.store, err = config.OpenLog(s.folder.Sub(datadir.RaftFolder)); err != nil {
		return err
	}
	if s.snaps, err = datadir.OpenSnapshots(config.Disk, s.folder.Sub(datadir.RaftFolder), newRaftLogger(l.log)); err != nil {
		return err
	}
	if s.reached, err = datadir.OpenReached(config.Disk, config.DataDir); err != nil {
		return err
	}
	kept, err := s.newestSnapshot()
	if err != nil {
		return err
	}
	return s.reached.CheckLog(config.DataDir, s.store, kept)
}

func (s *stores) closeStores() error {
	var errs []error
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	errs = append(errs, s.closeIndexes())
	if s.audit != nil {
		errs = append(errs, s.audit.Close())
	}
	if s.reached != nil {
		errs = append(errs, s.reached.Close())
	}
	if s.folder != nil {
		errs = append(errs, s.folder.Close())
	}
	return errors.Join(errs...)
}

// dropSupersededLog finishes the installation of a snapshot that a kill interrupted (guard G3):
// the snapshot is there, and all or part of the log before it too. Raft cuts that log only
// while it installs. It may have entries that a former leader never got committed, and the log
// would go on behind a hole.
func (s *stores) dropSupersededLog(store *datadir.Guarded, log *slog.Logger) error {
	metas, err := s.snaps.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil || last == 0 || last >= metas[0].Index {
		return err
	}
	_, source, err := s.snaps.Open(metas[0].ID)
	if err != nil {
		return nil //nolint:nilerr // Raft starts from an older one, and needs these entries.
	}
	if err := source.Close(); err != nil {
		return err
	}
	log.Warn("the log ends before the snapshot that was being installed: it is cut", "last", last, "snapshot", metas[0].Index)
	return store.DeleteRange(first, last)
}

// newestSnapshot returns the last entry in the newest snapshot; 0: there is none.
func (s *stores) newestSnapshot() (uint64, error) {
	metas, err := s.snaps.List()
	if err != nil || len(metas) == 0 {
		return 0, err
	}
	return metas[0].Index, nil
}

// newestSnapshot is the same for what only shows it; 0: there is none, or it cannot be told.
func newestSnapshot(store raft.SnapshotStore) uint64 {
	metas, err := store.List()
	if err != nil || len(metas) == 0 {
		return 0
	}
	return metas[0].Index
}

// beginsBehind reports whether a log begins right behind an entry that is the last one in the
// newest snapshot (guard G6).
func beginsBehind(log raft.LogStore, snapshots raft.SnapshotStore, index, term uint64) bool {
	if first, err := log.FirstIndex(); err != nil || first != index+1 {
		return false
	}
	metas, err := snapshots.List()
	return err == nil && len(metas) > 0 && metas[0].Index == index && metas[0].Term == term
}
