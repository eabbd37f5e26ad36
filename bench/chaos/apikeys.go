package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// revokedKeys is C26: after an API key was revoked at one node, no call that starts later gets a
// verdict with that key at any node.
func revokedKeys(ctx context.Context, s *stage) error {
	refused := 0
	for i := range s.times(10, 100) {
		n := s.cluster.nodes[i%len(s.cluster.nodes)]
		id, secret, err := s.createKey(ctx, n, "screener")
		if err != nil {
			return err
		}
		c := s.client()
		c.caller, c.pinned, c.home = newCaller(secret), true, i
		if err := s.keyKnown(ctx, c.caller); err != nil {
			return err
		}
		a := s.groups[0].accounts[i%len(s.groups[0].accounts)]
		if o := c.screen(ctx, a, amounts[0]); o.verdict == "" {
			s.findings.add("a new key gets no verdict: %s", o)
		}
		if err := s.revokeKey(ctx, n, id); err != nil {
			return err
		}
		for _, n := range s.cluster.nodes {
			o := screening(a, amounts[0])
			answer, err := c.caller.do(ctx, request{method: http.MethodPost, url: n.api + o.path, idempotency: randomHex(8), body: o.body})
			if err != nil {
				return err
			}
			if answer.status != http.StatusUnauthorized { // If such a call wrote a leaf, the inspection finds it as a leaf that nobody asked for.
				s.findings.add("after an acknowledged revocation of its key: %s answers %d %.200s", n.id, answer.status, answer.body)
			}
			refused++
		}
	}
	s.figure("calls with a revoked key, all refused", refused)
	return nil
}

// createKey makes an API key with one role, at a node's admin listener.
func (s *stage) createKey(ctx context.Context, n *node, role string) (id, secret string, err error) {
	a, err := newCaller(s.cluster.key).do(ctx, request{
		method: http.MethodPost, url: n.admin + "/admin/keys", body: []byte(`{"name":"for a moment","roles":["` + role + `"]}`),
	})
	if err != nil {
		return "", "", err
	}
	var made struct{ KeyID, Key string }
	if err := json.Unmarshal(a.body, &made); err != nil || a.status != http.StatusCreated {
		return "", "", fmt.Errorf("an API key at %s: %d %.200s", n.id, a.status, a.body)
	}
	return made.KeyID, made.Key, nil
}

// keyKnown waits until every node accepts a new key, because a follower learns of the key only
// from the log.
func (s *stage) keyKnown(ctx context.Context, c *caller) error {
	for _, n := range s.cluster.nodes {
		err := until(ctx, settlePatience, func() bool {
			a, err := c.do(ctx, request{method: http.MethodGet, url: n.api + "/v1/audit?limit=1"})
			return err == nil && a.status != http.StatusUnauthorized
		})
		if err != nil {
			return fmt.Errorf("a new key is not known at %s: %w", n.id, err)
		}
	}
	return nil
}

func (s *stage) revokeKey(ctx context.Context, n *node, id string) error {
	a, err := newCaller(s.cluster.key).do(ctx, request{method: http.MethodDelete, url: n.admin + "/admin/keys/" + id})
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("revoking an API key at %s: %d %.200s", n.id, a.status, a.body)
	}
	return err
}
