package edge_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// change is what happened to a payment's parties since it was recorded, with the rule that
// would block it now.
type change struct {
	name     string
	extra    string
	delegate bool
	user     bool
	change   func(t *testing.T, w *edgetest.World, agent string)
	rule     string
	why      string
}

func changes() []change {
	const review = `,"cpName":"Quiet Harbour Bakery"`
	list := func(uid uint32, name string) func(*testing.T, *edgetest.World, string) {
		return func(_ *testing.T, w *edgetest.World, _ string) {
			w.ChangeEntry(uid, func(e *ofac.Entity) { e.Names = []ofac.Name{{ID: 1, Primary: true, Full: name}} })
		}
	}
	ownership := func(at engine.Time) func(*testing.T, *edgetest.World, string) {
		return func(t *testing.T, w *edgetest.World, agent string) {
			p := agentOf(t, w, agent)
			slot := p.Slot
			if p.Parent != 0 {
				slot = p.Parent
			}
			w.Must(wire.KindOwnership, &wire.Ownership{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Agent: slot, Operator: edgetest.OperatorRef("Globex Ltd"), EffectiveAt: at})
		}
	}
	return []change{
		{"nothing", review, false, false, func(*testing.T, *edgetest.World, string) {}, "", ""},
		{"only a REVIEW", `,"cpName":"Lazarus Groupe"`, false, false, func(*testing.T, *edgetest.World, string) {}, "", ""},
		{"the counterparty was listed", review, false, false, list(6365, "Quiet Harbour Bakery"), "R7_COUNTERPARTY_NAME_OFAC", ""},
		{"the operator was listed", review, false, false, list(6365, "Acme Inc"), "R5_OPERATOR_NAME_OFAC", ""},
		{"the user was listed", review, false, true, list(6365, "Jane Public"), "R5_OPERATOR_NAME_OFAC", "user credential"},
		{"the agent was suspended", review, false, false, func(_ *testing.T, w *edgetest.World, a string) { w.SetStatus(a, engine.Suspended) }, "R2_CREDENTIAL_STATUS", "is suspended"},
		{"the agent was revoked", review, false, false, func(_ *testing.T, w *edgetest.World, a string) { w.SetStatus(a, engine.Revoked) }, "R2_CREDENTIAL_STATUS", "is revoked"},
		{"the agent expired", review, false, false, func(t *testing.T, w *edgetest.World, a string) {
			w.Advance(agentOf(t, w, a).ExpiresAt - edgetest.Start)
		}, "R2_CREDENTIAL_STATUS", "is expired"},
		{"the agent is about to expire", review, false, false, func(t *testing.T, w *edgetest.World, a string) {
			w.Advance(agentOf(t, w, a).ExpiresAt - edgetest.Start - engine.Millisecond)
		}, "", ""},
		{"the agent is transferred", review, false, false, ownership(0), "R8_OWNERSHIP_TRANSFER", "is flagged;"},
		{"the agent will be transferred", review, false, false, ownership(edgetest.Start + engine.Hour), "", ""},
		{"its parent is transferred", review, true, false, ownership(0), "R8_OWNERSHIP_TRANSFER", "on a parent"},
		{"a payment without a credential", review, false, false, nil, "", ""},
	}
}

// An approval screens counterparty, operator, user and status again, with the present list and
// state. If they would BLOCK now, the record says so (decision 48, "The recheck at approval").
func TestRecheck(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			agent, token := w.Registered("")
			if c.delegate {
				l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+agent+`","agentName":"Child"}`)
				require.NoError(t, err)
				agent, token = l.Text("agentId"), w.AgentToken(&l)
			}
			extra := c.extra
			if c.user {
				_, person := newUser(t, w, agent)
				extra += `,"userToken":` + strconv.Quote(person)
			}
			if c.change == nil {
				token = "x"
			}
			l := w.Screened(edgetest.Admin(), payment(token, extra))
			w.FallBehind()
			if c.change != nil {
				c.change(t, w, agent)
			}
			asked := w.Asked
			j, _ := w.Begin(edgetest.Admin(), `{}`)
			var m strictjson.Members
			require.NoError(t, j.Recheck(&m, &l))
			require.Equal(t, asked+1, w.Asked, "the state of now is the leader's")
			if c.rule == "" {
				require.Empty(t, m)
				return
			}
			v := parsed(t, m).Get("recheck")
			require.Equal(t, "BLOCK", string(v.GetStringBytes("verdict")))
			require.Equal(t, c.rule, string(v.GetStringBytes("rule")))
			require.Contains(t, string(v.GetStringBytes("reason")), c.why)
			require.Equal(t, w.Settings().ListVersion, v.GetUint64("listVersion"))
		})
	}
	w := edgetest.New(t)
	_, token := w.Registered("")
	l := w.Screened(edgetest.Admin(), payment(token, ""))
	w.ReadError = wire.ErrNoLeader
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var m strictjson.Members
	require.ErrorIs(t, j.Recheck(&m, &l), wire.ErrNoLeader)
}

// A cleared pair silences the possible match of its name, for any party with that name, until
// it expires (decision 44, "Cleared pairs"). Apply refuses what was judged after that.
func TestClearedPairsOfAPayment(t *testing.T) {
	w := edgetest.New(t)
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Lazarus Groupe","purpose":"p"}`)
	require.NoError(t, err)
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Lazarus Groupe","agentIds":["`+registered.Text("agentId")+`"]}`)
	require.NoError(t, err)
	_, other := w.Registered("")
	bodies := []string{
		payment(w.AgentToken(&registered), ""), payment(other, `,"cpName":"Lazarus Groupe"`),
		payment(w.AgentToken(&registered), `,"userToken":`+strconv.Quote(w.UserToken(&user))+`,"cpName":"Lazarus Groupe"`),
	}
	require.Equal(t, []string{"REVIEW", "REVIEW", "REVIEW"}, verdicts(w, bodies))
	digest, _ := w.List().EntryDigest(27307)
	until := edgetest.Start + engine.Hour
	for i, expires := range []engine.Time{0, until + engine.Hour, until} {
		w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
			Name: ofac.NormaliseName("Lazarus Groupe"), UID: 27307, EntryDigest: digest, ExpiresAt: expires, Reason: "r" + strconv.Itoa(i),
		}})
		require.Equal(t, []string{"PROCEED", "PROCEED", "PROCEED"}, verdicts(w, bodies))
		lapses := []engine.Time{0, until + engine.Hour, until}[i]
		require.Equal(t, lapses, judged(t, w, bodies[1]).ValidUntil, "the earliest of them")
		require.Equal(t, lapses, judged(t, w, bodies[0]).ValidUntil)
	}
	require.Equal(t, "BLOCK", screenedVerdict(w, payment(other, `,"cpName":"Lazarus Group"`)), "a BLOCK is never cleared")
	require.Equal(t, "UNKNOWN", screenedVerdict(w, payment("x", `,"cpName":"Lazarus Groupe"`)))
	l := w.Screened(edgetest.Admin(), bodies[2])
	r := replayed(t, w, &l)
	require.True(t, r.GetBool("match"), "a replay goes by the clearings of then: %s", r)
	w.ChangeEntry(27307, func(e *ofac.Entity) { e.Programs = []string{"DPRK4"} })
	require.Equal(t, []string{"REVIEW", "REVIEW", "REVIEW"}, verdicts(w, bodies), "the entry is another now")
	r = replayed(t, w, &l)
	require.True(t, r.GetBool("match"))
}

func verdicts(w *edgetest.World, bodies []string) (all []string) {
	for _, body := range bodies {
		all = append(all, screenedVerdict(w, body))
	}
	return all
}
