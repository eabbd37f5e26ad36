package edge_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/seal"
)

// Terms are rebuilt if the settings change, and only those parts whose source changed.
func TestTermsAreMadeOfTheSettings(t *testing.T) {
	w := edgetest.New(t)
	first := w.Judges.Now()
	require.Same(t, first, w.Judges.Now())
	w.Registered("") // A profile is not part of the settings.
	require.Same(t, first, w.Judges.Now())
	w.SetPolicy(func(p *engine.Policy) { p.ReviewNotes = true })
	second := w.Judges.Now()
	require.NotSame(t, first, second)
	require.Same(t, w.Settings(), second.Settings)
	require.Same(t, first.Signing, second.Signing)
	require.Same(t, first.IDs, second.IDs)
	w.RotateSigningKey("cc-v2", false)
	third := w.Judges.Now()
	require.NotSame(t, second.Signing, third.Signing)
	require.NotEqual(t, second.Signing.JWKSETag, third.Signing.JWKSETag)
	require.Same(t, second.IDs, third.IDs)
	w.BeginEpoch("second")
	fourth := w.Judges.Now()
	require.NotSame(t, third.IDs, fourth.IDs)
	require.Same(t, third.Signing.Verify, fourth.Signing.Verify, "no key is opened again when the log has another name")
	require.Equal(t, third.AgentID(1), fourth.AgentID(1), "ids of before the epoch stay")

	for _, id := range []string{"", "x", third.UserID(1)} {
		_, ok := fourth.ParseAgent(id)
		require.False(t, ok, id)
	}
	slot, ok := fourth.ParseFleet(fourth.FleetID(3))
	require.True(t, ok)
	require.Equal(t, engine.FleetSlot(3), slot)
	user, ok := fourth.ParseUser(fourth.UserID(4))
	require.True(t, ok)
	require.Equal(t, engine.UserSlot(4), user)
}

// A wrong cluster secret opens no key: the node signs nothing, but it verifies tokens of
// others.
func TestWrongClusterSecret(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	w.Secrets = seal.NewSecrets([]byte("another cluster secret of the tests"))
	w.Judges = w.NewJudges()
	require.Error(t, w.Judges.Now().Signing.Err)
	_, err := w.Judges.Now().Signer(seal.FirstKID)
	require.Equal(t, w.Judges.Now().Signing.Err, err)
	require.Equal(t, "PROCEED", screenedVerdict(w, payment(token, "")))
}

// A judge asks the leader once a call, and judges a stale call again at most engine.RejudgeMax
// times.
func TestCatchingUp(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	require.NoError(t, j.CatchUp())
	require.NoError(t, j.CatchUp())
	require.Equal(t, 1, w.Asked)
	require.NoError(t, j.Confirm())
	require.Equal(t, 2, w.Asked)
	for try := range engine.RejudgeMax - 1 {
		require.NoError(t, j.Again(try, 1))
	}
	require.Equal(t, engine.RejudgeMax-1, w.Waited)
	require.Equal(t, "overloaded", refusalOf(t, j.Again(engine.RejudgeMax-1, 1)).Code)
	require.Equal(t, engine.RejudgeMax-1, w.Waited, "it does not wait for what it will not judge")
	w.ReadError = errors.New("no leader")
	require.Equal(t, "overloaded", refusalOf(t, j.Again(0, 1)).Code)
	var failed *edge.ReadError
	_, err := j.View()
	require.ErrorAs(t, err, &failed)
	fresh, _ := w.Begin(edgetest.Admin(), `{}`)
	require.ErrorAs(t, fresh.CatchUp(), &failed)
	w.ReadError = nil

	before := j.Terms
	w.SetPolicy(func(p *engine.Policy) { p.ReviewNotes = true })
	require.Same(t, before, j.Terms, "a judge goes by the terms it began with")
	j.Renew()
	require.NotSame(t, before, j.Terms)
	_, err = j.View()
	require.NoError(t, err)
	require.Equal(t, w.Applied(), j.Index)
}

// A key gets the same error for another tenant's agent, fleet or user as for one that never
// was.
func TestKnownParties(t *testing.T) {
	w := edgetest.New(t)
	id, _ := w.Registered("")
	fleet := w.NewFleet("Acme Inc", engine.Dollar)
	acme, globex := w.Caller("acme", wire.RoleOperator, "Acme Inc"), w.Caller("globex", wire.RoleOperator, "Globex Ltd")
	know := func(caller *edge.Caller, agent, fleet string) []string {
		j, _ := w.Begin(caller, `{}`)
		_, first := j.KnownAgent(agent)
		_, second := j.KnownFleet(fleet)
		return []string{complaint(first), complaint(second)}
	}
	known, unknown := []string{"", ""}, []string{"not_found", "not_found"}
	require.Equal(t, known, know(acme, id, fleet))
	require.Equal(t, known, know(edgetest.Admin(), id, fleet))
	require.Zero(t, w.Asked)
	require.Equal(t, unknown, know(globex, id, fleet))
	require.Equal(t, unknown, know(acme, "x", "x"))
	require.Equal(t, unknown, know(acme, w.Judges.Now().AgentID(99), w.Judges.Now().FleetID(99)))
	var newAgent, newFleet string
	w.Behind(func() { newAgent, _ = w.Registered(""); newFleet = w.NewFleet("Acme Inc", engine.Dollar) })
	asked := w.Asked
	require.Equal(t, known, know(acme, newAgent, newFleet), "registered a moment ago on another node")
	require.Equal(t, asked+1, w.Asked)
	w.Behind(func() { newFleet = w.NewFleet("Acme Inc", engine.Dollar) })
	j, _ := w.Begin(acme, `{}`)
	_, err := j.KnownFleet(newFleet)
	require.NoError(t, err)
	require.Equal(t, asked+2, w.Asked)
}

// Retracing reads the records, lists, references and present clearings of a node.
func TestRetracingReadsTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := edgetest.New(t)
		_, token := w.Registered("")
		acme := w.Caller("acme", wire.RoleScreener, "Acme Inc")
		l := w.Screened(acme, payment(token, `,"paymentRef":"r"`))
		sources := w.Judges.Retracing()
		x, err := sources.Record(t.Context(), l.Data)
		require.NoError(t, err)
		require.Equal(t, l.Text("txnId"), x.TxnID())
		_, err = sources.Record(t.Context(), l.Data[:8])
		require.Error(t, err)
		j, _ := w.Begin(acme, `{}`)
		_, reference := edge.PaymentOf(j, &l)
		require.Equal(t, reference, sources.Reference("acme", "r"))
		require.NotEqual(t, reference, sources.Reference("key_admin", "r"), "another owner's")
		require.Equal(t, engine.ReferenceKey{}, sources.Reference("acme", ""))

		list, err := sources.List(t.Context(), w.List().Digest(), w.Settings().Matcher)
		require.NoError(t, err)
		require.Same(t, w.List(), list)
		_, err = sources.List(t.Context(), w.List().Digest(), w.Settings().Matcher+1)
		require.ErrorIs(t, err, ofac.ErrMatcherVersion)
		w.Uncompiled = true
		began := time.Now()
		_, err = sources.List(t.Context(), w.List().Digest(), w.Settings().Matcher)
		require.ErrorIs(t, err, ofac.ErrBeingCompiled)
		require.Equal(t, time.Minute, time.Since(began), "patience, in this test's time")

		require.Empty(t, sources.Cleared("Lazarus Groupe", &engine.Told{}, w.List()))
		digest, _ := w.List().EntryDigest(27307)
		w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
			Name: ofac.NormaliseName("Lazarus Groupe"), UID: 27307, EntryDigest: digest, Reason: "r", ExpiresAt: edgetest.Start + engine.Hour,
		}})
		require.Equal(t, []uint32{27307}, sources.Cleared("Lazarus Groupe", &engine.Told{}, w.List()))
		w.Advance(engine.Hour)
		require.Empty(t, sources.Cleared("Lazarus Groupe", &engine.Told{}, w.List()))
	})
}

// A sandbox gives every answer to a caller that asks for it by the counterparty's name or
// wallet. Other clusters ignore such names.
func TestSandbox(t *testing.T) {
	box := edgetest.NewWith(t, func(g *wire.Genesis) { g.Issuer = seal.SandboxIssuer })
	dev := edgetest.New(t)
	const wallet = "0x555555555555555555555555555555555555"
	require.True(t, edge.IsSandbox(box.Settings()))
	require.False(t, edge.IsSandbox(dev.Settings()))
	_, token := box.Registered("")
	_, devToken := dev.Registered("")
	for _, c := range []struct {
		extra, asks, rule string
	}{
		{``, "", ""}, {`,"cpName":"Paper"`, "", ""},
		{`,"cpName":"SANDBOX R7"`, "R7", "R7_COUNTERPARTY_NAME_OFAC"}, {`,"cpName":"SANDBOX R1"`, "R1", "R1_NO_CREDENTIAL"},
		{`,"cpName":"SANDBOX R25"`, "R25", "R25_STRUCTURING"}, {`,"cpName":"SANDBOX R31"`, "R31", ""}, {`,"cpName":"SANDBOX R0"`, "R0", ""},
		{`,"cpName":"SANDBOX no_quorum"`, "no_quorum", ""}, {`,"cpName":"sandbox R7"`, "", ""},
		{`,"cpWallet":"` + wallet + `0007"`, "R7", "R7_COUNTERPARTY_NAME_OFAC"}, {`,"cpWallet":"` + wallet + `0025"`, "R25", "R25_STRUCTURING"},
		{`,"cpWallet":"` + wallet + `0000"`, "", ""}, {`,"cpWallet":"` + wallet + `0031"`, "", ""}, {`,"cpWallet":"` + wallet + `0500"`, "", ""},
		{`,"cpWallet":"` + wallet + `0501"`, "no_quorum", ""}, {`,"cpWallet":"` + wallet + `0507"`, "outcome_unknown", ""}, {`,"cpWallet":"` + wallet + `0508"`, "time_uncertain", ""}, {`,"cpWallet":"` + wallet + `0509"`, "", ""},
		{`,"cpWallet":"` + wallet + `000a"`, "", ""},
		{`,"cpName":"SANDBOX R7","cpWallet":"` + wallet + `0008"`, "R7", "R7_COUNTERPARTY_NAME_OFAC"},
	} {
		j, _ := box.Begin(edgetest.Admin(), payment(token, c.extra))
		require.NoError(t, j.Read())
		require.Equal(t, c.asks, edge.SandboxAsks(j), c.extra)
		l := box.Screened(edgetest.Admin(), payment(token, c.extra))
		require.Contains(t, l.Text("rule"), c.rule, c.extra)
		require.Equal(t, c.rule == "", l.Text("rule") == "", c.extra)
		j, _ = dev.Begin(edgetest.Admin(), payment(devToken, c.extra))
		require.NoError(t, j.Read())
		require.Empty(t, edge.SandboxAsks(j))
		l = dev.Screened(edgetest.Admin(), payment(devToken, c.extra))
		require.Empty(t, l.Text("rule"), c.extra)
	}
	for _, digits := range []string{"501", "00501", "+501", ""} { // No address at all.
		j, _ := box.Begin(edgetest.Admin(), payment(token, `,"cpWallet":"`+wallet+digits+`"`))
		require.NoError(t, j.Read())
		require.Empty(t, edge.SandboxAsks(j), digits)
	}
	for rule := 2; rule <= len(engine.Rules); rule++ {
		l := box.Screened(edgetest.Admin(), payment(token, `,"cpName":"SANDBOX R`+strconv.Itoa(rule)+`"`))
		require.Contains(t, l.Text("rule"), "R"+strconv.Itoa(rule)+"_")
	}
	l := box.Screened(edgetest.Admin(), payment("x", `,"cpName":"SANDBOX R7"`))
	require.Equal(t, "R1_NO_CREDENTIAL", l.Text("rule"), "no rule is judged behind UNKNOWN")
}
