package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/engine/passkey/passkeytest"
	"railguard/fsm/wire"
	"railguard/httpapi/operations"
)

// signIn signs a person in by the identity provider, and returns the header of the session's calls.
func (n *testNode) signIn(subject, name string, roles uint16, flow byte) (header string, err error) {
	secret, err := n.api.SignIn(n.t.Context(), operations.Person{Issuer: "https://idp.example", Subject: subject, Name: name, Roles: roles, Flow: [32]byte{flow}}, time.Hour)
	return "Bearer " + secret, err
}

// TestEndPerson: one act, under two persons where the policy says so, ends all keys, the session, the
// passkey, the claim and the proposal of a person; the provider's word brings nobody back; whom it
// ends has no say in it.
func TestEndPerson(t *testing.T) {
	n := newBank(t, wire.APIKey{ID: "key_dora2", Name: "dora2", Roles: wire.RoleReviewer, Person: "DORA", PersonKey: "dora"})
	session, err := n.signIn("00u-dora", "Dora", wire.RoleReviewer, 1)
	require.NoError(t, err)
	require.Equal(t, 200, n.do("", "GET", "/v1/queue", "", "Authorization", session).Code)
	passkey := passkeytest.New(testPublicURL, "pay.example.com")
	answer(t, n.doAdmin("POST", "/admin/passkeys", passkey.Register("own", nil), "Authorization", "Bearer "+testSecret("second")), 201)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	txn := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20}`), 200), "txnId")
	answer(t, n.do("second", "POST", "/v1/queue/"+txn+"/assign", `{"assignee":"Dora"}`), 200)
	wider := textOf(answer(t, n.do("second", "PUT", "/v1/policy", `{"policy":{"twoPersons":"bank","rules":{"R21":"off"}},"reason":"more"}`), 202), "proposalId")
	by := func(who string) []string { return []string{"Authorization", "Bearer " + testSecret(who)} }
	const path = "/admin/keys/key_second/end-person"
	require.Equal(t, 403, n.doAdmin("POST", path, `{}`, by("pia")...).Code)
	answer(t, n.doAdmin("POST", "/admin/keys/key_nobody/end-person", `{}`, by("ada")...), 404)
	v := answer(t, n.doAdmin("POST", path, `{"reason":"left the bank"}`, by("ada")...), 202)
	require.Equal(t, `["person.end"]`, v.Get("twoPersons").String())
	require.Equal(t, 200, n.do("second", "GET", "/v1/queue", "").Code, "nothing is done yet")
	answer(t, n.do("ada", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/confirm", `{}`), 409)
	v = answer(t, n.do("alan", "POST", "/v1/proposals/"+textOf(v, "proposalId")+"/confirm", `{}`), 200)
	for member, want := range map[string]int{"keys": 3, "passkeys": 1, "claims": 1, "proposals": 1} {
		require.Equal(t, want, v.GetInt(member), "%s: %s", member, v)
	}
	require.Equal(t, []string{"person:dora", "left the bank", `["person:ada","person:alan"]`}, []string{textOf(v, "subject"), textOf(v, "reason"), v.Get("persons").String()})
	for name, header := range map[string]string{"key": "Bearer " + testSecret("second"), "older key": "Bearer " + testSecret("dora2"), "session": session} {
		require.Equal(t, 401, n.do("", "GET", "/v1/queue", "", "Authorization", header).Code, name)
	}
	require.Empty(t, n.settings.Passkeys)
	require.Equal(t, "null", answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200).Get("data", "0", "assignee").String())
	answer(t, n.do("pia", "GET", "/v1/proposals/"+wider, ""), 404)
	_, err = n.signIn("00u-dora", "Dora", wire.RoleReviewer, 2)
	require.ErrorIs(t, err, operations.ErrPersonEnded)
	_, err = n.signIn("00u-other", "dora", wire.RoleReviewer, 3)
	require.ErrorIs(t, err, operations.ErrPersonEnded, "another row of the same name")
	answer(t, n.doAdmin("POST", path, `{}`, by("ada")...), 409)

	v = answer(t, n.doAdmin("POST", "/admin/keys/key_alan/end-person", `{}`, by("ada")...), 202)
	mine := "/v1/proposals/" + textOf(v, "proposalId")
	require.Equal(t, "it ends you", textOf(answer(t, n.do("alan", "GET", mine, ""), 200), "why"))
	answer(t, n.do("alan", "POST", mine+"/confirm", `{}`), 409)
	answer(t, n.do("alan", "POST", mine+"/withdraw", `{}`), 409)
	answer(t, n.do("ada", "POST", mine+"/withdraw", `{}`), 200)
}

// TestTheLastAdminStays: the last administrator is not ended, and the act says why. Of a person who has
// only an API key the provider brings nobody back either, until an admin reinstates.
func TestTheLastAdminStays(t *testing.T) {
	n := newTestNode(t)
	v := answer(t, n.doAdmin("POST", "/admin/keys/key_bootstrap/end-person", `{}`), 409)
	require.Contains(t, textOf(v, "message"), "nobody would be an admin any more")
	n.addKey(wire.APIKey{ID: "key_eve", Name: "eve", Roles: wire.RoleAdmin, Person: "Eve", PersonKey: "eve"}, testSecret("eve"))
	answer(t, n.doAdmin("POST", "/admin/keys/key_bootstrap/end-person", `{}`), 200)
	require.Equal(t, 401, n.do("admin", "GET", "/v1/key", "").Code)
	answer(t, n.doAdmin("POST", "/admin/keys/key_eve/end-person", `{}`), 409)

	n.addKey(wire.APIKey{ID: "key_ina", Name: "ina", Roles: wire.RoleReviewer, Person: "Ina", PersonKey: "ina"}, testSecret("ina"))
	answer(t, n.doAdmin("POST", "/admin/keys/key_ina/end-person", `{}`), 200)
	_, err := n.signIn("00u-ina", "Ina", wire.RoleReviewer, 1)
	require.ErrorIs(t, err, operations.ErrPersonEnded)
	answer(t, n.doAdmin("POST", "/admin/keys/key_ina/reinstate", ``), 200)
	require.Equal(t, 401, n.do("ina", "GET", "/v1/key", "").Code, "the key stays ended")
	_, err = n.signIn("00u-ina", "Ina", wire.RoleReviewer, 2)
	require.NoError(t, err)
}

// officers are who is one person, and who is another: Pia's two keys and her sign-in, and Paul.
type officers struct {
	*testNode
	pia  []string // Headers of Pia's calls, one for each of the ways in which she is known.
	paul string
}

func newOfficers(t *testing.T) *officers {
	n := &officers{testNode: listNode(t)}
	for _, key := range [][2]string{{"pia1", "Pia@bank.example"}, {"pia2", "pia@BANK.example"}, {"paul", "Paul"}} {
		n.addKey(wire.APIKey{ID: "key_" + key[0], Name: key[0], Roles: wire.RolePolicy, Person: key[1], PersonKey: engine.PersonKey(key[1])}, testSecret(key[0]))
	}
	n.pia, n.paul = []string{"Bearer " + testSecret("pia1"), "Bearer " + testSecret("pia2")}, "Bearer "+testSecret("paul")
	for flow := range byte(2) { // Two browsers.
		session, err := n.signIn("00u-pia", "pia@bank.example", wire.RolePolicy, flow+1)
		require.NoError(t, err)
		n.pia = append(n.pia, session)
	}
	n.advance(engine.DayLength)
	session, err := n.signIn("00u-pia", "pia@bank.example", wire.RolePolicy, 9)
	require.NoError(t, err)
	n.pia[3] = session // The sessions of the day before are over; the person is a day old.
	n.pia = append(n.pia[:2], n.pia[3])
	return n
}

// TestWhatTwoPersonsDo walks the acts that two persons do where the policy says so: one alone only
// proposes, and is refused as his own second by another key or a sign-in; somebody else puts it in
// force.
func TestWhatTwoPersonsDo(t *testing.T) {
	const eyes = `{"twoPersons":"bank","passkeys":[],"review":{"fourEyes":{"minAmount":50}}}`
	policy := func(document string) func(*officers) (string, string, string) {
		return func(*officers) (string, string, string) {
			return "PUT", "/v1/policy", `{"policy":` + document + `,"reason":"r"}`
		}
	}
	list := func(name, date, force string) func(*officers) (string, string, string) {
		return func(n *officers) (string, string, string) {
			id := n.upload(name, date+";"+manyNames(40))
			return "POST", "/v1/ofac/" + id + "/activate", `{"force":` + force + `,"reason":"r"}`
		}
	}
	for _, c := range []struct {
		name, act string
		ask       func(*officers) (method, path, body string)
		before    func(*officers)
	}{
		{name: "the policy", act: "policy.widen", ask: policy(`{"twoPersons":"bank","review":{"fourEyes":{"minAmount":50}},"rules":{"R21":"off"}}`)},
		{name: "a licence", act: "licence", ask: policy(`{"twoPersons":"bank","review":{"fourEyes":{"minAmount":50}},"jurisdictions":{"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"from":"2020-01-01","until":"2099-12-31","reason":"medicine"}]}}`)},
		{name: "four eyes from a higher amount on", act: "twoPersons", ask: policy(`{"twoPersons":"bank","review":{"fourEyes":{"minAmount":51}}}`)},
		{name: "four eyes for every review no more", act: "twoPersons", ask: policy(`{"twoPersons":["policy.widen"]}`)},
		{name: "two persons switched off", act: "twoPersons", ask: policy(`{"twoPersons":[]}`)},
		{name: "a list put in force", act: "list.activate", ask: list("SDN.CSV", "2026-03-10", "true")},
		{name: "a list forced", act: "list.force", ask: list("suspicious", "2026-03-11", "true")},
		{name: "a list rolled back", act: "list.rollback", before: (*officers).twoLists, ask: func(*officers) (string, string, string) {
			return "POST", "/v1/ofac/rollback", `{"force":true,"reason":"r"}`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newOfficers(t)
			if c.before != nil {
				c.before(n)
			}
			answer(t, n.do("policy", "PUT", "/v1/policy", eyes), 200)
			method, path, body := c.ask(n)
			state := func() string {
				return answer(t, n.do("auditor", "GET", "/v1/policy", ""), 200).Get("policyVersion").String() + " " + textOf(answer(t, n.do("auditor", "GET", "/v1/ofac", ""), 200), "active", "snapshotId")
			}
			do := func(header, method, path, body string, code int) string {
				t.Helper()
				return answer(t, n.do("", method, path, body, "Authorization", header), code).String()
			}
			before := state()
			for first := range n.pia {
				v := answer(t, n.do("", method, path, body, "Authorization", n.pia[first]), 202)
				require.Contains(t, v.Get("twoPersons").String(), `"`+c.act+`"`)
				id := textOf(v, "proposalId")
				for _, again := range n.pia {
					do(again, method, path, body, 409)
					do(again, "POST", "/v1/proposals/"+id+"/confirm", `{}`, 409)
				}
				require.Equal(t, before, state(), "one person did it")
				if first < len(n.pia)-1 {
					do(n.pia[first], "POST", "/v1/proposals/"+id+"/withdraw", `{}`, 200)
					continue
				}
				do(n.paul, "POST", "/v1/proposals/"+id+"/confirm", `{}`, 200)
			}
			require.NotEqual(t, before, state(), "the second person put it in force")
		})
	}
}

// twoLists puts two lists in force, while one person may.
func (n *officers) twoLists() {
	for _, date := range []string{"2026-03-10", "2026-03-11"} {
		answer(n.t, n.do("policy", "POST", "/v1/ofac/"+n.upload("SDN.CSV", date+";"+date+";"+manyNames(40))+"/activate", `{"force":true,"reason":"r"}`), 200)
	}
}
