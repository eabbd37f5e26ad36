package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"railguard/engine"
)

const (
	skew      = 5 * time.Minute
	skewShown = 2 * time.Second // How far the shown skew may be from the real one.
	longJump  = 24 * time.Hour
)

// wrongClock is C04 with wrong clocks. The clock of one of three nodes is 5 minutes off, and the
// node says so. It becomes leader, its clock jumps while it leads, and the UTC date changes
// meanwhile. Every race ends with exactly as many PROCEEDs as the limit has room for. The
// inspection compares every time in the log with the machine's right time.
func wrongClock(ctx context.Context, s *stage) error {
	s.wrongClock = true
	c := s.client()
	if o := c.attest(ctx, s.groups[0].accounts[3]); !o.done() {
		return fmt.Errorf("%s", o)
	}
	if err := s.jumpsBeforeItLeads(ctx); err != nil {
		return err
	}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	wrong := s.cluster.followers(leader)[0]
	for _, by := range []time.Duration{-skew, skew} {
		if err := s.followerIsOff(ctx, wrong, by); err != nil {
			return err
		}
	}
	if err := s.lead(ctx, wrong); err != nil {
		return err
	}
	kinds := contests()
	for i, to := range []time.Duration{-skew, longJump, 0, skew} {
		if err := s.contest(ctx, kinds[i%len(kinds)], func() error { return wrong.setClock(to) }); err != nil {
			return err
		}
	}
	if o := c.screen(ctx, s.groups[0].accounts[3], 12_000*engine.Dollar); o.done() && o.verdict != "PROCEED" {
		s.findings.add("a fresh attestation counts for nothing after a clock jumped: %s", o)
	}
	if err := s.midnightWith(ctx, wrong); err != nil {
		return err
	}
	s.tellRaces()
	if err := wrong.start(); err != nil { // Its clock is still wrong.
		return err
	}
	return s.saysUnready(ctx, wrong, -skew)
}

// jumpsBeforeItLeads makes a follower the leader right after its clock has jumped a day.
// Everything that it knows about its peers' clocks is older than the jump.
func (s *stage) jumpsBeforeItLeads(ctx context.Context) error {
	for range s.times(3, 10) {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		heir := s.cluster.followers(leader)[0]
		before, err := s.caller.status(ctx, leader)
		if err != nil {
			return err
		}
		asked := time.Now()
		if err := heir.setClock(longJump); err != nil {
			return err
		}
		pause(ctx, clockFileEvery)
		if err := s.lead(ctx, heir); err != nil {
			return err
		}
		after, err := s.caller.status(ctx, heir)
		if err != nil {
			return err
		}
		if moved := after.LogTime.Sub(before.LogTime); moved > time.Since(asked)+2*clockSlack {
			s.findings.add("the clock of %s jumped a day before it led, and log time moved on by %v in %v", heir.id, moved, time.Since(asked))
		}
		if err := heir.setClock(0); err != nil {
			return err
		}
		pause(ctx, time.Second) // Its peers see its new clock in this time.
	}
	return nil
}

// clockFileEvery is a little longer than a node takes to notice that its clock file has changed.
const clockFileEvery = 70 * time.Millisecond

// saysUnready waits until a node with a wrong clock says so itself.
func (s *stage) saysUnready(ctx context.Context, wrong *node, by time.Duration) error {
	said := ""
	err := until(ctx, settlePatience, func() bool {
		a, err := s.caller.get(ctx, wrong.api+"/readyz")
		if err != nil {
			return false
		}
		said = string(a.body)
		return a.status == 503 && strings.Contains(said, "[-]clock")
	})
	if err != nil {
		return fmt.Errorf("%s, whose clock is %v off, does not say so itself: %.300s: %w", wrong.id, by, said, err)
	}
	return nil
}

// followerIsOff makes a follower's clock wrong. The leader's status and the follower's own
// readiness report it. The follower goes on serving, and no limit is exceeded.
func (s *stage) followerIsOff(ctx context.Context, wrong *node, by time.Duration) error {
	if err := wrong.setClock(by); err != nil {
		return err
	}
	began := time.Now()
	for _, n := range s.cluster.nodes {
		if err := s.tellsSkew(ctx, n, wrong, by); err != nil {
			return err
		}
	}
	s.sample("a wrong clock is told by all after", time.Since(began))
	if err := s.saysUnready(ctx, wrong, by); err != nil {
		return err
	}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	return s.contest(ctx, contests()[0], func() error {
		c := s.client()
		for c.home%len(s.cluster.nodes) != s.index(wrong) {
			c.home++
		}
		c.screen(ctx, s.groups[0].accounts[4], amounts[0])
		return until(ctx, settlePatience, func() bool { // The cluster may lose its leader meanwhile without our doing.
			_, err := s.caller.verb(ctx, leader.api+"/v1/cluster/transfer-leader", map[string]any{})
			return err == nil
		})
	})
}

// tellsSkew waits until a node's status shows and warns of another's wrong clock.
func (s *stage) tellsSkew(ctx context.Context, n, wrong *node, by time.Duration) error {
	told := ""
	err := until(ctx, settlePatience, func() bool {
		st, err := s.caller.status(ctx, n)
		if err != nil {
			return false
		}
		told = fmt.Sprintf("%+v %q", st.Nodes, st.Warnings)
		warned := strings.Contains(strings.Join(st.Warnings, " "), "clock")
		for _, line := range st.Nodes {
			off := time.Duration(line.Skew)*time.Millisecond - by
			if line.ID == wrong.id && off < skewShown && off > -skewShown && warned {
				return true
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("%s does not tell that the clock of %s is %v off, but %s: %w", n.id, wrong.id, by, told, err)
	}
	return nil
}

// midnightWith lets the UTC date change while a node with a wrong clock leads. The node's clock
// jumps, and the node dies. Every date still has its budget once.
func (s *stage) midnightWith(ctx context.Context, wrong *node) error {
	if err := s.lead(ctx, wrong); err != nil {
		return err
	}
	return s.raceOverMidnight(ctx, wrong, func() error { return wrong.setClock(-skew) }, wrong.Kill)
}
