package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Faults under constant load, each measured: how long callers got no verdict.

// fault breaks something and mends it again.
type fault struct {
	name   string
	strike func(ctx context.Context, s *stage, leader *node) (mend func() error, err error)
	lasts  time.Duration // Between breaking and mending.
}

const (
	faultLasts   = 1500 * time.Millisecond
	faultRest    = 1200 * time.Millisecond // Between two faults.
	gapBound     = 20 * time.Second        // Liveness: beyond it something is broken, not slow.
	hdrMicrosMax = int64(10 * time.Minute / time.Microsecond)
)

var faults = []fault{
	{"leader killed", func(ctx context.Context, _ *stage, leader *node) (func() error, error) {
		return func() error { return leader.restart(ctx) }, leader.kill()
	}, faultLasts},
	{"leader paused", func(_ context.Context, _ *stage, leader *node) (func() error, error) {
		return leader.resume, leader.pause()
	}, faultLasts},
	{"leader cut off", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{cut: true}, leader.id)
		return s.healed, nil
	}, faultLasts},
	{"leader's connections reset", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{refuse: true}, leader.id)
		return s.healed, nil
	}, faultLasts},
	{"leader cut off one way, out", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.oneWay(leader, true)
		return s.healed, nil
	}, faultLasts},
	{"leader cut off one way, in", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.oneWay(leader, false)
		return s.healed, nil
	}, faultLasts},
	{"follower cut off", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{cut: true}, s.cluster.followers(leader)[0].id)
		return s.healed, nil
	}, faultLasts},
	{"leader behind a slow network", func(_ context.Context, s *stage, leader *node) (func() error, error) {
		s.cluster.wires.isolate(rule{delay: 15 * time.Millisecond}, leader.id)
		return s.healed, nil
	}, faultLasts},
	{"leadership transferred", func(ctx context.Context, s *stage, leader *node) (func() error, error) {
		_, err := s.caller.verb(ctx, s.cluster.followers(leader)[0].api+"/v1/cluster/transfer-leader", map[string]any{})
		return func() error { return nil }, err
	}, 200 * time.Millisecond},
	{"leader stopped in good order", func(ctx context.Context, _ *stage, leader *node) (func() error, error) {
		return func() error { return leader.restart(ctx) }, leader.stop()
	}, 200 * time.Millisecond},
	{"all nodes killed at once", func(ctx context.Context, s *stage, _ *node) (func() error, error) {
		for _, n := range s.cluster.nodes {
			if err := n.kill(); err != nil {
				return nil, err
			}
		}
		return func() error { return s.startAll(ctx) }, nil
	}, 100 * time.Millisecond},
}

func (s *stage) healed() error {
	s.cluster.wires.heal()
	return nil
}

// oneWay holds what the node sends, or what it should receive.
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

// startAll starts every node that does not run, then waits for each: one alone
// would wait for a quorum for ever.
func (s *stage) startAll(ctx context.Context) error {
	for _, n := range s.cluster.nodes {
		if n.running() {
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

// faultsUnderLoad makes every fault in turn, several rounds in the long form.
func faultsUnderLoad(ctx context.Context, s *stage) error {
	if !s.cluster.wires.knows() {
		return skipped("this system does not tell which process holds a connection: no partitions")
	}
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	gaps := make(map[string]*hdr.Histogram)
	for range s.times(1, 30) {
		for _, f := range faults {
			gap, err := s.suffer(ctx, f)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if gaps[f.name] == nil {
				gaps[f.name] = hdr.New(1, hdrMicrosMax, 3)
			}
			_ = gaps[f.name].RecordValue(gap.Microseconds()) // Bounded by gapBound.
			if gap > gapBound {
				s.findings.add("%s: no verdict for %v", f.name, gap)
			}
		}
	}
	storm.stop()
	for _, f := range faults {
		s.figure("gap, "+f.name+":", gapText(gaps[f.name]))
	}
	return nil
}

// suffer makes one fault and returns the longest time without a verdict from its
// beginning until the cluster is whole again.
func (s *stage) suffer(ctx context.Context, f fault) (time.Duration, error) {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return 0, err
	}
	pause(ctx, faultRest)
	began := s.history.now()
	mend, err := f.strike(ctx, s, leader)
	if err != nil {
		return 0, err
	}
	pause(ctx, f.lasts)
	if err := mend(); err != nil {
		return 0, err
	}
	if _, err := s.cluster.leader(ctx, s.caller); err != nil {
		return 0, err
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil {
		return 0, err
	}
	return s.history.gap(began, s.history.now()), nil
}

// verdictAfter waits until a call that began after an instant has a verdict.
func (s *stage) verdictAfter(ctx context.Context, at time.Duration) error {
	return until(ctx, settlePatience, func() bool { return s.history.verdictSince(at) })
}

func gapText(h *hdr.Histogram) string {
	if h == nil {
		return "not measured"
	}
	millis := func(micros int64) time.Duration {
		return (time.Duration(micros) * time.Microsecond).Round(time.Millisecond)
	}
	if h.TotalCount() == 1 {
		return millis(h.Max()).String()
	}
	return fmt.Sprintf("median %v, worst %v of %d", millis(h.ValueAtQuantile(50)), millis(h.Max()), h.TotalCount())
}

// failover is C03: the leader killed again and again under load.
func failover(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	gaps := hdr.New(1, hdrMicrosMax, 3)
	killed := faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == "leader killed" })]
	for range s.times(3, 100) {
		gap, err := s.suffer(ctx, killed)
		if err != nil {
			return err
		}
		_ = gaps.RecordValue(gap.Microseconds())
		if gap > gapBound {
			s.findings.add("no verdict for %v after the leader was killed", gap)
		}
	}
	storm.stop()
	s.figure("gap without a verdict (promised: 0.6 s median, 2 s worst):", gapText(gaps))
	return nil
}
