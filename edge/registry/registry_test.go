package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

// requireResult checks the result of a call: refused with code, or done if code is "".
func requireResult(t *testing.T, err error, code, param string) {
	t.Helper()
	if code == "" {
		require.NoError(t, err)
		return
	}
	edgetest.RequireCode(t, err, code, param)
}

func known(t *testing.T, j *edge.Judge, id string) *engine.AgentProfile {
	t.Helper()
	profile, err := j.KnownAgent(id)
	require.NoError(t, err)
	return profile
}

// patchAgent changes an agent's settings in the log.
func patchAgent(w *edgetest.World, caller *edge.Caller, id, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	patch, err := registry.ReadAgentPatch(j, f, known(w.T.(*testing.T), j, id))
	if err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindSettings, func() (any, error) { return patch.Record(j) })
}

func TestAgentsAreTightenedByAllAndWidenedByThePolicyRole(t *testing.T) {
	w := edgetest.New(t)
	operator, officer := w.Caller("key_op", wire.RoleOperator, ""), w.Caller("key_policy", wire.RolePolicy|wire.RoleOperator, "")
	id, _ := w.Registered("")
	for _, c := range []struct {
		name, body, code, param string
		caller                  *edge.Caller
	}{
		{"a bound where none was", `{"velocity":{"maxPerMinute":5}}`, "", "", operator},
		{"a wider bound without the role", `{"velocity":{"maxPerMinute":6},"reason":"r"}`, "forbidden", "", operator},
		{"a wider bound without a reason", `{"velocity":{"maxPerMinute":6},"reason":" "}`, "missing_field", "reason", officer},
		{"a bound taken away", `{"velocity":null}`, "forbidden", "", operator},
		{"a wider bound", `{"velocity":{"maxPerMinute":6},"reason":"busy days","actor":"Jo"}`, "", "", officer},
		{"a bound that is none", `{"velocity":{"maxPerMinute":-1}}`, "invalid_field", "velocity.maxPerMinute", officer},
		{"too long a reason", `{"reason":"` + strings.Repeat("r", engine.TextMax+1) + `"}`, "invalid_field", "reason", officer},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := patchAgent(w, c.caller, id, c.body)
			requireResult(t, err, c.code, c.param)
		})
	}
	j, _ := w.Begin(operator, `{}`)
	require.EqualValues(t, 6, known(t, j, id).Settings.Velocity.MaxPerMinute)
	l, err := patchAgent(w, officer, id, `{"velocity":{"maxPerMinute":1000000},"reason":"r"}`)
	require.NoError(t, err)
	require.NotNil(t, l.Raw("warnings"), "the institution's policy allows less")
	require.NotNil(t, l.Raw("effectiveVelocity"))
	require.Equal(t, "r", l.Text("reason"))
}

func TestModelsAreReportedUnderEitherName(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered(`,"underlyingModel":"alpha-1"`)
	for _, c := range []struct {
		body, code, param string
		changed           bool
	}{
		{`{}`, "missing_field", "underlyingModel", false},
		{`{"underlyingModel":"  "}`, "invalid_field", "underlyingModel", false},
		{`{"model":"alpha-1"}`, "", "", false},
		{`{"underlyingModel":"beta-2","actor":"Jo"}`, "", "", true},
	} {
		t.Run(c.body, func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			change, err := registry.ReadModelChange(f)
			requireResult(t, err, c.code, c.param)
			if err != nil {
				return
			}
			l, err := w.Settle(j, wire.KindSettings, func() (any, error) { return change.Record(j, known(t, j, id)) })
			require.NoError(t, err)
			require.Equal(t, "alpha-1", l.Text("baselineModel"))
			require.Equal(t, c.changed, l.Flag("changed"))
		})
	}
}

func TestOnlyAutonomousAgentsAreAttested(t *testing.T) {
	w := edgetest.New(t)
	supervised, _ := w.Registered("")
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Auto","agentType":"autonomous","operatorLegalName":"Acme Inc","purpose":"p"}`)
	require.NoError(t, err)
	j, f := w.Begin(edgetest.Admin(), `{"attestedBy":"Jo","note":"seen"}`)
	attestation, err := registry.ReadAttestation(f)
	require.NoError(t, err)
	_, err = attestation.Record(j, known(t, j, supervised))
	edgetest.RequireCode(t, err, "agent_not_autonomous", "")
	l, err := w.Settle(j, wire.KindAttest, func() (any, error) { return attestation.Record(j, known(t, j, registered.Text("agentId"))) })
	require.NoError(t, err)
	require.Equal(t, "Jo", l.Text("attestedBy"))
	_, f = w.Begin(edgetest.Admin(), `{}`)
	_, err = registry.ReadAttestation(f)
	edgetest.RequireCode(t, err, "missing_field", "attestedBy")
}

func TestStatusChangesOfAgentsUsersAndOperators(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Ann Jones","agentIds":["`+id+`"]}`)
	require.NoError(t, err)
	change := func(body string, to engine.Status, build func(*edge.Judge, *registry.StatusChange) (*wire.Status, error)) (edge.Leaf, error) {
		j, f := w.Begin(edgetest.Admin(), body)
		s, err := registry.ReadStatusChange(f, to)
		if err != nil {
			return edge.Leaf{}, err
		}
		return w.Settle(j, wire.KindStatus, func() (any, error) { return build(j, &s) })
	}
	ofAgent := func(j *edge.Judge, s *registry.StatusChange) (*wire.Status, error) {
		return s.OfAgent(j, known(t, j, id))
	}
	ofUser := func(j *edge.Judge, s *registry.StatusChange) (*wire.Status, error) {
		slot, _ := j.Terms.ParseUser(user.Text("userId"))
		return s.OfUser(j, w.User(slot))
	}
	ofOperator := func(j *edge.Judge, s *registry.StatusChange) (*wire.Status, error) {
		operator, err := j.KnownOperator("Acme  Inc")
		require.NoError(t, err)
		return s.OfOperator(j, operator)
	}

	_, err = change(`{}`, engine.Suspended, ofAgent)
	edgetest.RequireCode(t, err, "missing_field", "reason")
	_, err = change(`{"reason":"r","reasonCode":"BORED"}`, engine.Revoked, ofAgent)
	edgetest.RequireCode(t, err, "invalid_field", "reasonCode")

	l, err := change(`{"reason":"odd","actor":"Jo"}`, engine.Suspended, ofAgent)
	require.NoError(t, err)
	require.Equal(t, []string{id, "ACTIVE", "SUSPENDED", "odd", "Jo"}, []string{l.Text("agentId"), l.Text("previousStatus"), l.Text("credentialStatus"), l.Text("reason"), l.Text("actor")})
	l, err = change(`{"reason":"left"}`, engine.Suspended, ofUser)
	require.NoError(t, err)
	require.Equal(t, user.Text("userId"), l.Text("userId"))
	l, err = change(`{"reason":"fraud"}`, engine.Suspended, ofOperator)
	require.NoError(t, err)
	require.Equal(t, "Acme Inc", l.Text("operatorLegalName"))
	l, err = change(`{"reason":"stolen","reasonCode":"KEY_COMPROMISE"}`, engine.Revoked, ofAgent)
	require.NoError(t, err)
	require.Equal(t, "KEY_COMPROMISE", l.Text("reasonCode"))

	j, f := w.Begin(edgetest.Admin(), `{"reason":"r","reasonCode":"OTHER"}`)
	s, err := registry.ReadStatusChange(f, engine.Revoked)
	require.NoError(t, err)
	record, err := s.OfAgent(j, known(t, j, id))
	require.NoError(t, err)
	require.EqualValues(t, 6, record.ReasonCode, "rows keep the place of the word: it never changes")
}

func TestOwnershipIsFlaggedAndTakenBack(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	for body, param := range map[string]string{`{"newOperatorLegalName":"…"}`: "newOperatorLegalName", `{"newOperatorLegalName":"Beta","effectiveAt":"soon"}`: "effectiveAt"} {
		_, f := w.Begin(edgetest.Admin(), body)
		_, err := registry.ReadOwnershipFlag(f)
		edgetest.RequireCode(t, err, "invalid_field", param)
	}
	j, f := w.Begin(edgetest.Admin(), `{"newOperatorLegalName":"Beta Inc","note":"sold","effectiveAt":"2027-01-01T00:00:00Z"}`)
	flag, err := registry.ReadOwnershipFlag(f)
	require.NoError(t, err)
	l, err := w.Settle(j, wire.KindOwnership, func() (any, error) { return flag.Record(j, known(t, j, id)) })
	require.NoError(t, err)
	require.Equal(t, []string{"ownership.flagged", "2027-01-01T00:00:00.000Z", "Beta Inc"}, []string{l.Kind(), l.Text("effectiveAt"), l.Text("newOperatorLegalName")})
	l, err = w.Settle(j, wire.KindOwnership, func() (any, error) {
		return registry.CancelOwnership(j, known(t, j, id), edge.Grounds{Reason: "not sold"})
	})
	require.NoError(t, err)
	require.Equal(t, []string{"ownership.cancelled", "not sold"}, []string{l.Kind(), l.Text("reason")})
}

func newFleet(w *edgetest.World, caller *edge.Caller, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	fleet, err := registry.ReadNewFleet(j, f)
	if err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindFleet, func() (any, error) { return fleet.Record(j) })
}

func TestFleetsAreMadeWithinTheScopeOfTheCaller(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct{ body, code, param string }{
		{`{"operatorLegalName":"Acme Inc","dailyLimitUSDC":5}`, "missing_field", "fleetName"},
		{`{"fleetName":"F","operatorLegalName":"…","dailyLimitUSDC":5}`, "invalid_field", "operatorLegalName"},
		{`{"fleetName":"F","operatorLegalName":"Acme Inc","dailyLimitUSDC":-1}`, "invalid_field", "dailyLimitUSDC"},
		{`{"fleetName":"F","operatorLegalName":"Beta Inc","dailyLimitUSDC":5}`, "forbidden", ""},
		{`{"fleetName":"F","operatorLegalName":"ACME INC","dailyLimitUSDC":5}`, "forbidden", ""},
		{`{"fleetName":"F","operatorLegalName":"Acme  Inc","dailyLimitUSDC":5}`, "", ""},
	} {
		_, err := newFleet(w, w.Caller("key_"+seal.NewKeyID(), wire.RoleOperator, "Acme Inc"), c.body)
		requireResult(t, err, c.code, c.param)
	}
	l, err := newFleet(w, edgetest.Admin(), `{"fleetName":"F","operatorLegalName":"Sovereign Atlas Ltd","dailyLimitUSDC":5,"velocity":{"maxPerHour":10}}`)
	require.NoError(t, err)
	require.False(t, l.Flag("operatorMatched"))
	require.NotNil(t, l.Raw("effectiveVelocity"))
}

func TestFleetsAreChanged(t *testing.T) {
	w := edgetest.New(t)
	id := w.NewFleet("Acme Inc", 100*engine.Dollar)
	operator := w.Caller("key_op", wire.RoleOperator, "")
	for _, c := range []struct {
		name, body, code, param string
		caller                  *edge.Caller
	}{
		{"a lower limit", `{"dailyLimitUSDC":50}`, "", "", operator},
		{"a higher limit without the role", `{"dailyLimitUSDC":60}`, "forbidden", "", operator},
		{"a higher limit", `{"dailyLimitUSDC":60,"reason":"r"}`, "", "", edgetest.Admin()},
		{"null leaves name and limit", `{"fleetName":null,"dailyLimitUSDC":null}`, "", "", operator},
		{"hours that are none", `{"operatingHours":{}}`, "invalid_field", "operatingHours.windows", operator},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, f := w.Begin(c.caller, c.body)
			old, err := j.KnownFleet(id)
			require.NoError(t, err)
			patch, err := registry.ReadFleetPatch(j, f, old)
			if err == nil {
				_, err = w.Settle(j, wire.KindFleetUpdate, func() (any, error) { return patch.Record(j) })
			}
			if c.code != "" {
				require.Error(t, err)
			}
			requireResult(t, err, c.code, c.param)
		})
	}
	j, _ := w.Begin(operator, `{}`)
	fleet, err := j.KnownFleet(id)
	require.NoError(t, err)
	require.Equal(t, 60*engine.Dollar, fleet.DailyLimit)
}

func TestAssignmentsNameEachAgentOnce(t *testing.T) {
	w := edgetest.New(t)
	fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
	id, _ := w.Registered("")
	delegate, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+id+`","agentName":"Child","purpose":"p"}`)
	require.NoError(t, err)
	child := delegate.Text("agentId")
	for _, c := range []struct{ body, code, param string }{
		{`{}`, "missing_field", "agentIds"},
		{`{"agentIds":[]}`, "invalid_field", "agentIds"},
		{`{"agentId":"agt_nobody"}`, "not_found", ""},
		{`{"agentIds":["` + id + `","` + child + `"]}`, "invalid_field", "agentIds[1]"},
		{`{"agentIds":["` + id + `","` + id + `"],"agentId":"` + id + `"}`, "", ""},
	} {
		j, f := w.Begin(edgetest.Admin(), c.body)
		assignment, err := registry.ReadAssignment(j, f)
		requireResult(t, err, c.code, c.param)
		if err == nil {
			require.Len(t, assignment.Agents, 1)
			l, err := w.Settle(j, wire.KindAssign, func() (any, error) {
				profile, err := j.KnownFleet(fleet)
				require.NoError(t, err)
				return assignment.Record(j, profile)
			})
			require.NoError(t, err)
			require.Equal(t, []string{id}, l.Texts("agentIds"))
		}
	}
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	_, err = registry.ReadRemoval(j, child)
	edgetest.RequireCode(t, err, "not_found", "")
	_, err = registry.ReadRemoval(j, "agt_nobody")
	edgetest.RequireCode(t, err, "not_found", "")
	removal, err := registry.ReadRemoval(j, id)
	require.NoError(t, err)
	require.True(t, removal.Remove)
}

func TestWhitelistsAreChangedWhereverTheyStand(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
	admin := edgetest.Admin()

	j, f := w.Begin(admin, `{"mode":"enforce","entries":[{"name":"Good Shop"}]}`)
	change := registry.ReplaceWhitelist(f, nil)
	require.NoError(t, f.Err())
	l, err := w.Settle(j, wire.KindSettings, func() (any, error) { return change.OfAgent(j, known(t, j, id), edge.Grounds{Actor: "Jo"}) })
	require.NoError(t, err)
	require.Equal(t, []string{"replaced", "enforce", "Jo"}, []string{l.Text("change"), l.Text("whitelist", "mode"), l.Text("actor")})

	j, f = w.Begin(w.Caller("key_op", wire.RoleOperator, ""), `{"name":"Other Shop"}`)
	list := known(t, j, id).Settings.Whitelist
	added, err := registry.AddEntry(f, list)
	require.NoError(t, err)
	_, err = added.OfAgent(j, known(t, j, id), edge.Grounds{Reason: "r"})
	edgetest.RequireCode(t, err, "forbidden", "") // A list in force is wider if it lets one more counterparty through.

	for _, entry := range []string{"x", "99", "-1"} {
		_, err = registry.RemoveEntry(entry, list)
		edgetest.RequireCode(t, err, "not_found", "")
	}
	removed, err := registry.RemoveEntry("1", list)
	require.NoError(t, err)
	_, err = w.Settle(j, wire.KindSettings, func() (any, error) { return removed.OfAgent(j, known(t, j, id), edge.Grounds{}) })
	require.NoError(t, err, "a shorter list in force is narrower")

	j, f = w.Begin(admin, `{"wallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96","label":"desk"}`)
	added, err = registry.AddEntry(f, nil)
	require.NoError(t, err)
	l, err = w.Settle(j, wire.KindFleetUpdate, func() (any, error) {
		profile, err := j.KnownFleet(fleet)
		require.NoError(t, err)
		return added.OfFleet(j, profile, edge.Grounds{})
	})
	require.NoError(t, err)
	require.Equal(t, []string{"added", "off"}, []string{l.Text("change"), l.Text("whitelist", "mode")}, "a list that was never set stays off")

	l, err = w.Settle(j, wire.KindWhitelist, func() (any, error) {
		return added.OfInstitution(j, j.Terms.Policy(), edge.Grounds{Reason: "r"})
	})
	require.NoError(t, err)
	require.Equal(t, "1", string(l.Raw("whitelist", "entryCount")))

	full := &engine.Whitelist{}
	for i := range uint32(engine.WhitelistMax) {
		full.Entries = append(full.Entries, engine.WhitelistEntry{ID: i + 1, Shown: strings.Repeat("n", 40)})
	}
	_, f = w.Begin(admin, `{"name":"One More"}`)
	_, err = registry.AddEntry(f, full)
	edgetest.RequireCode(t, err, "invalid_field", "entries")
	removed, err = registry.RemoveEntry("7", full)
	require.NoError(t, err)
	record, err := removed.OfInstitution(j, j.Terms.Policy(), edge.Grounds{Reason: "r"})
	require.NoError(t, err)
	require.NotContains(t, string(record.Fragment), `"entries":`, "a leaf does not hold so many")
}
