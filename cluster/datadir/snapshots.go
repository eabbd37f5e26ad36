package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"railguard/engine"
)

const (
	snapshotsKept  = 3 // Raft refuses to start if no snapshot can be opened, so two more are kept.
	SnapshotFolder = "snapshots"
)

// Snapshots is raft's file store with files that only their owner reads:
// snapshots hold personal data.
type Snapshots struct {
	raft.SnapshotStore
	Dir  string
	disk Disk

	Watched func(what string) (done func()) // Watches each step of writing a snapshot; nil: nobody does.
}

// OpenSnapshots opens the store in raft's folder.
func OpenSnapshots(disk Disk, dir string, logger hclog.Logger) (*Snapshots, error) {
	store, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, logger)
	if err != nil {
		return nil, fmt.Errorf("cluster: snapshots: %w", err)
	}
	s := &Snapshots{SnapshotStore: store, Dir: filepath.Join(dir, SnapshotFolder), disk: disk}
	return s, s.restrictRights()
}

// restrictRights removes all rights except the owner's.
func (s *Snapshots) restrictRights() error {
	return filepath.WalkDir(s.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			mode := fs.FileMode(0o600)
			if entry.IsDir() {
				mode = 0o700
			}
			err = os.Chmod(path, mode)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // An old snapshot that was removed meanwhile.
		}
		return err
	})
}

// Forget deletes the snapshots at or below an index, except the newest of all.
func (s *Snapshots) Forget(index uint64) error {
	metas, err := s.List()
	if err != nil {
		return err
	}
	for i, meta := range metas {
		if i == 0 || meta.Index > index {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.Dir, meta.ID)); err != nil {
			return fmt.Errorf("snapshot %s: %w", meta.ID, err)
		}
	}
	return nil
}

// StateOf returns the path of a snapshot's state.
func (s *Snapshots) StateOf(id string) string { return filepath.Join(s.Dir, id, SnapshotStateFile) }

// Create implements raft.SnapshotStore.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
	defer s.watchStep()()
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, transport)
	if err != nil {
		return nil, err
	}
	return &privateSink{sink, s}, nil
}

// watchStep watches one step of writing a snapshot. The whole may take minutes.
func (s *Snapshots) watchStep() func() {
	if s.Watched == nil {
		return func() {}
	}
	return s.Watched("write of a snapshot")
}

type privateSink struct {
	raft.SnapshotSink
	store *Snapshots
}

// Write implements io.Writer.
func (s *privateSink) Write(p []byte) (int, error) {
	defer s.store.watchStep()()
	return s.SnapshotSink.Write(p)
}

// syncStep syncs what was written so far.
func (s *privateSink) syncStep(file *os.File) error {
	defer s.store.watchStep()()
	return file.Sync()
}

// openFile opens the file that raft's sink writes a second time.
func (s *privateSink) openFile() (*os.File, error) {
	return os.Open(filepath.Join(s.store.Dir, s.ID()+".tmp", "state.bin"))
}

// A snapshot is written to the same disk as the log and beside screening, and nobody waits for
// it. Written in one go, it delayed every call for as long as the writing took. So it is
// written in steps, each with its own sync, with pauses between them.
const (
	snapshotStep  = 512 * engine.KiB
	snapshotShare = 4 // Writing takes one part in so many of the time, or more if the pause would be longer than snapshotPause.
	snapshotPause = 100 * time.Millisecond
)

// gentle writes in steps with pauses.
type gentle struct {
	sink  io.Writer
	sync  func() error // Syncs what sink has written.
	hurry func() bool  // Returns true when the node stops: then there are no more pauses.
	since int          // Bytes since the last step ended.
	start time.Time    // When this step began.
}

// Write implements io.Writer.
func (g *gentle) Write(p []byte) (int, error) {
	n, err := g.sink.Write(p)
	if g.since += n; err != nil || g.since < snapshotStep {
		return n, err
	}
	if err := g.sync(); err != nil {
		return n, err
	}
	if !g.hurry() {
		time.Sleep(min((snapshotShare-1)*time.Since(g.start), snapshotPause))
	}
	g.since, g.start = 0, time.Now()
	return n, nil
}

// writeInSteps writes data that is complete already, a step at a time.
func writeInSteps(g *gentle, data []byte) error {
	for len(data) > 0 {
		n, err := g.Write(data[:min(len(data), snapshotStep)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// WriteGently writes a state into a sink. It writes in steps if the sink is ours.
func WriteGently(sink raft.SnapshotSink, state io.WriterTo, hurry func() bool) error {
	private, ours := sink.(*privateSink)
	if !ours {
		_, err := state.WriteTo(sink)
		return err
	}
	file, err := private.openFile()
	if err != nil {
		return err
	}
	_, err = state.WriteTo(&gentle{sink: private, sync: func() error { return private.syncStep(file) }, hurry: hurry, start: time.Now()})
	return errors.Join(err, file.Close())
}

// Close implements raft.SnapshotSink. Raft's store syncs the two files of a snapshot and the
// name of its folder, but not their names in that folder. Without those a power cut could leave
// an empty snapshot and a log that was cut because of it.
func (s *privateSink) Close() error {
	defer s.store.watchStep()()
	if err := s.store.restrictRights(); err != nil {
		return err
	}
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	if err := s.store.disk.SyncFolder(filepath.Join(s.store.Dir, s.ID())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %s: %w", s.ID(), err)
	}
	return nil
}
