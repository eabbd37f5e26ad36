package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaveWords stand in no sentence but those of a first-hand screen or confirm.
const leaveWords = "may be made"

// allStates are the states of a recorded payment: what the record says, and the one sentence for it.
var allStates = map[string]struct{ verdict, record, sentence string }{
	"let through, and nothing said":       {"PROCEED", ``, "PROCEED: confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone."},
	"confirmed":                           {"PROCEED", `"payment":{"state":"held","verdict":"PROCEED"},`, "PROCEED: confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone."},
	"redeemed":                            {"PROCEED", `"payment":{"state":"redeemed"},`, "PROCEED (redeemed): let through or paid: do not pay again."},
	"settled":                             {"PROCEED", `"payment":{"state":"settled"},`, "PROCEED (settled): let through or paid: do not pay again."},
	"settled after its release":           {"PROCEED", `"payment":{"state":"released"},"lateSettlement":{"state":"settled"},`, "PROCEED (settled): let through or paid: do not pay again."},
	"released":                            {"PROCEED", `"payment":{"state":"released"},`, "PROCEED (released): no leave any more: do not pay. Screen a payment that is to be made."},
	"expired":                             {"PROCEED", `"payment":{"state":"expired"},`, "PROCEED (expired): no leave any more: do not pay. Screen a payment that is to be made."},
	"unresolved":                          {"PROCEED", `"payment":{"state":"unresolved"},`, "PROCEED (unresolved): not known whether it was paid: do not pay. It still counts against the limits."},
	"redeemed, and nobody said more":      {"PROCEED", `"payment":{"state":"unresolved","redeemed":true},`, "PROCEED (unresolved): not known whether it was paid: do not pay. It still counts against the limits."},
	"a state of a later release":          {"PROCEED", `"payment":{"state":"parked"},`, "PROCEED (parked): not known whether it was paid: do not pay. It still counts against the limits."},
	"under review":                        {"REVIEW", `"disposition":null,`, "REVIEW (R12): do not pay. An officer decides; ask get_verdict until its disposition is APPROVED, then call confirm. the reason."},
	"escalated":                           {"REVIEW", `"disposition":"ESCALATE_SAR","sarEscalated":true,`, "REVIEW (R12): do not pay. An officer decides; ask get_verdict until its disposition is APPROVED, then call confirm. the reason."},
	"rejected":                            {"REVIEW", `"disposition":"REJECTED",`, "REVIEW, REJECTED: do not pay. the reason."},
	"under review, and paid all the same": {"REVIEW", `"disposition":null,"payment":{"state":"settled","notAllowed":true},`, "REVIEW (settled): let through or paid: do not pay again."},
	"approved":                            {"REVIEW", `"disposition":"APPROVED","payBy":"2026-03-23T00:00:00.000Z","confirmable":true,"approval":{"state":"open","until":"2026-03-23T00:00:00.000Z"},`, "REVIEW, APPROVED: confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone."},
	"approved and confirmed":              {"REVIEW", `"disposition":"APPROVED","confirmable":true,"payment":{"state":"held"},`, "REVIEW, APPROVED: confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone."},
	"approved and redeemed":               {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"redeemed",`, "REVIEW, APPROVED (redeemed): let through or paid: do not pay again."},
	"approved and settled":                {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"settled","payment":{"state":"settled"},`, "REVIEW, APPROVED (settled): let through or paid: do not pay again."},
	"approved and lapsed":                 {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"lapsed","approval":{"state":"lapsed","until":"2026-03-23T00:00:00.000Z"},`, "REVIEW, APPROVED (lapsed): no leave any more: do not pay. Screen a payment that is to be made."},
	"approved, the agent was revoked":     {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"agent_status",`, "REVIEW, APPROVED (agent_status): no leave any more: do not pay. Screen a payment that is to be made."},
	"approved, and listed since":          {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"listed",`, "REVIEW, APPROVED (listed): no leave any more: do not pay. Screen a payment that is to be made."},
	"approved, and blocked since":         {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"blocked",`, "REVIEW, APPROVED (blocked): no leave any more: do not pay. Screen a payment that is to be made."},
	"approved and released":               {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"released",`, "REVIEW, APPROVED (released): no leave any more: do not pay. Screen a payment that is to be made."},
	"approved, and unresolved":            {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"lapsed","payment":{"state":"unresolved"},`, "REVIEW, APPROVED (unresolved): not known whether it was paid: do not pay. It still counts against the limits."},
	"approved, and it cannot be told":     {"REVIEW", `"disposition":"APPROVED","confirmable":false,"confirmableReason":"unknown",`, "REVIEW, APPROVED (unknown): not known whether it was paid: do not pay. It still counts against the limits."},
	"approved, and nothing is told":       {"REVIEW", `"disposition":"APPROVED",`, "REVIEW, APPROVED (): not known whether it was paid: do not pay. It still counts against the limits."},
	"blocked":                             {"BLOCK", ``, "BLOCK (R12): do not pay, and do not ask again in other words. the reason."},
	"blocked, and paid all the same":      {"BLOCK", `"payment":{"state":"settled","notAllowed":true},`, "BLOCK (settled): let through or paid: do not pay again."},
	"without a credential":                {"UNKNOWN", ``, "UNKNOWN (R12): do not pay. The credential is missing or no good: get one from the agent's operator. the reason."},
}

// recordBody is the record of a transaction, and verdictBody of the screening call's first answer.
func recordBody(verdict, record string) string {
	return strings.Replace(verdictBody(verdict), `{`, `{`+record, 1)
}

// TestASentenceAState (line P23): a record that is read, a repeated screen and a repeated confirm all
// tell the payment's state, and none of them gives leave.
func TestASentenceAState(t *testing.T) {
	replayed := map[string]string{"Idempotent-Replayed": "true"}
	for name, c := range allStates {
		t.Run(name, func(t *testing.T) {
			require.NotContains(t, c.sentence, leaveWords)
			g, api := newDesk(t)
			api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: recordBody(c.verdict, c.record)}
			api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: verdictBody(c.verdict), headers: replayed}
			api.answers["POST /v1/transactions/txn_1/confirm"] = fakeAnswer{status: 200, body: `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"ok"}`, headers: replayed}
			for tool, arguments := range map[string]string{
				"get_verdict": `{"txnId":"txn_1"}`, "explain": `{"txnId":"txn_1"}`, "screen": screening, "confirm": `{"txnId":"txn_1","idempotencyKey":"c"}`,
			} {
				o := callTool(t, g, tool, arguments)
				require.False(t, o.IsError, tool)
				require.Equal(t, c.sentence, o.Content[0].Text, tool)
				require.Equal(t, c.verdict, o.Members["verdict"], tool)
				requireNoSecret(t, o.Members)
				whole, err := json.Marshal(o)
				require.NoError(t, err)
				require.NotContains(t, string(whole), leaveWords, tool)
				require.NotContains(t, string(whole), "ESCALATE", tool)
				require.Equal(t, tool == "screen" || tool == "confirm", o.Members["replayed"] == true, tool)
			}
		})
	}
}

// A repeated answer whose record cannot be read gives no leave either.
func TestARepeatedAnswerWithoutItsRecord(t *testing.T) {
	for name, record := range map[string]fakeAnswer{
		"no leader": {status: 503, body: `{"code":"no_leader","message":"m"}`, headers: map[string]string{"X-Railguard-Outcome": "none"}},
		"gone":      {status: 404, body: `{"code":"not_found","message":"m"}`},
		"no record": {status: 200, body: `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers["GET /v1/audit/txn_1"] = record
			api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: verdictBody("PROCEED"), headers: map[string]string{"Idempotent-Replayed": "true"}}
			o := callTool(t, g, "screen", screening)
			require.True(t, o.IsError)
			require.Equal(t, "unknown", o.Members["outcome"], "the call was recorded")
			require.Contains(t, o.Content[0].Text, "do not pay")
			require.NotContains(t, o.Content[0].Text, leaveWords)
			require.NotContains(t, o.Members, "verdict")
		})
	}
}

// A first-hand screen and a first-hand confirm give leave; a dry run, which is as young, does not.
func TestLeaveIsSaidFirstHandAlone(t *testing.T) {
	g, api := newDesk(t)
	api.answers["POST /v1/screen/dry-run"] = fakeAnswer{status: 200, body: verdictBody("PROCEED")}
	require.NotContains(t, callTool(t, g, "dry_run", `{"token":"t","amount":1}`).Content[0].Text, leaveWords)

	first := map[string]string{"screen": "PROCEED: the payment may be made.", "confirm": "PROCEED: the payment may be made.", "redeem": "PROCEED: the payment may be made now, once: its leave is taken."}
	api.answers["POST /v1/screen"] = fakeAnswer{status: 200, body: verdictBody("PROCEED")}
	require.Equal(t, first["screen"], callTool(t, g, "screen", screening).Content[0].Text)
	for payment, word := range map[string]string{"held": "confirm", "redeemed": "redeem"} {
		api.answers["POST /v1/transactions/txn_1/confirm"] = fakeAnswer{status: 200, body: `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"ok","payment":{"state":"` + payment + `"}}`}
		require.Equal(t, first[word], callTool(t, g, "confirm", `{"txnId":"txn_1"}`).Content[0].Text)
	}
}
