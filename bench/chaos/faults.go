package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The faults in this file happen under constant load. For each the scenario measures how long
// callers got no verdict.

// fault breaks something and mends it again.
type fault struct {
	name   string
	strike func(ctx context.Context, s *stage, leader *node) (mend func() error, err error)
	lasts  time.Duration // Time between breaking and mending.
	twice  bool          // Another scenario makes the same fault, so the short form leaves it out.
}

const (
	faultLasts = 1200 * time.Millisecond
	faultRest  = time.Second    // Pause between two faults, in the long form.
	gapBound   = settlePatience // Bound for liveness: after a longer gap the cluster is broken, not merely slow.
)

// Some faults need a certain kind of network: relays see no packets, and a fabric sees no
// connections.
const (
	faultLossy = "packets lost and late everywhere, then the leader cut off one way"
	faultReset = "leader's connections reset"
)

// made reports whether this run makes a fault.
func (s *stage) made(f fault) bool {
	if f.name == faultLossy || f.name == faultReset {
		return s.cluster.shape.apart == (f.name == faultLossy)
	}
	return !f.twice || s.options.Long || s.cluster.shape.apart
}

var faults = []fault{
	{"leader killed", func(ctx context.Context, _ *stage, leader *node) (func() error, error) {
		return func() error { return leader.restart(ctx) }, leader.Kill()
	}, faultLasts, true},
	{"leader paused", func(ctx context.Context, s *stage, leader *node) (func() error, error) {
		return func() error { return s.revive(ctx, leader) }, leader.pause()
	}, faultLasts, false},
	{"leader cut off", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{cut: true}, leader.id)
		return s.healed, nil
	}, faultLasts, true},
	{faultLossy, func(ctx context.Context, s *stage, leader *node) (func() error, error) {
		for _, n := range s.cluster.nodes {
			s.cluster.wires.isolate(rule{loss: 5, delay: 20 * time.Millisecond}, n.id)
		}
		pause(ctx, s.span(3*time.Second, 20*time.Second))
		s.oneWay(leader, true)
		return s.healed, nil
	}, faultLasts, false},
	{faultReset, func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{refuse: true}, leader.id)
		return s.healed, nil
	}, faultLasts, false},
	{"leader cut off one way, out", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.oneWay(leader, true)
		return s.healed, nil
	}, faultLasts, false},
	{"leader cut off one way, in", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.oneWay(leader, false)
		return s.healed, nil
	}, faultLasts, false},
	{"follower cut off", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{cut: true}, s.cluster.followers(leader)[0].id)
		return s.healed, nil
	}, faultLasts, true},
	{"leader behind a slow network", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{delay: 15 * time.Millisecond}, leader.id)
		return s.healed, nil
	}, faultLasts, false},
	{"leadership transferred", func(ctx context.Context, s *stage, leader *node) (func() error, error) {
		return func() error { return nil }, until(ctx, settlePatience, func() bool { // The cluster may lose its leader meanwhile without our doing; then the answer is 503 no_leader.
			_, err := s.caller.verb(ctx, s.cluster.followers(leader)[0].api+"/v1/cluster/transfer-leader", map[string]any{})
			return err == nil
		})
	}, 200 * time.Millisecond, true},
	{"leader stopped in good order", func(ctx context.Context, _ *stage, leader *node) (func() error, error) {
		return func() error { return leader.restart(ctx) }, leader.Stop()
	}, 200 * time.Millisecond, true},
	{"all nodes killed at once", func(ctx context.Context, s *stage, _ *node) (func() error, error) {
		for _, n := range s.cluster.nodes {
			if err := n.Kill(); err != nil {
				return nil, err
			}
		}
		return func() error { return s.startAll(ctx) }, nil
	}, 100 * time.Millisecond, false},
}

// stalledWords are in the log of a node that gives up because of its disk. If a pause of the
// process falls into a write to its log, its watchdog takes the pause for a disk that stood
// still.
const stalledWords = "disk stalled"

// revive lets a paused node go on, or starts it again if it has given up meanwhile.
func (s *stage) revive(ctx context.Context, n *node) error {
	if err := n.resume(); err != nil {
		return err
	}
	if err := n.ready(ctx, readyPatience); err == nil || n.Running() {
		return err
	}
	return n.restart(ctx)
}

func (s *stage) healed() error {
	s.cluster.wires.heal()
	return nil
}

// oneWay holds back what the node sends, or what is sent to it.
func (s *stage) oneWay(n *node, out bool) {
	var ways []link
	for _, other := range s.cluster.followers(n) {
		way := link{other.id, n.id}
		if out {
			way = link{n.id, other.id}
		}
		ways = append(ways, way)
	}
	s.cluster.wires.set(rule{cut: true}, ways...)
}

// startAll starts every node that does not run and then waits for all of them. If it waited for
// the first before it started the next, the first would wait for a quorum for ever.
func (s *stage) startAll(ctx context.Context) error {
	for _, n := range s.cluster.nodes {
		if n.Running() {
			continue
		}
		if err := n.start(); err != nil {
			return err
		}
	}
	for _, n := range s.cluster.nodes {
		if err := n.ready(ctx, readyPatience); err != nil {
			return err
		}
	}
	return nil
}

// faultsUnderLoad makes all faults, one after the other.
func faultsUnderLoad(ctx context.Context, s *stage) error {
	if !s.cluster.wires.knows() {
		return skipped("this system does not tell which process holds a connection: no partitions")
	}
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	for _, f := range faults {
		if !s.made(f) {
			continue
		}
		if err := s.suffer(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// suffer makes one fault and waits until the cluster is whole again. It measures the longest time
// without a verdict in between.
func (s *stage) suffer(ctx context.Context, f fault) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	pause(ctx, s.span(faultRest/4, faultRest))
	began := s.history.now()
	mend, err := f.strike(ctx, s, leader)
	if err != nil {
		return err
	}
	pause(ctx, f.lasts)
	if err := mend(); err != nil {
		return err
	}
	if _, err := s.cluster.leader(ctx, s.caller); err != nil {
		return err
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil {
		return err
	}
	gap := s.history.gap(began, s.history.now())
	s.sample("gap, "+f.name, gap)
	if gap > gapBound {
		s.findings.add("%s: no verdict for %v", f.name, gap)
	}
	return nil
}

// verdictAfter waits until a call that began after an instant has a verdict.
func (s *stage) verdictAfter(ctx context.Context, at time.Duration) error {
	return until(ctx, settlePatience, func() bool { return s.history.verdictSince(at) })
}

// failover is C03: the leader is killed again and again under load.
func failover(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	killed := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == "leader killed" })]
	for range s.times(3, 10) {
		if err := s.suffer(ctx, killed); err != nil {
			return err
		}
	}
	return nil
}
