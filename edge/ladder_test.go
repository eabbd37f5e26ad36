package edge_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// parsed is an answer, parsed.
func parsed(t *testing.T, m strictjson.Members) *fastjson.Value {
	t.Helper()
	v, err := fastjson.ParseBytes(m.Body())
	require.NoError(t, err, string(m))
	return v
}

// dryRun forecasts a payment.
func dryRun(t *testing.T, w *edgetest.World, caller *edge.Caller, body string) *fastjson.Value {
	t.Helper()
	j, _ := w.Begin(caller, body)
	require.NoError(t, j.Read())
	var m strictjson.Members
	require.NoError(t, j.DryRun(&m))
	return parsed(t, m)
}

// explained returns the explanation of a record; replayed returns its replay.
func explained(t *testing.T, w *edgetest.World, l *edge.Leaf) *fastjson.Value {
	t.Helper()
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var m strictjson.Members
	require.NoError(t, j.Explain(l, &m))
	return parsed(t, m)
}

func replayed(t *testing.T, w *edgetest.World, l *edge.Leaf) *fastjson.Value {
	t.Helper()
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var m strictjson.Members
	require.NoError(t, j.Replay(l, &m))
	return parsed(t, m)
}

// rung returns the entry of a rule in a ladder.
func rung(v *fastjson.Value, rule int) *fastjson.Value {
	for _, r := range v.GetArray("ladder") {
		if r.GetInt("number") == rule {
			return r
		}
	}
	return nil
}

// scenario is a payment in a world of its own, with the rule that decides it.
type scenario struct {
	name    string
	agent   string                                // Members to add to the registration.
	prepare func(w *edgetest.World, agent string) // Runs between registration and payment.
	extra   string                                // Members to add to the payment.
	verdict string
	rule    int
	shows   string // The inputs of the rule that the ladder shows.
}

func scenarios() []scenario {
	policy := func(change func(*engine.Policy)) func(*edgetest.World, string) {
		return func(w *edgetest.World, _ string) { w.SetPolicy(change) }
	}
	return []scenario{
		{name: "nothing", verdict: "PROCEED"},
		{name: "suspended", prepare: func(w *edgetest.World, agent string) { w.SetStatus(agent, engine.Suspended) }, verdict: "BLOCK", rule: 2, shows: `"credentialStatus":"SUSPENDED","tokenVersion":1`},
		{name: "a listed wallet", extra: `,"cpWallet":"` + sampleWallet() + `"`, verdict: "BLOCK", rule: 6},
		{name: "a listed name", extra: `,"cpName":"Usama bin Ladin"`, verdict: "BLOCK", rule: 7},
		{name: "a possible name", extra: `,"cpName":"Lazarus Groupe"`, verdict: "REVIEW", rule: 21},
		{name: "ownership", prepare: func(w *edgetest.World, agent string) {
			slot, _ := w.Judges.Now().ParseAgent(agent)
			w.Must(wire.KindOwnership, &wire.Ownership{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Agent: slot, Operator: edgetest.OperatorRef("Globex Ltd")})
		}, verdict: "BLOCK", rule: 8, shows: `"flaggedFrom":"2026-03-22T03:33:28.589Z"`},
		{name: "another chain", agent: `,"spendPolicy":{"allowedChains":["ETH","SOL"]}`, extra: `,"chain":"BASE"`, verdict: "REVIEW", rule: 9,
			shows: `"chain":"BASE","limits":[{"level":0,"allowed":["ETH","SOL"]}]`},
		{name: "too much at once", agent: `,"spendPolicy":{"maxSingleTxUSDC":0.5}`, verdict: "REVIEW", rule: 10, shows: `"amount":1,"limits":[{"level":0,"limit":0.5}]`},
		{name: "too much in a day", agent: `,"spendPolicy":{"dailyLimitUSDC":1.5}`, prepare: func(w *edgetest.World, agent string) {
			w.Screened(edgetest.Admin(), payment(tokenOf(w, agent), ""))
		}, verdict: "REVIEW", rule: 11, shows: `"amount":1,"levels":[{"level":0,"spentUSDC":1,"heldUSDC":0,"dailyLimitUSDC":1.5}]`},
		{name: "held in a day", agent: `,"spendPolicy":{"dailyLimitUSDC":1.5}`, prepare: func(w *edgetest.World, agent string) {
			w.Screened(edgetest.Admin(), payment(tokenOf(w, agent), `,"hold":{"ttlSeconds":60}`))
		}, verdict: "REVIEW", rule: 11, shows: `"spentUSDC":0,"heldUSDC":1`},
		{name: "not on the whitelist", agent: `,"whitelist":{"mode":"enforce","entries":[{"name":"Paper"}]}`, extra: `,"cpName":"Ink"`, verdict: "REVIEW", rule: 13, shows: `"whitelistInForce":true`},
		{name: "not on the institution's whitelist", prepare: func(w *edgetest.World, _ string) {
			list := (&engine.Whitelist{Enforce: true}).With(engine.WhitelistEntry{Name: "paper", Shown: "Paper"})
			w.Must(wire.KindWhitelist, &wire.WhitelistPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Whitelist: list})
		}, extra: `,"cpName":"Ink"`, verdict: "REVIEW", rule: 13, shows: `"whitelistInForce":true`},
		{name: "another model", agent: `,"underlyingModel":"m-1"`, extra: `,"underlyingModel":"m-2"`, verdict: "REVIEW", rule: 15, shows: `"baseline":"m-1","reported":"m-2"`},
		{name: "too fast", agent: `,"velocity":{"maxPerMinute":1}`, prepare: func(w *edgetest.World, agent string) {
			w.Screened(edgetest.Admin(), payment(tokenOf(w, agent), ""))
		}, verdict: "REVIEW", rule: 16, shows: `"lastMinute":2,"lastHour":2`},
		{name: "another rail", agent: `,"spendPolicy":{"allowedRails":["USDC"]}`, extra: `,"rail":"ACH"`, verdict: "REVIEW", rule: 18, shows: `"rail":"ACH","limits":[{"level":0,"allowed":["USDC"]}]`},
		{name: "a rail of another chain", extra: `,"rail":"ACH","chain":"ETH"`, verdict: "REVIEW", rule: 19, shows: `"chain":"ETH","rail":"ACH"`},
		{name: "nobody is paid", prepare: policy(func(p *engine.Policy) { p.RequireParty = engine.PartyOfAll }), verdict: "REVIEW", rule: 20, shows: `"cpType":null`},
		{name: "no attestation", agent: `,"agentType":"autonomous"`, prepare: policy(func(p *engine.Policy) { p.AttestationAbove = engine.Dollar / 2 }), verdict: "REVIEW", rule: 22,
			shows: `"above":0.5,"attestedAt":null`},
		{name: "an attestation", agent: `,"agentType":"autonomous"`, prepare: func(w *edgetest.World, agent string) {
			w.SetPolicy(func(p *engine.Policy) { p.AttestationAbove = engine.Dollar / 2 })
			slot, _ := w.Judges.Now().ParseAgent(agent)
			w.Must(wire.KindAttest, &wire.Attest{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Agent: slot, AttestedBy: "Jane"})
		}, verdict: "PROCEED"},
		{name: "a reference again", prepare: func(w *edgetest.World, agent string) {
			w.Screened(edgetest.Admin(), payment(tokenOf(w, agent), `,"paymentRef":"r"`))
		}, extra: `,"paymentRef":"r"`, verdict: "REVIEW", rule: 25, shows: `"duplicateReference":true`},
		{name: "a rule that is off", agent: `,"spendPolicy":{"maxSingleTxUSDC":0.5}`, prepare: policy(func(p *engine.Policy) { p.Modes[10] = engine.ModeOff }), verdict: "PROCEED"},
		{name: "a rule in the shadow", agent: `,"spendPolicy":{"maxSingleTxUSDC":0.5}`, prepare: policy(func(p *engine.Policy) { p.Modes[10] = engine.ModeShadow }), verdict: "PROCEED"},
		{name: "two rules", agent: `,"spendPolicy":{"maxSingleTxUSDC":0.5,"allowedChains":[]}`, extra: `,"chain":"BASE"`, verdict: "REVIEW", rule: 9},
	}
}

// sampleWallet is an address on the sample list.
func sampleWallet() string {
	for _, entity := range sampleEntities() {
		for _, address := range entity.Addresses {
			return address.Value
		}
	}
	panic("no address")
}

// tokenOf mints an agent's token again, from the registry.
func tokenOf(w *edgetest.World, agent string) string {
	terms := w.Judges.Now()
	slot, _ := terms.ParseAgent(agent)
	var m strictjson.Members
	chain := []*engine.AgentProfile{w.Agent(slot)}
	require.NoError(w.T, terms.WriteCredential(&m, terms.ProfileCredential(chain), w.Settings().ActiveKey(w.LogTime()).KID))
	return string(fastjson.MustParseBytes(m.Body()).GetStringBytes("token"))
}

// A dry run gives the answer of the call itself. The ladder of the record equals that of the
// dry run, and a replay gives the same decision (decision 49).
func TestDryRunRecordAndReplayAgree(t *testing.T) {
	for _, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			extra := c.agent
			if extra == "" || extra[:12] != `,"agentType"` {
				extra = `,"agentType":"supervised"` + extra
			}
			registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","operatorLegalName":"Acme Inc","purpose":"p"`+extra+`}`)
			require.NoError(t, err)
			token := w.AgentToken(&registered)
			if c.prepare != nil {
				c.prepare(w, registered.Text("agentId"))
			}
			body, size := payment(token, c.extra), w.Store.Size()
			said := dryRun(t, w, edgetest.Admin(), body)
			require.Equal(t, size, w.Store.Size(), "a dry run leaves nothing behind")
			l := w.Screened(edgetest.Admin(), body)
			require.Equal(t, c.verdict, l.Text("verdict"), string(l.Shown))
			for _, name := range []string{"verdict", "rule", "reason", "triggered", "shadow", "policyVersion", "listVersion", "agentId", "userId", "operatorLegalName", "ofacSource", "matches"} {
				require.Equal(t, text(said.Get(name)), string(l.Raw(name)), name)
			}
			e := explained(t, w, &l)
			for i := range engine.Rules {
				id := int(engine.Rules[i].ID)
				if id != 25 { // R25 cannot be forecast: a view holds no structuring counts.
					require.Equal(t, text(rung(said, id).Get("outcome")), text(rung(e, id).Get("outcome")), "R%d", id)
				}
				if id != 25 && id != 22 { // R22 cannot be replayed: a profile in the log holds no attestations.
					require.Equal(t, text(rung(said, id).Get("values")), text(rung(e, id).Get("values")), "R%d", id)
				}
			}
			parties := "[]" // The explanation of a record without matches has no matches.
			if e.Exists("parties") {
				parties = text(e.Get("parties"))
			}
			require.Equal(t, text(said.Get("parties")), parties)
			if c.rule != 0 {
				require.Equal(t, `"decided"`, text(rung(e, c.rule).Get("outcome")))
				require.Equal(t, l.Text("reason"), string(rung(e, c.rule).GetStringBytes("reason")))
				require.Contains(t, text(rung(e, c.rule).Get("values")), c.shows)
			}
			r := replayed(t, w, &l)
			require.True(t, r.GetBool("match"), r.String())
			require.Equal(t, "null", text(r.Get("listUnavailable")))
			require.Equal(t, l.Text("verdict"), string(r.GetStringBytes("replayed", "verdict")))
		})
	}
}

func text(v *fastjson.Value) string {
	if v == nil {
		return ""
	}
	return string(strictjson.AppendValue(nil, v))
}

// The outcome of a rule says whether it decided, fired too, fired without effect, is off, or
// passed. With UNKNOWN no rule was judged.
func TestOutcomesOnALadder(t *testing.T) {
	w := edgetest.New(t)
	w.SetPolicy(func(p *engine.Policy) { p.Modes[9], p.Modes[18] = engine.ModeOff, engine.ModeShadow })
	_, token := w.Registered(`,"underlyingModel":"m-1","spendPolicy":{"maxSingleTxUSDC":0.5,"allowedChains":[],"allowedRails":[]}`)
	l := w.Screened(edgetest.Admin(), payment(token, `,"chain":"BASE","rail":"USDC","underlyingModel":"m-2"`))
	e := explained(t, w, &l)
	for rule, want := range map[int]string{10: "decided", 15: "triggered", 18: "shadow", 9: "off", 7: "passed"} {
		require.Equal(t, want, string(rung(e, rule).GetStringBytes("outcome")), "R%d", rule)
	}
	l = w.Screened(edgetest.Admin(), payment("x", ""))
	e = explained(t, w, &l)
	require.Equal(t, "decided", string(rung(e, 1).GetStringBytes("outcome")))
	require.Equal(t, "notJudged", string(rung(e, 10).GetStringBytes("outcome")))
	require.False(t, rung(e, 10).Exists("values"))
	said := dryRun(t, w, edgetest.Admin(), payment("x", ""))
	require.Equal(t, "UNKNOWN", string(said.GetStringBytes("verdict")))
	require.False(t, rung(said, 10).Exists("values"))
}

// A dry run shows a caller that may only screen no more than the call itself would.
func TestDryRunOfAScreener(t *testing.T) {
	w := edgetest.New(t)
	id, token := w.Registered("")
	screener := w.Caller("key_screener", wire.RoleScreener, "")
	v := dryRun(t, w, screener, payment(token, `,"cpName":"Lazarus Groupe","zebra":1`))
	require.Equal(t, "REVIEW", string(v.GetStringBytes("verdict")))
	require.Equal(t, id, string(v.GetStringBytes("agentId")))
	require.Equal(t, "Bot", string(v.GetStringBytes("agentName")))
	require.Contains(t, v.String(), "zebra")
	for _, hidden := range []string{"matches", "triggered", "shadow", "ladder", "parties"} {
		require.False(t, v.Exists(hidden), hidden)
	}
	v = dryRun(t, w, screener, payment(token, `,"cpName":"Usama bin Ladin"`))
	require.Equal(t, id, string(v.GetStringBytes("agentId")))
	require.False(t, v.Exists("agentName"), "a BLOCK names nobody")
	for _, roles := range []uint16{wire.RolePolicy, wire.RoleReviewer} {
		require.True(t, dryRun(t, w, w.Caller("key_"+strconv.Itoa(int(roles)), roles, ""), payment(token, "")).Exists("ladder"))
	}
	foreign := w.Caller("key_globex", wire.RoleScreener, "Globex Ltd")
	j, _ := w.Begin(foreign, payment(token, ""))
	require.NoError(t, j.Read())
	var m strictjson.Members
	require.Equal(t, "forbidden", refusalOf(t, j.DryRun(&m)).Code)
}

// A dry run is judged on a view with the same basis, so a node that is behind catches up first.
func TestDryRunOfAStaleBasis(t *testing.T) {
	w := edgetest.New(t)
	id, token := w.Registered("")
	profile := *agentOf(t, w, id)
	w.FallBehind()
	_, err := w.Reissue(edgetest.Admin(), id, `{"spendPolicy":{"maxSingleTxUSDC":0.5},"overlapHours":1}`)
	require.NoError(t, err)
	w.ViewIsNewer = true
	v := dryRun(t, w, edgetest.Admin(), payment(token, ""))
	require.Equal(t, 1, w.Waited)
	require.Equal(t, "BLOCK", string(v.GetStringBytes("verdict")), "superseded")
	require.NotEqual(t, profile.Rev, agentOf(t, w, id).Rev)

	w.FallBehind()
	_, err = w.Reissue(edgetest.Admin(), id, `{}`)
	require.NoError(t, err)
	w.Stuck = true // The node says that it has caught up, but it has not.
	j, _ := w.Begin(edgetest.Admin(), payment(token, ""))
	require.NoError(t, j.Read())
	var m strictjson.Members
	require.Equal(t, "overloaded", refusalOf(t, j.DryRun(&m)).Code)
	require.Equal(t, 1+engine.RejudgeMax-1, w.Waited, "it is not judged again for ever")
}

// If nobody holds the list any more, a replay takes the list's answers from the record and says
// so.
func TestReplayWithoutAList(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	l := w.Screened(edgetest.Admin(), payment(token, `,"cpName":"Usama bin Ladin"`))
	before := w.List().Digest()
	w.ChangeEntry(6365, func(e *ofac.Entity) { e.Names = []ofac.Name{{ID: 1, Primary: true, Full: "Somebody Else Entirely"}} })
	r := replayed(t, w, &l)
	require.True(t, r.GetBool("match"), "it was judged with the list of then")
	require.Equal(t, "[]", text(r.Get("assumed")))
	w.ForgetList(before)
	r = replayed(t, w, &l)
	require.True(t, r.GetBool("match"))
	require.Contains(t, text(r.Get("assumed")), "R7_COUNTERPARTY_NAME_OFAC")
	require.Contains(t, text(r.Get("listUnavailable")), "no node that answers")
	e := explained(t, w, &l)
	require.Equal(t, "[]", text(e.Get("parties")))
	require.Contains(t, text(e.Get("partiesUnavailable")), "no node that answers")
	w.Uncompiled = true
	require.Contains(t, text(explained(t, w, &l).Get("partiesUnavailable")), "being compiled")
	w.Uncompiled = false

	// Only a screening record is explained.
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`)
	require.NoError(t, err)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var m strictjson.Members
	require.Error(t, j.Explain(&registered, &m))
	require.Error(t, j.Replay(&registered, &m))
}

// A user credential that stands for no agent has no credential status, no chain and no limits.
func TestLadderWithoutAnAgent(t *testing.T) {
	w := edgetest.New(t)
	user, person := newUser(t, w)
	said := dryRun(t, w, edgetest.Admin(), payment(person, `,"chain":"BASE"`))
	l := w.Screened(edgetest.Admin(), payment(person, `,"chain":"BASE"`))
	for _, v := range []*fastjson.Value{said, explained(t, w, &l)} {
		require.Equal(t, "decided", string(rung(v, 23).GetStringBytes("outcome")))
		require.False(t, rung(v, 2).Exists("values", "credentialStatus"), rung(v, 2))
		require.False(t, rung(v, 15).Exists("values"))
		require.False(t, rung(v, 9).Exists("values", "limits"))
		require.Equal(t, "[]", text(rung(v, 10).Get("values", "limits")))
		require.Equal(t, "[]", text(rung(v, 11).Get("values", "levels")))
		require.False(t, v.Exists("agentId"))
		require.False(t, v.Exists("warnings"))
	}
	require.Equal(t, user, string(said.GetStringBytes("userId")))
	require.Equal(t, user, l.Text("userId"))
}
