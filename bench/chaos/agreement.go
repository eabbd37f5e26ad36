package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// The scenarios in this file test what one node knows of the work of another.

// everyNodeWrites is C01: a write sent to any node succeeds and shows on all of
// them, read from their own log.
func everyNodeWrites(ctx context.Context, s *stage) error {
	c := s.client()
	c.pinned = true
	g := s.groups[0]
	slowest := time.Duration(0)
	for i := range s.times(4, 100) * len(s.cluster.nodes) {
		c.home = i
		o := c.screen(ctx, g.accounts[4], amounts[i%len(amounts)])
		if !o.done() {
			return fmt.Errorf("a write at %s: %s", s.cluster.nodes[i%len(s.cluster.nodes)].id, o)
		}
		began := time.Now()
		for _, n := range s.cluster.nodes {
			err := until(ctx, settlePatience, func() bool {
				a, err := s.caller.get(ctx, n.api+"/v1/audit/"+o.txn+"?consistency=local")
				return err == nil && a.status == http.StatusOK
			})
			if err != nil {
				return fmt.Errorf("%s does not come to know %s: %w", n.id, o.txn, err)
			}
		}
		slowest = max(slowest, time.Since(began))
	}
	s.figure("seen on all nodes at the latest after (promised: 1 s)", slowest.Round(time.Millisecond))
	return nil
}

// readsWithoutLeader is C02. With the leader dead a follower answers reads: at once what proves
// itself, and records as soon as the next leader confirms the key. Then all nodes but one are
// dead: the node that is left still tells what proves itself, and reads nothing out with a key
// that nobody confirms.
func readsWithoutLeader(ctx context.Context, s *stage) error {
	known := s.client().screen(ctx, s.groups[0].accounts[4], amounts[0])
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	left := s.cluster.followers(leader)[0]
	keys, err := s.caller.get(ctx, leader.api+"/v1/.well-known/jwks.json")
	if err != nil {
		return err
	}
	err = until(ctx, settlePatience, func() bool { // The node must have applied the record itself. Otherwise it might answer a read with the help of a peer.
		st, err := s.caller.status(ctx, left)
		return err == nil && st.Index.Applied >= known.index
	})
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	record := "/v1/audit/" + known.txn + "?consistency=local"
	answers := func(path string) {
		a, err := s.caller.get(ctx, left.api+path)
		switch {
		case err != nil:
			s.findings.add("%s without a leader: %v", path, err)
		case a.status != http.StatusOK:
			s.findings.add("%s without a leader: %d %.200s", path, a.status, a.body)
		case path == "/v1/.well-known/jwks.json" && !bytes.Equal(a.body, keys.body):
			s.findings.add("JWKS differ between %s and %s", leader.id, left.id)
		}
	}
	open := []string{"/v1/.well-known/jwks.json", "/v1/health", "/livez", "/log/checkpoint"}
	for _, path := range append(open, record) {
		answers(path)
	}
	for _, n := range s.cluster.followers(left) {
		if n == leader {
			continue
		}
		if err := n.Kill(); err != nil {
			return err
		}
	}
	for range s.times(5, 20) {
		for _, path := range open {
			answers(path)
		}
		pause(ctx, 100*time.Millisecond)
	}
	a, err := s.caller.get(ctx, left.api+record)
	if err == nil && (a.status != http.StatusServiceUnavailable || !bytes.Contains(a.body, []byte(`"no_leader"`))) {
		s.findings.add("a record by a node that is cut off: %d %.200s", a.status, a.body)
	}
	if a, err := s.caller.get(ctx, left.api+"/readyz"); err == nil && a.status == http.StatusOK {
		s.findings.add("a node without a quorum says that it is ready")
	}
	return s.startAll(ctx)
}

// sameStates is C05: state digests are equal on all nodes at equal indices. The observer gathers
// them all the time; this scenario only requires that there are enough of them to compare.
func sameStates(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	wanted := s.times(2, 20)
	if err := until(ctx, s.span(settlePatience, 10*time.Minute), func() bool { return s.observer.compared() >= wanted }); err != nil {
		return fmt.Errorf("the nodes never told the digest of one index: %w", err)
	}
	storm.stop()
	s.figure("indices at which all nodes told a digest", s.observer.compared())
	return nil
}

// compared counts the indices for which every node reported a digest.
func (o *observer) compared() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	tellers := make(map[uint64]map[string]bool)
	for _, d := range o.digests {
		if tellers[d.index] == nil {
			tellers[d.index] = make(map[string]bool)
		}
		tellers[d.index][d.node] = true
	}
	count := 0
	for _, nodes := range tellers {
		if len(nodes) == len(o.cluster.nodes) {
			count++
		}
	}
	return count
}

// revokedEverywhere is C06: an agent that was revoked at one node is blocked at every other node
// at once.
func revokedEverywhere(ctx context.Context, s *stage) error {
	c := s.client()
	c.pinned = true
	blocked := 0
	for i := range s.times(5, 50) {
		g := s.newGroup(-1)
		c.home = i
		root, o := c.register(ctx, g, account{parent: -1, daily: -1, single: -1})
		if root == nil {
			return fmt.Errorf("%s", o)
		}
		child, o := c.register(ctx, g, account{parent: 0, daily: -1, single: -1})
		if child == nil {
			return fmt.Errorf("%s", o)
		}
		if o := c.screen(ctx, child, amounts[0]); o.verdict != "PROCEED" {
			s.findings.add("a new delegate may not pay: %s", o)
		}
		if o := c.changeStatus(ctx, opRevoke, root); !o.done() {
			return fmt.Errorf("%s", o)
		}
		for range s.cluster.nodes {
			c.home++
			for _, a := range []*account{root, child} {
				o := c.screen(ctx, a, amounts[0])
				if o.verdict != "BLOCK" || o.rule != "R2_CREDENTIAL_STATUS" {
					s.findings.add("after an acknowledged revocation: %s", o)
				}
				blocked++
			}
		}
	}
	s.figure("calls after a revocation, all blocked", blocked)
	return nil
}

// replaysAnywhere is C16: every node repeats the first answer to an Idempotency-Key, even after
// the leader has died.
func replaysAnywhere(ctx context.Context, s *stage) error {
	c := s.client()
	g := s.groups[0]
	var firsts []*operation
	var bodies []map[string]any
	for range s.times(3, 20) {
		firsts = append(firsts, c.screen(ctx, g.accounts[4], amounts[0]))
		if a, o := c.register(ctx, s.newGroup(-1), account{parent: -1, daily: -1, single: -1}); a != nil {
			firsts = append(firsts, o)
		}
	}
	again := func(when string) error {
		for i, o := range firsts {
			for _, n := range s.cluster.nodes {
				members, err := s.replay(ctx, n, o)
				if err != nil {
					return fmt.Errorf("%s, at %s: %w", when, n.id, err)
				}
				if i >= len(bodies) {
					bodies = append(bodies, members)
				}
				if want, got := mustJSON(bodies[i]), mustJSON(members); want != got {
					s.findings.add("%s, %s replays %s differently: %.200s and %.200s", when, n.id, o, want, got)
				}
			}
		}
		return nil
	}
	if err := again("in peace"); err != nil {
		return err
	}
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if err := leader.restart(ctx); err != nil {
		return err
	}
	if err := again("after a failover"); err != nil {
		return err
	}
	s.figure("keys replayed at every node, twice", len(firsts))
	return nil
}

// replay makes the call of an operation again. It returns the answer without the members that are
// measured anew for each call.
func (s *stage) replay(ctx context.Context, n *node, o *operation) (map[string]any, error) {
	var a *answer
	var err error
	_ = until(ctx, settlePatience, func() bool { // The last answer is checked below.
		a, err = s.caller.post(ctx, n.api+o.path, o.key, o.body)
		return err == nil && a.status < 500
	})
	if err != nil {
		return nil, err
	}
	if a.status != o.status || a.header.Get("Idempotent-Replayed") != "true" {
		return nil, fmt.Errorf("%d (replayed %q) for %s: %.300s", a.status, a.header.Get("Idempotent-Replayed"), o, a.body)
	}
	var members map[string]any
	if err := a.decode(&members); err != nil {
		return nil, err
	}
	delete(members, "latencyMs")
	return members, nil
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(raw)
}
