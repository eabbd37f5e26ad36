package httpapi

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// shadowed waits until a shadow has judged that many calls.
func (n *testNode) shadowed(id string, records int) (shown *fastjson.Value) {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		shown = answer(n.t, n.do("auditor", "GET", "/v1/policy/shadow/"+id, ""), 200)
		return shown.GetInt("records") >= records
	}, 30*time.Second, 5*time.Millisecond)
	return shown
}

// A shadow follows the log beside the real verdicts. Its candidate comes into force through
// the usual checks.
func TestShadowFollowsAndIsPromoted(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, "REVIEW R20_COUNTERPARTY", verdict(t, n.screen(token, `,"cpType":"ghost"`)))
	n.advance(engine.Second)
	id := textOf(answer(t, n.do("reviewer", "POST", "/v1/policy/shadow", `{"policy":{"rules":{"R20":"off"}}}`), 202), "id")
	for range 3 {
		require.Equal(t, "REVIEW R20_COUNTERPARTY", verdict(t, n.screen(token, `,"cpType":"ghost"`)))
		require.Equal(t, "PROCEED null", verdict(t, n.screen(token, "")))
	}
	shown := n.shadowed(id, 6)
	require.Equal(t, "running", textOf(shown, "state"))
	require.Equal(t, 6, shown.GetInt("records"), "what came before is not judged")
	require.Equal(t, 3, shown.GetInt("changed"))
	w := n.do("policy", "POST", "/v1/policy/shadow", `{"policy":{}}`)
	require.Equal(t, 409, w.Code)
	require.Len(t, answer(t, n.do("auditor", "GET", "/v1/policy/shadow", ""), 200).GetArray("data"), 1)

	require.Equal(t, 403, n.do("reviewer", "POST", "/v1/policy/shadow/"+id+"/promote", "").Code)
	w = n.do("policy", "POST", "/v1/policy/shadow/"+id+"/promote", "")
	require.Equal(t, 422, w.Code)
	require.Equal(t, "reason", member(t, w.Body.Bytes(), "param"), "it is wider")
	promoted := answer(t, n.do("policy", "POST", "/v1/policy/shadow/"+id+"/promote", `{"reason":"the shadow was right"}`), 200)
	require.Equal(t, "off", textOf(promoted, "policy", "rules", "R20"))
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpType":"ghost"`)))
	require.Equal(t, 3, n.shadowed(id, 7).GetInt("changed"), "nothing differs any more")

	shown = answer(t, n.do("reviewer", "POST", "/v1/policy/shadow/"+id+"/stop", ""), 200)
	require.Equal(t, "done", textOf(shown, "state"))
	n.screen(token, "")
	require.Equal(t, 7, answer(t, n.do("auditor", "GET", "/v1/policy/shadow/"+id, ""), 200).GetInt("records"))
}

// A staged list can be tried in the same way, and a shadow ends by itself.
func TestShadowOfAList(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	data, err := ofac.EncodeEntities(paper("PAPER TIGER HOLDING"), sample.Meta())
	require.NoError(t, err)
	_, err = n.Stage(context.Background(), data, wire.ListInfo{Digest: ofac.Digest(data), Entries: uint32(len(sample.Entities()) + 1), SDN: uint32(len(sample.Entities()) + 1), Sample: true}, false, wire.Common{})
	require.NoError(t, err)
	id := textOf(answer(t, n.do("policy", "POST", "/v1/policy/shadow", `{"listSnapshotId":"`+ofac.SnapshotID(ofac.Digest(data))+`","days":1}`), 202), "id")
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
	require.Equal(t, "R7_COUNTERPARTY_NAME_OFAC", textOf(n.shadowed(id, 1), "examples", "0", "candidate", "rule"))
	answer(t, n.do("policy", "POST", "/v1/policy/shadow/"+id+"/promote", `{"actor":"ann"}`), 200)
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
	n.advance(engine.DayLength + engine.Second)
	require.Equal(t, "done", textOf(n.ended("/v1/policy/shadow/"+id), "state"))
}

func TestShadowIsRefused(t *testing.T) {
	n := newTestNode(t)
	for body, param := range map[string]string{
		`{}`: "policy", `{"policy":{},"listSnapshotId":"x"}`: "listSnapshotId", `{"listSnapshotId":"x"}`: "listSnapshotId",
		`{"policy":{},"days":31}`: "days", `{"policy":{"rules":{"R6":"off"}}}`: "policy.rules.R6", `{"policy":{},"to":1}`: "to",
	} {
		w := n.do("policy", "POST", "/v1/policy/shadow", body)
		require.Equal(t, 422, w.Code, "%s: %s", body, w.Body)
		require.Equal(t, param, member(t, w.Body.Bytes(), "param"), body)
	}
	for _, verb := range []string{"/stop", "/promote"} {
		require.Equal(t, 404, n.do("policy", "POST", "/v1/policy/shadow/shd_000000000000_n1"+verb, "").Code)
		require.Equal(t, 422, n.do("policy", "POST", "/v1/policy/shadow/shd_000000000000_n1"+verb, `{"why":1}`).Code)
	}
	require.Equal(t, 404, n.do("policy", "GET", "/v1/policy/shadow/bt_000000000000_n1", "").Code)
}
