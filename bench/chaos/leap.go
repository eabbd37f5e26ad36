package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"railguard/engine"
)

// powerWithWrongClocks is C04 with the clocks of all nodes wrong. The power goes away, and all
// machines come up with the same wrong time, as those of one host or one source of time do. No
// leader opens its term; every node says why, gives no verdict and has every record. When the
// clocks are mended, the cluster goes on by itself at the right time.
func powerWithWrongClocks(ctx context.Context, s *stage) error {
	s.wrongClock = true
	c := s.client()
	for _, by := range []time.Duration{100 * 24 * time.Hour, 9 * time.Hour} {
		known := c.screen(ctx, s.groups[0].accounts[4], amounts[0])
		if !known.done() {
			return fmt.Errorf("no verdict before: %s", known)
		}
		if err := s.powerOff(by); err != nil {
			return err
		}
		for _, n := range s.cluster.nodes {
			if err := s.waitsForPersons(ctx, n, known.txn); err != nil {
				return fmt.Errorf("all clocks are %v ahead: %w", by, err)
			}
		}
		for _, n := range s.cluster.nodes {
			if err := n.setClock(0); err != nil {
				return err
			}
		}
		began := time.Now()
		if err := s.startAll(ctx); err != nil {
			return err
		}
		s.sample("ready after the clocks were mended", time.Since(began))
		if o := c.screen(ctx, s.groups[0].accounts[4], amounts[0]); !o.done() {
			s.findings.add("the clocks are right again and there is no verdict: %s", o)
		}
	}
	return s.inspectEarly(ctx)
}

// powerOff kills all nodes and starts them with their clocks wrong.
func (s *stage) powerOff(by time.Duration) error {
	for _, n := range s.cluster.nodes {
		if err := n.Kill(); err != nil {
			return err
		}
		if err := n.setClock(by); err != nil {
			return err
		}
	}
	for _, n := range s.cluster.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	return nil
}

// refusedAt makes a payment at a node. While leaders that open no term give way to each other there
// may be none for a moment, so it is made again then.
func (s *stage) refusedAt(ctx context.Context, n *node) (o *operation) {
	_ = until(ctx, settlePatience, func() bool { // The caller judges the last answer.
		o = s.writeAt(ctx, n)
		return o.code != "no_leader"
	})
	return o
}

// waitsForPersons waits until a node says that the time has to be confirmed, and checks that it
// gives no verdict and has the record.
func (s *stage) waitsForPersons(ctx context.Context, n *node, txn string) error {
	said := ""
	err := until(ctx, settlePatience, func() bool {
		a, err := s.caller.get(ctx, n.api+"/readyz")
		if err != nil {
			return false
		}
		said = string(a.body)
		return a.status == http.StatusServiceUnavailable && strings.Contains(said, "no leader opens its term") && strings.Contains(said, "confirm-time")
	})
	if err != nil {
		return fmt.Errorf("%s does not say so: %.300s: %w", n.id, said, err)
	}
	if o := s.refusedAt(ctx, n); o.status != http.StatusServiceUnavailable || o.code != "time_uncertain" {
		s.findings.add("%s opens no term and answers a payment with %s", n.id, o)
	}
	a, err := s.caller.get(ctx, n.api+"/v1/audit/"+txn)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		s.findings.add("%s does not show the record of a minute ago: %d %.300s", n.id, a.status, a.body)
	}
	st, err := s.caller.status(ctx, n)
	if err != nil {
		return err
	}
	if ahead := time.Until(st.LogTime); ahead > time.Duration(engine.Minute) {
		s.findings.add("the clocks of all were wrong, and log time of %s is %v ahead", n.id, ahead)
	}
	return nil
}
