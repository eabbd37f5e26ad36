package edge_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// clearPair clears a name of an entry of the sample list, and returns the pair as it stands.
func clearPair(w *edgetest.World, name string, uid uint32) *wire.ClearedPair {
	digest, _ := w.List().EntryDigest(uid)
	w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
		Name: ofac.NormaliseName(name), UID: uid, EntryDigest: digest, Reason: "another",
	}})
	pairs := w.Settings().Cleared
	return pairs[len(pairs)-1]
}

func removePair(w *edgetest.World, pair *wire.ClearedPair) {
	w.Must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{ID: pair.ID}, Remove: true})
}

// proposed judges a payment and returns what takes its record to the log later.
func proposed(t *testing.T, w *edgetest.World, body string) (propose func() wire.Result) {
	record := wire.AppendScreen(nil, judged(t, w, body))
	return func() wire.Result {
		r, err := w.Propose(t.Context(), wire.KindScreen, record)
		require.NoError(t, err)
		return r
	}
}

// A clearing, and its end, concern the calls whose names have a possible match. All others stay
// judged, and nobody's profile is written again.
func TestAClearingConcernsItsNames(t *testing.T) {
	w := edgetest.New(t)
	bodies := make([]string, 40)
	for i := range bodies {
		l, err := w.Register(edgetest.Admin(), fmt.Sprintf(`{"agentName":"Bot %d","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`, i))
		require.NoError(t, err)
		bodies[i] = payment(w.AgentToken(&l), fmt.Sprintf(`,"cpName":"Ordinary Bakery %d"`, i))
		require.Equal(t, "PROCEED", screenedVerdict(w, bodies[i]), "the first call writes the profile")
	}
	applyAll := func(change func()) {
		var calls []func() wire.Result
		for _, body := range bodies {
			calls = append(calls, proposed(t, w, body))
		}
		change()
		leaves := w.Store.Size()
		for _, call := range calls {
			require.Equal(t, wire.Applied, call().Code, "judged before, and good")
		}
		require.Equal(t, leaves+uint64(len(bodies)), w.Store.Size(), "a leaf each, and no profile")
	}
	var pair *wire.ClearedPair
	policy := w.Settings().Policy.Version
	applyAll(func() { pair = clearPair(w, "Lazarus Groupe", 27307) })
	applyAll(func() { removePair(w, pair) })
	require.Equal(t, policy, w.Settings().Policy.Version)
}

// What was judged by a clearing, or without one that came, is judged again. So it is for each
// party of a call.
func TestAChangeOfClearingsIsJudgedAgain(t *testing.T) {
	w := edgetest.New(t)
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Lazarus Groupe","purpose":"p"}`)
	require.NoError(t, err)
	id, other := w.Registered("")
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Lazarus Groupe","agentIds":["`+id+`"]}`)
	require.NoError(t, err)
	for party, body := range map[string]string{
		"operator": payment(w.AgentToken(&registered), ""), "counterparty": payment(other, `,"cpName":"Lazarus Groupe"`),
		"user": payment(other, `,"userToken":`+strconv.Quote(w.UserToken(&user))),
	} {
		t.Run(party, func(t *testing.T) {
			require.Equal(t, "REVIEW", screenedVerdict(w, body))
			call := proposed(t, w, body)
			pair := clearPair(w, "Lazarus Groupe", 27307)
			require.Equal(t, wire.Stale, call().Code, "cleared meanwhile")
			require.Equal(t, "PROCEED", screenedVerdict(w, body))
			call = proposed(t, w, body)
			removePair(w, pair)
			require.Equal(t, wire.Stale, call().Code, "no longer cleared")
			require.Equal(t, "REVIEW", screenedVerdict(w, body))

			w.Behind(func() { pair = clearPair(w, "Lazarus Groupe", 27307) })
			require.Equal(t, "PROCEED", screenedVerdict(w, body), "a node that is behind judges again")
			w.Behind(func() { removePair(w, pair) })
			l := w.Screened(edgetest.Admin(), body)
			require.Equal(t, "REVIEW", l.Text("verdict"))
			r := replayed(t, w, &l)
			require.True(t, r.GetBool("match"), "%s", r)
		})
	}
}

// A dry run on a node that is behind is judged by the clearings in force, as the payment is.
func TestADryRunSeesClearings(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	body := payment(token, `,"cpName":"Lazarus Groupe"`)
	w.ViewIsNewer = true
	forecast := func() string { return string(dryRun(t, w, edgetest.Admin(), body).GetStringBytes("verdict")) }
	require.Equal(t, "REVIEW", forecast())
	w.Behind(func() { clearPair(w, "Lazarus Groupe", 27307) })
	require.Equal(t, "PROCEED", forecast())
}
