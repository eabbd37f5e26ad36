package edge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// payment returns the body of a call that pays one dollar.
func payment(token, extra string) string {
	return `{"token":` + strconv.Quote(token) + `,"amount":1` + extra + `}`
}

// judged returns the record of a payment before it goes to the log.
func judged(t *testing.T, w *edgetest.World, body string) *wire.Screen {
	t.Helper()
	j, _ := w.Begin(edgetest.Admin(), body)
	require.NoError(t, j.Read())
	record, err := j.Screen()
	require.NoError(t, err)
	return record
}

// refusalOf demands that an error is a refusal, and returns it.
func refusalOf(t *testing.T, err error) *edge.Refusal {
	t.Helper()
	var refused *edge.Refusal
	require.ErrorAs(t, err, &refused)
	return refused
}

// mint signs a credential, which need not be one of the registry's.
func mint(t *testing.T, w *edgetest.World, s *credential.Credential, kid string) string {
	t.Helper()
	key, err := w.Judges.Now().Signer(w.Settings().ActiveKey(w.LogTime()).KID)
	require.NoError(t, err)
	token, _, err := credential.Mint(s, key, kid)
	require.NoError(t, err)
	return token
}

// agentOf returns the profile of an agent's id.
func agentOf(t *testing.T, w *edgetest.World, id string) *engine.AgentProfile {
	t.Helper()
	slot, ok := w.Judges.Now().ParseAgent(id)
	require.True(t, ok)
	return w.Agent(slot)
}

func userOf(t *testing.T, w *edgetest.World, id string) *engine.UserProfile {
	t.Helper()
	slot, ok := w.Judges.Now().ParseUser(id)
	require.True(t, ok)
	return w.User(slot)
}

// newUser registers a person bound to agents, and returns its id and token.
func newUser(t *testing.T, w *edgetest.World, agents ...string) (id, token string) {
	t.Helper()
	ids := ""
	if len(agents) > 0 {
		ids = `"` + strings.Join(agents, `","`) + `"`
	}
	l, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Jane Public","operatorLegalName":"Acme Inc","agentIds":[`+ids+`]}`)
	require.NoError(t, err)
	return l.Text("userId"), w.UserToken(&l)
}

// A bad token is no error: the call is recorded as UNKNOWN, with the reason, and the basis of
// its record has no party (R1 excludes all other rules).
func TestTokensThatAreNoCredential(t *testing.T) {
	w := edgetest.New(t)
	id, good := w.Registered("")
	other, _ := w.Registered("")
	user, person := newUser(t, w, id)
	terms := w.Judges.Now()
	own := func(change func(*credential.Credential)) string {
		s := terms.ProfileCredential([]*engine.AgentProfile{agentOf(t, w, id)})
		change(s)
		return mint(t, w, s, seal.FirstKID)
	}
	at := strings.LastIndexByte(good, '.') + 10
	other64 := map[bool]string{true: "B", false: "A"}[good[at] == 'A'] // A signature of the right form that is wrong.
	forged := good[:at] + other64 + good[at+1:]
	const (
		malformed = "not a well-formed"
		signature = "signature does not verify"
		agent     = "subject is not known here"
		wrongType = "not of a type"
	)
	for _, c := range []struct{ name, token, extra, why string }{
		{"empty", "", "", malformed},
		{"no token", "x.y.z", "", malformed},
		{"longer than a token may be", strings.Repeat("a", engine.TokenMax+1), "", malformed},
		{"two schemes", "Bearer Bearer " + good, "", malformed},
		{"forged", forged, "", signature},
		{"of a key that is not ours", mint(t, w, terms.ProfileCredential([]*engine.AgentProfile{agentOf(t, w, id)}), "other-v1"), "", "signing key that is not ours"},
		{"of another issuer", own(func(s *credential.Credential) { s.Issuer = "did:kya:other" }), "", "issued by somebody else"},
		{"of an agent that is not registered", own(func(s *credential.Credential) {
			s.ID, s.Subject = terms.IDs.CredentialID(fsm.CredentialAgent, 99, 0, 1), terms.AgentID(99)
		}), "", agent},
		{"whose id is another agent's", own(func(s *credential.Credential) { s.Subject = other }), "", agent},
		{"whose id is a user's", own(func(s *credential.Credential) { s.ID = terms.IDs.CredentialID(fsm.CredentialUser, 1, 0, 1) }), "", agent},
		{"whose id is none", own(func(s *credential.Credential) { s.ID = "urn:uuid:00000000-0000-8000-8000-000000000000" }), "", agent},
		{"that begins later than clocks may differ", own(func(s *credential.Credential) { s.IssuedAt = edgetest.Start + 61*engine.Second }), "", malformed},
		{"two users'", person, `,"userToken":` + strconv.Quote(person), wrongType},
		{"two agents'", good, `,"userToken":` + strconv.Quote(good), wrongType},
		{"with a forged user's", good, `,"userToken":` + strconv.Quote(forged), signature},
		{"with a user's that is none", good, `,"userToken":"x"`, malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := judged(t, w, payment(c.token, c.extra))
			require.Equal(t, uint32(1<<1), record.Mask, "no other rule is judged")
			require.Zero(t, record.Agent)
			require.Zero(t, record.User)
			require.Zero(t, record.Basis.Revs)
			l := w.Screened(edgetest.Admin(), payment(c.token, c.extra))
			require.Equal(t, "UNKNOWN", l.Text("verdict"))
			require.Equal(t, "R1_NO_CREDENTIAL", l.Text("rule"))
			require.Contains(t, l.Text("reason"), c.why)
			require.Empty(t, l.Text("agentName"))
		})
	}
	for _, c := range []struct{ name, token string }{
		{"as it is", good}, {"behind a scheme", "bearer  " + good},
		{"that begins as much later as clocks may differ", own(func(s *credential.Credential) { s.IssuedAt = edgetest.Start + 60*engine.Second })},
	} {
		l := w.Screened(edgetest.Admin(), payment(c.token, ""))
		require.Equal(t, "PROCEED", l.Text("verdict"), c.name)
	}
	l := w.Screened(edgetest.Admin(), payment(good, `,"userToken":"x"`))
	require.Equal(t, id, l.Text("agentId"), "evidence: the signature of the agent's token was good")
	require.False(t, l.Has("userId"))
	erased := terms.ProfileUserCredential(userOf(t, w, user))
	erased.ID, erased.Subject = terms.IDs.CredentialID(fsm.CredentialUser, 99, 0, 1), terms.UserID(99)
	l = w.Screened(edgetest.Admin(), payment(mint(t, w, erased, seal.FirstKID), ""))
	require.Equal(t, terms.UserID(99), l.Text("userId"), "and of a user's who is gone")
	require.Equal(t, "UNKNOWN", l.Text("verdict"))
}

// A token counts as forged only if its signature was checked and is wrong. Only callers that
// guess signatures are slowed down.
func TestForged(t *testing.T) {
	w := edgetest.New(t)
	_, good := w.Registered("")
	at := strings.LastIndexByte(good, '.') + 10
	for token, forged := range map[string]bool{good: false, "x": false, good[:at] + "AAAA" + good[at+4:]: true} {
		j, _ := w.Begin(edgetest.Admin(), payment(token, ""))
		require.NoError(t, j.Read())
		_, err := j.Screen()
		require.NoError(t, err)
		require.Equal(t, forged, j.Forged, token)
	}
}

// A credential version is good only in the epoch in which it was issued here. A version that
// the lost machines issued after the restored backup is unknown, even if a version of the same
// number has been issued since.
func TestEpochOfACredential(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	userID, _ := newUser(t, w, id)
	w.BeginEpoch("second")
	_, err := w.Reissue(edgetest.Admin(), id, `{}`)
	require.NoError(t, err)
	reissued, _ := w.Begin(edgetest.Admin(), `{}`)
	var in edge.UserReissue
	call := w.NewCall(edgetest.Admin(), `{}`)
	f := call.Document.Fields()
	require.NoError(t, in.Read(&f, userOf(t, w, userID)))
	_, err = w.Settle(reissued, wire.KindUserReissue, func() (any, error) { return in.Build(reissued) })
	require.NoError(t, err)
	late, lateToken := w.Registered("") // In the lost part of the log another agent may have had its slot.
	require.Equal(t, "PROCEED", screenedVerdict(w, payment(lateToken, "")))
	terms := w.Judges.Now()
	for _, c := range []struct {
		agent          string
		epoch, version uint16
		good           bool
	}{
		{id, 0, 1, true}, {id, 1, 2, true},
		{id, 0, 2, false}, {id, 1, 1, false}, {id, 1, 3, false}, {id, 2, 2, false},
		{late, 1, 1, true}, {late, 0, 1, false}, {late, 1, 2, false},
	} {
		profile := agentOf(t, w, c.agent)
		s := terms.ProfileCredential([]*engine.AgentProfile{profile})
		s.ID = terms.IDs.CredentialID(fsm.CredentialAgent, uint32(profile.Slot), c.epoch, c.version)
		l := w.Screened(edgetest.Admin(), payment(mint(t, w, s, seal.FirstKID), ""))
		require.Equal(t, c.good, l.Text("rule") != "R1_NO_CREDENTIAL", "%+v: %s", c, l.Text("reason"))
		if c.agent != id {
			continue
		}
		user := userOf(t, w, userID)
		s = terms.ProfileUserCredential(user)
		s.ID = terms.IDs.CredentialID(fsm.CredentialUser, uint32(user.Slot), c.epoch, c.version)
		l = w.Screened(edgetest.Admin(), payment(mint(t, w, s, seal.FirstKID), ""))
		require.Equal(t, c.good, l.Text("rule") != "R1_NO_CREDENTIAL", "user: %+v: %s", c, l.Text("reason"))
	}
}

func screenedVerdict(w *edgetest.World, body string) string {
	l := w.Screened(edgetest.Admin(), body)
	return l.Text("verdict")
}

// A node that has not yet applied what makes a token good must not refuse it: it asks the
// leader once, and judges again.
func TestNodeThatIsBehind(t *testing.T) {
	for _, c := range []struct {
		name string
		what func(t *testing.T, w *edgetest.World, id string) (token string)
	}{
		{"an agent registered meanwhile", func(_ *testing.T, w *edgetest.World, _ string) string {
			_, token := w.Registered("")
			return token
		}},
		{"a key added meanwhile", func(t *testing.T, w *edgetest.World, id string) string {
			w.RotateSigningKey("cc-v2", false)
			l, err := w.Reissue(edgetest.Admin(), id, `{}`)
			require.NoError(t, err)
			return w.AgentToken(&l)
		}},
		{"an hour that has passed meanwhile", func(t *testing.T, w *edgetest.World, id string) string {
			w.Advance(engine.Hour)
			l, err := w.Reissue(edgetest.Admin(), id, `{}`)
			require.NoError(t, err)
			return w.AgentToken(&l)
		}},
		{"a version issued meanwhile", func(t *testing.T, w *edgetest.World, id string) string {
			l, err := w.Reissue(edgetest.Admin(), id, `{}`)
			require.NoError(t, err)
			return w.AgentToken(&l)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			id, _ := w.Registered("")
			var token string
			w.Behind(func() { token = c.what(t, w, id) })
			asked := w.Asked + w.Waited
			require.Equal(t, "PROCEED", screenedVerdict(w, payment(token, "")))
			require.Greater(t, w.Asked+w.Waited, asked, "it caught up")
		})
	}
	w := edgetest.New(t)
	_, token := w.Registered("")
	require.Equal(t, "PROCEED", screenedVerdict(w, payment(token, "")))
	require.Zero(t, w.Asked, "what is known here is nobody else's to be asked")
	var unknown string
	w.Behind(func() { _, unknown = w.Registered("") })
	w.ReadError = wire.ErrNoLeader
	j, _ := w.Begin(edgetest.Admin(), payment(unknown, ""))
	require.NoError(t, j.Read())
	_, err := j.Screen()
	var failed *edge.ReadError
	require.ErrorAs(t, err, &failed, "who may be known is not called unknown")
}

// Tokens of a signing key that was revoked in an emergency never pass R2, neither an agent's
// nor a user's.
func TestRevokedSigningKey(t *testing.T) {
	w := edgetest.New(t)
	id, token := w.Registered("")
	_, person := newUser(t, w, id)
	both := payment(token, `,"userToken":`+strconv.Quote(person))
	for _, body := range []string{payment(token, ""), both, payment(person, "")} {
		require.Equal(t, "PROCEED", screenedVerdict(w, body))
	}
	w.RotateSigningKey("cc-v2", true)
	for name, body := range map[string]string{"the agent's": payment(token, ""), "the user's, who stands for the agent": payment(person, "")} {
		record := judged(t, w, body)
		require.Zero(t, record.Version, name)
		l := w.Screened(edgetest.Admin(), body)
		require.Equal(t, "R2_CREDENTIAL_STATUS", l.Text("rule"), name)
		require.Contains(t, l.Text("reason"), "key that signed the credential is revoked", name)
	}
	l, err := w.Reissue(edgetest.Admin(), id, `{}`)
	require.NoError(t, err)
	again := w.AgentToken(&l)
	require.Equal(t, "PROCEED", screenedVerdict(w, payment(again, "")))
	record := judged(t, w, payment(again, `,"userToken":`+strconv.Quote(person)))
	require.NotZero(t, record.Version)
	require.Zero(t, record.UserVersion, "the user's token is the revoked key's")
	require.Equal(t, "BLOCK", screenedVerdict(w, payment(again, `,"userToken":`+strconv.Quote(person))))

	// A token of the revoked key is not minted again, and the key is not published.
	var m strictjson.Members
	terms := w.Judges.Now()
	require.NoError(t, terms.WriteCredential(&m, terms.ProfileCredential([]*engine.AgentProfile{agentOf(t, w, id)}), seal.FirstKID))
	require.True(t, strings.HasPrefix(string(m), `"token":null,"credential":{`), string(m))
	require.NotContains(t, string(terms.Signing.JWKS), `"cc-v1"`)
	require.Contains(t, string(terms.Signing.JWKS), `"cc-v2"`)
	_, err = terms.Signer(seal.FirstKID)
	require.Error(t, err)
}

// The basis of a record has every profile that was read. If one of them changed, the record is
// stale, and the call is judged again with the present profiles.
func TestBasisOfAPayment(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, w *edgetest.World, root, child, user, fleet string)
	}{
		{"the agent", func(t *testing.T, w *edgetest.World, _, child, _, _ string) {
			_, err := w.Reissue(edgetest.Admin(), child, `{}`)
			require.NoError(t, err)
		}},
		{"its parent", func(t *testing.T, w *edgetest.World, root, _, _, _ string) {
			_, err := w.Reissue(edgetest.Admin(), root, `{}`)
			require.NoError(t, err)
		}},
		{"the fleet", func(t *testing.T, w *edgetest.World, _, _, _, fleet string) {
			slot, _ := w.Judges.Now().ParseFleet(fleet)
			next := *w.Fleet(slot)
			next.DailyLimit = 50 * engine.Dollar
			w.Must(wire.KindFleetUpdate, &wire.FleetUpdate{Fleet: slot, BaseRev: next.Rev, Profile: next, Event: "fleet.updated", Common: wire.Common{Fragment: []byte(`"by":"x"`)}})
		}},
		{"the user", func(t *testing.T, w *edgetest.World, _, _, user, _ string) {
			p := userOf(t, w, user)
			w.Must(wire.KindUserReissue, &wire.UserReissue{User: p.Slot, BaseRev: p.Rev, Overlap: engine.Hour, Common: wire.Common{Fragment: []byte(`"by":"x"`)}})
		}},
		{"the policy", func(_ *testing.T, w *edgetest.World, _, _, _, _ string) {
			w.SetPolicy(func(p *engine.Policy) { p.ReviewNotes = true })
		}},
		{"the list", func(_ *testing.T, w *edgetest.World, _, _, _, _ string) { w.Activate(w.List().Entities()[1:]) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
			root, _ := w.Registered(`,"fleetId":"` + fleet + `"`)
			l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+root+`","agentName":"Child"}`)
			require.NoError(t, err)
			user, person := newUser(t, w, l.Text("agentId"))
			body := payment(w.AgentToken(&l), `,"userToken":`+strconv.Quote(person))
			require.Equal(t, "PROCEED", screenedVerdict(w, body))
			require.Zero(t, w.Waited)
			before := *judged(t, w, body)
			w.FallBehind()
			c.change(t, w, root, l.Text("agentId"), user, fleet)
			require.Equal(t, before.Basis, judged(t, w, body).Basis, "this node does not know yet")
			w.Screened(edgetest.Admin(), body)
			require.Equal(t, 1, w.Waited, "stale: this node caught up, and judged again")
			require.NotEqual(t, before.Basis, judged(t, w, body).Basis)
		})
	}
}

// A user credential alone stands for its agent if it is bound to exactly one. Otherwise no
// agent pays (decision 41).
func TestUserAlone(t *testing.T) {
	w := edgetest.New(t)
	first, _ := w.Registered("")
	second, _ := w.Registered("")
	for _, c := range []struct {
		name   string
		agents []string
		rule   string
	}{{"none", nil, "R23"}, {"one", []string{first}, ""}, {"two", []string{first, second}, "R23"}} {
		body := `{"legalName":"Jane Public","operatorLegalName":"Acme Inc"`
		if c.agents != nil {
			body += `,"agentIds":["` + strings.Join(c.agents, `","`) + `"]`
		}
		l, err := w.RegisterUser(edgetest.Admin(), body+`}`)
		require.NoError(t, err)
		record := judged(t, w, payment(w.UserToken(&l), ""))
		screened := w.Screened(edgetest.Admin(), payment(w.UserToken(&l), ""))
		require.Equal(t, l.Text("userId"), screened.Text("userId"))
		if c.rule == "" {
			require.Equal(t, "PROCEED", screened.Text("verdict"), c.name)
			require.Equal(t, first, screened.Text("agentId"))
			require.Equal(t, agentOf(t, w, first).CredentialVersion, record.Version, "the registry's credential stands in")
			require.Equal(t, agentOf(t, w, first).ExpiresAt, record.Expires)
			continue
		}
		require.Contains(t, screened.Text("rule"), c.rule, c.name)
		require.Zero(t, record.Agent)
	}
}

// A key with an operator's scope screens its own agents, and names no other tenant's users.
func TestScopeOfAPayment(t *testing.T) {
	w := edgetest.New(t)
	own, token := w.Registered("")
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"p"}`)
	require.NoError(t, err)
	foreign := w.AgentToken(&l)
	user := func(operator, agents string) string {
		l, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Jane Public","operatorLegalName":"`+operator+`","agentIds":[`+agents+`]}`)
		require.NoError(t, err)
		return w.UserToken(&l)
	}
	acme := w.Caller("key_acme", wire.RoleScreener, "Acme Inc")
	with := func(token string) string { return `,"userToken":` + strconv.Quote(token) }
	for _, c := range []struct {
		name, body string
		refused    bool
	}{
		{"its agent", payment(token, ""), false},
		{"another's agent", payment(foreign, ""), true},
		{"its user alone", payment(user("Acme Inc", ""), ""), false},
		{"another's user alone", payment(user("Globex Ltd", ""), ""), true},
		{"its agent with its user", payment(token, with(user("Acme Inc", ""))), false},
		{"its agent with another's user", payment(token, with(user("Globex Ltd", ""))), true},
		{"its agent with another's user that is bound to it", payment(token, with(user("Globex Ltd", `"`+own+`"`))), false},
		{"what is no token", payment("x", ""), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // The second call finds what the first has cached.
				j, _ := w.Begin(acme, c.body)
				require.NoError(t, j.Read())
				_, err := j.Screen()
				if !c.refused {
					require.NoError(t, err)
					continue
				}
				require.Equal(t, "forbidden", refusalOf(t, err).Code)
			}
			require.NotNil(t, judged(t, w, c.body), "the institution screens everybody's")
		})
	}
}
