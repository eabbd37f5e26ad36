package edge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// asked asks the list as the workbench does.
func asked(t *testing.T, w *edgetest.World, question edge.MatchQuestion) *fastjson.Value {
	t.Helper()
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	answer, err := j.Matches(&question, w.List())
	require.NoError(t, err)
	return parsed(t, answer)
}

// The workbench asks as the strictest caller would. Its answer has the outcome that a payment
// would have, and what the list says of the party.
func TestMatches(t *testing.T) {
	w := edgetest.New(t)
	wallet := sampleWallet()
	for _, c := range []struct {
		name     string
		question edge.MatchQuestion
		outcome  string
		matches  int
	}{
		{"nobody", edge.MatchQuestion{Name: "Quiet Harbour Bakery"}, "CLEAR", 0},
		{"a listed name", edge.MatchQuestion{Name: "Usama bin Ladin"}, "BLOCK", 1},
		{"a possible name", edge.MatchQuestion{Name: "Lazarus Groupe"}, "REVIEW", 1},
		{"a listed wallet", edge.MatchQuestion{Wallet: wallet}, "BLOCK", 1},
		{"a listed wallet of a possible name", edge.MatchQuestion{Wallet: wallet, Name: "Lazarus Groupe"}, "BLOCK", 2},
		{"nothing", edge.MatchQuestion{}, "CLEAR", 0},
		{"a listed wallet on another chain", edge.MatchQuestion{Wallet: "kava1px9hz6u24us4z2vkm3t7kps4ugurutuk3uq8me"}, "BLOCK", 1},
		{"a wallet of the same bytes", edge.MatchQuestion{Wallet: "cosmos1px9hz6u24us4z2vkm3t7kps4ugurutukdf56d7"}, "REVIEW", 1},
		{"another wallet", edge.MatchQuestion{Wallet: "0x1111111111111111111111111111111111111111"}, "CLEAR", 0},
	} {
		v := asked(t, w, c.question)
		require.Equal(t, c.outcome, string(v.GetStringBytes("outcome")), c.name)
		require.Len(t, v.GetArray("matches"), c.matches, c.name)
		require.Equal(t, uint64(1), v.GetUint64("listVersion"))
		require.Equal(t, "kv:sample", string(v.GetStringBytes("ofacSource")))
		require.Equal(t, edge.SnapshotID(w.List().Digest()), string(v.GetStringBytes("snapshotId")))
	}
	v := asked(t, w, edge.MatchQuestion{Wallet: wallet, Name: "Lazarus Groupe"})
	first, second := v.Get("matches", "0"), v.Get("matches", "1")
	require.Equal(t, "wallet", string(first.GetStringBytes("form")), "what is certain stands first")
	require.Equal(t, "BLOCK", string(first.GetStringBytes("outcome")))
	require.Equal(t, "27307", string(second.GetStringBytes("uid")))
	require.False(t, second.Exists("pairs"))
	require.False(t, second.Exists("context"))
	require.False(t, first.Exists("why"))
	for address, why := range map[string]string{
		"kava1px9hz6u24us4z2vkm3t7kps4ugurutuk3uq8me":   "another address of the same key or script",
		"cosmos1px9hz6u24us4z2vkm3t7kps4ugurutukdf56d7": "same bytes as a listed wallet, in an address of another kind",
	} {
		twin := asked(t, w, edge.MatchQuestion{Wallet: address}).Get("matches", "0")
		require.Equal(t, why, string(twin.GetStringBytes("why")))
		require.Equal(t, "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", string(twin.GetStringBytes("alias")), "the listed address")
	}
	v = asked(t, w, edge.MatchQuestion{Name: "Lazarus Groupe", Explain: true, Context: ofac.Context{Country: "KP"}, Type: ofac.PartyBusiness})
	second = v.Get("matches", "0")
	require.NotEmpty(t, second.GetArray("pairs"))
	require.NotEmpty(t, string(second.GetStringBytes("explanation")))
	require.True(t, second.Exists("others"))
	require.True(t, second.Exists("context"))
	require.Equal(t, "business", string(v.GetStringBytes("query", "cpType")))
	require.Equal(t, "lazarus groupe", string(v.GetStringBytes("query", "normalised")))
}

// A pair can be cleared only for an entry that the name resembles without being one of its
// names.
func TestResembles(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	for _, c := range []struct {
		name         string
		uid          uint32
		near, listed bool
	}{
		{"Lazarus Groupe", 27307, true, false}, {"Lazarus Group", 27307, true, true}, {"Quiet Orchard Bakery", 27307, false, false}, {"Lazarus Groupe", 6365, false, false},
		{"Lazarus Groupe", 1, false, false},
	} {
		near, listed := j.Resembles(c.name, c.uid, w.List())
		require.Equal(t, []bool{c.near, c.listed}, []bool{near, listed}, "%+v", c)
	}
}

// The parties of a record are each shown once, the worst outcome first, with what the list of
// that time says of them. Only the counterparty is compared with the context of the call.
func TestParties(t *testing.T) {
	w := edgetest.New(t)
	w.ChangeEntry(27307, func(e *ofac.Entity) {
		e.Facts = []ofac.Fact{{Kind: ofac.FactNationality, Value: "Korea, North"}}
	})
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Lazarus Groupe","purpose":"p"}`)
	require.NoError(t, err)
	body := payment(w.AgentToken(&registered), `,"cpName":"Usama bin Ladin","cpWallet":"`+sampleWallet()+`","cpCountry":"KP"`)
	said := dryRun(t, w, edgetest.Admin(), body)
	l := w.Screened(edgetest.Admin(), body)
	shown := explained(t, w, &l)
	require.Equal(t, text(said.Get("parties")), text(shown.Get("parties")))
	parties := shown.GetArray("parties")
	require.Len(t, parties, 3)
	uids := map[string]bool{}
	for i, party := range parties {
		uids[string(party.GetStringBytes("uid"))] = true
		require.NotEmpty(t, party.GetStringBytes("name"))
		require.NotEmpty(t, party.GetStringBytes("list"))
		require.Equal(t, i == 2, string(party.GetStringBytes("uid")) == "27307", "whom the name may mean stands last")
		require.Equal(t, i < 2, party.Exists("context"))
	}
	require.Len(t, uids, 3)
	require.Contains(t, text(parties[2].Get("facts")), "Korea")

	both := payment(w.AgentToken(&registered), `,"cpName":"Lazarus Groupe","cpCountry":"KP"`)
	l = w.Screened(edgetest.Admin(), both)
	require.Len(t, l.Value.GetArray("matches"), 2)
	parties = explained(t, w, &l).GetArray("parties")
	require.Len(t, parties, 1, "the operator and the counterparty are one")
	require.True(t, parties[0].Exists("context"), "of whoever is the counterparty, too")
}

// Evidence names the list and the match.
func TestEvidence(t *testing.T) {
	require.Equal(t, "kv:live", edge.ListSource(&wire.ListInfo{}))
	require.Equal(t, "kv:sample", edge.ListSource(&wire.ListInfo{Sample: true}))
	w := edgetest.New(t)
	name := strconv.Quote(w.List().Entities()[0].Names[0].Full)
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":`+name+`,"purpose":"p","operatorWallet":"`+listedWallet(t)+`"}`)
	require.NoError(t, err)
	l := w.Screened(edgetest.Admin(), payment(w.AgentToken(&registered), `,"cpName":"Lazarus Groupe","cpWallet":"`+sampleWallet()+`"`))
	var who []string
	for _, match := range l.Value.GetArray("matches") {
		who = append(who, string(match.GetStringBytes("party"))+" "+string(match.GetStringBytes("outcome")))
		require.Equal(t, match.Exists("wallet"), !match.Exists("score"))
	}
	require.Equal(t, []string{"operator listed", "counterparty listed", "operator listed", "counterparty possible"}, who)
	require.False(t, l.Has("matchesTruncated"))

	// If a name is longer than the matcher reads, the answer says that there may be more
	// matches.
	_, token := w.Registered("")
	l = w.Screened(edgetest.Admin(), payment(token, `,"cpName":"`+strings.Repeat("ab cd ", 50)+`"`))
	require.True(t, l.Flag("matchesTruncated"))
}

// A record can be found by its agent, operator, fleet, user, wallet and counterparty.
func TestFilters(t *testing.T) {
	w := edgetest.New(t)
	fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
	id, token := w.Registered(`,"fleetId":"` + fleet + `"`)
	user, person := newUser(t, w, id)
	const wallet = "0x1111111111111111111111111111111111111111"
	extra := `,"cpName":"Paper","cpWallet":"` + wallet + `"`
	ofWallet, _ := engine.WalletFilterKey(wallet)
	counterparty := []uint64{ofWallet, engine.NameFilterKey("Paper")}
	parties := []uint64{
		engine.FilterKey(engine.FilterAgent, id), engine.FilterKey(engine.FilterOperator, w.OperatorID("Acme Inc")), engine.FilterKey(engine.FilterFleet, fleet),
	}
	ofUser := engine.FilterKey(engine.FilterAgent, user)
	require.ElementsMatch(t, append(append([]uint64{}, parties...), counterparty...), judged(t, w, payment(token, extra)).Filters)
	require.ElementsMatch(t, append(append([]uint64{ofUser}, parties...), counterparty...), judged(t, w, payment(token, extra+`,"userToken":`+strconv.Quote(person))).Filters)
	require.ElementsMatch(t, parties, judged(t, w, payment(token, "")).Filters)
	require.ElementsMatch(t, counterparty, judged(t, w, payment("x", extra)).Filters, "nobody's, but somebody was to be paid")
}
