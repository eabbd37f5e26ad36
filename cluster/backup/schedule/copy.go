package schedule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// copyOut writes a backup, reads it back as a restore would, and tells the log. from 0: a full one.
func (r *Runner) copyOut(ctx context.Context, keys *backup.Keys, now time.Time, where wire.BackupSchedule, from uint64, since int64) error {
	state := r.node.Settings().Backups
	if err := r.checkFolder(where.Folder, keys, state); err != nil {
		return err
	}
	if err := backup.Sweep(where.Folder, time.Now()); err != nil {
		r.log.Warn("what broken off copies left in the folder of backups stays", "folder", where.Folder, "error", err)
	}
	if from == 0 && state != nil && state.Full != nil {
		if err := checkRoom(where.Folder, "a full copy", state.Full.Size); err != nil {
			return err
		}
	}
	path := filepath.Join(where.Folder, backup.FileName(now))
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		in.CloseWithError(backup.Saver(r.node, r.dir)(ctx, in, from, since))
	}()
	_, err := backup.Create(path, keys, out)
	err = errors.Join(err, out.Close())
	<-ended
	if err != nil {
		return err
	}
	report, err := backup.Verify(path, keys)
	if err == nil && !backup.IsOf(r.node.Audit(), report.TreeSize, report.TreeHead) {
		err = errors.New("its tree head is not this node's")
	}
	if err != nil {
		return setAside(ctx, path, err)
	}
	copied := &wire.BackupCopy{File: filepath.Base(path), Node: r.node.NodeID(), First: report.From, End: report.TreeSize}
	if copied.Size, copied.Digest, err = sumFile(path); err != nil {
		return err
	}
	what := increment
	if copied.First == 0 {
		what = full
	}
	copies[what].Inc()
	r.log.Info("a backup was written and verified", "file", path, "full", what == full, "bytes", copied.Size, "leaves", report.Leaves, "treeSize", report.TreeSize)
	if err := r.tell(ctx, &wire.Backups{Op: wire.BackupsCopied, Copy: copied}); err != nil {
		return fmt.Errorf("the copy is there, and the log was not told: %w", err)
	}
	r.thinOut(where, keys, report.ClusterID, copied.File)
	return nil
}

// checkFolder refuses a folder that is not there, or that lost all that this node wrote into it: a mount
// is gone, and what was written would fill the node's own disk and be lost with it. The node makes
// no folder for the same reason.
func (r *Runner) checkFolder(folder string, keys *backup.Keys, state *wire.BackupState) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the folder does not exist on %s: mount it, or make it for the user that the node runs as", r.node.NodeID())
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is no folder")
	case state == nil || state.Newest == nil || state.Newest.Node != r.node.NodeID() || state.Newest.At <= state.Since:
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, state.Newest.File)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := backup.FindChain(folder, keys); err == nil {
		return nil // A person took that copy out of a folder that is there.
	}
	return fmt.Errorf("%s, which %s wrote, is not in the folder: is it mounted? If the folder was emptied on purpose, set the schedule again, and a full copy is begun", state.Newest.File, r.node.NodeID())
}

// checkRoom refuses work that would leave less than the node's last mark but one of free space.
func checkRoom(dir, what string, need uint64) error {
	free, total, err := datadir.FreeSpace(dir)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	if spare := min(total/10, 1<<30); free < need+spare {
		return fmt.Errorf("%s needs %d MiB, %s has %d MiB free, and %d must stay free: make room", what, need>>20, dir, free>>20, spare>>20)
	}
	return nil
}

// setAside renames a file that did not read back, unless reading was only ended.
func setAside(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return errors.Join(err, os.Remove(path))
	}
	return errors.Join(fmt.Errorf("read back: %w", err), backup.SetAside(path))
}

// thinOut deletes what is too old. A failure is told and keeps no copy from being taken. While the
// last rehearsal failed nothing is deleted: what is older may be what can be restored.
func (r *Runner) thinOut(where wire.BackupSchedule, keys *backup.Keys, cluster, newest string) {
	state := r.node.Settings().Backups
	if state == nil || state.Drill != nil && state.Drill.Failed != "" {
		return
	}
	if _, err := backup.FindChain(where.Folder, keys); err != nil {
		return // The folder does not show the copy that was just written.
	}
	kept := []string{newest}
	if state.Full != nil {
		kept = append(kept, state.Full.File)
	}
	gone, err := backup.Thin(where.Folder, keys, cluster, int(where.Keep), kept...)
	if err != nil {
		failures[thin].Inc()
		r.log.Error("old backups were not deleted", "folder", where.Folder, "error", err)
	}
	if len(gone) > 0 {
		r.log.Info("old backups were deleted", "folder", where.Folder, "files", len(gone))
	}
}

// rehearse restores what the folder holds into a scratch folder and compares it with this node.
func (r *Runner) rehearse(ctx context.Context, keys *backup.Keys, now time.Time, where wire.BackupSchedule) error {
	drill := &wire.BackupDrill{Node: r.node.NodeID()}
	restored, files, err := r.restoreScratch(keys, now, where.Folder)
	if ctx.Err() != nil {
		return ctx.Err() // Nothing is known, and the log is told nothing.
	}
	drill.Files = uint32(files)
	if err != nil {
		drill.Failed = strings.ToValidUTF8(err.Error()[:min(len(err.Error()), failedMax)], "")
	} else {
		drill.Leaves = restored.Report.TreeSize
		r.log.Info("a restore was rehearsed", "folder", where.Folder, "files", files, "leaves", drill.Leaves)
	}
	return errors.Join(err, r.tell(ctx, &wire.Backups{Op: wire.BackupsDrilled, Drill: drill}))
}

// failedMax bounds the reason that the log keeps, as Apply does.
const failedMax = 256

func (r *Runner) restoreScratch(keys *backup.Keys, now time.Time, folder string) (restored *backup.Restored, files int, err error) {
	chain, err := backup.FindChain(folder, keys)
	if err != nil {
		return nil, 0, err
	}
	need := uint64(0)
	for _, path := range append(append([]string{}, chain.Files...), chain.Tails...) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, files, err
		}
		need, files = need+uint64(info.Size()), files+1
	}
	if err := checkRoom(r.dir, "a rehearsal of a restore", need); err != nil {
		return nil, files, err
	}
	scratch, err := os.MkdirTemp(r.dir, scratchNames)
	if err != nil {
		return nil, files, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	order := backup.Order{Dir: filepath.Join(scratch, "data"), ID: "drill", Now: now, Tails: chain.Tails}
	if restored, err = backup.Restore(chain.Files, keys, order); err != nil {
		return nil, files, err
	}
	if !backup.IsOf(r.node.Audit(), restored.Report.TreeSize, restored.Report.TreeHead) {
		return nil, files, fmt.Errorf("it leads to the tree head %s of %d leaves, which is not this node's", restored.Report.TreeHead, restored.Report.TreeSize)
	}
	return restored, files, errors.Join(backup.ReadBack(restored), backup.HistoryHolds(restored))
}

const (
	tellTries = 5               // The log is told so often: an election in the middle of a copy is over by then.
	tellPause = 2 * time.Second // Between two of them.
)

func (r *Runner) tell(ctx context.Context, said *wire.Backups) error {
	for try := 1; ; try++ {
		result, err := r.node.Propose(ctx, wire.KindBackups, wire.Encode(said))
		if err == nil && result.Refusal != 0 {
			return fmt.Errorf("the log refused the record (%d)", result.Refusal)
		}
		if err == nil || try == tellTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tellPause):
		}
	}
}

func sumFile(path string) (size uint64, digest [32]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, digest, err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return uint64(n), [32]byte(sum.Sum(nil)), errors.Join(err, file.Close())
}
