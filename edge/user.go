package edge

import (
	"strconv"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// NewUser is the body of POST /v1/users/register.
type NewUser struct {
	profile  engine.UserProfile
	operator wire.OperatorRef // Zero: only the institution knows the user.
}

// ReadUser reads the body of a new user, within the caller's scope.
func (j *Judge) ReadUser(f *strictjson.Fields) (user NewUser, err error) {
	profile := &user.profile
	if f.Get("legalName") == nil && f.Get("userName") != nil {
		profile.LegalName = f.RequiredName("userName")
	} else {
		profile.LegalName = f.RequiredName("legalName")
		f.Name("userName") // It is read too, so that errors in it are reported.
	}
	profile.Email = f.Text("email", engine.NameRunesMax)
	profile.OperatorLegalName = f.Name("operatorLegalName")
	operator := f.Text("operatorId", engine.FieldMax)
	ids, _ := f.Texts("agentIds", engine.UserAgentsMax, engine.FieldMax)
	kind := f.OneOf("agentType", "supervised", "autonomous")
	if profile.LegalName != "" && FoldName(profile.LegalName) == "" {
		f.Invalid("legalName", "must have letters or digits")
	}
	if err := f.Err(); err != nil {
		return user, err
	}
	if kind == engine.Autonomous.String() {
		return user, notSupervised("agentType")
	}
	if err := j.bindAgents(profile, ids); err != nil {
		return user, err
	}
	return user, j.nameUsersOperator(&user, operator)
}

// nameUsersOperator finds the user's operator: the one that the body or the key names, else that
// of the first agent.
func (j *Judge) nameUsersOperator(user *NewUser, id string) (err error) {
	profile := &user.profile
	switch {
	case id != "" || profile.OperatorLegalName != "" || !j.call.Caller.Institution():
		if user.operator, err = j.NamedOperator(id, profile.OperatorLegalName, false); err != nil {
			return err
		}
	case len(profile.Agents) > 0:
		agent, err := j.agentProfile(profile.Agents[0])
		if err != nil {
			return err
		}
		user.operator.Slot, profile.OperatorLegalName = agent.Operator, agent.OperatorLegalName
	}
	if profile.OperatorLegalName == "" && user.operator.Slot != 0 {
		operator, err := j.operatorProfile(user.operator.Slot)
		if err != nil {
			return err
		}
		profile.OperatorLegalName = operator.LegalName
	}
	return nil
}

func notSupervised(param string) *Refusal {
	e := Refuse("agent_not_supervised", "a user credential is for supervised agents only")
	e.Param = param
	return e
}

// bindAgents finds the agents that a user credential is bound to.
func (j *Judge) bindAgents(profile *engine.UserProfile, ids []string) error {
	seen := make(map[engine.AgentSlot]bool, len(ids))
	for i, id := range ids {
		agent, err := j.KnownAgent(id)
		if err != nil {
			return err
		}
		if agent.Type == engine.Autonomous {
			return notSupervised("agentIds[" + strconv.Itoa(i) + "]")
		}
		if seen[agent.Slot] {
			return InvalidField("agentIds["+strconv.Itoa(i)+"]", "stands twice")
		}
		seen[agent.Slot] = true
		profile.Agents = append(profile.Agents, agent.Slot)
	}
	return nil
}

// UserRecord screens the person and builds the record. The record's basis has the revisions of
// the bound agents.
func (j *Judge) UserRecord(user NewUser) (any, error) {
	profile := user.profile
	if err := j.canSign(j.Terms.trialUser(&profile)); err != nil {
		return nil, err
	}
	found, err := j.ScreenParty("user", "", profile.LegalName, ofac.PartyIndividual)
	if err != nil {
		return nil, err
	}
	if refused := found.refusedBy(j.Terms.Policy()); refused != nil {
		refused.Note = attemptedUser(j, &profile, j.operatorMeant(&user.operator), &found)
		return nil, refused
	}
	profile.NameMatched = found.NameMatched
	record := &wire.User{Profile: profile, Operator: user.operator, Basis: j.Terms.basis()}
	for _, slot := range profile.Agents {
		agent, err := j.agentProfile(slot)
		if err != nil {
			return nil, err
		}
		chain, err := j.chainOf(agent)
		if err != nil {
			return nil, err
		}
		j.foldChain(&record.Basis, chain)
	}
	var m strictjson.Members
	j.Terms.writeUser(&m, &profile)
	found.writeFindings(&m, j.Terms.Settings.ListVersion)
	m.List("warnings", found.userWarnings())
	if user.operator.Slot == 0 && user.operator.Name != "" {
		j.WriteSimilar(&m, &user.operator)
	}
	record.Common, err = j.Recorded(m)
	return record, err
}

// trialUser returns a credential of the size that the user's credential will have.
func (t *Terms) trialUser(p *engine.UserProfile) *credential.Credential {
	s := t.newCredential(credential.KindUser)
	s.Name, s.AgentType, s.OperatorLegalName, s.Agents = p.LegalName, engine.Supervised.String(), p.OperatorLegalName, t.AgentIDs(p.Agents)
	return s
}

func (t *Terms) writeUser(m *strictjson.Members, p *engine.UserProfile) {
	m.Text("legalName", p.LegalName)
	m.Optional("email", p.Email)
	m.Optional("operatorLegalName", p.OperatorLegalName)
	m.Texts("boundAgents", t.AgentIDs(p.Agents))
}

func (i *issuance) userWarnings() []strictjson.Members {
	switch {
	case i.NameMatched:
		return []strictjson.Members{makeWarning("user_sanctions_match", "the person's legal name is on the sanctions list", "")}
	case i.possible:
		return []strictjson.Members{makeWarning("user_possible_match", "the person's legal name resembles a listed one: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	case i.notCompared:
		return []strictjson.Members{makeWarning("user_not_compared", "a part of the person's legal name cannot be compared with the list: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	}
	return nil
}

// attemptedUser records a user's registration that the institution's policy refused.
func attemptedUser(j *Judge, profile *engine.UserProfile, operator engine.OperatorSlot, found *issuance) *wire.Note {
	var m strictjson.Members
	j.Terms.writeUser(&m, profile)
	found.writeFindings(&m, j.Terms.Settings.ListVersion)
	j.Actor(&m)
	note := &wire.Note{Event: "user.refused", Common: wire.Common{Key: j.keyOf(), Fragment: m}}
	if operator != 0 {
		note.Filters = []uint64{j.OperatorFilter(operator)}
	}
	return note
}

// UserReissue is the body of a user's re-issue.
type UserReissue struct {
	slot          engine.UserSlot
	overlap       engine.Time
	reason, actor string
}

// Read reads the body of a re-issue. current is the user's profile.
func (in *UserReissue) Read(f *strictjson.Fields, current *engine.UserProfile) error {
	in.slot, in.overlap = current.Slot, engine.OverlapDefault
	if hours, ok := f.Integer("overlapHours", 0, int64(engine.OverlapMax/engine.Hour)); ok {
		in.overlap = engine.Time(hours) * engine.Hour
	}
	in.reason, in.actor = f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	return f.Err()
}

// Build screens the person again and makes the record from the current revision.
func (in *UserReissue) Build(j *Judge) (any, error) {
	current := j.shared.deps.Published.User(in.slot)
	if current == nil {
		return nil, MarkChangeable(NotFound("no such user, or past its 31 days"))
	}
	if err := j.canSign(j.Terms.trialUser(current)); err != nil {
		return nil, err
	}
	found, err := j.ScreenParty("user", "", current.LegalName, ofac.PartyIndividual)
	if err != nil {
		return nil, err
	}
	record := &wire.UserReissue{User: current.Slot, BaseRev: current.Rev, Overlap: in.overlap, NameMatched: found.NameMatched}
	var m strictjson.Members
	j.Terms.writeUser(&m, current)
	found.writeFindings(&m, j.Terms.Settings.ListVersion)
	m.TextOrNull("reason", in.reason)
	m.TextOrNull("actor", in.actor)
	m.List("warnings", found.userWarnings())
	record.Common, err = j.Recorded(m)
	return record, err
}
