package retrace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/strictjson"
)

// JobStore keeps documents across a restart of the node.
type JobStore interface {
	Put(name string, data []byte) error
	Drop(name string) error
	All() (map[string][]byte, error)
}

// ErrTermsGone is returned if a job cannot go on because its policy or its list does not exist
// any more.
var ErrTermsGone = errors.New("what was to be tried cannot be had any more")

// savedJob is a job in the store: its order and, once it has ended, its result. A job that was
// running at a restart runs again from its first leaf on, with the same result, because it
// depends on the log alone.
type savedJob struct {
	Version  int             `json:"version"`
	ID       string          `json:"id"`
	Kind     Kind            `json:"kind"`
	Policy   json.RawMessage `json:"policy,omitempty"`
	ListID   string          `json:"listId,omitempty"`
	From     engine.Time     `json:"from"` // In nanoseconds, like all times here.
	To       engine.Time     `json:"to"`
	By       string          `json:"by"`
	Ordered  engine.Time     `json:"ordered"`
	First    uint64          `json:"first"` // Index of the first leaf.
	Last     uint64          `json:"last"`
	State    State           `json:"state"`
	Finished *jobResult      `json:"finished,omitempty"`
}

const savedJobVersion = 1

// jobResult holds the JSON objects that GET returns for an ended job.
type jobResult struct {
	Whole json.RawMessage `json:"whole"`
	Brief json.RawMessage `json:"brief"`
}

func (s *jobResult) writeMembers(m *strictjson.Members, whole bool) {
	body := s.Brief
	if whole {
		body = s.Whole
	}
	*m = append(*m, body[1:len(body)-1]...)
}

// keepJob saves a job in its present state.
func (d *JobRunner) keepJob(job *Job) {
	if d.store == nil {
		return
	}
	data, err := json.Marshal(job.toSavedJob())
	if err == nil {
		err = d.store.Put(job.ID, data)
	}
	if err != nil {
		d.reportError("a job is kept in memory alone: a restart of this node loses it", fmt.Errorf("%s: %w", job.ID, err))
	}
}

func (j *Job) toSavedJob() *savedJob {
	j.mu.Lock()
	defer j.mu.Unlock()
	o := &j.Order
	doc := &savedJob{
		Version: savedJobVersion, ID: j.ID, Kind: o.Kind, Policy: o.Document, ListID: o.ListID, From: o.From, To: o.To, By: o.By,
		Ordered: o.Now, First: j.first, Last: j.last, State: j.state,
	}
	if j.state != Running {
		var whole, brief strictjson.Members
		j.writeMembers(&whole, true)
		j.writeMembers(&brief, false)
		doc.Finished = &jobResult{whole.Body(), brief.Body()}
	}
	return doc
}

func (d *JobRunner) dropJob(job *Job) {
	if d.store == nil {
		return
	}
	if err := d.store.Drop(job.ID); err != nil {
		d.reportError("a job that is forgotten stays on disk", fmt.Errorf("%s: %w", job.ID, err))
	}
}

// Resume makes the runner keep its jobs in a store and resumes those in it. terms reads the
// policy and list of an order once this node has caught up with it. reportError is called for
// a job that could not be saved or read. Call it once, before Start.
func (d *JobRunner) Resume(store JobStore, terms func(context.Context, *Order) (Terms, error), reportError func(text string, err error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.store, d.reportError = store, reportError
	all, err := store.All()
	if err != nil {
		reportError("jobs of before the restart cannot all be read", err)
	}
	var docs []*savedJob
	for name, data := range all {
		if doc, err := d.readSavedJob(name, data); err != nil {
			reportError("a job of before the restart cannot be read", fmt.Errorf("%s: %w", name, err))
		} else {
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b *savedJob) int { return cmp.Or(cmp.Compare(a.Ordered, b.Ordered), cmp.Compare(a.ID, b.ID)) })
	for _, doc := range docs {
		d.resumeJob(doc, terms)
	}
}

func (d *JobRunner) readSavedJob(name string, data []byte) (*savedJob, error) {
	doc := new(savedJob)
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, err
	}
	ended := doc.Finished != nil && len(doc.Finished.Whole) >= 2 && len(doc.Finished.Brief) >= 2
	switch {
	case doc.Version != savedJobVersion:
		return nil, fmt.Errorf("version %d is not known", doc.Version)
	case doc.ID != name || NodeOf(doc.Kind, name) != d.node:
		return nil, fmt.Errorf("holds the job %q", doc.ID)
	case doc.State > Failed || ended == (doc.State == Running):
		return nil, fmt.Errorf("its state is %d", doc.State)
	}
	return doc, nil
}

// resumeJob adds a saved job, either as ended or to be run again. The caller holds mu.
func (d *JobRunner) resumeJob(doc *savedJob, terms func(context.Context, *Order) (Terms, error)) {
	ctx, stop := context.WithCancel(d.ctx)
	order := Order{Kind: doc.Kind, Document: doc.Policy, ListID: doc.ListID, From: doc.From, To: doc.To, By: doc.By, Now: doc.Ordered}
	job := &Job{ID: doc.ID, Order: order, node: d.node, stop: stop, first: doc.First, next: doc.First, last: doc.Last, state: doc.State, savedResult: doc.Finished}
	if job.state != Running {
		stop()
		d.jobs = append(d.jobs, job)
		d.dropOldest(doc.Kind)
		return
	}
	job.trace = NewTrace(Terms{}, d.sources, order.From)
	d.beginJob(ctx, job, func(ctx context.Context) (err error) {
		for d.logTime() < order.Now || d.history.Size() < doc.Last { // This node first has to get back the log that it had when the job was ordered.
			if d.waitForMore(ctx); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		job.trace.terms, err = terms(ctx, &order)
		return err
	})
}
