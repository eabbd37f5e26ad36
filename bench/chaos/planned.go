package chaos

import (
	"bytes"
	"context"
	"os"
	"time"
)

// planned is something that an operator does on purpose under load.
type planned struct {
	name     string
	attempts int // How many attempts one call may need.
	do       func(context.Context, *stage) error
}

// transfersAndRestarts is C09: what an operator does on purpose must not hurt callers. Leadership
// is moved under load, and no caller gets an error. Every node is restarted in turn, once after
// draining it and once by only telling it to end, and no call needs more than one retry.
func transfersAndRestarts(ctx context.Context, s *stage) error {
	for _, p := range []planned{
		{"leadership transferred", 1, func(ctx context.Context, s *stage) error { return s.transfers(ctx) }},
		{"nodes drained and restarted", 2, func(ctx context.Context, s *stage) error { return s.rollingRestart(ctx, true) }},
		{"nodes told to end and started", 2, func(ctx context.Context, s *stage) error { return s.rollingRestart(ctx, false) }},
	} {
		if err := s.unhurt(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// plannedTries is how often something is tried. It is tried again if the nodes held an election
// that nobody asked for, because the machine was too busy to send heartbeats in time.
const plannedTries = 3

// unhurt does something planned under load and counts the errors that callers got.
func (s *stage) unhurt(ctx context.Context, p planned) error {
	for range plannedTries {
		storm := s.storm(ctx, s.load())
		if err := s.verdictAfter(ctx, s.history.now()); err != nil {
			storm.stop()
			return err
		}
		pause(ctx, faultRest/4)
		began, elections := s.history.now(), s.cluster.elections()
		err := p.do(ctx, s)
		if err == nil {
			err = s.verdictAfter(ctx, s.history.now())
		}
		end := s.history.now()
		storm.stop()
		if err != nil {
			return err
		}
		hurt, attempts, example := s.history.errorsSince(began)
		s.sample("gap, "+p.name, s.history.gap(began, end))
		if attempts <= p.attempts && (hurt == 0 || p.attempts > 1) {
			s.figure(p.name+", calls retried once", hurt)
			return nil
		}
		if elected := s.cluster.elections() - elections; elected > 0 {
			s.figure(p.name+", once more: elections for want of processor time", elected)
			continue
		}
		s.findings.add("%s: %d calls met an error, one needed %d attempts (allowed: %d), such as %s", p.name, hurt, attempts, p.attempts, example)
		return nil
	}
	return nil
}

// transfers moves leadership again and again.
func (s *stage) transfers(ctx context.Context) error {
	for range s.times(4, 20) {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := s.caller.verb(ctx, leader.api+"/v1/cluster/transfer-leader", map[string]any{}); err != nil {
			return err
		}
		s.sample("a transfer", time.Since(began))
		pause(ctx, 300*time.Millisecond)
	}
	return nil
}

// rollingRestart restarts one node after another.
func (s *stage) rollingRestart(ctx context.Context, drain bool) error {
	for range s.times(1, 3) {
		for _, n := range s.cluster.nodes {
			if drain {
				if _, err := s.caller.verb(ctx, n.api+"/v1/cluster/drain", map[string]any{}); err != nil {
					return err
				}
			}
			began := time.Now()
			if err := n.Stop(); err != nil {
				return err
			}
			s.sample("a node ends after", time.Since(began))
			if err := n.restart(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// electionWords are logged by a follower that waited in vain for its leader, and by a leader that
// waited in vain for its followers.
var electionWords = [][]byte{[]byte("heartbeat timeout reached"), []byte("failed to contact quorum")}

// elections counts these lines over all nodes and the whole run.
func (c *cluster) elections() int {
	count := 0
	for _, n := range c.members() {
		raw, err := os.ReadFile(n.Log)
		if err != nil {
			continue
		}
		for _, words := range electionWords {
			count += bytes.Count(raw, words)
		}
	}
	return count
}
