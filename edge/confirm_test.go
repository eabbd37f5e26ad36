package edge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// paid confirms or redeems a recorded payment, and returns the leaf that says so.
func paid(w *edgetest.World, l *edge.Leaf, body string, change func(*edge.PayAsked)) (*edge.Judge, edge.Leaf, error) {
	j, _ := w.Begin(edgetest.Admin(), body)
	asked := &edge.PayAsked{Op: wire.PayConfirm}
	change(asked)
	said, err := w.Settle(j, wire.KindPay, func() (any, error) { return edge.PayRecord(j, l, asked) })
	return j, said, err
}

// TestConfirmations (statements P16 to P18): what the recorded call told is judged by what is true now, and
// the judgement is read again as a record with the same permit.
func TestConfirmations(t *testing.T) {
	w := edgetest.New(t)
	agent, token := w.Registered("")
	l := w.Screened(edgetest.Admin(), payment(token, `,"cpName":"Quiet Harbour Bakery","memo":"bread","cpCountry":"DE"`))
	j, said, err := paid(w, &l, `{}`, func(a *edge.PayAsked) {
		require.False(t, a.AskPermit([]byte(`{"ttlSeconds":1}`)))
		require.True(t, a.AskPermit([]byte(`{"ttlSeconds":60,"aud":"https://shop.example"}`)))
		a.Token = token
	})
	require.NoError(t, err)
	require.True(t, said.IsJudgement())
	require.False(t, l.IsJudgement())
	judged, err := edge.JudgementLeaf(j, &said)
	require.NoError(t, err)
	require.Equal(t, "PROCEED", judged.Text("verdict"))
	require.Equal(t, "Quiet Harbour Bakery", judged.Text("_request", "cpName"), "from the payment's own record")
	require.NotContains(t, string(said.Data), "Bakery", "no name stands in it twice")
	var m strictjson.Members
	require.NoError(t, j.Terms.Signing.WritePermit(&m, judged.Record))
	permit := string(parsed(t, m).GetStringBytes("permit"))
	require.NotEmpty(t, permit)

	j, _ = w.Begin(edgetest.Admin(), `{}`)
	found, until, err := j.ReadPermit(permit, nil)
	require.NoError(t, err)
	require.Equal(t, l.Index, found.Index)
	require.Greater(t, until, w.LogTime())
	for text, code := range map[string]string{permit[:len(permit)-6]: "permit_invalid", token: "permit_invalid", "": "permit_invalid"} {
		_, _, err := j.ReadPermit(text, nil)
		require.ErrorContains(t, err, code)
	}
	other, err := edge.ReadPaying([]byte(`{"amount":1000,"name":"Quiet Harbour Bakery"}`))
	require.NoError(t, err)
	_, _, err = j.ReadPermit(permit, other)
	require.ErrorContains(t, err, "permit_mismatch")
	w.Advance(2 * engine.Minute)
	j, _ = w.Begin(edgetest.Admin(), `{}`)
	_, _, err = j.ReadPermit(permit, nil)
	require.ErrorContains(t, err, "permit_expired")

	_, second := w.Registered("")
	_, _, err = paid(w, &l, `{}`, func(a *edge.PayAsked) { a.Token = second })
	require.ErrorContains(t, err, "invalid_field", "another agent's credential")
	_, said, err = paid(w, &l, `{}`, func(a *edge.PayAsked) { a.Token = "x" })
	require.NoError(t, err)
	require.Equal(t, "UNKNOWN", said.Text("verdict"))
	w.SetStatus(agent, engine.Suspended)
	j, said, err = paid(w, &l, `{}`, func(a *edge.PayAsked) { a.Op |= wire.PayRedeem })
	require.NoError(t, err)
	require.Equal(t, "BLOCK", said.Text("verdict"))
	judged, err = edge.JudgementLeaf(j, &said)
	require.NoError(t, err)
	var replay strictjson.Members
	require.NoError(t, j.Replay(&judged, &replay))
	require.True(t, parsed(t, replay).GetBool("match"), string(replay))
}

// TestConfirmableFollowsTheLeave: an approval can be confirmed until its leave is taken.
func TestConfirmableFollowsTheLeave(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	l := w.Screened(edgetest.Admin(), payment(token, `,"cpName":"Quiet Harbour Bakery"`))
	require.Equal(t, "REVIEW", l.Text("verdict"))
	w.Disposed(edgetest.Admin(), &l, wire.Approved)
	why := func() (string, *edge.Disposition) {
		j, _ := w.Begin(edgetest.Admin(), `{}`)
		d, err := j.Disposition(&l, true)
		require.NoError(t, err)
		word, approved := j.Confirmable(&l, d)
		require.True(t, approved)
		return word, d
	}
	word, d := why()
	require.Equal(t, "", word)
	require.True(t, d.Open() && !d.Redeemed())
	_, _, err := paid(w, &l, `{}`, func(*edge.PayAsked) {})
	require.NoError(t, err)
	word, _ = why()
	require.Equal(t, "", word, "it was confirmed")
	_, _, err = paid(w, &l, `{}`, func(a *edge.PayAsked) { a.Op = wire.PayRedeem })
	require.NoError(t, err)
	word, d = why()
	require.Equal(t, edge.PayRedeemed, word)
	require.True(t, d.Redeemed())
	require.True(t, strings.HasPrefix(edge.WhyBlocked("R2_CREDENTIAL_STATUS"), "agent"))
}
