package registry

import (
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// agentStatus is POST /v1/agents/{id}/suspend, reinstate and revoke.
func agentStatus(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return border.Answer{}, err
		}
		return changeStatus(c, to, "agentId", c.Judge.Terms.AgentID(profile.Slot), func(change *registry.StatusChange) (*wire.Status, error) {
			return change.OfAgent(&c.Judge, profile)
		})
	}
}

// userStatus is POST /v1/users/{id}/suspend, reinstate and revoke.
func userStatus(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		profile, err := pathUser(c)
		if err != nil {
			return border.Answer{}, err
		}
		return changeStatus(c, to, "userId", c.Judge.Terms.UserID(profile.Slot), func(change *registry.StatusChange) (*wire.Status, error) {
			return change.OfUser(&c.Judge, profile)
		})
	}
}

// changeStatus reads a status change of the agent or user with that id, and answers it.
func changeStatus(c *border.Request, to engine.Status, idName, id string, build func(*registry.StatusChange) (*wire.Status, error)) (border.Answer, error) {
	f := c.ReadFields()
	change, err := registry.ReadStatusChange(&f, to)
	if err != nil {
		return border.Answer{}, err
	}
	var subject strictjson.Members
	subject.Text(idName, id)
	return answerStatus(c, subject, &change, build)
}

// operatorStatusChange is POST /v1/operators/suspend and reinstate. One flag on the
// operator's row counts for all its agents.
func operatorStatusChange(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		f := c.ReadFields()
		meant := registry.ReadNamedOperator(&f)
		change, err := registry.ReadStatusChange(&f, to)
		if err != nil {
			return border.Answer{}, err
		}
		operator, err := meant.Find(&c.Judge)
		if err != nil {
			return border.Answer{}, err
		}
		var subject strictjson.Members
		subject.Text("operatorId", c.Judge.OperatorID(operator.Slot))
		subject.Text("operatorLegalName", operator.LegalName)
		return answerStatus(c, subject, &change, func(change *registry.StatusChange) (*wire.Status, error) {
			return change.OfOperator(&c.Judge, operator)
		})
	}
}

// limitOperator is POST /v1/operators/limit: one daily limit over all agents of an operator.
func limitOperator(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	meant := registry.ReadNamedOperator(&f)
	limit, err := registry.ReadOperatorLimit(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindOperatorLimit, func(j *edge.Judge) (any, error) {
		operator, err := meant.Find(j)
		if err != nil {
			return nil, err
		}
		return limit.Record(j, operator)
	})
}

// renderOperatorLimit answers it.
func renderOperatorLimit(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "operatorId", "operatorLegalName", "dailyLimitUSDC", "previousDailyLimitUSDC", "rev", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// answerStatus proposes the change. If the party has that status already, the answer is that of a
// change, but there is no event.
func answerStatus(c *border.Request, subject strictjson.Members, change *registry.StatusChange, build func(*registry.StatusChange) (*wire.Status, error)) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindStatus, Record: func() (any, error) { return build(change) }, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedTransition {
			return border.Conflict("invalid_transition", "from "+r.State.String()+" to "+change.To.String()+" is not possible", border.StatusMember(r))
		}
		return nil
	}}, func(r wire.Result) (border.Answer, error) {
		m := slices.Clone(subject)
		m.Text("previousStatus", change.To.String())
		m.Text("credentialStatus", change.To.String())
		m.Time("changedAt", r.Time)
		change.Write(&m)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// renderStatus answers a change of status.
func renderStatus(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	if strings.HasPrefix(l.Kind(), "operator.") {
		l.CopyTo(m, "operatorId", "operatorLegalName", "agents")
	} else {
		l.CopyTo(m, "agentId", "userId")
	}
	l.CopyTo(m, "previousStatus", "credentialStatus", "changedAt", "reason", "actor", "reasonCode", "eventId")
	return nil
}

// flagOwnership is POST /v1/agents/{id}/ownership-transfer (decision 36): R8 applies from
// effectiveAt until the credential is reissued.
func flagOwnership(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	flag, err := registry.ReadOwnershipFlag(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindOwnership, Record: func() (any, error) { return flag.Record(&c.Judge, profile) }}, nil)
}

// cancelOwnership is DELETE of the same path: it removes the flag before a re-issue.
func cancelOwnership(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindOwnership, Record: func() (any, error) {
		return registry.CancelOwnership(&c.Judge, profile, grounds)
	}}, func(wire.Result) (border.Answer, error) {
		var m, flag strictjson.Members
		flag.Bool("flagged", false)
		m.Text("agentId", c.Judge.Terms.AgentID(profile.Slot))
		m.Object("ownershipTransfer", flag)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// renderOwnership answers both calls.
func renderOwnership(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	flagged := l.Kind() == "ownership.flagged"
	l.CopyTo(m, "agentId")
	var flag strictjson.Members
	flag.Bool("flagged", flagged)
	if flagged {
		l.CopyTo(&flag, "flaggedAt", "effectiveAt", "newOperatorId", "newOperatorLegalName", "note", "actor")
	} else {
		flag.Text("cancelledAt", l.Text("time"))
		l.CopyTo(&flag, "reason", "actor")
	}
	m.Object("ownershipTransfer", flag)
	m.Text("eventId", l.Text("eventId"))
	return nil
}
