package httpapi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Users are listed in pages, within the key's scope, as long as their record is stored. A caller
// that may not see names gets no users.
func TestUsersAreListed(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("acme", "Acme Inc", wire.RoleOperator)
	n.addCaller("other", "Other Works", wire.RoleOperator)
	var ids []string
	for i := range 5 {
		operator := `,"operatorLegalName":"Acme Inc"`
		if i == 4 {
			operator = ""
		}
		ids = append(ids, textOf(answer(t, n.do("operator", "POST", "/v1/users/register", fmt.Sprintf(`{"legalName":"Ada Number %d"%s}`, i, operator)), 201), "userId"))
	}
	answer(t, n.do("operator", "POST", "/v1/users/"+ids[1]+"/revoke", `{"reason":"left"}`), 200)
	list := func(role, query string) (found []string, next string) {
		v := answer(t, n.do(role, "GET", "/v1/users"+query, ""), 200)
		for _, user := range v.GetArray("data") {
			found = append(found, string(user.GetStringBytes("userId")))
		}
		return found, string(v.GetStringBytes("nextCursor"))
	}
	all, next := list("operator", "")
	require.Equal(t, []string{ids[4], ids[3], ids[2], ids[1], ids[0]}, all)
	require.Empty(t, next)
	page, next := list("operator", "?order=asc&limit=3")
	require.Equal(t, ids[:3], page)
	page, next = list("operator", "?order=asc&limit=3&cursor="+next)
	require.Equal(t, ids[3:], page)
	require.Empty(t, next)
	own, _ := list("acme", "?order=asc")
	require.Equal(t, ids[:4], own, "those of its own operator")
	none, _ := list("other", "")
	require.Empty(t, none)
	revoked, _ := list("auditor", "?status=REVOKED")
	require.Equal(t, ids[1:2], revoked)
	for query, param := range map[string]string{"?status=GONE": "status", "?status=revoked": "status", "?limit=0": "limit", "?cursor=x": "cursor", "?operator=Acme": "operator"} {
		require.Equal(t, param, textOf(answer(t, n.do("operator", "GET", "/v1/users"+query, ""), 400), "param"), query)
	}
	one := answer(t, n.do("operator", "GET", "/v1/users?limit=1", ""), 200).GetArray("data")[0]
	require.Equal(t, "Ada Number 4", string(one.GetStringBytes("legalName")))
	require.Equal(t, "cc-v1", string(one.GetStringBytes("kid")))
	require.False(t, one.Exists("token"))
	require.NotContains(t, n.do("policy", "GET", "/v1/users", "").Body.String(), "Ada Number", "names are for who needs them")
	require.Equal(t, 403, n.do("screener", "GET", "/v1/users", "").Code)

	n.advance(20 * engine.DayLength)
	later := textOf(answer(t, n.do("operator", "POST", "/v1/users/register", `{"legalName":"Late Ada"}`), 201), "userId")
	n.advance(12 * engine.DayLength)
	for _, order := range []string{"asc", "desc"} {
		left, next := list("operator", "?order="+order)
		require.Equal(t, []string{later}, left, "records are stored for 31 days")
		require.Empty(t, next)
	}
}
