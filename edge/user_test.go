package edge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
)

// A user's body has required members, may name some agents, and is refused for some contents
// (decision 41).
func TestReadingAUser(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"autonomous","operatorLegalName":"Globex Ltd","purpose":"p"}`)
	require.NoError(t, err)
	autonomous := l.Text("agentId")
	acme := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	many := strings.Repeat(`"x",`, engine.UserAgentsMax) + `"x"`
	for _, c := range []struct {
		name, body string
		caller     *edge.Caller
		wrong      string
	}{
		{"the least", `{"legalName":"Jane Public"}`, nil, ""},
		{"no name", `{}`, nil, "legalName"},
		{"its other name", `{"userName":"Jane Public"}`, nil, ""},
		{"both names", `{"legalName":"Jane Public","userName":"Someone"}`, nil, ""},
		{"a name and one that is none", `{"legalName":"Jane Public","userName":5}`, nil, "userName"},
		{"a name of no letters", `{"legalName":"..."}`, nil, "legalName"},
		{"its agent", `{"legalName":"Jane Public","agentIds":["` + id + `"]}`, nil, ""},
		{"an agent twice", `{"legalName":"Jane Public","agentIds":["` + id + `","` + id + `"]}`, nil, "invalid_field"},
		{"an autonomous agent", `{"legalName":"Jane Public","agentIds":["` + autonomous + `"]}`, nil, "agent_not_supervised"},
		{"agents that are autonomous", `{"legalName":"Jane Public","agentType":"autonomous"}`, nil, "agent_not_supervised"},
		{"no agent", `{"legalName":"Jane Public","agentIds":["x"]}`, nil, "not_found"},
		{"too many agents", `{"legalName":"Jane Public","agentIds":[` + many + `]}`, nil, "agentIds"},
		{"a tenant's, unnamed", `{"legalName":"Jane Public"}`, acme, ""},
		{"a tenant's", `{"legalName":"Jane Public","operatorLegalName":"Acme Inc"}`, acme, ""},
		{"a tenant's, by its agent", `{"legalName":"Jane Public","agentIds":["` + id + `"]}`, acme, ""},
		{"another tenant's", `{"legalName":"Jane Public","operatorLegalName":"Globex Ltd"}`, acme, "forbidden"},
		{"another tenant's agent", `{"legalName":"Jane Public","agentIds":["` + autonomous + `"]}`, acme, "not_found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := c.caller
			if caller == nil {
				caller = edgetest.Admin()
			}
			l, err := w.RegisterUser(caller, c.body)
			require.Equal(t, c.wrong, complaint(err))
			if c.wrong == "" {
				require.Equal(t, "Jane Public", l.Text("legalName"))
				registered := w.Judges.Now().ProfileUserCredential(userOf(t, w, l.Text("userId")))
				require.Equal(t, string(w.Judges.Now().UserCredential(&l).AppendJSON(nil)), string(registered.AppendJSON(nil)))
			}
		})
	}
}

// A listed person gets a credential that says so, or is refused if the policy says so.
func TestListedUser(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct{ name, legalName, status, warning string }{
		{"nobody", "Jane Public", "CLEAR", ""}, {"a listed person", "Usama bin Ladin", "MATCH", "user_sanctions_match"}, {"perhaps", "Lazarus Groupe", "CLEAR", ""},
	} {
		body := `{"legalName":"` + c.legalName + `"}`
		l, err := w.RegisterUser(edgetest.Admin(), body)
		require.NoError(t, err)
		require.Equal(t, c.status, l.Text("ofacAtIssuance"), c.name)
		require.Contains(t, string(l.Raw("warnings")), c.warning)
		require.Equal(t, c.status == "MATCH", userOf(t, w, l.Text("userId")).NameMatched)

		// A re-issue screens the name again.
		j, _ := w.Begin(edgetest.Admin(), `{}`)
		call := w.NewCall(edgetest.Admin(), `{"overlapHours":2,"reason":"r"}`)
		f := call.Document.Fields()
		var in edge.UserReissue
		require.NoError(t, in.Read(&f, userOf(t, w, l.Text("userId"))))
		again, err := w.Settle(j, wire.KindUserReissue, func() (any, error) { return in.Build(j) })
		require.NoError(t, err)
		require.Equal(t, "r", again.Text("reason"))
		require.Equal(t, c.status, again.Text("ofacAtIssuance"))
		require.Equal(t, uint16(2), userOf(t, w, l.Text("userId")).CredentialVersion)

		w.SetPolicy(func(p *engine.Policy) { p.RefuseOnMatch = true })
		_, err = w.RegisterUser(edgetest.Admin(), body)
		if c.status == "MATCH" {
			refused := refusalOf(t, err)
			require.Equal(t, "operator_sanctioned", refused.Code)
			require.Equal(t, "user.refused", refused.Note.Event)
			require.Contains(t, string(refused.Note.Fragment), c.legalName)
		} else {
			require.NoError(t, err)
		}
		w.SetPolicy(func(p *engine.Policy) { p.RefuseOnMatch = false })
	}
	for body, wrong := range map[string]string{`{"overlapHours":168}`: "", `{"overlapHours":169}`: "overlapHours", `{"reason":5}`: "reason"} {
		call := w.NewCall(edgetest.Admin(), body)
		f := call.Document.Fields()
		var in edge.UserReissue
		require.Equal(t, wrong, complaint(in.Read(&f, &engine.UserProfile{})), body)
	}
	// A user that does not exist cannot be issued again.
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var in edge.UserReissue
	call := w.NewCall(edgetest.Admin(), `{}`)
	f := call.Document.Fields()
	require.NoError(t, in.Read(&f, &engine.UserProfile{Slot: 99}))
	_, err := in.Build(j)
	require.Equal(t, "not_found", refusalOf(t, err).Code)
	require.True(t, refusalOf(t, err).Changeable)
}

// The basis has the agents that a user is bound to. If one of them changed meanwhile, the
// record is stale.
func TestBasisOfAUser(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	w.FallBehind()
	_, err := w.Reissue(edgetest.Admin(), id, `{}`)
	require.NoError(t, err)
	_, err = w.RegisterUser(edgetest.Admin(), `{"legalName":"Jane Public","agentIds":["`+id+`"]}`)
	require.NoError(t, err)
	require.Equal(t, 1, w.Waited)
}
