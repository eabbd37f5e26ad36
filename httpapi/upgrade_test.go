package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
)

// Only ops may raise the format, by one, and only when every member can apply it. The test
// of rolling upgrades, with real processes, shows the rise and its effects.
func TestRaiseFormat(t *testing.T) {
	n := newTestNode(t)
	const path = "/v1/cluster/format"
	for body, code := range map[string]string{
		`{}`: "missing_field", `{"to":0}`: "invalid_field", `{"to":65536}`: "invalid_field", `{"to":"2"}`: "invalid_field", `{"to":3}`: "invalid_field",
		`{"to":2,"why":"x"}`: "unknown_field",
	} {
		require.Equal(t, code, textOf(answer(t, n.do("ops", "POST", path, body), 422), "code"), body)
	}
	answer(t, n.do("policy", "POST", path, `{"to":2}`), 403)
	v := answer(t, n.do("ops", "POST", path, `{"to":1}`), 200)
	require.True(t, v.GetBool("unchanged"))
	v = answer(t, n.do("ops", "POST", path, `{"to":2,"reason":"release 9"}`), 409)
	require.Equal(t, "format_not_ready", textOf(v, "code"))
	require.Contains(t, textOf(v, "message"), "knows formats up to 1")

	n.status = &report.ClusterStatus{Nodes: []report.NodeStatus{{ID: "n1", FormatMax: 2}, {ID: "n2", FormatMax: 2, Role: "unreachable"}}}
	v = answer(t, n.do("ops", "POST", path, `{"to":2}`), 409)
	require.Contains(t, textOf(v, "message"), "n2 does not answer")
	require.EqualValues(t, 1, n.Settings().Format)
}
