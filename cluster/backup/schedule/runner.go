package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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
	TellBackup(problem string) // Says what fails, to whoever asks any node; "": nothing.
}

// Runner copies the cluster while this node leads. The leader does it, because there is at most one
// that the others follow, and it has all that was acknowledged; the next leader goes on with what
// stands in the folder, or begins anew where its folder is another one.
//
// Copies and rehearsals take minutes or hours. They run beside the steps, one at a time, and tails
// are shipped meanwhile: the steps own what the folder holds, and long work owns what it was given.
type Runner struct {
	node   Node
	dir    string // The node's data folder.
	keys   *backup.Keys
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
	begin  func(work func()) // Runs long work: at once before Start, beside the steps after it.
	ended  chan outcome      // How long work ended; at most one is under way.
	end    context.CancelFunc
	trying [kinds]attempts

	// What the folder holds; nil: it was not looked at since this node leads, or since something
	// failed.
	chain  *backup.Chain
	looked time.Time
	size   uint64              // Leaves in it, tails included.
	last   uint64              // The last entry in a tail that this process shipped; 0: none.
	short  bool                // A tail could not be shipped: an increment is due.
	of     wire.BackupSchedule // The schedule to which chain belongs.

	problem string // Why the last copy, tail or rehearsal failed; "": nothing failed since.
}

// outcome is how long work ended.
type outcome struct {
	kind kind
	err  error
}

const (
	stepEvery    = time.Second
	quietEvery   = 10 * time.Minute // So often a tail without a new leaf is shipped.
	scratchNames = "drill-"
)

// New returns a runner that does nothing before Start. dir is the node's data folder.
func New(node Node, dir string, keys *backup.Keys, log *slog.Logger) *Runner {
	return &Runner{node: node, dir: dir, keys: keys, log: log, cancel: func() {}, begin: func(work func()) { work() }, ended: make(chan outcome, 1)}
}

// Start starts the runner's goroutine.
func (r *Runner) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.begin = func(work func()) { r.done.Go(work) }
	r.done.Go(func() {
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
	})
}

// Stop stops the goroutine and what it began, and waits for their end.
func (r *Runner) Stop() {
	r.cancel()
	r.done.Wait()
}

// Step does what is due at a time: it ships a tail, and begins a copy or a rehearsal.
func (r *Runner) Step(ctx context.Context, now time.Time) {
	r.takeOutcome(ctx, now)
	state := r.node.Settings().Backups
	shown.Store(state)
	if state == nil || state.Schedule == nil || r.node.Role() != "leader" {
		r.rest()
		return
	}
	if r.of != *state.Schedule {
		r.rest()
		r.of = *state.Schedule
	}
	if ctx.Err() != nil {
		return
	}
	if r.chain == nil && (!r.trying[full].waits(now) || now.Sub(r.looked) >= tailWaitMax) {
		r.looked = now
		// What is wrong with the folder a full copy says. Where it is back, as a mount, nothing of what failed counts.
		if r.openChain(r.node.Settings()) == nil {
			r.trying = [kinds]attempts{drill: r.trying[drill]}
		}
	}
	if r.chain != nil && r.trying[tail].isDue(now, r.chain.Since, r.of.Tail) {
		r.note(ctx, now, outcome{tail, r.ship(ctx, now)})
	}
	if r.end == nil {
		r.beginLong(ctx, now, state)
	}
	r.takeOutcome(ctx, now)
}

// rest forgets what belongs to a leader's work, and ends what is under way.
func (r *Runner) rest() {
	if r.end != nil {
		r.end()
	}
	r.chain, r.short, r.last, r.trying = nil, false, 0, [kinds]attempts{}
	r.say("")
	shipped.Store(0)
}

// beginLong begins the copy or the rehearsal that is due.
func (r *Runner) beginLong(ctx context.Context, now time.Time, state *wire.BackupState) {
	due, do := r.findDue(now, state)
	if do == nil {
		return
	}
	ctx, r.end = context.WithCancel(ctx)
	keys := r.keys.Until(ctx)
	r.begin(func() {
		err := do(ctx, keys, now)
		if ctx.Err() != nil {
			err = context.Canceled // Whatever a file that was read to half is said to have.
		}
		r.ended <- outcome{due, err}
	})
}

// findDue returns what long work is due; nil: none is.
func (r *Runner) findDue(now time.Time, state *wire.BackupState) (kind, func(context.Context, *backup.Keys, time.Time) error) {
	copyFrom := func(from uint64, since int64) func(context.Context, *backup.Keys, time.Time) error {
		where := *state.Schedule
		return func(ctx context.Context, keys *backup.Keys, now time.Time) error {
			return r.copyOut(ctx, keys, now, where, from, since)
		}
	}
	switch {
	case r.chain == nil && !r.trying[full].waits(now), r.chain != nil && r.trying[full].isDue(now, r.chain.Full().LogNanos, r.of.Full), doubted(state) && !r.trying[full].waits(now):
		return full, copyFrom(0, 0)
	case r.chain == nil:
		return 0, nil
	case r.short && !r.trying[increment].waits(now), r.trying[increment].isDue(now, r.chain.Newest().LogNanos, r.of.Increment):
		return increment, copyFrom(r.chain.Newest().TreeSize, r.chain.Newest().LogNanos)
	case r.of.Drill > 0 && r.isDrillDue(now, state):
		where := *state.Schedule
		return drill, func(ctx context.Context, keys *backup.Keys, now time.Time) error {
			return r.rehearse(ctx, keys, now, where)
		}
	}
	return 0, nil
}

// isDrillDue reports whether a restore is to be rehearsed: at its time, and once more when a full
// copy was written after a rehearsal that failed.
func (r *Runner) isDrillDue(now time.Time, state *wire.BackupState) bool {
	last, of := state.Drill, &r.trying[drill]
	if last == nil {
		return !of.waits(now)
	}
	again := last.Failed != "" && state.Full != nil && state.Full.At > last.At && of.wait <= waitMin
	return again && !of.waits(now) || of.isDue(now, int64(last.At), r.of.Drill)
}

// doubted reports whether the last rehearsal failed and no full copy was written since: what the
// folder holds is not gone on with.
func doubted(state *wire.BackupState) bool {
	return state.Drill != nil && state.Drill.Failed != "" && (state.Full == nil || state.Full.At < state.Drill.At)
}

// takeOutcome notes how long work ended, if it did.
func (r *Runner) takeOutcome(ctx context.Context, now time.Time) {
	select {
	case is := <-r.ended:
		r.end()
		r.end = nil
		if errors.Is(is.err, context.Canceled) {
			return // It was ended: the next leader goes on, or this one by another schedule.
		}
		if is.err == nil && is.kind != drill {
			r.chain, r.short = nil, false
			if err := r.openChain(r.node.Settings()); err != nil {
				is.err = fmt.Errorf("it was written, and the folder does not show it: %w", err)
			}
		}
		r.note(ctx, now, is)
	default:
	}
}

// note tells what became of one attempt, and when the next may be.
func (r *Runner) note(ctx context.Context, now time.Time, is outcome) {
	if r.trying[is.kind].note(now, is.err, is.kind.waitMax()); is.err == nil {
		if is.kind == full {
			r.trying[increment] = r.trying[full] // A full copy is a newer one than an increment.
		}
		if failing(&r.trying) == 0 {
			r.say("")
		}
		return
	}
	if is.kind == drill {
		r.trying[drill].done = now // It was told to the log: it is not repeated before its time.
	}
	if ctx.Err() != nil || r.node.Role() != "leader" {
		return // The next leader goes on.
	}
	failures[is.kind].Inc()
	r.log.Error("the cluster's own backup failed", "what", is.kind.String(), "folder", r.of.Folder, "error", is.err, "again", r.trying[is.kind].wait.String())
	r.say(fmt.Sprintf("backup on %s to %s: %s: %v", r.node.NodeID(), r.of.Folder, is.kind, is.err))
	if is.kind != drill {
		r.chain = nil
		_ = r.openChain(r.node.Settings()) // Tails go on where the folder still holds a chain.
	}
}

func (r *Runner) say(problem string) {
	if r.problem != problem {
		r.problem = problem
		r.node.TellBackup(problem)
	}
}

// openChain looks for what the folder holds of this cluster and this lineage. What is of another past
// is left alone, and a full backup is begun.
func (r *Runner) openChain(settings *fsm.Settings) error {
	chain, err := backup.FindChain(r.of.Folder, r.keys)
	if err != nil {
		return err
	}
	newest := chain.Newest()
	if newest.Lineage != settings.Lineage || !backup.IsOf(r.node.Audit(), newest.TreeSize, newest.TreeHead) { // The tree's first leaf names the cluster.
		return fmt.Errorf("%s is not of this cluster's past", filepath.Base(chain.Files[len(chain.Files)-1]))
	}
	r.chain, r.size = chain, newest.TreeSize
	shipped.Store(chain.Since)
	return nil
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
		shipped.Store(now.UnixNano())
		return nil
	}
	keys := r.keys.Until(ctx)
	create := func(first uint64) (path string, head *backup.EntriesHead, err error) {
		head = backup.TailOf(view, r.chain.Newest(), r.node.NodeID(), first)
		path = filepath.Join(r.of.Folder, backup.TailName(head.First, head.Last))
		return path, head, backup.CreateTail(path, keys, head, r.node.EachEntry)
	}
	// A tail goes on from the tail before it, also where a copy lies between: the copy before that
	// one and all tails lead as far, should the copy turn out to be of no use.
	first := r.chain.Last + 1
	if r.last > 0 {
		first = min(first, r.last+1)
	}
	path, head, err := create(first)
	if err != nil && first <= r.chain.Last {
		path, head, err = create(r.chain.Last + 1)
	}
	if err != nil {
		r.short = true
		return fmt.Errorf("%w: an increment takes its place", err)
	}
	if _, err := backup.ReadTail(path, keys, nil); err != nil {
		return setAside(ctx, path, err)
	}
	copies[tail].Inc()
	r.chain.Tails, r.chain.Last, r.chain.Since, r.size = append(r.chain.Tails, path), head.Last, now.UnixNano(), head.TreeSize
	r.last = head.Last
	shipped.Store(now.UnixNano())
	return nil
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
