package schedule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/backup"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Node is the part of a running node that its backups need.
type Node interface {
	backup.Node
	Role() string // "leader" on the one node that copies.
	Settings() *fsm.Settings
	EachEntry(from, to uint64, visit func(index, term uint64, data []byte) error) error
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)
}

// Runner copies the cluster while this node leads. The leader does it, because there is at most one
// that the others follow, and it has all that was acknowledged; the next leader goes on with what
// stands in the folder, or begins anew where its folder is another one.
type Runner struct {
	node   Node
	dir    string // The node's data folder.
	keys   *backup.Keys
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup

	// What the folder holds; nil: it was not looked at since this node leads, or since something
	// failed.
	chain   *backup.Chain
	size    uint64              // Leaves in it, tails included.
	shipped int64               // Up to when all that was acknowledged is in it, in Unix nanoseconds.
	of      wire.BackupSchedule // The schedule to which chain belongs.
	wait    time.Time           // After a failure nothing is tried before.

	problem atomic.Pointer[string]
}

const (
	stepEvery    = time.Second
	failureWait  = 30 * time.Second
	quietEvery   = 10 * time.Minute // So often a tail without a new leaf is shipped.
	scratchNames = "drill-"
)

// New returns a runner that does nothing before Start. dir is the node's data folder.
func New(node Node, dir string, keys *backup.Keys, log *slog.Logger) *Runner {
	return &Runner{node: node, dir: dir, keys: keys, log: log, cancel: func() {}}
}

// Start starts the runner's goroutine.
func (r *Runner) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done.Add(1)
	go func() {
		defer r.done.Done()
		r.forgetScratch()
		ticker := time.NewTicker(stepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				r.Step(ctx, now)
			}
		}
	}()
}

// Stop stops the goroutine and waits for its end.
func (r *Runner) Stop() {
	r.cancel()
	r.done.Wait()
}

// Problem says why the last copy, tail or rehearsal failed; "": nothing failed since.
func (r *Runner) Problem() string {
	if said := r.problem.Load(); said != nil {
		return *said
	}
	return ""
}

// Step does what is due at a time.
func (r *Runner) Step(ctx context.Context, now time.Time) {
	state := r.node.Settings().Backups
	shown.Store(state)
	if state == nil || state.Schedule == nil || r.node.Role() != "leader" {
		r.chain = nil
		r.problem.Store(nil)
		shipped.Store(0)
		return
	}
	if r.of != *state.Schedule {
		r.of, r.chain, r.wait = *state.Schedule, nil, time.Time{}
	}
	if now.Before(r.wait) || ctx.Err() != nil {
		return
	}
	what, failed, do := r.findDue(state, now)
	if do == nil {
		return
	}
	if err := do(ctx, now); err != nil && ctx.Err() == nil {
		failed.Inc()
		said := fmt.Sprintf("backup to %s: %s: %v", r.of.Folder, what, err)
		r.log.Error("the cluster's own backup failed", "what", what, "folder", r.of.Folder, "error", err)
		r.problem.Store(&said)
		r.chain, r.wait = nil, now.Add(failureWait)
		return
	}
	r.problem.Store(nil)
}

// counter is a counter of failures.
type counter interface{ Inc() }

// findDue returns what is to be done now, and the counter of its failures; nil: nothing is.
func (r *Runner) findDue(state *wire.BackupState, now time.Time) (what string, failed counter, do func(context.Context, time.Time) error) {
	if r.chain == nil {
		r.openChain(r.node.Settings())
	}
	past := func(nanos int64, seconds uint32) bool {
		return now.Sub(time.Unix(0, nanos)) >= time.Duration(seconds)*time.Second
	}
	switch {
	case r.chain == nil || past(r.chain.Full().LogNanos, r.of.Full):
		return "full copy", copyFailures, func(ctx context.Context, now time.Time) error { return r.copyOut(ctx, now, true) }
	case past(r.chain.Newest().LogNanos, r.of.Increment):
		return "increment", copyFailures, func(ctx context.Context, now time.Time) error { return r.copyOut(ctx, now, false) }
	case past(r.shipped, r.of.Tail):
		return "tail", tailFailures, r.ship
	case r.of.Drill > 0 && (state.Drill == nil || past(int64(state.Drill.At), r.of.Drill)):
		return "rehearsal of a restore", drillFailures, r.rehearse
	}
	return "", nil, nil
}

// openChain looks for what the folder holds of this cluster and this lineage. What is of another past
// is left alone, and a full backup is begun.
func (r *Runner) openChain(settings *fsm.Settings) {
	chain, err := backup.FindChain(r.of.Folder, r.keys)
	if err != nil {
		return // A full copy says what is wrong with the folder.
	}
	newest := chain.Newest()
	if newest.Lineage != settings.Lineage || !backup.IsOf(r.node.Audit(), newest.TreeSize, newest.TreeHead) { // The tree's first leaf names the cluster.
		return
	}
	r.chain, r.size = chain, newest.TreeSize
	r.noteShipped(chain.Since)
}

// copyOut writes a backup, reads it back as a restore would, and tells the log.
func (r *Runner) copyOut(ctx context.Context, now time.Time, full bool) error {
	from, since := uint64(0), int64(0)
	if !full {
		from, since = r.chain.Newest().TreeSize, r.chain.Newest().LogNanos
	}
	path := filepath.Join(r.of.Folder, backup.FileName(now))
	if err := os.MkdirAll(r.of.Folder, 0o700); err != nil {
		return err
	}
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		in.CloseWithError(backup.Saver(r.node, r.dir)(ctx, in, from, since))
	}()
	_, err := backup.Create(path, r.keys, out)
	err = errors.Join(err, out.Close())
	<-ended
	if err != nil {
		return err
	}
	report, err := backup.Verify(path, r.keys)
	if err != nil {
		return errors.Join(fmt.Errorf("read back: %w", err), os.Rename(path, path+".damaged"))
	}
	if !backup.IsOf(r.node.Audit(), report.TreeSize, report.TreeHead) {
		return errors.Join(errors.New("read back: its tree head is not this node's"), os.Rename(path, path+".damaged"))
	}
	copied := &wire.BackupCopy{File: filepath.Base(path), Node: r.node.NodeID(), First: report.From, End: report.TreeSize}
	if copied.Size, copied.Digest, err = sumFile(path); err != nil {
		return err
	}
	if full {
		fullCopies.Inc()
	} else {
		increments.Inc()
	}
	r.log.Info("a backup was written and verified", "file", path, "full", full, "bytes", copied.Size, "leaves", report.Leaves, "treeSize", report.TreeSize)
	if err := r.tell(ctx, &wire.Backups{Op: wire.BackupsCopied, Copy: copied}); err != nil {
		return fmt.Errorf("the copy is there, and the log was not told: %w", err)
	}
	r.openChain(r.node.Settings())
	r.thin(copied.File)
	return nil
}

func (r *Runner) noteShipped(until int64) {
	r.shipped = until
	shipped.Store(until)
}

// thin deletes what is too old. A failure is told and keeps no copy from being taken.
func (r *Runner) thin(newest string) {
	if r.chain == nil {
		return // The folder does not show the copy that was just written: nothing is deleted.
	}
	kept := []string{newest}
	if state := r.node.Settings().Backups; state != nil && state.Full != nil {
		kept = append(kept, state.Full.File)
	}
	gone, err := backup.Thin(r.of.Folder, r.keys, r.chain.Newest().ClusterID, int(r.of.Keep), kept...)
	if err != nil {
		thinFailures.Inc()
		r.log.Error("old backups were not deleted", "folder", r.of.Folder, "error", err)
	}
	if len(gone) > 0 {
		r.log.Info("old backups were deleted", "folder", r.of.Folder, "files", len(gone))
	}
}

// ship writes what the log took since the last copy or tail. Where the log does not go back so far,
// an increment takes the place of the tail.
func (r *Runner) ship(ctx context.Context, now time.Time) error {
	view, err := r.node.View(ctx, 0)
	if err != nil {
		return err
	}
	quiet := view.Size == r.size && now.Sub(time.Unix(0, r.chain.Since)) < quietEvery
	if view.Index <= r.chain.Last || quiet { // Nothing was acknowledged since: the folder has it all.
		r.noteShipped(now.UnixNano())
		return nil
	}
	head := backup.TailOf(view, r.chain.Newest(), r.node.NodeID(), r.chain.Last+1)
	path := filepath.Join(r.of.Folder, backup.TailName(head.First, head.Last))
	if err := backup.CreateTail(path, r.keys, head, r.node.EachEntry); err != nil {
		r.log.Warn("a tail of the log was not shipped: an increment takes its place", "error", err)
		return r.copyOut(ctx, now, false)
	}
	if _, err := backup.ReadTail(path, r.keys, nil); err != nil {
		return errors.Join(fmt.Errorf("read back: %w", err), os.Rename(path, path+".damaged"))
	}
	tails.Inc()
	r.chain.Tails, r.chain.Last, r.chain.Since, r.size = append(r.chain.Tails, path), head.Last, now.UnixNano(), head.TreeSize
	r.noteShipped(now.UnixNano())
	return nil
}

// rehearse restores what the folder holds into a scratch folder and compares it with this node.
func (r *Runner) rehearse(ctx context.Context, now time.Time) error {
	drill := &wire.BackupDrill{Node: r.node.NodeID()}
	restored, files, err := r.restoreScratch(now)
	drill.Files = uint32(files)
	if err != nil {
		drill.Failed = strings.ToValidUTF8(err.Error()[:min(len(err.Error()), failedMax)], "")
	} else {
		drill.Leaves = restored.Report.TreeSize
		r.log.Info("a restore was rehearsed", "folder", r.of.Folder, "files", files, "leaves", drill.Leaves)
	}
	return errors.Join(err, r.tell(ctx, &wire.Backups{Op: wire.BackupsDrilled, Drill: drill}))
}

// failedMax bounds the reason that the log keeps, as Apply does.
const failedMax = 256

func (r *Runner) restoreScratch(now time.Time) (restored *backup.Restored, files int, err error) {
	chain, err := backup.FindChain(r.of.Folder, r.keys)
	if err != nil {
		return nil, 0, err
	}
	files = len(chain.Files) + len(chain.Tails)
	scratch, err := os.MkdirTemp(r.dir, scratchNames)
	if err != nil {
		return nil, files, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	order := backup.Order{Dir: filepath.Join(scratch, "data"), ID: "drill", Now: now, Tails: chain.Tails}
	if restored, err = backup.Restore(chain.Files, r.keys, order); err != nil {
		return nil, files, err
	}
	if !backup.IsOf(r.node.Audit(), restored.Report.TreeSize, restored.Report.TreeHead) {
		return nil, files, fmt.Errorf("it leads to the tree head %s of %d leaves, which is not this node's", restored.Report.TreeHead, restored.Report.TreeSize)
	}
	return restored, files, errors.Join(backup.ReadBack(restored), backup.HistoryHolds(restored))
}

// forgetScratch removes what a rehearsal left that was killed.
func (r *Runner) forgetScratch() {
	left, _ := filepath.Glob(filepath.Join(r.dir, scratchNames+"*")) // The pattern is right.
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			r.log.Warn("the scratch folder of a rehearsal stays", "folder", dir, "error", err)
		}
	}
}

func (r *Runner) tell(ctx context.Context, said *wire.Backups) error {
	result, err := r.node.Propose(ctx, wire.KindBackups, wire.Encode(said))
	if err == nil && result.Refusal != 0 {
		err = fmt.Errorf("the log refused the record (%d)", result.Refusal)
	}
	return err
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
