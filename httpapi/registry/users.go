package registry

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// registerUser is POST /v1/users/register (decision 41): a person's 30-day credential, for
// supervised agents only.
func registerUser(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	user, err := c.Judge.ReadUser(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindUser, Record: func() (any, error) { return c.Judge.UserRecord(user) }}, nil)
}

// renderUser answers a user's registration or re-issue.
func renderUser(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusCreated
	c.SetHeader("Location", "/v1/users/"+l.Text("userId"))
	m.Text("userId", l.Text("userId"))
	if err := c.Judge.Terms.WriteCredential(m, c.Judge.Terms.UserCredential(l), l.Text("kid")); err != nil {
		return err
	}
	m.Raw("agentIds", l.Raw("boundAgents"))
	l.CopyTo(m, "operatorId", "similarOperators", "credentialVersion", "recordExpiresAt", "previousStatus", "warnings", "eventId")
	return nil
}

// pathUser returns the profile of the path's user if the user is within the key's scope and
// the record is still stored.
func pathUser(c *border.Request) (*engine.UserProfile, error) {
	missing := border.NotFound("no such user, or past its 31 days")
	slot, ok := c.Judge.Terms.ParseUser(c.PathValue("id"))
	if !ok {
		return nil, missing
	}
	profile, err := c.Judge.UserProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || c.Published().LogTime() >= profile.StoredUntil {
		return nil, missing
	}
	if !c.Judge.Covers(profile.Operator) {
		return nil, missing
	}
	return profile, nil
}

// userNames tells whether a caller sees the names of persons: keys that register users or view
// them, and keys that see behind the wall.
func userNames(c *border.Request) bool {
	return c.Key.May(wire.RoleOperator|wire.RoleViewer) || c.Key.SeesAll()
}

// userSummary returns the members that a single user and the list share.
func userSummary(c *border.Request, view *fsm.View, row *engine.UserRow, profile *engine.UserProfile) strictjson.Members {
	var m strictjson.Members
	m.Text("userId", c.Judge.Terms.UserID(profile.Slot))
	if userNames(c) {
		m.Text("legalName", profile.LegalName)
		m.TextOrNull("email", profile.Email)
	} else {
		m.Text("legalName", border.MaskedText)
		m.Text("email", border.MaskedText)
	}
	m.TextOrNull("operatorLegalName", profile.OperatorLegalName)
	m.TextOrNull("operatorId", c.Judge.OperatorID(profile.Operator))
	m.Texts("agentIds", c.Judge.Terms.AgentIDs(profile.Agents))
	m.Text("credentialStatus", engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID)).String())
	m.Time("statusChangedAt", row.StatusAt)
	m.Int("credentialVersion", int64(profile.CredentialVersion))
	m.Time("issuedAt", profile.IssuedAt)
	m.Time("expiresAt", profile.ExpiresAt)
	m.Time("recordExpiresAt", profile.StoredUntil)
	return m
}

// listUsers is GET /v1/users?status=: the users whose record is stored.
func listUsers(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("users")
	if err != nil {
		return border.Answer{}, err
	}
	status := c.Query("status")
	if status != "" && statusByName(status) < 0 {
		return border.Answer{}, border.BadQuery("status", "must be ACTIVE, SUSPENDED, REVOKED or EXPIRED")
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	first, end := view.UserSlots()
	if p.Ascending && p.After+1 < first {
		p.After = first - 1 // Earlier rows are erased.
	}
	var items []strictjson.Members
	next := p.Scan(end-1, func(slot uint64) bool {
		row, profile, known := view.User(engine.UserSlot(slot))
		if !known || !c.Judge.Covers(profile.Operator) {
			return false
		}
		if is := engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID)); status != "" && status != is.String() {
			return false
		}
		m := userSummary(c, view, &row, profile)
		m.Text("kid", profile.KeyID)
		items = append(items, m)
		return true
	})
	return c.AnswerList(items, next)
}

// getUser is GET /v1/users/{id}.
func getUser(c *border.Request) (border.Answer, error) {
	profile, err := pathUser(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	row, profile, known := view.User(profile.Slot)
	if !known {
		return border.Answer{}, border.NotFound("no such user, or past its 31 days")
	}
	m := userSummary(c, view, &row, profile)
	current := c.Judge.Terms.ProfileUserCredential(profile)
	switch {
	case c.Key.May(wire.RoleOperator):
		if err := c.Judge.Terms.WriteCredential(&m, current, profile.KeyID); err != nil {
			return border.Answer{}, err
		}
	case !userNames(c):
		m.Null("credential") // It holds the name.
	default:
		m.Raw("credential", current.AppendJSON(nil))
	}
	m.Uint("asOfIndex", view.Index)
	return c.Reply(http.StatusOK, m), nil
}

// reissueUser is POST /v1/users/{id}/reissue.
func reissueUser(c *border.Request) (border.Answer, error) {
	profile, err := pathUser(c)
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	var in edge.UserReissue
	if err := in.Read(&f, profile); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindUserReissue, Refused: revokedForGood, Record: func() (any, error) {
		return in.Build(&c.Judge)
	}}, nil)
}
