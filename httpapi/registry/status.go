package registry

import (
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Status changes of agents, users and operators (decision 35). The log decides
// which step is legal, so that a replayed call gets its first answer.

// reasonCodes are the words of a revocation; their places are what rows keep.
// Never change the order.
var reasonCodes = []string{"", "KEY_COMPROMISE", "AFFILIATION_CHANGED", "SUPERSEDED", "CESSATION", "SANCTIONS", "OTHER"}

// statusRequest is the body of a status change.
type statusRequest struct {
	reason, actor, code string
}

func readStatusRequest(c *border.Request, f *strictjson.Fields, to engine.Status) statusRequest {
	s := statusRequest{reason: f.RequiredText("reason", engine.TextMax), actor: f.Text("actor", engine.FieldMax)}
	if to == engine.Revoked {
		s.code = f.OneOf("reasonCode", reasonCodes[1:]...)
	}
	return s
}

func (s *statusRequest) write(m *strictjson.Members) {
	m.Text("reason", s.reason)
	m.TextOrNull("actor", s.actor)
	m.Optional("reasonCode", s.code)
}

// agentStatus is POST /v1/agents/{id}/suspend, reinstate and revoke.
func agentStatus(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return border.Answer{}, err
		}
		record := wire.Status{Target: wire.TargetAgent, Slot: uint32(profile.Slot), To: to}
		return changeStatus(c, record, "agentId", c.Judge.Terms.AgentID(profile.Slot), profile.OperatorLegalName)
	}
}

// userStatus is POST /v1/users/{id}/suspend, reinstate and revoke.
func userStatus(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		profile, err := pathUser(c)
		if err != nil {
			return border.Answer{}, err
		}
		record := wire.Status{Target: wire.TargetUser, Slot: uint32(profile.Slot), To: to}
		return changeStatus(c, record, "userId", c.Judge.Terms.UserID(profile.Slot), profile.OperatorLegalName)
	}
}

// operatorChange is POST /v1/operators/suspend and reinstate: one flag on the
// operator's row counts for all its agents.
func operatorChange(to engine.Status) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		f := c.ReadFields()
		name := f.RequiredName("operatorLegalName")
		asked := readStatusRequest(c, &f, to)
		if err := f.Err(); err != nil {
			return border.Answer{}, err
		}
		if !c.Key.Covers(name) {
			return border.Answer{}, border.NotFound("no such operator")
		}
		record := wire.Status{Target: wire.TargetOperator, OperatorKey: edge.OperatorKey(name), To: to}
		var subject strictjson.Members
		subject.Text("operatorLegalName", name)
		return submitStatus(c, record, subject, &asked, engine.FilterKey(engine.FilterOperator, record.OperatorKey))
	}
}

func changeStatus(c *border.Request, record wire.Status, idName, id, operator string) (border.Answer, error) {
	f := c.ReadFields()
	asked := readStatusRequest(c, &f, record.To)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	record.ReasonCode = uint8(max(slices.Index(reasonCodes, asked.code), 0))
	var subject strictjson.Members
	subject.Text(idName, id)
	var filters []uint64
	if operator != "" {
		filters = append(filters, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(operator)))
	}
	return submitStatus(c, record, subject, &asked, filters...)
}

// submitStatus proposes the change. A status that was so already is answered
// like a change, without an event.
func submitStatus(c *border.Request, record wire.Status, subject strictjson.Members, asked *statusRequest, filters ...uint64) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindStatus, Record: func() (any, error) {
		var m strictjson.Members
		if record.Target == wire.TargetOperator {
			m.Join(subject) // An agent's or user's id is in the leaf's head.
		}
		asked.write(&m)
		var err error
		record.Common, err = c.Judge.Recorded(m, filters...)
		return &record, err
	}, Refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedTransition {
			return border.Conflict("invalid_transition", "from "+r.State.String()+" to "+record.To.String()+" is not possible", border.StatusMember(r))
		}
		return nil
	}}, func(r wire.Result) (border.Answer, error) {
		m := slices.Clone(subject)
		m.Text("previousStatus", record.To.String())
		m.Text("credentialStatus", record.To.String())
		m.Time("changedAt", r.Time)
		asked.write(&m)
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

// flagOwnership is POST /v1/agents/{id}/ownership-transfer (decision 36): R8
// from effectiveAt until the credential is issued anew.
func flagOwnership(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	owner := f.RequiredName("newOperatorLegalName")
	if owner != "" && edge.OperatorKey(owner) == "" {
		f.Invalid("newOperatorLegalName", "must have letters or digits")
	}
	at, given := f.Instant("effectiveAt")
	note, actor := f.Text("note", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindOwnership, Record: func() (any, error) {
		var m strictjson.Members
		m.Text("newOperatorLegalName", owner)
		m.TextOrNull("note", note)
		m.TextOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot, OperatorKey: edge.OperatorKey(owner)}
		if given {
			record.EffectiveAt = at
		}
		var err error
		record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, nil)
}

// cancelOwnership is DELETE of the same path: it takes the flag back before any
// re-issue.
func cancelOwnership(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindOwnership, Record: func() (any, error) {
		var m strictjson.Members
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot, Cancel: true}
		var err error
		record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, func(wire.Result) (border.Answer, error) {
		var m, flag strictjson.Members
		flag.Bool("flagged", false)
		m.Text("agentId", c.Judge.Terms.AgentID(profile.Slot))
		m.Object("ownershipTransfer", flag)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// renderOwnership answers both.
func renderOwnership(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	flagged := l.Kind() == "ownership.flagged"
	l.CopyTo(m, "agentId")
	var flag strictjson.Members
	flag.Bool("flagged", flagged)
	if flagged {
		l.CopyTo(&flag, "flaggedAt", "effectiveAt", "newOperatorLegalName", "note", "actor")
	} else {
		flag.Text("cancelledAt", l.Text("time"))
		l.CopyTo(&flag, "reason", "actor")
	}
	m.Object("ownershipTransfer", flag)
	m.Text("eventId", l.Text("eventId"))
	return nil
}
