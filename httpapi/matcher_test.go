package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
	"railguard/ofac"
)

// Only ops may raise the matcher, by one version, once, and only when every node has that
// version.
func TestRaiseMatcher(t *testing.T) {
	n := newTestNode(t)
	const path = "/v1/cluster/matcher"
	for body, code := range map[string]string{
		`{}`: "missing_field", `{"to":0}`: "invalid_field", `{"to":65536}`: "invalid_field", `{"to":"2"}`: "invalid_field", `{"to":3}`: "invalid_field",
		`{"to":2,"why":"x"}`: "unknown_field",
	} {
		require.Equal(t, code, textOf(answer(t, n.do("ops", "POST", path, body), 422), "code"), body)
	}
	answer(t, n.do("policy", "POST", path, `{"to":2}`), 403)
	v := answer(t, n.do("ops", "POST", path, `{"to":1}`), 200)
	require.True(t, v.GetBool("unchanged"))
	v = answer(t, n.do("ops", "POST", path, `{"to":2}`), 409)
	require.Equal(t, "matcher_not_ready", textOf(v, "code"))
	require.EqualValues(t, 1, n.Settings().Matcher)

	n.matchers = ofac.Matchers{1, 2}
	w := n.do("ops", "POST", path, `{"to":2,"reason":"release 9"}`, "Idempotency-Key", "m")
	v = answer(t, w, 200)
	require.Equal(t, 2, v.GetInt("matcherVersion"))
	require.Equal(t, 1, v.GetInt("previousMatcherVersion"))
	require.Equal(t, "key_ops", textOf(v, "actorKeyId"))
	require.EqualValues(t, 2, n.Settings().Matcher)
	again := n.do("ops", "POST", path, `{"to":2,"reason":"release 9"}`, "Idempotency-Key", "m")
	require.Equal(t, w.Body.String(), again.Body.String())
	require.Equal(t, "true", again.Header().Get(border.HeaderReplayed))
}
