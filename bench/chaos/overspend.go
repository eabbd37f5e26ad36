package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/engine"
)

// The overspend test (N1): the limit is 1,000, and callers make 300 concurrent calls of 10 at all
// nodes. The leader is killed in the middle, and callers retry at other nodes with their keys.
const (
	raceLimit   = 1000 * engine.Dollar
	raceAmount  = 10 * engine.Dollar
	raceCalls   = 300
	raceWins    = 100
	raceClients = 60
	raceKillAt  = 80 // The leader is killed after so many answers.
)

// racers are agents whose calls draw on one limit.
type racers struct {
	name     string
	limit    engine.USD // The fleet's limit.
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

// race makes all calls at once, or makes each caller rest between its calls. It runs middle when
// some calls are answered. In the end every call has an outcome.
func (s *stage) race(ctx context.Context, g *group, agents []int, rest time.Duration, middle func() error) ([]*operation, error) {
	var calls, answers atomic.Int64
	half := make(chan struct{})
	var runners sync.WaitGroup
	made := make([]*operation, raceCalls)
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
				made[i-1] = c.screen(ctx, g.find(agents[int(i)%len(agents)]), raceAmount)
				if answers.Add(1) == raceKillAt {
					close(half)
				}
				pause(ctx, rest)
			}
		}()
	}
	<-half
	err := middle()
	runners.Wait()
	s.resolve(ctx, made)
	return made, err
}

// proceeds counts the PROCEEDs, by UTC date.
func proceeds(made []*operation) map[string]int {
	counts := make(map[string]int)
	for _, o := range made {
		if o.done() && o.verdict == "PROCEED" {
			counts[o.at.Format(time.DateOnly)]++
		}
	}
	return counts
}

// outcomes says how many operations there were for each UTC date, verdict and rule.
func outcomes(made []*operation) string {
	counts := make(map[string]int)
	for _, o := range made {
		counts[fmt.Sprintf("%s %s %s", o.at.Format(time.DateOnly), o.verdict, o.rule)]++
	}
	lines := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(lines, ", ")
}

// contest runs one race, which must end with exactly as many PROCEEDs as the limit has room for.
func (s *stage) contest(ctx context.Context, r racers, middle func() error) error {
	g, err := s.enlist(ctx, r)
	if err != nil {
		return err
	}
	made, err := s.race(ctx, g, r.race, 0, middle)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	total := 0
	for _, count := range proceeds(made) {
		total += count
	}
	if total != raceWins {
		s.findings.add("%s: %d calls of 10 proceeded under a limit of 1,000, not exactly %d", r.name, total, raceWins)
	}
	s.wins += total
	s.races++
	return nil
}

// overspend is N1 for an agent, for delegates under one parent and for a fleet.
func overspend(ctx context.Context, s *stage) error {
	for _, contest := range contests() {
		if err := s.killedInTheMiddle(ctx, contest); err != nil {
			return err
		}
	}
	s.tellRaces()
	return nil
}

// killedInTheMiddle runs one contest in which the leader dies.
func (s *stage) killedInTheMiddle(ctx context.Context, r racers) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.contest(ctx, r, leader.Kill); err != nil {
		return err
	}
	s.sample("a race", time.Since(began))
	return leader.restart(ctx)
}

func (s *stage) tellRaces() {
	s.figure("races", s.races)
	s.figure("PROCEED of all of them", s.wins)
	s.races, s.wins = 0, 0
}

// racesPerCluster is after how many races a new cluster is used, which bounds the history to
// inspect.
const racesPerCluster = 100

// overspendManyTimes repeats N1, and takes a new cluster after racesPerCluster races. In every
// race the leader dies in the middle.
func overspendManyTimes(ctx context.Context, s *stage) error {
	kinds := contests()
	count := min(s.options.Races-s.raced, racesPerCluster)
	for i := range count {
		if err := s.killedInTheMiddle(ctx, kinds[i%len(kinds)]); err != nil {
			return fmt.Errorf("race %d: %w", s.raced+1, err)
		}
		s.raced++
		if len(s.findings.list) > 0 {
			break
		}
	}
	s.figure("races so far", s.raced)
	s.tellRaces()
	return nil
}

// overspendAtMidnight is the other half of C04: the UTC date changes during the same race. Every
// date has a budget of its own, and none is exceeded.
func overspendAtMidnight(ctx context.Context, s *stage) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	return s.raceOverMidnight(ctx, leader, func() error { return nil }, leader.Kill)
}

// A race begins a little before midnight, and its callers rest between their calls, so that each
// of the two days has some calls.
const (
	beforeMidnight = 2 * time.Second
	midnightRest   = 600 * time.Millisecond
)

// raceOverMidnight runs a race in which the UTC date changes, and then a second race for the
// budget of the new day. In the middle of each race it calls a function of the scenario.
func (s *stage) raceOverMidnight(ctx context.Context, asked *node, first, second func() error) error {
	contest := contests()[1]
	g, err := s.enlist(ctx, contest)
	if err != nil {
		return err
	}
	now, err := s.caller.status(ctx, asked)
	if err != nil {
		return err
	}
	midnight := now.LogTime.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if err := s.advance(ctx, midnight.Sub(now.LogTime)-beforeMidnight); err != nil {
		return err
	}
	made, err := s.race(ctx, g, contest.race, midnightRest, func() error {
		if err := first(); err != nil {
			return err
		}
		return s.logReaches(ctx, midnight)
	})
	if err != nil {
		return err
	}
	last, err := s.race(ctx, g, contest.race, 0, second)
	if err != nil {
		return err
	}
	counts := proceeds(append(made, last...))
	before, after := counts[midnight.Add(-time.Hour).Format(time.DateOnly)], counts[midnight.Format(time.DateOnly)]
	s.figure("PROCEED before midnight", before)
	s.figure("after", after)
	if before == 0 || before > raceWins || after != raceWins {
		s.findings.add("%d calls proceeded before midnight (1 to %d) and %d after (exactly %d); of all: %s", before, raceWins, after, raceWins, outcomes(append(made, last...)))
	}
	return nil
}

// logReaches waits until the log has an entry of the given time. The log time in a node's status
// does not show that, because it may be up to 2 s ahead of the entries.
func (s *stage) logReaches(ctx context.Context, at time.Time) error {
	c := s.client()
	return until(ctx, settlePatience, func() bool {
		o := c.screen(ctx, s.groups[0].accounts[4], amounts[0])
		return o.done() && !o.at.Before(at)
	})
}

// advance moves log time on.
func (s *stage) advance(ctx context.Context, span time.Duration) error {
	span = span.Round(time.Millisecond)
	moved := advance{begin: s.history.now(), by: span}
	_, err := s.caller.verb(ctx, s.cluster.nodes[0].api+"/v1/test/clock", map[string]any{"advance": span.String()})
	moved.end = s.history.now()
	s.advances = append(s.advances, moved)
	return err
}
