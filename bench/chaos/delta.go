package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"railguard/engine"
)

// This scenario changes from one list to the next under load. All the time clients on every node
// screen the wallets and names of both lists. The next list is activated and rolled back. In the
// long form faults also disturb its staging.

const (
	deltaClients  = 6
	deltaAgents   = 3
	deltaPause    = 16 * time.Millisecond  // Of a client between two calls. Every probe is screened in 3 seconds under each list; more calls prove no more.
	deltaHurry    = 4 * time.Millisecond   // The same in the long form.
	deltaAround   = 250 * time.Millisecond // Calls that begin so long before or after a flip count for its latency.
	stagePatience = 5 * time.Minute        // Time to upload, parse and replicate a whole list.
	stageTries    = 6
	slowWire      = 25 * time.Millisecond // Delay in one direction. It makes the staging of a list take seconds, so that a fault can happen during it.
	deltaGroup    = -1                    // Group of the agents that the model of limits does not follow.
)

// delta is one run of the scenario.
type delta struct {
	*stage
	pair   *listPair
	agents []*account
	ids    map[string]*listFile // By snapshot id: the file from which the snapshot was compiled.
	cursor atomic.Int64         // Number of calls made, which selects the next probe.
	flips  []flip
	rest   map[restKey]string // Outcome of every name while no list changes.
	staged time.Duration      // How long staging took without a fault.
}

// flip is an activation or rollback as its caller saw it.
type flip struct {
	version      uint64
	file         *listFile
	invoke, back time.Duration
}

type restKey struct {
	name string
	file *listFile
}

// deltaOf returns the scenario for a pair of lists.
func deltaOf(prepare func() (*listPair, error)) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		pair, err := prepare()
		if err != nil {
			return err
		}
		d := &delta{stage: s, pair: pair, ids: map[string]*listFile{}, rest: map[restKey]string{}}
		return d.run(ctx)
	}
}

func (d *delta) run(ctx context.Context) error {
	if err := d.hire(ctx); err != nil {
		return err
	}
	nodes := d.cluster.nodes
	if err := d.install(ctx, nodes[0], &d.pair.old); err != nil {
		return err
	}
	if err := d.atRest(ctx, &d.pair.old); err != nil {
		return err
	}
	load := d.screeners(ctx)
	defer load.stop()
	calm := d.history.now()
	if err := d.round(ctx); err != nil {
		return err
	}
	quiet := d.history.now()
	d.latency("in peace", calm, quiet)
	if err := d.install(ctx, nodes[1], &d.pair.next); err != nil {
		return err
	}
	d.latency("while it is staged", quiet, d.flips[len(d.flips)-1].invoke)
	if err := errors.Join(d.round(ctx), d.atRest(ctx, &d.pair.next), d.compareDiff(ctx)); err != nil {
		return err
	}
	if err := errors.Join(d.rollBack(ctx, nodes[2], &d.pair.old), d.round(ctx)); err != nil {
		return err
	}
	if d.options.Long {
		if err := d.disturbed(ctx); err != nil {
			return err
		}
	}
	load.stop()
	return d.judged(ctx)
}

// hire registers agents without limits in a group that the model does not follow. Their verdicts
// depend on the lists, which this scenario checks itself.
func (d *delta) hire(ctx context.Context) error {
	g := &group{index: deltaGroup, limit: engine.NoLimit}
	c := d.client()
	for range deltaAgents {
		a, o := c.register(ctx, g, account{parent: -1, daily: engine.NoLimit, single: engine.NoLimit})
		if a == nil {
			return fmt.Errorf("agent not registered: %s", o)
		}
		d.agents = append(d.agents, a)
	}
	return nil
}

// screeners starts clients on every node that screen one probe after another and make each call
// once.
func (d *delta) screeners(ctx context.Context) *storm {
	ctx, cancel := context.WithCancel(ctx)
	load, between := &storm{cancel: cancel}, d.span(deltaPause, deltaHurry)
	for i := range deltaClients {
		c := d.client()
		c.pinned, c.home = true, i%len(d.cluster.nodes)
		load.clients.Add(1)
		go func() {
			defer load.clients.Done()
			for ctx.Err() == nil {
				at := int(d.cursor.Add(1))
				p := &d.pair.probes[at%len(d.pair.probes)]
				o := screening(d.agents[at%len(d.agents)], engine.Dollar, p.member(), p.text())
				o.bare = true
				c.pay(context.WithoutCancel(ctx), d.agents[at%len(d.agents)], o)
				pause(ctx, between)
			}
		}()
	}
	return load
}

// round waits until every probe has been screened once more.
func (d *delta) round(ctx context.Context) error {
	until := d.cursor.Load() + int64(len(d.pair.probes)) + 2*deltaClients
	for d.cursor.Load() < until {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause(ctx, pollEvery)
	}
	return nil
}

// install stages a list at one node and activates it at another.
func (d *delta) install(ctx context.Context, at *node, file *listFile) error {
	began := time.Now()
	id, err := d.stageFile(ctx, at, file)
	if err != nil {
		return err
	}
	if took := time.Since(began); d.staged == 0 || took < d.staged {
		d.staged = took
	}
	d.sample("staging a list", time.Since(began))
	return d.turn(ctx, d.cluster.followers(at)[0], "/v1/ofac/"+id+"/activate", file)
}

// stageFile uploads a file to a node until it is staged. If a fault interrupts the staging, it
// begins anew. A node that gives up a slow disk of this machine costs no try.
func (d *delta) stageFile(ctx context.Context, at *node, file *listFile) (string, error) {
	stalls := d.cluster.countStalls()
	for try := 1; ; try++ {
		a, err := d.caller.do(ctx, request{
			method: http.MethodPost, url: at.admin + "/v1/ofac/snapshots?name=" + file.name, body: file.raw, patience: stagePatience,
		})
		if err == nil && a.ok() {
			var staged struct {
				ID       string   `json:"snapshotId"`
				Problems []string `json:"problems"`
			}
			if err := a.decode(&staged); err != nil {
				return "", err
			}
			if known := d.ids[staged.ID]; known != nil && known != file {
				return "", fmt.Errorf("two lists have the id %s", staged.ID)
			}
			d.ids[staged.ID] = file
			return staged.ID, nil
		}
		if err == nil {
			err = fmt.Errorf("%d %.300s", a.status, a.body)
		}
		if now := d.cluster.countStalls(); now != stalls {
			stalls, try = now, 0
		}
		if try == stageTries || ctx.Err() != nil {
			return "", fmt.Errorf("list not staged at %s: %w", at.id, err)
		}
		d.figure("staging begun anew after", err)
		pause(ctx, time.Second)
	}
}

// turn activates a list or rolls back to it, and notes the time and the list. A second call for
// the same list changes nothing, so it repeats the call until it has an answer.
func (d *delta) turn(ctx context.Context, at *node, path string, file *listFile) error {
	f := flip{file: file}
	var a *answer
	var failed error
	err := until(ctx, settlePatience, func() bool {
		f.invoke = d.history.now()
		a, failed = d.caller.verb(ctx, at.api+path, map[string]any{"force": d.pair.force, "reason": "fault test"})
		f.back = d.history.now()
		return a != nil && a.status != http.StatusServiceUnavailable // A node that is still catching up answers 503.
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	var active struct {
		ID      string `json:"snapshotId"`
		Version uint64 `json:"listVersion"`
	}
	if err := a.decode(&active); err != nil || active.Version == 0 || d.ids[active.ID] != file {
		return fmt.Errorf("not the list that was asked for: %.300s", a.body)
	}
	f.version = active.Version
	d.flips = append(d.flips, f)
	pause(ctx, deltaAround)
	d.latency("around a flip", f.invoke-deltaAround, f.back+deltaAround)
	return nil
}

// rollBack makes an earlier list active again. It calls a node that did not receive the list's
// upload.
func (d *delta) rollBack(ctx context.Context, at *node, file *listFile) error {
	return d.turn(ctx, at, "/v1/ofac/"+d.id(file)+"/rollback", file)
}

// id returns the snapshot id of a file that was staged before.
func (d *delta) id(file *listFile) string {
	for id, known := range d.ids {
		if known == file {
			return id
		}
	}
	return ""
}

// latency records the latency of the calls in a window, and the longest time without a verdict.
func (d *delta) latency(what string, from, to time.Duration) {
	h := hdr.New(1, sampleMax.Microseconds(), 3)
	for _, o := range d.history.operations() {
		if o.kind == opScreen && o.bare && o.done() && o.back != never && o.back >= from && o.invoke <= to {
			_ = h.RecordValue(min(o.back-o.invoke, sampleMax).Microseconds()) // Limited to the histogram's range.
		}
	}
	if h.TotalCount() == 0 {
		return // There is no load yet.
	}
	ms := func(v int64) time.Duration {
		return (time.Duration(v) * time.Microsecond).Round(100 * time.Microsecond)
	}
	d.figure("calls "+what+":", fmt.Sprintf("%d, median %v, p99 %v, worst %v, longest gap %v", h.TotalCount(),
		ms(h.ValueAtQuantile(50)), ms(h.ValueAtQuantile(99)), ms(h.Max()), d.history.gap(from, to).Round(100*time.Microsecond)))
}

// disturbance is a fault while a list is staged.
type disturbance struct {
	name   string
	strike func(ctx context.Context, d *delta, uploader *node) (mend func() error, err error)
}

var disturbances = []disturbance{
	{"leader killed", func(ctx context.Context, d *delta, _ *node) (func() error, error) {
		leader, err := d.cluster.leader(ctx, d.caller)
		if err != nil {
			return nil, err
		}
		return func() error { return leader.restart(ctx) }, leader.Kill()
	}},
	{"follower restarted", func(ctx context.Context, d *delta, uploader *node) (func() error, error) {
		leader, err := d.cluster.leader(ctx, d.caller)
		if err != nil {
			return nil, err
		}
		others := slices.DeleteFunc(slices.Clone(d.cluster.nodes), func(n *node) bool { return n == leader || n == uploader })
		away := others[0]
		return func() error { return away.restart(ctx) }, away.Stop()
	}},
}

// disturbed stages the next list several times, each time with another fault in the middle. Each
// time it activates the list and rolls back.
func (d *delta) disturbed(ctx context.Context) error {
	if !d.cluster.wires.knows() {
		return nil
	}
	for _, fault := range disturbances {
		leader, err := d.cluster.leader(ctx, d.caller)
		if err != nil {
			return err
		}
		uploader := d.cluster.followers(leader)[0]
		staging, began := make(chan struct{}), time.Now()
		var id string
		var failed error
		d.cluster.wires.isolate(rule{delay: slowWire}, leader.id)
		go func() {
			defer close(staging)
			id, failed = d.stageFile(ctx, uploader, &d.pair.next)
		}()
		pause(ctx, d.staged+d.staged/8) // By now the list is parsed, and its chunks are being sent over the slow connections.
		select {
		case <-staging:
			d.figure("staged already before:", fault.name)
		default:
		}
		mend, err := fault.strike(ctx, d, uploader)
		if err == nil {
			pause(ctx, faultLasts)
			d.cluster.wires.heal()
			err = mend()
		}
		<-staging
		d.sample("staging, "+fault.name, time.Since(began))
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		if _, err := d.cluster.leader(ctx, d.caller); err != nil {
			return err
		}
		if err := d.turn(ctx, uploader, "/v1/ofac/"+id+"/activate", &d.pair.next); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
		if err := errors.Join(d.round(ctx), d.rollBack(ctx, leader, &d.pair.old), d.round(ctx)); err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
	}
	return nil
}
