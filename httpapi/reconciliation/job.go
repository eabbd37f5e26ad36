package reconciliation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"railguard/audit"
	"railguard/audit/reconcile"
	"railguard/audit/reconcile/formats"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// States of a job.
const (
	running = "running"
	done    = "done"
	failed  = "failed" // Its error says why.
	stopped = "stopped"
)

// job is one comparison. What is set when it begins never changes; the rest is guarded.
type job struct {
	ID    string
	By    string // The API key that asked.
	begun engine.Time
	order order
	body  string // File with the extract; the job removes it.

	mutex    sync.Mutex
	state    string
	problem  string
	summary  []byte
	findings string // File with the findings; "": none yet.
	ended    engine.Time
	alerts   struct{ opened, known uint64 } // Alerts about its faults; known: one was there already.
}

// leafPatience is how long the log may take to hold that a comparison ended.
const leafPatience = 30 * time.Second

// noteDone writes the leaf of a comparison that ended well, before anybody sees its result: the
// summary, which names no party and no payment, and who asked. A comparison that the log does not
// hold has failed.
func (r *Room) noteDone(ctx context.Context, j *job, summary []byte) error {
	ctx, cancel := context.WithTimeout(ctx, leafPatience)
	defer cancel()
	result, err := r.deps.Proposer.Propose(ctx, wire.KindNote, wire.Encode(edge.ReconciliationNote(j.ID, j.By, summary)))
	if err == nil && result.Code != wire.Applied {
		err = fmt.Errorf("code %d, refusal %d", result.Code, result.Refusal)
	}
	if err != nil {
		return fmt.Errorf("the log does not hold that it ended: %w", err)
	}
	return nil
}

// stepLeaves is how many leaves are read between two looks at whether the node is going down.
const stepLeaves = 512

var errRetention = errors.New("records of that time are past their retention")

// run compares. It ends with the job in its last state.
func (r *Room) run(ctx context.Context, j *job) {
	defer os.Remove(j.body)
	result, err := r.compare(ctx, j)
	if err == nil {
		err = r.keep(ctx, j, result)
	}
	problem := ""
	if err == nil {
		problem = r.openAlerts(ctx, j, result)
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.ended = r.deps.Published.LogTime()
	switch {
	case ctx.Err() != nil:
		j.state = stopped
	case err != nil:
		j.state, j.problem = failed, err.Error()
	default:
		j.state, j.problem = done, problem
	}
}

// compare reads records and extract, and matches them.
func (r *Room) compare(ctx context.Context, j *job) (*reconcile.Result, error) {
	run, err := reconcile.New(j.order.settings)
	if err != nil {
		return nil, err
	}
	reader, err := formats.NewReader(j.order.settings.Format, j.order.options, run)
	if err != nil {
		return nil, err
	}
	if err := r.takeRecords(ctx, j, run); err != nil {
		return nil, err
	}
	file, err := os.Open(j.body)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := run.ReadFile(file, reader.File); err != nil {
		return nil, err
	}
	if err := reader.Close(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return run.End()
}

// jobMakesWay is how long a comparison makes way for verdicts.
const jobMakesWay = time.Minute

// takeRecords gives a run all leaves of the time of its records, as an export of that time has
// them.
func (r *Room) takeRecords(ctx context.Context, j *job, run *reconcile.Run) error {
	history := r.deps.Records.Audit()
	end := history.FindTime(int64(j.order.to + engine.Millisecond))
	first := min(history.FindTime(int64(j.order.from)), end)
	work := r.pace.Begin(time.Now(), jobMakesWay)
	for next := first; next < end; {
		var broken error
		_, err := history.Scan(audit.Query{From: next, To: end, Examine: stepLeaves}, func(index uint64, stored audit.Leaf) bool {
			if index != next {
				broken = errRetention
				return false
			}
			next++
			broken = run.Leaf(index, stored.Data)
			work.Between()
			return broken == nil
		})
		if err = errors.Join(err, broken, ctx.Err()); err != nil {
			return fmt.Errorf("record %d: %w", next, err)
		}
	}
	return run.Records(reconcile.Span{First: first, End: end, From: j.order.from.String(), To: j.order.to.String()})
}

// keep writes the findings to a file, and hands the result to whoever writes that it is done.
func (r *Room) keep(ctx context.Context, j *job, result *reconcile.Result) error {
	file, err := os.CreateTemp(r.deps.Folder, "railguard-findings-*")
	if err != nil {
		return err
	}
	err = errors.Join(result.WriteFindings(file), file.Close())
	summary := result.Summary()
	if err == nil {
		err = r.noteDone(ctx, j, summary)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.summary, j.findings = summary, file.Name()
	return nil
}

// isRunning reports whether the job has not ended.
func (j *job) isRunning() bool {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.state == running
}

// write writes what there is to know of a job. Only whole has its summary.
func (j *job) write(m *strictjson.Members, whole bool) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	m.Text("reconciliationId", j.ID)
	m.Text("state", j.state)
	m.Text("startedBy", j.By)
	m.Text("rail", j.order.settings.Rail)
	m.Time("from", j.order.settings.From)
	m.Time("to", j.order.settings.To)
	m.Time("startedAt", j.begun)
	if j.state != running {
		m.Time("endedAt", j.ended)
	}
	m.Optional("problem", j.problem)
	ended := j.summary != nil && j.state != running
	if ended {
		m.BeginObject("alerts")
		m.Uint("opened", j.alerts.opened)
		m.Uint("known", j.alerts.known)
		m.EndObject()
	}
	if whole && ended {
		m.Raw("result", j.summary)
	}
}
