package reconciliation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Bounds of the room.
const (
	extractMax  = 256 << 20
	jobsKept    = 16 // Older ones that ended are forgotten, with their findings.
	uploadTime  = 10 * time.Minute
	randomBytes = 10
)

// Deps is what the room needs from the rest of the program.
type Deps struct {
	Published border.Published
	Records   border.Records
	Folder    string          // Where extracts and findings are kept while they are needed; "": that for temporary files.
	Proposer  border.Proposer // Takes the leaf of each comparison that ended well.
	Calls     *timing.Calls   // Those that wait for a verdict; nil: a comparison makes way for nobody.
}

// Room keeps the comparisons that this node made. One runs at a time, because it may need a GiB.
type Room struct {
	deps Deps
	pace *timing.Pace
	ctx  context.Context
	stop context.CancelFunc
	over sync.WaitGroup

	follower follower

	mutex sync.Mutex
	jobs  []*job // The newest last.
}

// Open makes the room.
func Open(deps Deps) *Room {
	r := &Room{deps: deps, pace: timing.NewPace(runtime.GOMAXPROCS(0), timing.Slice, deps.Published.Applied, deps.Calls)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends the job that runs, waits for it, and removes all files.
func (r *Room) Close() {
	r.stop()
	r.over.Wait()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, j := range r.jobs {
		j.forget()
	}
	r.jobs = nil
}

func (j *job) forget() {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.findings != "" {
		_ = os.Remove(j.findings)
		j.findings = ""
	}
}

const path = "/v1/reconciliations"

// Table returns what the room gives the border. All of it is on the admin listener: an extract is
// larger than the public API allows, and the node that has it is the one that is asked.
func (r *Room) Table() border.Room {
	const write, read = wire.RolePolicy | wire.RoleReviewer, wire.RolePolicy | wire.RoleReviewer | wire.RoleAuditor
	return border.Room{
		Admin: []border.Route{
			{Method: http.MethodPost, Path: path, Scope: border.ScopeInstitution, Roles: write, Body: border.BodyRaw, Max: extractMax, Stream: true, Handle: r.begin},
			{Method: http.MethodGet, Path: path, Scope: border.ScopeInstitution, Roles: read, Handle: r.list},
			{Method: http.MethodGet, Path: path + "/{id}", Scope: border.ScopeInstitution, Roles: read, Handle: r.show},
			{Method: http.MethodGet, Path: path + "/{id}/findings", Scope: border.ScopeInstitution, Roles: read, Stream: true, Handle: r.showFindings},
		},
		Queries: map[string][]string{"POST " + path: parameters},
	}
}

var errBusy = border.Conflict("job_running", "a reconciliation runs on this node already: wait for it, or ask another node", nil)

// begin is POST /v1/reconciliations. It answers when the extract has come and the job has begun.
func (r *Room) begin(c *border.Request) (border.Answer, error) {
	if err := border.CheckLength(c); err != nil {
		return border.Answer{}, err
	}
	now := r.deps.Published.LogTime() // The border has made sure that nothing acknowledged is missing here.
	o, err := readOrder(c, now)
	if err != nil {
		return border.Answer{}, err
	}
	if err := o.check(); err != nil {
		return border.Answer{}, err
	}
	j := &job{By: c.KeyID(), begun: now, order: o, state: running}
	if err := r.claim(j); err != nil {
		return border.Answer{}, err
	}
	if err := r.receive(c, j); err != nil {
		r.unclaim(j)
		return border.Answer{}, err
	}
	if err := r.start(j); err != nil {
		r.unclaim(j)
		return border.Answer{}, err
	}
	m := c.Out[:0]
	j.write(&m, false)
	c.Out = m
	return c.Reply(http.StatusAccepted, m), nil
}

// start begins a job whose extract has come. Its goroutine ends with the comparison, or with Close.
func (r *Room) start(j *job) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ctx.Err() != nil {
		_ = os.Remove(j.body)
		return border.Unavailable("shutting_down", "this node is going down")
	}
	r.over.Add(1)
	go func() {
		defer r.over.Done()
		r.run(r.ctx, j)
	}()
	return nil
}

// claim makes a job the one that runs, before its extract comes. unclaim takes it back if it never
// began.
func (r *Room) claim(j *job) error {
	var random [randomBytes]byte
	_, _ = rand.Read(random[:]) // It never fails.
	j.ID = "rec_" + hex.EncodeToString(random[:])
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if slices.ContainsFunc(r.jobs, (*job).isRunning) {
		return errBusy
	}
	r.jobs = append(r.jobs, j)
	for len(r.jobs) > jobsKept {
		r.jobs[0].forget()
		r.jobs = slices.Delete(r.jobs, 0, 1)
	}
	return nil
}

func (r *Room) unclaim(j *job) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(other *job) bool { return other == j })
}

// receive keeps the extract in a file.
func (r *Room) receive(c *border.Request, j *job) error {
	defer border.ExtendTime(c, uploadTime)()
	file, err := os.CreateTemp(r.deps.Folder, "railguard-extract-*")
	if err != nil {
		return border.Unavailable("overloaded", "this node has no room for an extract")
	}
	j.body = file.Name()
	err = border.SpoolUpload(c, file)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(j.body)
		return err
	}
	return nil
}

// list is GET /v1/reconciliations: what this node remembers, the newest first.
func (r *Room) list(c *border.Request) (border.Answer, error) {
	r.mutex.Lock()
	jobs := slices.Clone(r.jobs)
	r.mutex.Unlock()
	slices.Reverse(jobs)
	items := []strictjson.Members{}
	for _, j := range jobs {
		var m strictjson.Members
		j.write(&m, false)
		items = append(items, m)
	}
	m := c.Out[:0]
	m.List("data", items)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

func (r *Room) find(c *border.Request) (*job, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, j := range r.jobs {
		if j.ID == c.PathValue("id") {
			return j, nil
		}
	}
	return nil, border.NotFound("this node knows no such reconciliation")
}

// show is GET /v1/reconciliations/{id}.
func (r *Room) show(c *border.Request) (border.Answer, error) {
	j, err := r.find(c)
	if err != nil {
		return border.Answer{}, err
	}
	m := c.Out[:0]
	j.write(&m, true)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

var findingsType = []string{"application/x-ndjson"}

// showFindings is GET /v1/reconciliations/{id}/findings: one JSON object a line.
func (r *Room) showFindings(c *border.Request) (border.Answer, error) {
	j, err := r.find(c)
	if err != nil {
		return border.Answer{}, err
	}
	j.mutex.Lock()
	name, state := j.findings, j.state
	j.mutex.Unlock()
	if name == "" || state != done {
		return border.Answer{}, border.Conflict("invalid_transition", "the reconciliation is "+state+": it has no findings", nil)
	}
	file, err := os.Open(name)
	if err != nil {
		return border.Answer{}, border.NotFound("this node knows no such reconciliation any more")
	}
	return border.StreamAnswer(findingsType, func(out *border.Stream) error {
		defer file.Close()
		out.Begin()
		_, err := io.Copy(onlyWriter{out}, file)
		return err
	}), nil
}

// onlyWriter hides whatever else a stream can: each piece is written with its own deadline.
type onlyWriter struct{ io.Writer }

// check says as an answer what is wrong with the settings.
func (o *order) check() error {
	s := &o.settings
	switch {
	case s.From <= 0 || s.From >= s.To:
		return border.BadQuery("from", "must be before to")
	case s.Skew > engine.DayLength:
		return border.BadQuery("skewSeconds", "must be 0 to 86400")
	case s.SettleWithin < engine.Second || s.SettleWithin > engine.Retention:
		return border.BadQuery("settleWithinSeconds", "must be 1 to 7776000")
	}
	return o.checkFormat()
}
