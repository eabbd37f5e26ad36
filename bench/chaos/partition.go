package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// minorityIsSilent is C10: a node that is cut off from the others gives no verdict and answers so
// in time. It takes part again by itself when the cut is mended.
func minorityIsSilent(ctx context.Context, s *stage) error {
	if !s.cluster.wires.knows() {
		return skipped("this system does not tell which process holds a connection: no partitions")
	}
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	for round := range s.times(2, 6) {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		lonely, kind := leader, "the leader"
		if round%2 == 1 {
			lonely, kind = s.cluster.followers(leader)[0], "a follower"
		}
		s.cluster.wires.isolate(rule{cut: true}, lonely.id)
		pause(ctx, time.Second)
		began := s.history.now()
		if err := s.askLonely(ctx, lonely, kind); err != nil {
			return err
		}
		if err := s.verdictAfter(ctx, began); err != nil {
			return fmt.Errorf("the majority gives no verdict: %w", err)
		}
		s.miss(ctx, lonely, kind)
		s.cluster.wires.heal()
		if err := lonely.ready(ctx, settlePatience); err != nil {
			return fmt.Errorf("after the cut healed: %w", err)
		}
	}
	storm.stop()
	return nil
}

// askLonely makes calls at a node that reaches no other. Each must get a 503 and none a verdict.
func (s *stage) askLonely(ctx context.Context, lonely *node, kind string) error {
	slowest := time.Duration(0)
	codes := make(map[string]int)
	for range 3 {
		o := &operation{
			kind: opScreen, subject: s.groups[0].accounts[4].id, account: 4, amount: amounts[0], path: "/v1/screen",
			body: body(map[string]any{"token": s.groups[0].accounts[4].token, "amount": usd(amounts[0])}),
		}
		o.client = s.client().id
		o.key = fmt.Sprintf("%s-lonely-%d", s.run, o.client)
		s.history.begin(o)
		began := time.Now()
		a, err := s.caller.post(ctx, lonely.api+o.path, o.key, o.body)
		slowest = max(slowest, time.Since(began))
		o.attempts = 1
		if err != nil {
			s.history.end(o, pending, reply{code: err.Error()})
			s.findings.add("%s, cut off, does not answer: %v", kind, err)
			continue
		}
		out, r := judge(opScreen, a)
		s.history.end(o, out, r)
		codes[r.code]++
		switch {
		case a.status == http.StatusOK:
			s.findings.add("%s, cut off, gives the verdict %s", kind, r.verdict)
		case a.status != http.StatusServiceUnavailable:
			s.findings.add("%s, cut off, answers %d: %.200s", kind, a.status, a.body)
		case a.header.Get("X-Railguard-Outcome") == "":
			s.findings.add("%s, cut off, answers 503 without X-Railguard-Outcome", kind)
		}
	}
	if a, err := s.caller.get(ctx, lonely.api+"/readyz"); err == nil && a.status == http.StatusOK {
		s.findings.add("%s, cut off, says that it is ready", kind)
	}
	text, _ := json.Marshal(codes) // A map of strings and ints always encodes.
	s.sample(kind+" answers that it cannot after at most", slowest)
	s.figure(kind+" answers", string(text))
	return nil
}

// miss reads a record that the cut-off node cannot know. Its answer must not be 404, because the
// record may exist.
func (s *stage) miss(ctx context.Context, lonely *node, kind string) {
	c := s.client()
	for c.home%len(s.cluster.nodes) == s.index(lonely) {
		c.home++
	}
	o := c.screen(ctx, s.groups[1].accounts[4], amounts[0])
	if !o.done() {
		return
	}
	a, err := s.caller.get(ctx, lonely.api+"/v1/audit/"+o.txn)
	if err == nil && a.status != http.StatusServiceUnavailable {
		s.findings.add("%s, cut off, answers %d for a record of the others", kind, a.status)
	}
}

func (s *stage) index(of *node) int {
	for i, n := range s.cluster.nodes {
		if n == of {
			return i
		}
	}
	return -1
}
