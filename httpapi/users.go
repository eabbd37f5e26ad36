package httpapi

import (
	"net/http"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// registerUser is POST /v1/users/register (decision 41): a 30-day credential
// of a person, for supervised agents alone.
func registerUser(c *call) (Answer, error) {
	f := c.fields()
	profile, err := c.judge.ReadUser(&f)
	if err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindUser, record: func() (any, error) { return c.judge.UserRecord(profile) }}, nil)
}

// renderUser answers a user's registration or re-issue.
func renderUser(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.status = http.StatusCreated
	c.header("Location", "/v1/users/"+l.Text("userId"))
	m.Text("userId", l.Text("userId"))
	if err := c.judge.Terms.WriteCredential(m, c.judge.Terms.UserCredential(l), l.Text("kid")); err != nil {
		return err
	}
	m.Raw("agentIds", l.Raw("boundAgents"))
	l.CopyTo(m, "credentialVersion", "storedUntil", "previousStatus", "warnings", "eventId")
	return nil
}

// pathUser returns the profile of a user id within the key's scope, as long as
// its record is stored.
func (c *call) pathUser() (*engine.UserProfile, error) {
	missing := notFound("no such user, or past its 31 days")
	slot, ok := c.judge.Terms.ParseUser(c.r.PathValue("id"))
	if !ok {
		return nil, missing
	}
	profile, err := c.judge.UserProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || c.api.deps.Published.LogTime() >= profile.StoredUntil {
		return nil, missing
	}
	if !mayKnowUser(c, profile) {
		return nil, missing
	}
	return profile, nil
}

// mayKnowUser tells whether a user is within the key's scope.
func mayKnowUser(c *call, profile *engine.UserProfile) bool {
	return c.key.Operator == "" || profile.OperatorLegalName != "" && c.key.Covers(profile.OperatorLegalName)
}

// userNames says whether a caller is told the names of persons: those who register
// users, and those who review them.
func userNames(c *call) bool { return c.key.May(wire.RoleOperator) || c.key.SeesAll() }

// userSummary is what a user's own call and the list say alike.
func userSummary(c *call, view *fsm.View, row *engine.UserRow, profile *engine.UserProfile) strictjson.Members {
	var m strictjson.Members
	m.Text("userId", c.judge.Terms.UserID(profile.Slot))
	if userNames(c) {
		m.Text("legalName", profile.LegalName)
		m.TextOrNull("email", profile.Email)
	} else {
		m.Text("legalName", maskedText)
		m.Text("email", maskedText)
	}
	m.TextOrNull("operatorLegalName", profile.OperatorLegalName)
	m.Texts("agentIds", c.judge.Terms.AgentIDs(profile.Agents))
	m.Text("credentialStatus", engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID)).String())
	m.Time("statusChangedAt", row.StatusAt)
	m.Int("credentialVersion", int64(profile.CredentialVersion))
	m.Time("issuedAt", profile.IssuedAt)
	m.Time("expiresAt", profile.ExpiresAt)
	m.Time("storedUntil", profile.StoredUntil)
	return m
}

// listUsers is GET /v1/users?status=: those whose record is stored.
func listUsers(c *call) (Answer, error) {
	p, err := c.page("users")
	if err != nil {
		return Answer{}, err
	}
	status := c.query("status")
	if status != "" && statusByName(status) < 0 {
		return Answer{}, badQuery("status", "must be ACTIVE, SUSPENDED, REVOKED or EXPIRED")
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	first, end := view.UserSlots()
	if p.ascending && p.after+1 < first {
		p.after = first - 1 // What was before is erased.
	}
	var items []strictjson.Members
	next := p.scan(end-1, func(slot uint64) bool {
		row, profile, known := view.User(engine.UserSlot(slot))
		if !known || !mayKnowUser(c, profile) {
			return false
		}
		if is := engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID)); status != "" && !strings.EqualFold(status, is.String()) {
			return false
		}
		m := userSummary(c, view, &row, profile)
		m.Text("kid", profile.KeyID)
		items = append(items, m)
		return true
	})
	return c.list(items, next)
}

// getUser is GET /v1/users/{id}.
func getUser(c *call) (Answer, error) {
	profile, err := c.pathUser()
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	row, profile, known := view.User(profile.Slot)
	if !known {
		return Answer{}, notFound("no such user, or past its 31 days")
	}
	m := userSummary(c, view, &row, profile)
	current := c.judge.Terms.ProfileUserCredential(profile)
	switch {
	case c.key.May(wire.RoleOperator):
		if err := c.judge.Terms.WriteCredential(&m, current, profile.KeyID); err != nil {
			return Answer{}, err
		}
	case !userNames(c):
		m.Null("credential") // The name is in it.
	default:
		m.Raw("credential", current.AppendJSON(nil))
	}
	m.Uint("asOfIndex", view.Index)
	return c.reply(http.StatusOK, m), nil
}

// reissueUser is POST /v1/users/{id}/reissue.
func reissueUser(c *call) (Answer, error) {
	profile, err := c.pathUser()
	if err != nil {
		return Answer{}, err
	}
	f := c.fields()
	var in edge.UserReissue
	if err := in.Read(&f, profile); err != nil {
		return Answer{}, err
	}
	return c.submit(proposal{kind: wire.KindUserReissue, refused: revokedForGood, record: func() (any, error) {
		return in.Build(&c.judge)
	}}, nil)
}
