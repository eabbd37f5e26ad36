package edge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
)

// A name that cannot be compared is R21 in its record, in the explanation, in the replay, in the
// workbench and in the dry run, and each says why.
func TestNamesThatCannotBeComparedAreTold(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	for _, c := range []struct{ name, reason, told string }{
		{"สมชาย Ltd", "A part of the counterparty name could not be compared: its letters cannot be read.", "สมชาย (Thai): its letters cannot be read"},
		{"🙂", "The counterparty name could not be compared: it has no letter and no digit.", "it has no letter and no digit"},
		{strings.Repeat("abcde fghij klmno ", 20), "The counterparty name is too long to be compared to its end.", "it is too long to be compared to its end"},
	} {
		body := payment(token, `,"cpName":"`+c.name+`"`)
		l := w.Screened(edgetest.Admin(), body)
		require.Equal(t, "REVIEW", l.Text("verdict"))
		require.Equal(t, c.reason, l.Text("reason"))
		again := replayed(t, w, &l)
		require.True(t, again.GetBool("match"), again)
		values := rung(explained(t, w, &l), 21).Get("values", "notCompared", "0")
		if !strings.Contains(c.reason, "too long") {
			require.Equal(t, "cpName", string(values.GetStringBytes("member")))
			require.Contains(t, c.told, string(values.GetStringBytes("why")))
		}
		require.Equal(t, c.reason, string(dryRun(t, w, edgetest.Admin(), body).GetStringBytes("reason")))
		answer := asked(t, w, edge.MatchQuestion{Name: c.name})
		require.Equal(t, "REVIEW", string(answer.GetStringBytes("outcome")))
		require.Equal(t, c.told, string(answer.GetStringBytes("notCompared")))
	}
	require.False(t, asked(t, w, edge.MatchQuestion{Name: "Jane Public"}).Exists("notCompared"))
	listed := asked(t, w, edge.MatchQuestion{Name: "???", Wallet: sampleWallet()})
	require.Equal(t, "BLOCK", string(listed.GetStringBytes("outcome")))
}

// Who registers with such a name learns that all payments will be reviewed.
func TestRegistrationsOfNamesThatCannotBeCompared(t *testing.T) {
	w := edgetest.New(t)
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"บริษัท สมชาย","purpose":"p"}`)
	require.NoError(t, err)
	require.Contains(t, string(l.Raw("warnings")), "operator_not_compared")
	screened := w.Screened(edgetest.Admin(), payment(w.AgentToken(&l), `,"cpName":"Jane Public"`))
	require.Equal(t, "A part of the operator's legal name could not be compared: its letters cannot be read.", screened.Text("reason"))
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"नरेंद्र","boundAgents":["`+l.Text("agentId")+`"]}`)
	require.NoError(t, err)
	require.Contains(t, string(user.Raw("warnings")), "user_not_compared")
}
