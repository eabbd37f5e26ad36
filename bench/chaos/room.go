package chaos

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"railguard/engine"
)

// room is one cluster with everything that its nodes ever answered. Several scenarios may use it
// one after another. The answers that an earlier scenario got must still hold after a later one.
type room struct {
	cluster  *cluster
	caller   *caller
	history  *history
	groups   []*group
	observer *observer
	seed     uint64
	run      string
	serial   atomic.Int64
	allowed  []string // Words of cries that the nodes' logs may have all the same.

	porcupine time.Duration // How long Porcupine may look for an order of the operations.

	advances   []advance // Moves of log time by the test clock.
	wrongClock bool      // A node's clock was made wrong.
	inspected  bool      // The scenario has made the inspection itself.
}

const groupsOfRoom = 2

// openRoom starts a cluster and creates the groups that storms use.
func openRoom(ctx context.Context, p programs, folder string, s shape, seed uint64) (*room, error) {
	c, err := startCluster(ctx, p, folder, s)
	if err != nil {
		return nil, err
	}
	r := &room{cluster: c, caller: newCaller(c.key), history: newHistory(), seed: seed, run: randomHex(4)}
	r.observer = newObserver(context.WithoutCancel(ctx), c, r.caller)
	if err := r.furnish(ctx); err != nil {
		err = fmt.Errorf("%w\n%s", err, c.nodes[0].LogTail())
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *room) furnish(ctx context.Context) error {
	if err := r.cluster.widen(ctx, r.caller); err != nil {
		return err
	}
	for i := range groupsOfRoom {
		r.groups = append(r.groups, standardGroup(i))
	}
	return r.client().found(ctx, r.groups...)
}

// client makes a new caller, which asks one of the nodes first.
func (r *room) client() *client {
	id := int(r.serial.Add(1))
	return &client{
		id: id, cluster: r.cluster, caller: r.caller, history: r.history, random: newRandom(r.seed, id),
		home: id % len(r.cluster.nodes), run: r.run, patient: callPatience,
	}
}

// newGroup makes a group without agents for one scenario. limit is that of its fleet.
func (r *room) newGroup(limit engine.USD) *group {
	g := &group{index: len(r.groups), limit: limit}
	r.groups = append(r.groups, g)
	return g
}

// inspect mends all faults of the cluster, finds the outcomes that are still unknown, reads
// everything and checks it.
func (r *room) inspect(ctx context.Context, report *report) error {
	took, err := r.cluster.settle(ctx, r.caller)
	if err != nil {
		return err
	}
	report.sample("in step again after", took)
	r.resolve(ctx, r.history.operations())
	last := r.client().screen(ctx, r.groups[0].accounts[0], engine.Dollar)
	if !last.done() {
		return fmt.Errorf("after healing a call does not succeed: %s", last)
	}
	if took, err = r.cluster.rest(ctx, r.caller); err != nil {
		return err
	}
	report.sample("log at rest after", took)
	in := &inspection{groups: r.groups, porcupine: r.porcupine, start: r.history.start, advances: r.advances, slack: clockSlack}
	if r.wrongClock {
		in.slack += clockJitter
	}
	if err := r.cluster.collect(ctx, r.caller, r.observer, in, last.txn); err != nil {
		return err
	}
	in.operations = r.history.operations()
	if err := resolveFromLog(in.operations, in.exports[0]); err != nil {
		return err
	}
	r.cluster.mu.Lock()
	in.deaths = append(in.deaths, r.cluster.deaths...)
	r.cluster.mu.Unlock()
	in.cries = r.cluster.heardCries(append(r.allowed, stalledWords)...)
	report.findings.join(in.violations())
	r.describe(report, in)
	return nil
}

func (r *room) describe(report *report, in *inspection) {
	t := r.history.tally()
	report.figure("operations", t.operations)
	report.figure("verdicts", t.verdicts)
	report.figure("of them PROCEED", t.proceeds)
	report.figure("retried", t.retried)
	report.figure("replayed", t.replayed)
	report.figure("leaves", len(in.exports[0].leaves))
	report.figure("checkpoints seen", len(in.heads))
	report.figure("state digests seen", len(in.digests))
	if in.undecided > 0 {
		report.figure("partitions that Porcupine could not finish", in.undecided)
	}
	if r.cluster.programs.other != "" {
		r.cluster.mu.Lock()
		starts := r.cluster.starts
		r.cluster.mu.Unlock()
		report.figure("starts of this release", starts[0])
		report.figure("starts of the next one", starts[1])
		if starts[1] == 0 && len(r.cluster.nodes) > 1 {
			report.findings.add("no node ran the next release: nothing was mixed")
		}
	}
	if t.verdicts == 0 {
		report.findings.add("no verdict was given: nothing was tested")
	}
}

// resolve repeats every call without a known outcome, with the same key. The service repeats its
// first answer, or makes the call now.
func (r *room) resolve(ctx context.Context, operations []*operation) {
	c := r.client()
	for _, o := range operations {
		if o.outcome != pending || o.kind == opRead || o.bare {
			continue
		}
		for range resolveTries {
			c.pursue(ctx, o, time.Second)
			if o.outcome != pending || ctx.Err() != nil {
				break
			}
		}
	}
}

// resolveFromLog decides the outcomes that retries could not find. After all faults are mended, a
// call that is not in the log never happened.
func resolveFromLog(operations []*operation, x *exported) error {
	s := layOut(x)
	for _, o := range operations {
		if o.outcome != pending || o.kind == opRead {
			continue
		}
		leaves := s.leavesOf(o)
		if len(leaves) == 0 {
			o.outcome = nothing
			continue
		}
		l := leaves[0]
		o.outcome, o.reply = answered, reply{
			status: 200, verdict: l.Verdict, rule: l.Rule, txn: l.TxnID, index: l.Index, list: l.ListVersion, event: l.EventID,
			id: l.AgentID + l.FleetID, credentialStatus: l.CredentialStatus, at: l.momentOf(o.kind),
		}
		o.back = never // Any other operation may have come before it.
	}
	return nil
}

// momentOf returns the time that the answer of an operation shows.
func (l *leaf) momentOf(k kind) time.Time {
	switch k {
	case opScreen:
		return l.At
	case opReview:
		return l.ReviewedAt
	case opAttest:
		return l.AttestedAt
	}
	return l.ChangedAt
}

func (r *room) close() {
	if r.observer != nil {
		r.observer.stop()
	}
	r.cluster.close()
	r.caller.close()
}
