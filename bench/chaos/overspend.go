package chaos

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"railguard/engine"
)

// The overspend test (N1): a limit of 1,000, 300 concurrent calls of 10 over all
// nodes, the leader killed in the middle, callers retry elsewhere with their keys.
const (
	raceLimit   = 1000 * engine.Dollar
	raceAmount  = 10 * engine.Dollar
	raceCalls   = 300
	raceWins    = 100
	raceClients = 60
	raceKillAt  = 80 // Answers after which the leader dies.
)

// racers are agents whose calls draw on one limit.
type racers struct {
	name     string
	limit    engine.USD // The fleet's.
	accounts []account
	race     []int // Indices of the agents that pay.
}

func contests() []racers {
	const none = engine.NoLimit
	root := account{parent: -1, daily: raceLimit, single: none}
	return []racers{
		{"one agent", none, []account{root}, []int{0}},
		{"delegates of one parent", none, []account{root,
			{parent: 0, daily: raceLimit, single: none}, {parent: 0, daily: raceLimit, single: none}, {parent: 1, daily: raceLimit, single: none},
		}, []int{1, 2, 3}},
		{"a fleet", raceLimit, []account{
			{parent: -1, fleet: true, daily: none, single: none}, {parent: -1, fleet: true, daily: none, single: none},
			{parent: -1, fleet: true, daily: none, single: none},
		}, []int{0, 1, 2}},
	}
}

// enlist makes the racers' group.
func (s *stage) enlist(ctx context.Context, r racers) (*group, error) {
	g := s.newGroup(r.limit)
	c := s.client()
	c.patient = settlePatience
	if r.limit != engine.NoLimit {
		if err := c.createFleet(ctx, g); err != nil {
			return nil, err
		}
	}
	for _, plan := range r.accounts {
		if a, o := c.register(ctx, g, plan); a == nil {
			return nil, fmt.Errorf("%s: %s", r.name, o)
		}
	}
	return g, nil
}

// race makes all calls at once; middle runs when some of them are answered.
func (s *stage) race(ctx context.Context, g *group, agents []int, middle func() error) error {
	var calls, answers atomic.Int64
	half := make(chan struct{})
	var runners sync.WaitGroup
	for range raceClients {
		c := s.client()
		c.patient = settlePatience
		runners.Add(1)
		go func() {
			defer runners.Done()
			for {
				i := calls.Add(1)
				if i > raceCalls {
					return
				}
				c.screen(ctx, g.find(agents[int(i)%len(agents)]), raceAmount)
				if answers.Add(1) == raceKillAt {
					close(half)
				}
			}
		}()
	}
	<-half
	err := middle()
	runners.Wait()
	return err
}

// proceeds counts the PROCEEDs of a group, by UTC date.
func (s *stage) proceeds(g *group) map[string]int {
	counts := make(map[string]int)
	for _, o := range s.history.operations() {
		if o.group == g.index && o.kind == opScreen && o.done() && o.verdict == "PROCEED" {
			counts[o.at.Format("2006-01-02")]++
		}
	}
	return counts
}

// overspend is N1 for an agent, for delegates under one parent and for a fleet.
func overspend(ctx context.Context, s *stage) error {
	for _, contest := range contests() {
		g, err := s.enlist(ctx, contest)
		if err != nil {
			return err
		}
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		if err := s.race(ctx, g, contest.race, leader.kill); err != nil {
			return err
		}
		s.resolve(ctx)
		total := 0
		for _, count := range s.proceeds(g) {
			total += count
		}
		s.figure(contest.name+" PROCEED", total)
		if total != raceWins {
			s.findings.add("%s: %d calls of 10 proceeded under a limit of 1,000, not exactly %d", contest.name, total, raceWins)
		}
		if err := leader.restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

// overspendAtMidnight is C04's other half: the same race over the change of the
// UTC date. Every date has its own budget, and none is ever exceeded.
func overspendAtMidnight(ctx context.Context, s *stage) error {
	contest := contests()[1]
	g, err := s.enlist(ctx, contest)
	if err != nil {
		return err
	}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	now, err := s.caller.status(ctx, leader)
	if err != nil {
		return err
	}
	midnight := now.LogTime.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if err := s.advance(ctx, midnight.Sub(now.LogTime)-400*time.Millisecond); err != nil {
		return err
	}
	err = s.race(ctx, g, contest.race, func() error {
		at := func() bool {
			st, err := s.caller.status(ctx, leader)
			return err == nil && st.LogTime.Before(midnight) == false
		}
		return until(ctx, settlePatience, at)
	})
	if err != nil {
		return err
	}
	if err := s.race(ctx, g, contest.race, leader.kill); err != nil {
		return err
	}
	s.resolve(ctx)
	counts := s.proceeds(g)
	before, after := counts[midnight.Add(-time.Hour).Format("2006-01-02")], counts[midnight.Format("2006-01-02")]
	s.figure("PROCEED before midnight", before)
	s.figure("after", after)
	if before == 0 || before > raceWins || after != raceWins {
		s.findings.add("%d calls proceeded before midnight (1 to %d) and %d after (exactly %d)", before, raceWins, after, raceWins)
	}
	return nil
}

// advance moves log time on.
func (s *stage) advance(ctx context.Context, span time.Duration) error {
	s.clockMoved = true
	_, err := s.caller.verb(ctx, s.cluster.nodes[0].api+"/v1/test/clock", map[string]any{"advance": span.Round(time.Millisecond).String()})
	return err
}
