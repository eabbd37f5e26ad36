package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// newBank returns a node whose policy is that of a bank, with keys of persons: two of the role
// policy, one of them also a reviewer, and two admins. All keys are older than a day.
func newBank(t *testing.T, more ...wire.APIKey) *testNode {
	n := newTestNode(t)
	for _, key := range more {
		n.addKey(key, testSecret(key.Name))
	}
	n.addKey(wire.APIKey{ID: "key_pia", Name: "pia", Roles: wire.RolePolicy, Person: "Pia", PersonKey: "pia"}, testSecret("pia"))
	n.addKey(wire.APIKey{ID: "key_ada", Name: "ada", Roles: wire.RoleAdmin, Person: "Ada", PersonKey: "ada"}, testSecret("ada"))
	n.addKey(wire.APIKey{ID: "key_second", Name: "second", Roles: wire.RolePolicy | wire.RoleReviewer, Person: "Dora", PersonKey: "dora"}, testSecret("second"))
	n.addKey(wire.APIKey{ID: "key_alan", Name: "alan", Roles: wire.RoleAdmin, Person: "Alan", PersonKey: "alan"}, testSecret("alan"))
	n.advance(engine.DayLength)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"twoPersons":"bank"}`), 200)
	return n
}

// TestTwoPersonsOverHTTP: what one person must not do alone is answered 202 and waits; the
// second confirms it by its id or by doing the same, and the answer is that of the act.
func TestTwoPersonsOverHTTP(t *testing.T) {
	n := newBank(t)
	wider := `{"policy":{"twoPersons":"bank","rules":{"R21":"off"}},"reason":"too many alarms"}`
	v := answer(t, n.do("pia", "PUT", "/v1/policy", wider), 202)
	id := textOf(v, "proposalId")
	require.Equal(t, "person:pia", textOf(v, "proposedBy"))
	require.Equal(t, `["policy.widen"]`, v.Get("twoPersons").String())
	require.Equal(t, "policy.activated", textOf(v, "act"))
	require.Equal(t, "off", textOf(v, "content", "policy", "rules", "R21"), "the second reads what he confirms")
	answer(t, n.do("pia", "PUT", "/v1/policy", wider), 409)
	answer(t, n.do("pia", "POST", "/v1/proposals/"+id+"/confirm", ``), 409)

	list := answer(t, n.do("second", "GET", "/v1/proposals", ""), 200).GetArray("data")
	require.Len(t, list, 1)
	require.True(t, list[0].GetBool("mayConfirm"))
	mine := answer(t, n.do("pia", "GET", "/v1/proposals/"+id, ""), 200)
	require.Equal(t, "the proposer cannot confirm", textOf(mine, "why"))
	nobody := answer(t, n.do("policy", "GET", "/v1/proposals/"+id, ""), 200)
	require.Equal(t, "one of the two keys names a person and the other does not", textOf(nobody, "why"))
	require.False(t, nobody.GetBool("mayConfirm"))
	answer(t, n.do("policy", "POST", "/v1/proposals/"+id+"/confirm", ``), 409)
	require.Empty(t, answer(t, n.do("reviewer", "GET", "/v1/proposals", ""), 200).GetArray("data"), "it is no reviewer's act")
	answer(t, n.do("reviewer", "GET", "/v1/proposals/"+id, ""), 404)
	answer(t, n.do("auditor", "POST", "/v1/proposals/"+id+"/confirm", ``), 403)
	for _, verb := range []string{"/confirm", "/withdraw"} {
		require.Equal(t, "reason", textOf(answer(t, n.do("second", "POST", "/v1/proposals/"+id+verb, `{"reason":5}`), 422), "param"))
	}
	answer(t, n.do("second", "POST", "/v1/proposals/prp_aaaaaaaaaaaa/confirm", ``), 404)

	v = answer(t, n.do("second", "POST", "/v1/proposals/"+id+"/confirm", `{"reason":"agreed"}`, "Idempotency-Key", "c"), 200)
	require.Equal(t, "off", textOf(v, "policy", "rules", "R21"))
	again := n.do("second", "POST", "/v1/proposals/"+id+"/confirm", `{"reason":"agreed"}`, "Idempotency-Key", "c")
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	answer(t, again, 200)
	answer(t, n.do("second", "POST", "/v1/proposals/"+id+"/confirm", ``), 404)

	v = answer(t, n.do("second", "PUT", "/v1/policy", `{"policy":{"twoPersons":"bank","rules":{"R21":"off","R20":"off"}},"reason":"more"}`), 202)
	require.Equal(t, "person:dora", textOf(v, "proposedBy"))
	withdrawn := answer(t, n.do("second", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/withdraw", `{"reason":"no"}`), 200)
	require.Equal(t, "withdrawn", textOf(withdrawn, "state"))
	answer(t, n.do("second", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/withdraw", ``), 404)
}

// TestKeysOfABankAreMadeByTwo: the proposer has the secret; the key is good once another
// admin has confirmed it.
func TestKeysOfABankAreMadeByTwo(t *testing.T) {
	n := newBank(t)
	v := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"new","roles":["reviewer"],"person":"Ｃarla   ROSSI"}`, "Authorization", "Bearer "+testSecret("alan")), 202)
	require.NotEmpty(t, textOf(v, "key"))
	done := answer(t, n.do("ada", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/confirm", ``), 201)
	require.Equal(t, "Ｃarla   ROSSI", textOf(done, "person"))
	require.Nil(t, done.Get("key"))
	keys := n.settings.Keys
	require.Equal(t, "carla rossi", keys[len(keys)-1].PersonKey)
	require.Equal(t, "person:alan", keys[len(keys)-1].MadeBy, "he has the secret")
	answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"new","roles":["reviewer"]}`), 409)
}

// TestConfirmTime: two admins let log time leap, whatever the policy says; the same instant, sent by
// the second or confirmed by him.
func TestConfirmTime(t *testing.T) {
	n := newBank(t)
	const path = "/v1/cluster/confirm-time"
	answer(t, n.do("pia", "POST", path, `{"notAfter":"2030-01-01"}`), 403)
	answer(t, n.do("alan", "POST", path, `{}`), 422)
	answer(t, n.do("alan", "POST", path, `{"notAfter":"tomorrow"}`), 422)
	v := answer(t, n.do("alan", "POST", path, `{"notAfter":"2030-01-01","reason":"power cut"}`), 202)
	require.Equal(t, `["clock.confirm"]`, v.Get("twoPersons").String())
	require.Equal(t, "2030-01-01T00:00:00.000Z", textOf(v, "content", "notAfter"))
	require.Equal(t, "power cut", textOf(v, "content", "reason"))
	answer(t, n.do("alan", "POST", path, `{"notAfter":"2030-01-01"}`), 409)
	answer(t, n.do("ada", "POST", path, `{"notAfter":"2030-01-02"}`), 409)
	v = answer(t, n.do("ada", "POST", path, `{"notAfter":"2030-01-01"}`), 200)
	require.Equal(t, "2030-01-01T00:00:00.000Z", textOf(v, "leapExpiresAt"))
	require.Equal(t, `["person:alan","person:ada"]`, v.Get("persons").String())
	v = answer(t, n.do("alan", "POST", path, `{"notAfter":"2029-01-01"}`), 200)
	require.Equal(t, "true", v.Get("unchanged").String())
	v = answer(t, n.do("alan", "POST", path, `{"notAfter":"2031-01-01"}`), 202)
	answer(t, n.do("ada", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/confirm", `{}`), 200)
}
