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

// Shelf keeps documents over a restart of the node.
type Shelf interface {
	Put(name string, data []byte) error
	Drop(name string) error
	All() (map[string][]byte, error)
}

// ErrTermsGone: the policy or the list of a job that was to go on cannot be had any more.
var ErrTermsGone = errors.New("what was to be tried cannot be had any more")

// document is a job on the shelf: what was ordered, and what came of it once it has
// ended. One that runs is done again from its first leaf on: it is a function of the
// log, and comes to the same.
type document struct {
	Version  int             `json:"version"`
	ID       string          `json:"id"`
	Kind     Kind            `json:"kind"`
	Policy   json.RawMessage `json:"policy,omitempty"`
	ListID   string          `json:"listId,omitempty"`
	From     engine.Time     `json:"from"` // Nanoseconds, as are all times here.
	To       engine.Time     `json:"to"`
	By       string          `json:"by"`
	Ordered  engine.Time     `json:"ordered"`
	First    uint64          `json:"first"` // Leaf.
	Last     uint64          `json:"last"`
	State    State           `json:"state"`
	Finished *shown          `json:"finished,omitempty"`
}

const documentVersion = 1

// shown is what a job that has ended is shown as, each a JSON object.
type shown struct {
	Whole json.RawMessage `json:"whole"`
	Brief json.RawMessage `json:"brief"`
}

func (s *shown) write(m *strictjson.Members, whole bool) {
	body := s.Brief
	if whole {
		body = s.Whole
	}
	*m = append(*m, body[1:len(body)-1]...)
}

// keepJob puts a job on the shelf as it is now.
func (d *Desk) keepJob(job *Job) {
	if d.shelf == nil {
		return
	}
	data, err := json.Marshal(job.document())
	if err == nil {
		err = d.shelf.Put(job.ID, data)
	}
	if err != nil {
		d.told("a job is kept in memory alone: a restart of this node loses it", fmt.Errorf("%s: %w", job.ID, err))
	}
}

func (j *Job) document() *document {
	j.mu.Lock()
	defer j.mu.Unlock()
	o := &j.Order
	doc := &document{
		Version: documentVersion, ID: j.ID, Kind: o.Kind, Policy: o.Document, ListID: o.ListID, From: o.From, To: o.To, By: o.By,
		Ordered: o.Now, First: j.first, Last: j.last, State: j.state,
	}
	if j.state != Running {
		var whole, brief strictjson.Members
		j.write(&whole, true)
		j.write(&brief, false)
		doc.Finished = &shown{whole.Body(), brief.Body()}
	}
	return doc
}

func (d *Desk) dropJob(job *Job) {
	if d.shelf == nil {
		return
	}
	if err := d.shelf.Drop(job.ID); err != nil {
		d.told("a job that is forgotten stays on disk", fmt.Errorf("%s: %w", job.ID, err))
	}
}

// Resume has the desk keep its jobs on a shelf, and takes up those that are there. terms
// reads what an order tries, once this node has caught up with it; told is told what
// could not be kept or taken up. Once, before Start.
func (d *Desk) Resume(shelf Shelf, terms func(context.Context, *Order) (Terms, error), told func(text string, err error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shelf, d.told = shelf, told
	all, err := shelf.All()
	if err != nil {
		told("jobs of before the restart cannot all be read", err)
	}
	var docs []*document
	for name, data := range all {
		if doc, err := d.readDocument(name, data); err != nil {
			told("a job of before the restart cannot be read", fmt.Errorf("%s: %w", name, err))
		} else {
			docs = append(docs, doc)
		}
	}
	slices.SortFunc(docs, func(a, b *document) int { return cmp.Or(cmp.Compare(a.Ordered, b.Ordered), cmp.Compare(a.ID, b.ID)) })
	for _, doc := range docs {
		d.takeUp(doc, terms)
	}
}

func (d *Desk) readDocument(name string, data []byte) (*document, error) {
	doc := new(document)
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, err
	}
	ended := doc.Finished != nil && len(doc.Finished.Whole) >= 2 && len(doc.Finished.Brief) >= 2
	switch {
	case doc.Version != documentVersion:
		return nil, fmt.Errorf("version %d is not known", doc.Version)
	case doc.ID != name || NodeOf(doc.Kind, name) != d.node:
		return nil, fmt.Errorf("holds the job %q", doc.ID)
	case doc.State > Failed || ended == (doc.State == Running):
		return nil, fmt.Errorf("its state is %d", doc.State)
	}
	return doc, nil
}

// takeUp shows a job that has ended, and does one again that ran. Under mu.
func (d *Desk) takeUp(doc *document, terms func(context.Context, *Order) (Terms, error)) {
	ctx, stop := context.WithCancel(d.ctx)
	order := Order{Kind: doc.Kind, Document: doc.Policy, ListID: doc.ListID, From: doc.From, To: doc.To, By: doc.By, Now: doc.Ordered}
	job := &Job{ID: doc.ID, Order: order, node: d.node, stop: stop, first: doc.First, next: doc.First, last: doc.Last, state: doc.State, shown: doc.Finished}
	if job.state != Running {
		stop()
		d.jobs = append(d.jobs, job)
		d.dropOldest(doc.Kind)
		return
	}
	job.trace = NewTrace(Terms{}, d.sources, order.From)
	d.beginJob(ctx, job, func(ctx context.Context) (err error) {
		for d.logTime() < order.Now || d.history.Size() < doc.Last { // It comes back first.
			if d.waitForMore(ctx); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		job.trace.terms, err = terms(ctx, &order)
		return err
	})
}
