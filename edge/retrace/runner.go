package retrace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/engine"
	"railguard/strictjson"
)

// Kind says what a job does.
type Kind uint8

// The kinds. A job's id begins with the prefix of its kind.
const (
	Backtest Kind = 1 // Judges the records between two times again, and ends.
	Shadow   Kind = 2 // Judges records from now on, until it is stopped.
)

var prefixes = map[Kind]string{Backtest: "bt_", Shadow: "shd_"}

// State is the state of a job.
type State uint8

// The states of a job.
const (
	Running State = iota
	Done
	Cancelled
	Failed
)

var stateNames = [...]string{Running: "running", Done: "done", Cancelled: "cancelled", Failed: "failed"}

const (
	// FinishedKept is how many jobs of a kind that have ended a node remembers.
	FinishedKept = 16
	// ShadowMax is how long a shadow follows the log.
	ShadowMax = 30 * engine.DayLength

	followEvery = 250 * time.Millisecond
	randomBytes = 6
)

var (
	// ErrBusy: a job of the kind runs on this node already.
	ErrBusy = errors.New("a job of this kind runs on this node already")
	// ErrClosed: the node is going down.
	ErrClosed = errors.New("the node is going down")
)

// Order describes a job to be done.
type Order struct {
	Kind     Kind
	Terms    Terms
	Document []byte // The policy as it was given; nil: none.
	ListID   string // The id of the list that people see; "": none was given.
	From, To engine.Time
	By       string // Id of the API key.
	Now      engine.Time
}

// Job is one run of a trace. It is safe for concurrent use.
type Job struct {
	ID    string
	Order Order
	node  string

	stop context.CancelFunc

	trace       *Trace     // Used by the job's goroutine. Others may only use its tally.
	first       uint64     // Index of the first leaf it looks at.
	savedResult *jobResult // Result of a job that ended before the last restart; nil: the trace has it.

	mu      sync.Mutex // Guards the fields below.
	state   State
	why     string // Text of a failure, for people.
	next    uint64 // Index of the next leaf.
	last    uint64
	endedAt engine.Time
}

// JobRunner runs the jobs of one node, one of a kind at a time, and remembers a few ended ones.
// With a store it keeps them across a restart of the node: see Resume.
type JobRunner struct {
	node        string
	history     History
	fetch       func(ctx context.Context, index uint64) ([]byte, error)
	sources     Sources
	logTime     func() engine.Time
	rest        int
	makeWay     func()                       // nil: nobody waits.
	store       JobStore                     // nil: jobs end with the process.
	reportError func(text string, err error) // Called with errors of the store.

	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	jobs []*Job // Oldest first.
}

// NewJobRunner opens the runner of a node. logTime is log time as the node knows it.
func NewJobRunner(node string, history History, fetch func(context.Context, uint64) ([]byte, error), sources Sources, logTime func() engine.Time) *JobRunner {
	ctx, end := context.WithCancel(context.Background())
	return &JobRunner{node: node, history: history, fetch: fetch, sources: sources, logTime: logTime, rest: walkRest, ctx: ctx, end: end}
}

// SetMakeWay sets what jobs do between two steps to make way for verdicts, before the first job.
func (d *JobRunner) SetMakeWay(makeWay func()) { d.makeWay = makeWay }

// Close stops every job and waits for them.
func (d *JobRunner) Close() {
	d.end()
	d.running.Wait()
}

// NodeOf returns the node that a job's id names, "" if the id is not of the kind.
func NodeOf(kind Kind, id string) string {
	rest, ours := strings.CutPrefix(id, prefixes[kind])
	if !ours || len(rest) < 2*randomBytes+2 || rest[2*randomBytes] != '_' {
		return ""
	}
	return rest[2*randomBytes+1:]
}

// Start begins a job.
func (d *JobRunner) Start(order Order) (*Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return nil, ErrClosed
	}
	for _, job := range d.jobs {
		if job.Order.Kind == order.Kind && job.stateNow() == Running {
			return nil, ErrBusy
		}
	}
	var random [randomBytes]byte
	_, _ = rand.Read(random[:]) // It never fails.
	ctx, stop := context.WithCancel(d.ctx)
	job := &Job{
		ID: prefixes[order.Kind] + hex.EncodeToString(random[:]) + "_" + d.node, Order: order, node: d.node, stop: stop,
		trace: NewTrace(order.Terms, d.sources, order.From),
		// Leaves hold milliseconds, the store holds nanoseconds.
		first: d.history.FindTime(int64(order.From - order.Terms.WarmUp() - engine.Millisecond)),
	}
	job.next, job.last = job.first, max(job.first, d.history.FindTime(int64(order.To+engine.Millisecond)))
	d.keepJob(job)
	d.beginJob(ctx, job, nil)
	return job, nil
}

// beginJob starts a job's goroutine. before, if not nil, runs first in that goroutine. The
// caller holds mu.
func (d *JobRunner) beginJob(ctx context.Context, job *Job, before func(context.Context) error) {
	walk := Walk{History: d.history, Fetch: d.fetch, Rest: d.rest, MakeWay: d.makeWay, Next: job.first}
	d.jobs = append(d.jobs, job)
	d.dropOldest(job.Order.Kind)
	d.running.Go(func() {
		d.runJob(ctx, job, func() error {
			if before != nil {
				if err := before(ctx); err != nil {
					return err
				}
			}
			return d.walkLeaves(ctx, job, &walk)
		})
	})
}

// dropOldest drops the oldest of the ended jobs if there are more than FinishedKept. The caller
// holds mu.
func (d *JobRunner) dropOldest(kind Kind) {
	ended := 0
	for i := len(d.jobs) - 1; i >= 0; i-- {
		if job := d.jobs[i]; job.Order.Kind == kind && job.stateNow() != Running {
			if ended++; ended > FinishedKept {
				d.dropJob(job)
				d.jobs = slices.Delete(d.jobs, i, i+1)
			}
		}
	}
}

// Job returns the job of this node with that id, nil if there is none.
func (d *JobRunner) Job(kind Kind, id string) *Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, job := range d.jobs {
		if job.ID == id && job.Order.Kind == kind {
			return job
		}
	}
	return nil
}

// Jobs returns the jobs of a kind, newest first.
func (d *JobRunner) Jobs(kind Kind) (jobs []*Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.jobs) - 1; i >= 0; i-- {
		if d.jobs[i].Order.Kind == kind {
			jobs = append(jobs, d.jobs[i])
		}
	}
	return jobs
}

// Stop ends a running job: a backtest becomes cancelled, a shadow becomes done.
func (d *JobRunner) Stop(job *Job) {
	job.mu.Lock()
	defer job.mu.Unlock()
	if job.state == Running {
		job.stop()
		job.state, job.endedAt = Cancelled, d.logTime()
		if job.Order.Kind == Shadow {
			job.state = Done
		}
	}
}

// runJob is the goroutine of a job: it does the work and records how it ended.
func (d *JobRunner) runJob(ctx context.Context, job *Job, work func() error) {
	defer job.stop()
	err := contain(work)
	if errors.Is(err, errPanicked) {
		d.sources.Panicked()
	}
	if cut := job.endWith(err, d.ctx.Err() != nil, d.logTime()); !cut {
		d.keepJob(job)
	}
}

// endWith records how a job ended. It returns true if the job was cut off because the node
// shuts down; then the job continues after the restart if it can.
func (j *Job) endWith(err error, down bool, at engine.Time) (cut bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != Running {
		return false // Stopped.
	}
	j.endedAt = at
	switch {
	case err == nil:
		j.state = Done
	case down:
		j.state, j.why = Cancelled, ErrClosed.Error()
		return true
	case errors.Is(err, ErrTermsGone):
		j.state, j.why = Failed, err.Error()
	case errors.Is(err, errPanicked):
		j.state, j.why = Failed, "a fault of ours: "+err.Error()
	default:
		j.state, j.why = Failed, "history could not be read: "+err.Error()
	}
	return false
}

// walkLeaves goes over the job's leaves. A shadow waits for new ones.
func (d *JobRunner) walkLeaves(ctx context.Context, job *Job, walk *Walk) error {
	to := job.last
	for ctx.Err() == nil {
		if job.Order.Kind == Shadow {
			to = max(d.history.Size(), job.first)
		}
		passed, err := walk.Step(ctx, to, job.trace.Take)
		job.mu.Lock()
		job.next, job.last = walk.Next, to
		job.mu.Unlock()
		switch {
		case err != nil:
			return err
		case passed && (job.Order.Kind == Backtest || d.logTime() >= job.Order.To):
			return nil
		case passed:
			d.waitForMore(ctx)
		}
	}
	return ctx.Err()
}

func (d *JobRunner) waitForMore(ctx context.Context) {
	timer := time.NewTimer(followEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (j *Job) stateNow() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Write writes what is known of the job into m, which is empty. With whole set it adds the
// results so far. It does not wait for the job.
func (j *Job) Write(m *strictjson.Members, whole bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.savedResult != nil {
		j.savedResult.writeMembers(m, whole)
		return
	}
	j.writeMembers(m, whole)
}

func (j *Job) writeMembers(m *strictjson.Members, whole bool) {
	m.Text("id", j.ID)
	m.Text("node", j.node)
	m.Text("state", stateNames[j.state])
	if j.why != "" {
		m.Text("error", j.why)
	}
	m.Text("createdBy", j.Order.By)
	m.Time("createdAt", j.Order.Now)
	if j.endedAt != 0 {
		m.Time("endedAt", j.endedAt)
	}
	m.Time("from", j.Order.From)
	m.Time("to", j.Order.To)
	m.TextOrNull("listSnapshotId", j.Order.ListID)
	var progress strictjson.Members
	progress.Uint("leaves", j.next-j.first)
	progress.Uint("of", j.last-j.first)
	m.Object("progress", progress)
	if !whole {
		m.Bool("policyGiven", j.Order.Document != nil)
		records, changed := j.trace.Judged()
		m.Uint("records", records)
		m.Uint("changed", changed)
		return
	}
	if j.Order.Document == nil {
		m.Null("policy")
	} else {
		m.Raw("policy", j.Order.Document)
	}
	j.trace.Write(m)
}

// SetRest sets how many times the duration of each step a job rests, for jobs that begin from
// now on; 0 means no rest. Tests and benches use it.
func (d *JobRunner) SetRest(times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = times
}
