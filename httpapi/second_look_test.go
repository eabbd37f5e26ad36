package httpapi

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// lookedAgain is a node where every decision is looked at again, with two officers besides: Cara and
// Dave, who has an auditor's key, too. It returns the token of an agent.
func lookedAgain(t *testing.T) (*testNode, string) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_cara", Name: "cara", Roles: wire.RoleReviewer, Person: "Cara", PersonKey: "cara"}, testSecret("cara"))
	n.addKey(wire.APIKey{ID: "key_dave", Name: "dave", Roles: wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy, Person: "Dave", PersonKey: "dave"}, testSecret("dave"))
	n.addKey(wire.APIKey{ID: "key_dave2", Name: "dave2", Roles: wire.RoleAdmin, Person: "Dave", PersonKey: "dave"}, testSecret("dave2"))
	n.advance(engine.DayLength)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"review":{"secondLook":{"basisPoints":10000}}}`), 200)
	_, token := n.registered("")
	return n, token
}

// oneLook decides a review as Cara and returns its transaction and the look at it.
func (n *testNode) oneLook(token, disposition string) (txn, look string) {
	txn = n.waits(token, "Nikolas Maduro")
	n.decides("cara", txn, disposition)
	v := answer(n.t, n.do("dave", "GET", "/v1/inbox?kind=look", ""), 200)
	items := v.GetArray("data")
	require.NotEmpty(n.t, items, v.String())
	return txn, textOf(items[len(items)-1], "itemId")
}

// A second officer sees the case without what was decided, says what he would have, and an alert tells
// where the two differ. The figures count both.
func TestASecondLook(t *testing.T) {
	n, token := lookedAgain(t)
	txn, look := n.oneLook(token, "APPROVED")
	require.Empty(t, answer(t, n.do("cara", "GET", "/v1/inbox?kind=look", ""), 200).GetArray("data"), "it is no work of hers")

	item := answer(t, n.do("dave", "GET", "/v1/inbox?kind=look", ""), 200).Get("data", "0")
	require.NotContains(t, item.String(), txn)
	require.NotContains(t, item.String(), "Maduro")
	require.Equal(t, n.LogTime().Day().Start().String(), textOf(item, "openedAt"), "its hour would name the record")
	for _, path := range []string{"/v1/learning/second-looks", "/v1/learning/second-looks/" + look} {
		require.NotContains(t, n.do("dave", "GET", path, "").Body.String(), txn, "nobody has it in hand")
	}
	require.Equal(t, "claimed_by_other", textOf(answer(t, n.do("dave", "POST", "/v1/learning/second-looks/"+look, `{"disposition":"REJECTED","reviewedBy":"Dave","reason":"it is he"}`), 409), "code"))
	require.Equal(t, "invalid_transition", textOf(answer(t, n.do("cara", "POST", "/v1/inbox/"+look+"/claim", `{}`), 409), "code"))
	answer(t, n.do("dave", "POST", "/v1/inbox/"+look+"/comment", `{"comment":"c"}`), 400)

	taken := answer(t, n.do("dave", "POST", "/v1/inbox/"+look+"/claim", `{"assignee":"Dave"}`), 200)
	require.Equal(t, []string{look, "claimed", "Dave"}, []string{textOf(taken, "itemId"), textOf(taken, "event"), textOf(taken, "assignee")})
	page := answer(t, n.do("dave", "GET", "/v1/learning/second-looks/"+look, ""), 200)
	require.Equal(t, txn, textOf(page, "record", "txnId"))
	require.NotEmpty(t, page.GetArray("record", "matches"))
	require.NotEmpty(t, page.GetArray("record", "parties"), "what the list says stands beside it")
	require.NotEmpty(t, page.GetArray("explained", "ladder"))
	require.NotContains(t, page.String(), "APPROVED")
	require.NotContains(t, page.String(), "because")
	require.NotContains(t, page.String(), "payBy")
	require.Equal(t, "null", page.Get("decided").String())
	for param, body := range map[string]string{"reason": `{"disposition":"REJECTED","reviewedBy":"Dave"}`, "disposition": `{"disposition":"no","reviewedBy":"Dave","reason":"x"}`, "reviewedBy": `{"disposition":"REJECTED","reason":"x"}`} {
		require.Equal(t, param, textOf(answer(t, n.do("dave", "POST", "/v1/learning/second-looks/"+look, body), 422), "param"))
	}
	said := answer(t, n.do("dave", "POST", "/v1/learning/second-looks/"+look, `{"disposition":"REJECTED","reviewedBy":"Dave","reason":"it is he"}`), 200)
	require.Equal(t, []string{txn, "APPROVED", "REJECTED"}, []string{textOf(said, "txnId"), textOf(said, "firstDisposition"), textOf(said, "secondDisposition")})
	require.Equal(t, "APPROVED", textOf(answer(t, n.do("dave", "GET", "/v1/audit/"+txn, ""), 200), "disposition"), "it changes nothing")
	alert := answer(t, n.do("dave", "GET", "/v1/alerts?kind=second_look", ""), 200).Get("data", "0")
	require.Equal(t, []string{txn, look, "APPROVED", "REJECTED"}, []string{textOf(alert, "txnId"), textOf(alert, "lookId"), textOf(alert, "firstDisposition"), textOf(alert, "secondDisposition")})
	shown := answer(t, n.do("cara", "GET", "/v1/learning/second-looks/"+look, ""), 200)
	require.Equal(t, []string{"answered", "because", "it is he"}, []string{textOf(shown, "state"), textOf(shown, "decided", "reason"), textOf(shown, "answered", "reason")})
	require.False(t, shown.GetBool("agrees"))
	n.countsTheLooks(t, token)
}

// countsTheLooks adds a look that agrees and one that lapses, and reads the figures.
func (n *testNode) countsTheLooks(t *testing.T, token string) {
	_, look := n.oneLook(token, "REJECTED")
	answer(n.t, n.do("dave", "POST", "/v1/inbox/"+look+"/claim", `{}`), 200)
	answer(n.t, n.do("dave", "POST", "/v1/learning/second-looks/"+look, `{"disposition":"REJECTED","reviewedBy":"Dave","reason":"it is he"}`), 200)
	n.oneLook(token, "REJECTED")
	n.advance(8 * engine.DayLength)
	require.Equal(n.t, "lapsed", textOf(answer(n.t, n.do("dave", "GET", "/v1/learning/second-looks?limit=1", ""), 200), "data", "0", "state"))
	first := answer(n.t, n.do("dave", "GET", "/v1/learning/second-looks?state=answered&limit=1", ""), 200)
	next := answer(n.t, n.do("dave", "GET", "/v1/learning/second-looks?state=answered&limit=1&cursor="+textOf(first, "nextCursor"), ""), 200)
	require.NotEqual(n.t, textOf(first, "data", "0", "lookId"), textOf(next, "data", "0", "lookId"))

	v := answer(n.t, n.do("auditor", "GET", "/v1/learning", ""), 200)
	names := []string{"asked", "agreed", "disagreed", "lapsed", "agreedBasisPoints"}
	require.Equal(n.t, []int{3, 1, 1, 1, 5000}, ints(v.Get("total", "secondLooks"), names...))
	cara := rowWith(t, v, "officers", "subject", "person:cara")
	require.Equal(n.t, []int{3, 1, 1, 1, 5000}, ints(cara.Get("secondLooks"), names...))
	require.Equal(n.t, []int{3, 1, 1, 1, 5000}, ints(rowWith(t, cara, "rules", "rule", "R21_POSSIBLE_NAME_MATCH").Get("secondLooks"), names...))
	require.Equal(n.t, 2, rowWith(t, v, "officers", "subject", "person:dave").GetInt("secondLooks", "given"))
	rows, err := csv.NewReader(strings.NewReader(n.do("auditor", "GET", "/v1/learning?format=csv", "").Body.String())).ReadAll()
	require.NoError(n.t, err)
	total := map[string]string{}
	for i, column := range rows[0] {
		total[column] = rows[1][i]
	}
	require.Equal(n.t, []string{"3", "1", "1", "1", "5000"}, []string{total["looksAsked"], total["looksAgreed"], total["looksDisagreed"], total["looksLapsed"], total["looksAgreedBasisPoints"]})
}

// stillAnswered are the calls that an officer may make with a second look in his hands. They are written
// from decision 156 and not from the product.
var stillAnswered = map[string]bool{
	"GET /v1/learning/second-looks/{lookId}": true, "POST /v1/learning/second-looks/{lookId}": true, "POST /v1/inbox/{itemId}/release": true,
	"GET /v1/key": true, "POST /v1/key/end-sessions": true,
	"GET /v1/drafts": true, "GET /v1/drafts/{name}": true, "PUT /v1/drafts/{name}": true, "DELETE /v1/drafts/{name}": true,
}

// Whoever has a second look in hand is refused on every route that needs a key and answers from the
// state, on both listeners and with every key of his: so no route tells him what was decided.
func TestASecondLookIsBlindOnEveryRoute(t *testing.T) {
	n, token := lookedAgain(t)
	txn, look := n.oneLook(token, "ESCALATE_SAR")
	answer(t, n.do("dave", "POST", "/v1/inbox/"+look+"/claim", `{}`), 200)
	refused := 0
	walk := func(key, method, path string, do func(path string) (int, string)) {
		asked := strings.NewReplacer("{txnId}", txn, "{itemId}", txn, "{lookId}", look, "{id}", txn).Replace(path)
		code, body := do(pathValue.ReplaceAllString(asked, "x"))
		at := key + " " + method + " " + path
		require.NotContains(t, body, "ESCALATE", at)
		if stillAnswered[method+" "+path] || border.GroundOf(method, path) == border.GroundNode {
			return
		}
		var said struct{ Code, LookID string }
		require.NoError(t, json.Unmarshal([]byte(body), &said), "%s: %s", at, body)
		require.Equal(t, 403, code, at+body)
		require.Equal(t, "second_look_in_hand", said.Code, at)
		require.Equal(t, look, said.LookID, at)
		refused++
	}
	for _, key := range []string{"dave", "dave2"} {
		for _, r := range n.publicRoutes() {
			if r.Roles == 0 || key == "dave" && r.Roles&(wire.RoleReviewer|wire.RoleAuditor|wire.RolePolicy) == 0 || r.Method == http.MethodPost && (stillAnswered[r.Method+" "+r.Path] || strings.HasPrefix(r.Path, "/v1/cluster/") && border.GroundOf(r.Method, r.Path) == border.GroundNode) {
				continue // The verbs of the cluster would be done, and none of them reads a record.
			}
			walk(key, r.Method, r.Path, func(path string) (int, string) {
				w := n.do(key, r.Method, path, "{}")
				return w.Code, w.Body.String()
			})
		}
	}
	for _, r := range n.adminRoutes() {
		if r.Roles == 0 || strings.HasPrefix(r.Path, "/debug/") || r.Path == "/metrics" {
			continue
		}
		walk("dave2", r.Method, r.Path, func(path string) (int, string) {
			w := n.doAdmin(r.Method, path, "{}", "Authorization", "Bearer "+testSecret("dave2"))
			return w.Code, w.Body.String()
		})
	}
	require.Greater(t, refused, 150, "the walk goes over all routes")
	answer(t, n.do("cara", "GET", "/v1/audit/"+txn, ""), 200)
	answer(t, n.do("dave", "POST", "/v1/inbox/"+look+"/release", `{}`), 200)
	answer(t, n.do("dave", "GET", "/v1/audit/"+txn, ""), 200)
	require.Equal(t, "invalid_transition", textOf(answer(t, n.do("dave", "POST", "/v1/inbox/"+look+"/claim", `{}`), 409), "code"), "he may have read it meanwhile")
}

// Where the policy asks for no second looks there are none.
func TestNoSecondLooksWithoutThePolicy(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	txn := n.waits(token, "Nikolas Maduro")
	n.decides("reviewer", txn, "REJECTED")
	require.Empty(t, answer(t, n.do("auditor", "GET", "/v1/learning/second-looks", ""), 200).GetArray("data"))
	require.Zero(t, answer(t, n.do("auditor", "GET", "/v1/learning", ""), 200).GetInt("total", "secondLooks", "asked"))
}

// lookInHand decides a review and puts the look at it into the admin's hands.
func (n *testNode) lookInHand(txn string) string {
	n.advance(engine.DayLength)
	answer(n.t, n.do("policy", "PUT", "/v1/policy", `{"review":{"secondLook":{"basisPoints":10000}}}`), 200)
	n.decides("reviewer", txn, "REJECTED")
	look := textOf(answer(n.t, n.do("admin", "GET", "/v1/inbox?kind=look", ""), 200), "data", "0", "itemId")
	answer(n.t, n.do("admin", "POST", "/v1/inbox/"+look+"/claim", `{}`), 200)
	return look
}
