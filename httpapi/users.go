package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// registerUser is POST /v1/users/register (decision 41): a 30-day credential
// of a person, for supervised agents alone.
func registerUser(c *call) error {
	f := c.fields()
	profile, err := c.judge.ReadUser(&f)
	if err != nil {
		return err
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
	if c.key.Operator != "" && (profile.OperatorLegalName == "" || !c.key.Covers(profile.OperatorLegalName)) {
		return nil, missing
	}
	return profile, nil
}

// getUser is GET /v1/users/{id}.
func getUser(c *call) error {
	profile, err := c.pathUser()
	if err != nil {
		return err
	}
	view, err := c.judge.View()
	if err != nil {
		return err
	}
	row, profile, known := view.User(profile.Slot)
	if !known {
		return notFound("no such user, or past its 31 days")
	}
	var m strictjson.Members
	m.Text("userId", c.judge.Terms.UserID(profile.Slot))
	masked := !c.key.May(wire.RoleOperator) && !c.key.SeesAll() // Those who register users, and those who review them.
	if masked {
		m.Text("legalName", maskedText)
		m.Text("email", maskedText)
	} else {
		m.Text("legalName", profile.LegalName)
		m.TextOrNull("email", profile.Email)
	}
	m.TextOrNull("operatorLegalName", profile.OperatorLegalName)
	m.Texts("agentIds", c.judge.Terms.AgentIDs(profile.Agents))
	m.Text("credentialStatus", engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID)).String())
	m.Time("statusChangedAt", row.StatusAt)
	m.Int("credentialVersion", int64(profile.CredentialVersion))
	m.Time("issuedAt", profile.IssuedAt)
	m.Time("expiresAt", profile.ExpiresAt)
	m.Time("storedUntil", profile.StoredUntil)
	current := c.judge.Terms.ProfileUserCredential(profile)
	switch {
	case c.key.May(wire.RoleOperator):
		if err := c.judge.Terms.WriteCredential(&m, current, profile.KeyID); err != nil {
			return err
		}
	case masked:
		m.Null("credential") // The name is in it.
	default:
		m.Raw("credential", current.AppendJSON(nil))
	}
	m.Uint("asOfIndex", view.Index)
	c.reply(http.StatusOK, m)
	return nil
}

// reissueUser is POST /v1/users/{id}/reissue.
func reissueUser(c *call) error {
	profile, err := c.pathUser()
	if err != nil {
		return err
	}
	f := c.fields()
	var in edge.UserReissue
	if err := in.Read(&f, profile); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindUserReissue, refused: revokedForGood, record: func() (any, error) {
		return in.Build(&c.judge)
	}}, nil)
}
