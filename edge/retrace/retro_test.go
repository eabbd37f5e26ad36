package retrace_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

const shop = "0x1111111111111111111111111111111111111111"

// leading returns the retro-screening of a world, without rests.
func leading(w *edgetest.World) *retrace.Retro {
	r := retrace.NewRetro(w, w.Store, w.Leaf, w.Judges.Retracing(), slog.New(slog.DiscardHandler))
	r.SetRest(0)
	return r
}

// screenPast steps until nothing is left.
func screenPast(t *testing.T, r *retrace.Retro) (steps int) {
	t.Helper()
	for more := true; more; steps++ {
		var err error
		more, err = r.Step(t.Context())
		require.NoError(t, err)
		require.Less(t, steps, 1000)
	}
	return steps
}

// hit is one leaf of retro.hit: the party and the matches.
type hit struct{ target, why string }

// hits returns the hits in a world's log, in order.
func hits(t *testing.T, w *edgetest.World) (all []hit) {
	t.Helper()
	for i := range w.Store.Size() {
		data, err := w.Store.Leaf(i)
		require.NoError(t, err)
		v, err := fastjson.ParseBytes(data)
		if err != nil || string(v.GetStringBytes("kind")) != "retro.hit" {
			continue
		}
		target := ""
		for _, name := range []string{"txnId", "agentId", "userId", "operatorId"} {
			if id := string(v.GetStringBytes(name)); target == "" {
				target = id
			}
		}
		all = append(all, hit{target, v.Get("entries").String()})
	}
	return all
}

// added returns the active list with more parties.
func added(w *edgetest.World, names ...string) []ofac.Entity {
	entities := w.List().Entities()
	for i, name := range names {
		entities = append(entities, ofac.Entity{
			UID: uint32(900_001 + i), Type: ofac.Company, Lists: ofac.ListSDN, Sublists: []string{"SDN"}, Programs: []string{"SDGT"},
			Names: []ofac.Name{{ID: uint32(990_001 + i), Primary: true, Script: "Latin", Full: name}},
		})
	}
	return entities
}

// A tax number that comes on the list later is found among the registered ones, of a revoked agent
// too, once; from then on it hits each agent of the operator.
func TestRetroFindsTaxNumbers(t *testing.T) {
	w := edgetest.New(t)
	register := func(operator, extra string) (id, token string) {
		l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"`+operator+`","purpose":"p"`+extra+`}`)
		require.NoError(t, err)
		return l.Text("agentId"), w.AgentToken(&l)
	}
	rule := func(token string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1}`)
		return l.Text("rule")
	}
	_, token := register("Acme Inc", `,"operatorEIN":"11-1111111"`)
	_, other := register("Globex Ltd", `,"operatorEIN":"22-2222222"`)
	first, _ := register("Acme Inc", `,"operatorEIN":"95-4227517"`)
	gone, _ := register("Acme Inc", `,"operatorEIN":"95-4227517"`)
	w.SetStatus(gone, engine.Revoked)
	screenPast(t, leading(w))
	entities := added(w, "HOLY LAND")
	entities[len(entities)-1].Facts = []ofac.Fact{{Kind: ofac.FactDocument, Label: "US FEIN", Value: "95-4227517"}}
	w.Activate(entities)
	require.Empty(t, rule(token))
	screenPast(t, leading(w))
	require.Equal(t, []hit{{first, `[900001]`}, {gone, `[900001]`}}, hits(t, w))
	require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(token))
	require.Empty(t, rule(other))
	w.Activate(added(w, "SOMEBODY ELSE"))
	screenPast(t, leading(w))
	require.Len(t, hits(t, w), 2, "what the registry knows is not found again")
	require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(token))
}

// Lists that are activated before the first run count together: what the earlier of two added is
// found too, and reported once.
func TestRetroCoversEveryActivation(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pay := func(name string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
		return l.Text("txnId")
	}
	first, second := pay("PAPER TIGER HOLDING"), pay("QUIET HARBOUR BAKERY")
	w.Activate(added(w, "PAPER TIGER HOLDING"))
	pay("PAPER TIGER HOLDING") // The list between judged this call, so nothing is reported again.
	third := pay("QUIET HARBOUR BAKERY")
	entities := w.List().Entities()
	later := added(w, "SOMEBODY ELSE", "QUIET HARBOUR BAKERY")
	w.Activate(append(entities, later[len(later)-1]))
	screenPast(t, leading(w))
	require.Equal(t, []hit{{first, `[900001]`}, {second, `[900002]`}, {third, `[900002]`}}, hits(t, w))
	screenPast(t, leading(w))
	require.Len(t, hits(t, w), 3)
}

// A wallet that comes on the list later is found whatever it had to do with the payment, also beside
// a counterparty that was found harmless in another payment.
func TestRetroFindsEveryWallet(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pay := func(extra string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"Quiet Harbour Bakery"`+extra+`}`)
		return l.Text("txnId")
	}
	pay("")
	pay(`,"payerWallet":"0x2222222222222222222222222222222222222222"`)
	payer := pay(`,"payerWallet":"` + shop + `"`)
	between := pay(`,"wallets":[{"role":"intermediary","address":"` + shop + `"}]`)
	elsewhere := pay(`,"travelRuleRef":"to ` + shop + `"`)
	entities := added(w, "SHOP OWNER")
	entities[len(entities)-1].Addresses = []ofac.Address{{FeatureID: 1, Ticker: "ETH", Value: shop}}
	screenPast(t, leading(w))
	w.Activate(entities)
	screenPast(t, leading(w))
	require.Equal(t, []hit{{payer, `[900001]`}, {between, `[900001]`}, {elsewhere, `[900001]`}}, hits(t, w))
}

// A newly activated list is compared with the past: operators, wallets of agents, users and the
// counterparties of payments. A party that the list before had already is not reported again.
func TestRetroFindsThePast(t *testing.T) {
	w := edgetest.New(t)
	register := func(operator, extra string) (id, token string) {
		l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"`+operator+`","purpose":"p"`+extra+`}`)
		require.NoError(t, err)
		return l.Text("agentId"), w.AgentToken(&l)
	}
	_, token := register("Acme Inc", "")
	register("Paper Tiger Holding", "")
	wallet, _ := register("Acme Inc", `,"operatorWallet":"`+shop+`"`)
	gone, _ := register("Acme Inc", `,"operatorWallet":"`+shop+`"`)
	w.SetStatus(gone, engine.Revoked)
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Lone Paper Person"}`)
	require.NoError(t, err)
	pay := func(extra string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1`+extra+`}`)
		return l.Text("txnId")
	}
	pay("")
	named := pay(`,"cpName":"PAPER TIGER HOLDING"`)
	pay(`,"cpName":"Quiet Harbour Bakery"`)
	near := pay(`,"cpName":"Paper Tyger Holding"`)
	paid := pay(`,"cpWallet":"` + shop + `"`)
	pay(`,"cpName":"Usama bin Ladin"`) // The list before had this name already.
	pay(`,"cpName":"Lazarus Groupe"`)

	require.Equal(t, 1, screenPast(t, leading(w)), "who was recorded under the first list was screened with it")
	require.Nil(t, w.Settings().Retro)
	entities := added(w, "PAPER TIGER HOLDING", "LONE PAPER PERSON", "SHOP OWNER")
	entities[len(entities)-1].Addresses = []ofac.Address{{FeatureID: 1, Ticker: "ETH", Value: shop}}
	w.Activate(entities)
	pay(`,"cpName":"PAPER TIGER HOLDING"`) // This payment was judged with the new list.
	r := leading(w)
	screenPast(t, r)
	operator := w.Judges.Now().IDs.OperatorID(2)
	require.Equal(t, []hit{
		{operator, `[900001]`}, {wallet, `[900003]`}, {user.Text("userId"), `[900002]`}, {named, `[900001]`}, {near, `[900001]`}, {paid, `[900003]`},
	}, hits(t, w))
	run := w.Settings().Retro
	require.NotZero(t, run.EndedAt)
	require.Equal(t, uint64(2), run.List)
	require.Equal(t, uint64(1), run.Against)
	require.Equal(t, uint64(6), run.Hits)
	screenPast(t, r)
	require.Len(t, hits(t, w), 6, "a list is looked for once")

	// A name that was a possible match and becomes a certain one is reported. So is a match
	// that was widened.
	w.ChangeEntry(27307, func(e *ofac.Entity) {
		e.Names = append(e.Names, ofac.Name{ID: 990_100, AliasType: "A.K.A.", Script: "Latin", Full: "LAZARUS GROUPE"})
	})
	screenPast(t, leading(w))
	require.Len(t, hits(t, w), 7)
	require.Equal(t, `[27307]`, hits(t, w)[6].why)
}

// However small its steps are and whichever node leads, a run reports every party once, and
// asks the list once about a counterparty that matches nobody.
func TestRetroInSmallSteps(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	for i := range 600 {
		name := "Quiet Harbour Bakery"
		if i%100 == 7 {
			name = "PAPER TIGER HOLDING"
		}
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
		if i == 300 {
			for range 40 {
				_, token = w.Registered("")
			}
		}
	}
	w.Activate(added(w, "PAPER TIGER HOLDING"))
	first, second := leading(w), leading(w)
	first.SetStep(64)
	second.SetStep(64)
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = []*retrace.Retro{first, second}[steps%2].Step(t.Context())
		require.NoError(t, err)
	}
	require.Greater(t, steps, 3)
	require.Len(t, hits(t, w), 6)
	require.Equal(t, 6+2, first.Asked()+second.Asked(), "each of the two asked for the bakery once")
}

// If there are more hits than one record may hold, several records hold them.
func TestRetroTellsManyHits(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	const many = wire.RetroHitsMost*2 + 1
	for range many {
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"PAPER TIGER HOLDING"}`)
	}
	const persons = wire.RetroHitsMost + 1
	for range persons {
		_, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Lone Paper Person"}`)
		require.NoError(t, err)
	}
	w.Activate(added(w, "PAPER TIGER HOLDING", "LONE PAPER PERSON"))
	screenPast(t, leading(w))
	all := hits(t, w)
	require.Len(t, all, many+persons)
	told := map[string]bool{}
	for _, h := range all {
		require.False(t, told[h.target])
		told[h.target] = true
	}
}

// An entry that an officer cleared raises no alert. A clearing can be taken back, so the
// counterparty is not remembered as matching nobody.
func TestRetroAndClearedPairs(t *testing.T) {
	w := edgetest.New(t)
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Lazarus Papere","purpose":"p"}`)
	require.NoError(t, err)
	_, err = w.RegisterUser(edgetest.Admin(), `{"legalName":"Lazarus Papere"}`)
	require.NoError(t, err)
	w.Screened(edgetest.Admin(), `{"token":"`+w.AgentToken(&l)+`","amount":1,"cpName":"Lazarus Papere"}`)
	w.Activate(added(w, "LAZARUS PAPER"))
	digest, _ := w.List().EntryDigest(900_001)
	cleared := w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
		Name: ofac.NormaliseName("Lazarus Papere"), UID: 900_001, EntryDigest: digest, Reason: "r",
	}})
	require.NotZero(t, cleared.Leaf)
	screenPast(t, leading(w))
	require.Empty(t, hits(t, w))
	w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Remove: true, Pair: wire.ClearedPair{ID: w.Settings().Cleared[0].ID}})
	w.Activate(added(w)[1:]) // The newer list says the same of these parties.
	screenPast(t, leading(w))
	require.Empty(t, hits(t, w))
}

// An entry that was cleared for one of two people of a name raises an alert of the other's payment.
func TestRetroHoldsClearingsAgainstRecords(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pays := func(born string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"Lazarus Papere","cpDateOfBirth":"`+born+`"}`)
		return l.Text("txnId")
	}
	pays("1974")
	other := pays("1980")
	w.Activate(added(w, "LAZARUS PAPER"))
	digest, _ := w.List().EntryDigest(900_001)
	w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
		Name: ofac.NormaliseName("Lazarus Papere"), UID: 900_001, EntryDigest: digest, Reason: "r", Grounds: engine.ClearedGrounds{BirthDate: "1974"},
	}})
	screenPast(t, leading(w))
	all := hits(t, w)
	require.Len(t, all, 1)
	require.Equal(t, other, all[0].target)
}

// An unreadable record delays a run only until patience is over.
func TestRetroWaitsForWhatItCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := edgetest.New(t)
		_, token := w.Registered("")
		lost := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"PAPER TIGER HOLDING"}`)
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"PAPER TIGER HOLDING"}`)
		w.Activate(added(w, "PAPER TIGER HOLDING"))
		r := retrace.NewRetro(w, holed{w.Store, lost.Index, audit.ErrMissing}, func(context.Context, uint64) ([]byte, error) { return nil, errAway },
			w.Judges.Retracing(), slog.New(slog.DiscardHandler))
		r.SetRest(0)
		r.SetPatience(time.Hour)
		more, err := r.Step(t.Context()) // The run begins.
		require.NoError(t, err)
		require.True(t, more)
		_, err = r.Step(t.Context())
		require.ErrorIs(t, err, errAway)
		time.Sleep(time.Hour - 1) // It sleeps in the test's fake time.
		_, err = r.Step(t.Context())
		require.ErrorIs(t, err, errAway)
		time.Sleep(time.Nanosecond)
		screenPast(t, r)
		require.Len(t, hits(t, w), 1, "the other one is told all the same")
		require.NotZero(t, w.Settings().Retro.EndedAt)
	})
}

// If a list is unavailable, or the log accepts no record, the error is returned and the step is
// tried again.
func TestRetroThatCannotGoOn(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"PAPER TIGER HOLDING"}`)
	before := w.List().Digest()
	w.Activate(added(w, "PAPER TIGER HOLDING"))
	r := leading(w)
	_, err := r.Step(t.Context())
	require.NoError(t, err)
	w.ForgetList(before)
	_, err = r.Step(t.Context())
	require.ErrorContains(t, err, "list version 1")

	other := edgetest.New(t)
	other.Activate(added(other, "PAPER TIGER HOLDING"))
	r = leading(other)
	_, err = r.Step(t.Context())
	require.NoError(t, err)
	other.ReadError = errAway
	_, err = r.Step(t.Context())
	require.ErrorIs(t, err, errAway)
	other.ReadError = nil
	screenPast(t, r)
	require.NotZero(t, other.Settings().Retro.EndedAt)
}

// The goroutine looks once a second while the node leads, and ends when it is stopped.
func TestRetroRunsOnTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := edgetest.New(t)
		_, token := w.Registered("")
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"PAPER TIGER HOLDING"}`)
		w.Activate(added(w, "PAPER TIGER HOLDING"))
		follower := &roled{World: w}
		r := retrace.NewRetro(follower, w.Store, w.Leaf, w.Judges.Retracing(), slog.New(slog.DiscardHandler))
		r.Start()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Nil(t, w.Settings().Retro, "a follower looks for nobody")
		follower.leads.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, hits(t, w), 1)
		r.Stop()
	})
}

// roled is a world whose role can be set.
type roled struct {
	*edgetest.World
	leads atomic.Bool
}

func (r *roled) Role() string {
	if r.leads.Load() {
		return "leader"
	}
	return "follower"
}

// Whether a payer counts possible matches on the lists beside the SDN is part of the query, so
// two payments to one name can be two queries.
func TestRetroAsksAsThePayerDoes(t *testing.T) {
	w := edgetest.New(t)
	pay := func(extra string) edge.Leaf {
		_, token := w.Registered(extra)
		return w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"Lazarus Papere"}`)
	}
	pay("")
	cons := pay(`,"spendPolicy":{"counterpartyScreening":"OFAC+CONS"}`)
	pay("")
	entities := added(w, "LAZARUS PAPER")
	entities[len(entities)-1].Lists, entities[len(entities)-1].Sublists = ofac.ListCONS, []string{"SSI"}
	w.Activate(entities)
	r := leading(w)
	screenPast(t, r)
	require.Equal(t, []hit{{cons.Text("txnId"), `[900001]`}}, hits(t, w))
	require.Equal(t, 2, r.Asked(), "the third payment asks what the first one asked")
}

// A caller may have a list compared with the past again. Then parties that were screened
// against that list itself are reported too. Such a run covers no list, so the next activated
// list is compared as usual.
func TestRetroThatWasAskedFor(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pay := func(name string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
		return l.Text("txnId")
	}
	blocked, paid := pay("Usama bin Ladin"), pay("PAPER TIGER HOLDING")
	w.Must(wire.KindRetro, &wire.Retro{Op: wire.RetroBegin, Run: wire.RetroRun{List: 1, Asked: true}})
	screenPast(t, leading(w))
	require.Equal(t, []hit{{blocked, `[6365]`}}, hits(t, w))
	require.Zero(t, w.Settings().Retro.Covered)
	w.Activate(added(w, "PAPER TIGER HOLDING"))
	screenPast(t, leading(w))
	require.Equal(t, []hit{{blocked, `[6365]`}, {paid, `[900001]`}}, hits(t, w))
}

// An identifier that comes on the list later is found in the calls that told it, and a name in the
// memos that hold it.
func TestRetroFindsIdentifiersAndMemos(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pay := func(extra string) string {
		l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"Quiet Harbour Bakery"`+extra+`}`)
		return l.Text("txnId")
	}
	pay("")
	pay(`,"cpIdentifiers":[{"type":"tax_id","value":"7707083894","country":"RU"}]`)
	number := pay(`,"cpIdentifiers":[{"type":"tax_id","value":"7707083893","country":"RU"}]`)
	memo := pay(`,"memo":"rent to Zorbal Frobnitz Holding"`)
	pay(`,"memo":"rent for March"`)
	entities := added(w, "ZORBAL FROBNITZ HOLDING")
	entities[len(entities)-1].Facts = []ofac.Fact{{Kind: ofac.FactDocument, Label: "Tax ID No.", Value: "7707083893, Russia"}}
	screenPast(t, leading(w))
	w.Activate(entities)
	screenPast(t, leading(w))
	require.Equal(t, []hit{{number, `[900001]`}, {memo, `[900001]`}}, hits(t, w))
}
