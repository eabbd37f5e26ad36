package chaos

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// retention is C17: data that is past its retention is gone on all nodes at the same place in the
// log. The test clock moves log time. The audit log is inspected before that, because it loses
// leaves too.
func retention(ctx context.Context, s *stage) error {
	c := s.client()
	g := s.groups[0]
	screened := c.screen(ctx, g.accounts[4], amounts[0])
	attested := c.attest(ctx, g.accounts[3])
	if !screened.done() || !attested.done() {
		return fmt.Errorf("%s; %s", screened, attested)
	}
	user, err := s.registerUser(ctx)
	if err != nil {
		return err
	}
	s.inspected = true
	if err := s.inspect(ctx, s.report); err != nil {
		return err
	}
	attestations := "/v1/agents/" + g.accounts[3].id + "/attestations"
	record := "/v1/audit/" + screened.txn
	for _, step := range []struct {
		advance time.Duration
		path    string
		is      func(*answer) bool // Whether the answer says that it is gone.
		gone    bool
	}{
		{24*time.Hour + 30*time.Minute, attestations, noData, false}, // The attestation does not count any more, but is kept for an hour more.
		{time.Hour, attestations, noData, true},
		{29 * 24 * time.Hour, "/v1/users/" + user, notFound, false},
		{2 * 24 * time.Hour, "/v1/users/" + user, notFound, true},
		{57 * 24 * time.Hour, record, notFound, false},
		{2 * 24 * time.Hour, record, notFound, true},
	} {
		if err := s.advance(ctx, step.advance); err != nil {
			return err
		}
		if err := s.sameAge(ctx, step.path, step.is, step.gone); err != nil {
			return err
		}
	}
	before := s.observer.compared()
	if err := until(ctx, settlePatience, func() bool { return s.observer.compared() > before }); err != nil {
		return fmt.Errorf("no state digest of all nodes after the retention: %w", err)
	}
	in := &inspection{digests: s.observer.digests}
	s.findings.join(in.checkDigests())
	s.figure("state digests compared", s.observer.compared())
	return nil
}

func notFound(a *answer) bool { return a.status == http.StatusNotFound }

func noData(a *answer) bool {
	var page struct {
		Data         []any `json:"data"`
		Attestations []any `json:"attestations"`
	}
	return a.status == http.StatusOK && a.decode(&page) == nil && len(page.Data)+len(page.Attestations) == 0
}

// sameAge asks every node for a thing, which must be there on all nodes or gone on all nodes.
// Each node is asked at an index that is not before the one at which the first was asked.
func (s *stage) sameAge(ctx context.Context, path string, is func(*answer) bool, gone bool) error {
	header := http.Header{}
	for i, n := range s.cluster.nodes {
		var a *answer
		ask := func() bool {
			var err error
			a, err = s.caller.do(ctx, request{method: http.MethodGet, url: n.api + path, header: header})
			return err == nil && a.status != http.StatusServiceUnavailable && (i > 0 || !gone || is(a))
		}
		if err := until(ctx, settlePatience, ask); err != nil {
			return fmt.Errorf("%s at %s: %w", path, n.id, err)
		}
		if i == 0 {
			header.Set("X-Railguard-Min-Index", a.header.Get("X-Railguard-Index"))
		}
		switch {
		case !gone && is(a):
			s.findings.add("%s is gone at %s before its time: %d %.200s", path, n.id, a.status, a.body)
		case gone && !is(a):
			s.findings.add("%s is gone at %s and still there at %s, at no older index: %d %.200s", path, s.cluster.nodes[0].id, n.id, a.status, a.body)
		}
	}
	return nil
}

func (s *stage) registerUser(ctx context.Context) (string, error) {
	a, err := s.caller.verb(ctx, s.cluster.nodes[0].api+"/v1/users/register", map[string]any{
		"legalName": "Marigold Testperson", "agentIds": []string{s.groups[0].accounts[4].id}, "operatorLegalName": operatorName,
	})
	if err != nil {
		return "", err
	}
	var user struct {
		ID string `json:"userId"`
	}
	return user.ID, a.decode(&user)
}
