package edge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/fsm/wire"
)

// Each role of a key may do what decision 33 says.
func TestRoles(t *testing.T) {
	for _, c := range []struct {
		name                 string
		roles                uint16
		operator             string
		sees, officer, audit bool
	}{
		{"nothing", 0, "", false, false, false},
		{"screener", wire.RoleScreener, "", false, false, false},
		{"operator", wire.RoleOperator, "", false, false, false},
		{"ops", wire.RoleOps, "", false, false, false},
		{"policy", wire.RolePolicy, "", false, true, false},
		{"policy of one operator", wire.RolePolicy, "acme inc", false, false, false},
		{"reviewer", wire.RoleReviewer, "", true, false, false},
		{"auditor", wire.RoleAuditor, "", true, false, true},
		{"admin", wire.RoleAdmin, "", true, true, true},
		{"admin of one operator", wire.RoleAdmin, "acme inc", false, false, true},
	} {
		k := &edge.Caller{Roles: c.roles, Owner: c.operator}
		require.Equal(t, c.sees, k.SeesAll(), c.name)
		require.Equal(t, c.officer, k.Officer(), c.name)
		require.Equal(t, c.audit, k.May(wire.RoleAuditor), c.name)
	}
}

// Scopes go by owners: an operator covers itself alone, a caller no operator, the institution all.
func TestWhomAnOwnerCovers(t *testing.T) {
	w := edgetest.New(t)
	terms, acme := w.Judges.Now(), w.Caller("key_a", wire.RoleScreener, "Acme Inc")
	require.True(t, terms.Covers(acme, 1))
	require.False(t, terms.Covers(acme, 2))
	require.False(t, terms.Covers(acme, 0))
	require.True(t, terms.Covers(&edge.Caller{}, 2))
	merchant := &edge.Caller{Owner: "cal_merchant"}
	require.False(t, terms.Covers(merchant, 0))
	require.False(t, terms.Covers(merchant, 1))
	require.Equal(t, []string{"", "cal_merchant"}, []string{merchant.OwnerOperator(), merchant.OwnerCaller()})
	require.Equal(t, []string{terms.OperatorID(1), ""}, []string{acme.OwnerOperator(), acme.OwnerCaller()})
	require.False(t, acme.Institution() || merchant.Institution())
}

// A record may be read by its owner, and by keys of some roles whose operator covers it. Fewer
// roles see the names in it (decision 33).
func TestWhoReadsARecord(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	key := func(id string, roles uint16, operator string) *edge.Caller { return w.Caller(id, roles, operator) }
	acmeScreener := key("acme_screener", wire.RoleScreener, "Acme Inc")
	acmeSecond := key("acme_second", wire.RoleScreener, "Acme Inc")
	acmeOperator := key("acme_operator", wire.RoleOperator, "Acme Inc")
	globexOperator := key("globex_operator", wire.RoleOperator, "Globex Ltd")
	screener := key("screener", wire.RoleScreener, "")
	operator := key("operator", wire.RoleOperator, "")
	reviewer := key("reviewer", wire.RoleReviewer, "")
	auditor := key("auditor", wire.RoleAuditor, "")
	ops := key("ops", wire.RoleOps, "")
	acmeViewer, acmeSettler := key("acme_viewer", wire.RoleViewer, "Acme Inc"), key("acme_settler", wire.RoleSettler, "Acme Inc")
	viewer, settler := key("viewer", wire.RoleViewer, ""), key("settler", wire.RoleSettler, "")
	policy := key("policy", wire.RolePolicy, "")
	type may struct {
		caller        *edge.Caller
		reads, masked bool
	}
	for _, c := range []struct {
		name   string
		caller *edge.Caller
		token  string
		who    []may
	}{
		{"the tenant's own call", acmeScreener, token, []may{
			{acmeScreener, true, false}, {acmeSecond, true, false}, {acmeOperator, true, false},
			{acmeViewer, true, false}, {acmeSettler, true, false}, {viewer, true, true}, {settler, true, true},
			{globexOperator, false, true},
			{screener, false, true}, {operator, false, true}, {policy, false, true}, {ops, true, true}, {reviewer, true, false}, {auditor, true, false},
		}},
		{"the institution's call about the tenant's agent", screener, token, []may{
			{screener, true, false}, {operator, true, false}, {policy, true, true}, {ops, true, true}, {reviewer, true, false},
			{acmeViewer, true, false}, {acmeSettler, false, false}, {viewer, true, false}, {settler, true, false},
			{acmeScreener, false, false}, {acmeOperator, true, false}, {globexOperator, false, true},
		}},
		{"the tenant's call without a credential", acmeScreener, "x", []may{
			{acmeScreener, true, false}, {acmeSecond, true, false},
			{globexOperator, false, true}, {screener, false, true}, {reviewer, true, false}, {ops, true, true},
		}},
	} {
		l := w.Screened(c.caller, payment(c.token, ""))
		terms := w.Judges.Now()
		for _, m := range c.who {
			require.Equal(t, m.reads, terms.MayRead(m.caller, &l), "%s: %s reads", c.name, m.caller.ID)
			require.Equal(t, m.masked, terms.Masked(m.caller, &l), "%s: %s masked", c.name, m.caller.ID)
		}
	}
}

func TestRolesHaveNames(t *testing.T) {
	for i, name := range edge.RoleNames {
		require.Equal(t, uint16(1<<i), edge.ParseRole(name), name)
		require.Equal(t, []string{name}, edge.RoleList(1<<i))
	}
	require.Zero(t, edge.ParseRole("root"))
	require.Equal(t, wire.RoleAdmin, edge.ParseRole("admin"))
}
