package retrace_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// beside adds an entry of a list beside OFAC's to the active list: a person with a name, a wallet and
// a bank's code. until is its end; 0: it has none.
func beside(w *edgetest.World, list ofac.Further, until engine.Time) {
	w.T.Helper()
	uid, ok := list.UID(7)
	require.True(w.T, ok)
	entry := ofac.Entity{
		UID: uid, ID: "case-7", Type: ofac.Individual, Lists: list.Source().Set(), Until: int64(until),
		Names:     []ofac.Name{{Primary: true, Script: "Latin", Full: "LONE PAPER PERSON"}},
		Addresses: []ofac.Address{{Ticker: "ETH", Value: shop}},
		Facts:     []ofac.Fact{{Kind: ofac.FactDocument, Label: "SWIFT/BIC", Value: "PAPRDEFF"}},
	}
	meta := sample.Meta()
	meta.Further = []ofac.Further{list}
	w.ActivateWith(append(sample.Entities(), entry), meta)
}

func houseList(blocks bool) ofac.Further {
	return ofac.Further{Number: 3, ID: "house", Name: "House list", Format: "own", Blocks: blocks}
}

// past is a world with a past that an entry of beside names: two parties and three payments. The policy
// suspends who is listed.
func past(t *testing.T) (w *edgetest.World, wallet, user string, payments []string) {
	w = edgetest.New(t)
	w.SetPolicy(func(p *engine.Policy) { p.RetroSuspend = true })
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","operatorWallet":"`+shop+`"}`)
	require.NoError(t, err)
	person, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Lone Paper Person"}`)
	require.NoError(t, err)
	_, token := w.Registered("")
	for _, told := range []string{`"cpName":"Lone Paper Person"`, `"cpWallet":"` + shop + `"`, `"cpName":"Quiet Harbour Bakery","cpIdentifiers":[{"type":"bic","value":"PAPRDEFF"}]`} {
		paid := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,`+told+`}`)
		payments = append(payments, paid.Text("txnId"))
	}
	return w, l.Text("agentId"), person.Text("userId"), payments
}

// listed returns of each hit whether it counts as listed.
func listed(t *testing.T, w *edgetest.World) (all []bool) {
	for i := range w.Store.Size() {
		data, err := w.Store.Leaf(i)
		require.NoError(t, err)
		if v, err := fastjson.ParseBytes(data); err == nil && string(v.GetStringBytes("kind")) == "retro.hit" {
			all = append(all, v.GetBool("listed"))
		}
	}
	return all
}

func statusOf(w *edgetest.World, agent string) engine.Status {
	slot, ok := w.Judges.Now().ParseAgent(agent)
	require.True(w.T, ok)
	view, err := w.View(w.T.Context(), 0)
	require.NoError(w.T, err)
	return view.Effective(slot)
}

// Every party and payment of the past that an entry of a list beside OFAC's names is told, with that
// entry. Who is on a list that blocks counts as listed, and is suspended where the policy says so; who
// is on one that is reviewed is told and goes on. What the list said before is not told again, unless
// the list has become one that blocks.
func TestRetroOfAListBesideOFACs(t *testing.T) {
	for name, test := range map[string]struct {
		blocks bool
		status engine.Status
		uid    string
	}{
		"reviewed": {false, engine.Active, "[805306375]"},
		"blocks":   {true, engine.Suspended, "[805306375]"},
	} {
		t.Run(name, func(t *testing.T) {
			w, wallet, user, payments := past(t)
			screenPast(t, leading(w))
			beside(w, houseList(test.blocks), 0)
			screenPast(t, leading(w))
			told := []hit{{wallet, test.uid}, {user, test.uid}}
			for _, payment := range payments {
				told = append(told, hit{payment, test.uid})
			}
			require.Equal(t, told, hits(t, w))
			require.Equal(t, []bool{test.blocks, test.blocks, test.blocks, test.blocks, test.blocks}, listed(t, w))
			require.Equal(t, test.status, statusOf(w, wallet))
			strict := houseList(true)
			strict.AgeMax = 1 // Another content than before, in either case.
			beside(w, strict, 0)
			screenPast(t, leading(w))
			again := map[bool]int{false: len(told), true: 0}[test.blocks]
			require.Len(t, hits(t, w), len(told)+again)
			require.Equal(t, engine.Suspended, statusOf(w, wallet))
		})
	}
}

// An entry that has ended by log time names nobody of the past either; one that has not yet does.
func TestRetroOfAnEntryThatEnds(t *testing.T) {
	for name, test := range map[string]struct {
		after engine.Time // When the entry ends, after the list comes in force.
		told  int
	}{"ended": {-1, 0}, "ends now": {0, 0}, "ends later": {engine.Hour, 5}} {
		t.Run(name, func(t *testing.T) {
			w, wallet, _, _ := past(t)
			screenPast(t, leading(w))
			beside(w, houseList(true), w.LogTime()+test.after)
			screenPast(t, leading(w))
			require.Len(t, hits(t, w), test.told)
			status := engine.Active
			if test.told > 0 {
				status = engine.Suspended
			}
			require.Equal(t, status, statusOf(w, wallet))
		})
	}
}
