package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lostAndReplaced is C15: a node whose disk is gone only has to be started to come back. A node
// that never comes back is replaced by a node with another name, with one verb.
func lostAndReplaced(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	lost := s.cluster.followers(leader)[0]
	if err := lost.Kill(); err != nil {
		return err
	}
	if err := lost.wipe(); err != nil {
		return err
	}
	began := time.Now()
	if err := lost.restart(ctx); err != nil {
		return fmt.Errorf("wiped: %w\n%s", err, lost.LogTail())
	}
	if err := s.voters(ctx, 3); err != nil {
		return fmt.Errorf("wiped and started: %w\n%s", err, lost.LogTail())
	}
	s.sample("a wiped node has its vote again after", time.Since(began))
	return s.replaced(ctx)
}

func (s *stage) replaced(ctx context.Context) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	dead := s.cluster.followers(leader)[1]
	if err := dead.Kill(); err != nil {
		return err
	}
	began := time.Now()
	heir, err := s.cluster.add(fmt.Sprintf("n%d", len(s.cluster.nodes)+1), 0)
	if err != nil {
		return err
	}
	s.cluster.forget(dead)
	if _, err := s.caller.verb(ctx, leader.api+"/v1/cluster/remove", map[string]any{"id": dead.id}); err != nil {
		return err
	}
	if err := heir.restart(ctx); err != nil {
		return fmt.Errorf("the new node: %w\n%s", err, heir.LogTail())
	}
	s.observer.follow(heir)
	if err := s.voters(ctx, 3); err != nil {
		return fmt.Errorf("replaced: %w\n%s", err, heir.LogTail())
	}
	s.sample("a replacement has its vote after", time.Since(began))
	return s.verdictAfter(ctx, s.history.now())
}

// voters waits until so many nodes have a vote and all of these are healthy.
func (s *stage) voters(ctx context.Context, count int) error {
	last := ""
	err := until(ctx, settlePatience, func() bool {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return false
		}
		st, err := s.caller.status(ctx, leader)
		last = fmt.Sprintf("%+v", st.Nodes)
		return err == nil && st.Quorum.Voters == count && st.Quorum.Healthy == count && st.Quorum.FailureTolerance == (count-1)/2
	})
	if err != nil {
		return fmt.Errorf("not %d healthy voters, but %s: %w", count, last, err)
	}
	return nil
}

// survivesLosses is C14: five nodes survive two losses, and their status says correctly how many
// more they can bear. Without a quorum there is no verdict.
func survivesLosses(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	for lost, tolerance := range []int{2, 1, 0} {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		told, began := -1, time.Now()
		err = until(ctx, settlePatience, func() bool {
			st, err := s.caller.status(ctx, leader)
			told = st.Quorum.FailureTolerance
			return err == nil && told == tolerance && st.Quorum.Healthy == 5-lost
		})
		if err != nil {
			s.findings.add("%d of 5 nodes are dead and the status says that %d more may go, not %d", lost, told, tolerance)
		}
		s.sample(fmt.Sprintf("status tells of %d losses after", lost), time.Since(began))
		if err := s.verdictAfter(ctx, s.history.now()); err != nil {
			return fmt.Errorf("%d of 5 nodes are dead: %w", lost, err)
		}
		if tolerance == 0 {
			break
		}
		if err := leader.Kill(); err != nil { // The loss of the leader is the hardest.
			return err
		}
	}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	pause(ctx, time.Second)
	for _, n := range s.cluster.nodes {
		if n.Running() {
			if err := s.askLonely(ctx, n, "a node of a minority of two"); err != nil {
				return err
			}
			break
		}
	}
	began := time.Now()
	if err := s.startAll(ctx); err != nil {
		return err
	}
	s.sample("all five ready again after", time.Since(began))
	return s.verdictAfter(ctx, s.history.now())
}

// farBehind is C08: a follower is away while the others cut their logs. When it comes back, the
// others go on without a stop. In the long form more is written than the log that is kept for
// peers, so the follower needs a snapshot. In the short form it catches up from the log.
func farBehind(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	away := s.cluster.followers(leader)[0]
	if err := away.Kill(); err != nil {
		return err
	}
	if s.options.Long {
		if err := s.writeMuch(ctx); err != nil {
			return err
		}
	}
	pause(ctx, s.span(1500*time.Millisecond, 30*time.Second))
	for _, n := range s.cluster.followers(away) {
		if _, err := s.caller.verb(ctx, n.api+"/v1/cluster/snapshot", map[string]any{}); err != nil {
			return err
		}
	}
	began := s.history.now()
	if err := away.restart(ctx); err != nil {
		return err
	}
	s.sample("says that it is ready after", s.history.now()-began)
	if st, err := s.caller.status(ctx, away); err == nil {
		s.figure("then behind by entries", s.observer.seenHighest()-min(st.Index.Applied, s.observer.seenHighest()))
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil {
		return err
	}
	s.sample("gap meanwhile", s.history.gap(began, s.history.now()))
	st, err := s.caller.status(ctx, away)
	s.figure("snapshot index of the one that was away", st.Index.Snapshot)
	if err == nil && s.options.Long && st.Index.Snapshot == 0 {
		s.findings.add("the follower that was away came back without a snapshot: the test did not test it")
	}
	return err
}

const (
	bulkRecords = 1400 // Each has a quarter of a MiB. Together they are more than the 256 MiB of log that are kept for peers.
	bulkEntries = 2000
)

// writeMuch fills the log with whitelists, which are the largest records.
func (s *stage) writeMuch(ctx context.Context) error {
	var text strings.Builder
	text.WriteString(`{"mode":"off","entries":[`)
	for i := range bulkEntries {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"name":"Supplier %d of stationery and other supplies for offices","label":"%s"}`, i, strings.Repeat("x", 40))
	}
	text.WriteString("]}")
	raw := []byte(text.String())
	for i := range bulkRecords {
		g := s.groups[i%groupsOfRoom]
		n := s.cluster.nodes[i%len(s.cluster.nodes)]
		if !n.Running() {
			continue
		}
		r := request{method: "PUT", url: n.api + "/v1/agents/" + g.accounts[4].id + "/whitelist", body: raw, patience: readPatience}
		a, err := s.caller.do(ctx, r)
		if err == nil && !a.ok() && a.status < 500 {
			return fmt.Errorf("whitelist: %d %.300s", a.status, a.body)
		}
	}
	return nil
}
