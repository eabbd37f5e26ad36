package httpapi

import (
	"net/http"
	"strconv"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// registerUser is POST /v1/users/register (decisions 5.11): a 30-day credential
// of a person, for supervised agents alone.
func registerUser(c *call) error {
	f := c.fields()
	var profile engine.UserProfile
	if f.Get("legalName") == nil && f.Get("userName") != nil {
		profile.LegalName = f.RequiredName("userName")
	} else {
		profile.LegalName = f.RequiredName("legalName")
	}
	profile.Email = f.Text("email", engine.NameRunesMax)
	profile.OperatorLegalName = f.Name("operatorLegalName")
	ids, _ := f.Texts("agentIds", engine.UserAgentsMax, engine.FieldMax)
	kind := f.OneOf("agentType", "supervised", "autonomous")
	if profile.LegalName != "" && operatorKey(profile.LegalName) == "" {
		f.Invalid("legalName", "must have letters or digits")
	}
	if err := f.Err(); err != nil {
		return err
	}
	if kind == engine.Autonomous.String() {
		return notSupervised("agentType")
	}
	if err := c.bindAgents(&profile, ids); err != nil {
		return err
	}
	if err := c.userScope(&profile); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindUser, record: func() (any, error) { return c.userRecord(profile) }}, nil)
}

func notSupervised(param string) *Error {
	e := failure(http.StatusUnprocessableEntity, "agent_not_supervised", "a user credential is for supervised agents only")
	e.Param = param
	return e
}

// bindAgents resolves the agents a user credential is for.
func (c *call) bindAgents(profile *engine.UserProfile, ids []string) error {
	seen := make(map[engine.AgentSlot]bool, len(ids))
	for i, id := range ids {
		agent, err := c.knownAgent(id)
		if err != nil {
			return err
		}
		if agent.Type == engine.Autonomous {
			return notSupervised("agentIds[" + strconv.Itoa(i) + "]")
		}
		if seen[agent.Slot] {
			return invalidField("agentIds["+strconv.Itoa(i)+"]", "stands twice")
		}
		seen[agent.Slot] = true
		profile.Agents = append(profile.Agents, agent.Slot)
		if profile.OperatorLegalName == "" {
			profile.OperatorLegalName = agent.OperatorLegalName
		}
	}
	return nil
}

// userScope keeps a tenant's users its own.
func (c *call) userScope(profile *engine.UserProfile) error {
	switch {
	case c.key.operator == "":
		return nil
	case profile.OperatorLegalName == "":
		return &Error{
			Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "operatorLegalName",
			Message: "operatorLegalName is required with this key",
		}
	case !c.key.covers(profile.OperatorLegalName):
		return outOfScope()
	}
	return nil
}

// userRecord screens the person and builds the record. Its basis are the
// revisions of the bound agents.
func (c *call) userRecord(profile engine.UserProfile) (any, error) {
	if err := c.canSign(c.trialUser(&profile)); err != nil {
		return nil, err
	}
	found, err := c.screenParty("user", "", profile.LegalName, ofac.PartyIndividual)
	if err != nil {
		return nil, err
	}
	if err := found.refusedBy(c.edge.settings.Policy); err != nil {
		return nil, err
	}
	profile.NameMatched = found.nameMatched
	record := &wire.User{Profile: profile, Basis: c.basis()}
	for _, slot := range profile.Agents {
		agent, err := c.agentProfile(slot)
		if err != nil {
			return nil, err
		}
		chain, err := c.chainOf(agent)
		if err != nil {
			return nil, err
		}
		c.foldChain(&record.Basis, chain)
	}
	var m strictjson.Members
	c.writeUser(&m, &profile)
	found.write(&m, c.edge.settings.ListVersion)
	m.List("warnings", found.userWarnings())
	record.Common, err = c.recorded(m, c.userFilters(&profile)...)
	return record, err
}

// trialUser is the credential a user will have, as far as its size goes.
func (c *call) trialUser(p *engine.UserProfile) *credential.Credential {
	s := c.newCredential(credential.KindUser)
	s.Name, s.AgentType, s.OperatorLegalName, s.Agents = p.LegalName, engine.Supervised.String(), p.OperatorLegalName, c.agentIDs(p.Agents)
	return s
}

func (c *call) userFilters(profile *engine.UserProfile) []uint64 {
	if profile.OperatorLegalName == "" {
		return nil
	}
	return []uint64{engine.FilterKey(engine.FilterOperator, operatorKey(profile.OperatorLegalName))}
}

func (c *call) writeUser(m *strictjson.Members, p *engine.UserProfile) {
	m.Text("legalName", p.LegalName)
	m.Optional("email", p.Email)
	m.Optional("operatorLegalName", p.OperatorLegalName)
	m.Texts("boundAgents", c.agentIDs(p.Agents))
}

func (i *issuance) userWarnings() []strictjson.Members {
	switch {
	case i.nameMatched:
		return []strictjson.Members{warning("user_sanctions_match", "the person's legal name is on the sanctions list", "")}
	case i.possible:
		return []strictjson.Members{warning("user_possible_match", "the person's legal name resembles a listed one: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	}
	return nil
}

// renderUser answers a user's registration or re-issue.
func renderUser(c *call, l *leaf, m *strictjson.Members) error {
	c.status = http.StatusCreated
	c.header("Location", "/v1/users/"+l.text("userId"))
	m.Text("userId", l.text("userId"))
	if err := c.writeCredential(m, c.userCredential(l), l.text("kid")); err != nil {
		return err
	}
	m.Raw("agentIds", l.raw("boundAgents"))
	l.copyTo(m, "credentialVersion", "storedUntil", "previousStatus", "warnings", "eventId")
	return nil
}

// pathUser returns the profile of a user id within the key's scope, as long as
// its record is stored.
func (c *call) pathUser() (*engine.UserProfile, error) {
	missing := notFound("no such user, or past its 31 days")
	slot, ok := c.edge.parseUser(c.r.PathValue("id"))
	if !ok {
		return nil, missing
	}
	profile, err := c.userProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || c.api.deps.Published.LogTime() >= profile.StoredUntil {
		return nil, missing
	}
	if c.key.operator != "" && (profile.OperatorLegalName == "" || !c.key.covers(profile.OperatorLegalName)) {
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
	view, err := c.freshView()
	if err != nil {
		return err
	}
	row, profile, known := view.User(profile.Slot)
	if !known {
		return notFound("no such user, or past its 31 days")
	}
	var m strictjson.Members
	m.Text("userId", c.edge.userID(profile.Slot))
	m.Text("legalName", profile.LegalName)
	m.TextOrNull("email", profile.Email)
	m.TextOrNull("operatorLegalName", profile.OperatorLegalName)
	m.Texts("agentIds", c.agentIDs(profile.Agents))
	status := engine.CredentialStatus(row.Status, profile.ExpiresAt, view.Time, view.Settings().KeyRevoked(profile.KeyID))
	m.Text("credentialStatus", status.String())
	m.Time("statusChangedAt", row.StatusAt)
	m.Int("credentialVersion", int64(profile.CredentialVersion))
	m.Time("issuedAt", profile.IssuedAt)
	m.Time("expiresAt", profile.ExpiresAt)
	m.Time("storedUntil", profile.StoredUntil)
	current := c.profileUserCredential(profile)
	if c.key.may(wire.RoleOperator) {
		if err := c.writeCredential(&m, current, profile.KeyID); err != nil {
			return err
		}
	} else {
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
	overlap := engine.OverlapDefault
	if hours, ok := f.Integer("overlapHours", 0, int64(engine.OverlapMax/engine.Hour)); ok {
		overlap = engine.Time(hours) * engine.Hour
	}
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindUserReissue, refused: revokedForGood, record: func() (any, error) {
		current := c.api.deps.Published.User(profile.Slot)
		if current == nil {
			return nil, judged{notFound("no such user, or past its 31 days")}
		}
		if err := c.canSign(c.trialUser(current)); err != nil {
			return nil, err
		}
		found, err := c.screenParty("user", "", current.LegalName, ofac.PartyIndividual)
		if err != nil {
			return nil, err
		}
		record := &wire.UserReissue{User: current.Slot, BaseRev: current.Rev, Overlap: overlap, NameMatched: found.nameMatched}
		var m strictjson.Members
		c.writeUser(&m, current)
		found.write(&m, c.edge.settings.ListVersion)
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		m.List("warnings", found.userWarnings())
		record.Common, err = c.recorded(m, c.userFilters(current)...)
		return record, err
	}}, nil)
}
