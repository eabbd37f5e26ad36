package httpapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// Lists beside OFAC's (decision 132) in what follows a change of the list.

const shopWallet = "0x1111111111111111111111111111111111111111"

// beside is the sample with an entry of a list beside OFAC's: a company with a name and a wallet.
func beside(t testing.TB, blocks bool) ([]ofac.Entity, ofac.Meta) {
	list := ofac.Further{Number: 3, ID: "house", Name: "House list", Format: "own", Blocks: blocks}
	uid, ok := list.UID(7)
	require.True(t, ok)
	meta := sample.Meta()
	meta.Further = []ofac.Further{list}
	return append(sample.Entities(), ofac.Entity{
		UID: uid, ID: "case-7", Type: ofac.Company, Lists: list.Source().Set(),
		Names:     []ofac.Name{{Primary: true, Script: "Latin", Full: "PAPER TIGER HOLDING"}},
		Addresses: []ofac.Address{{Ticker: "ETH", Value: shopWallet}},
	}), meta
}

// besideCases say what an exact hit on the list leads to.
var besideCases = map[string]struct {
	blocks            bool
	told, verdict     string
	reason, candidate string
	listed            bool
}{
	"name, reviewed":   {false, `,"cpName":"Paper Tiger Holding"`, "REVIEW R21_POSSIBLE_NAME_MATCH", "The counterparty name is on the list House list.", "R21_POSSIBLE_NAME_MATCH", false},
	"wallet, reviewed": {false, `,"cpWallet":"` + shopWallet + `"`, "REVIEW R21_POSSIBLE_NAME_MATCH", "The counterparty wallet is on the list House list.", "R21_POSSIBLE_NAME_MATCH", false},
	"name, blocks":     {true, `,"cpName":"Paper Tiger Holding"`, "BLOCK R7_COUNTERPARTY_NAME_OFAC", "The counterparty name is on the list House list.", "R7_COUNTERPARTY_NAME_OFAC", true},
	"wallet, blocks":   {true, `,"cpWallet":"` + shopWallet + `"`, "BLOCK R6_COUNTERPARTY_WALLET_OFAC", "The counterparty wallet is on the list House list.", "R6_COUNTERPARTY_WALLET_OFAC", true},
}

// A payment of the past that the list names opens an alert that says which list and which of its
// entries; the report of the run says the same.
func TestAlertNamesAListBesideOFACs(t *testing.T) {
	for name, test := range besideCases {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			_, token := n.register("")
			paid := n.screen(token, test.told)
			require.Equal(t, "PROCEED null", verdict(t, paid))
			n.activate(beside(t, test.blocks))
			screenPast(t, n.leading())
			alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=retro_hit", ""), 200).GetArray("data")
			require.Len(t, alerts, 1)
			require.Equal(t, member(t, paid.Body.Bytes(), "txnId"), textOf(alerts[0], "txnId"))
			require.Equal(t, []string{"PAPER TIGER HOLDING", "House list", "case-7"}, []string{textOf(alerts[0], "named", "0", "name"), textOf(alerts[0], "named", "0", "list"), textOf(alerts[0], "named", "0", "entryId")})
			entry := n.retroReport("").Get("entries", "0")
			require.Equal(t, []string{"House list", "case-7"}, []string{textOf(entry, "list"), textOf(entry, "entryId")})
			require.Equal(t, test.listed, entry.GetBool("listed"))
		})
	}
}

// An explanation names the list and the entry by which a call was judged, and a replay decides the
// same, also when the list is no longer in force.
func TestExplainNamesAListBesideOFACs(t *testing.T) {
	for name, test := range besideCases {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			_, token := n.register("")
			n.activate(beside(t, test.blocks))
			judged := n.screen(token, test.told)
			require.Equal(t, test.verdict, verdict(t, judged))
			txn := member(t, judged.Body.Bytes(), "txnId")
			for _, in := range []string{"in force", "gone"} {
				explained := answer(t, n.do("auditor", "GET", "/v1/audit/"+txn+"/explain", ""), 200)
				require.Equal(t, test.reason, textOf(explained, "reason"), in)
				require.Equal(t, "House list", textOf(explained, "matches", "0", "list"), in)
				require.Equal(t, []string{"PAPER TIGER HOLDING", "House list", "case-7"}, []string{textOf(explained, "parties", "0", "name"), textOf(explained, "parties", "0", "list"), textOf(explained, "parties", "0", "entryId")}, in)
				replayed := answer(t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200)
				require.True(t, replayed.GetBool("match"), "%s: %s", in, replayed)
				require.Empty(t, replayed.GetArray("assumed"))
				if in == "in force" {
					n.activate(sample.Entities(), sample.Meta())
				}
			}
		})
	}
}

// A staged list beside OFAC's is tried beside the verdicts: what it would say of each call, and
// nothing of it in the verdict.
func TestShadowOfAListBesideOFACs(t *testing.T) {
	for name, test := range besideCases {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			_, token := n.register("")
			entities, meta := beside(t, test.blocks)
			data, err := ofac.EncodeEntities(entities, meta)
			require.NoError(t, err)
			info := wire.ListInfo{Digest: ofac.Digest(data), Entries: uint32(len(entities)), SDN: uint32(len(entities) - 1), Sample: true}
			_, err = n.Stage(context.Background(), data, info, false, wire.Common{})
			require.NoError(t, err)
			n.advance(engine.Second)
			id := textOf(answer(t, n.do("policy", "POST", "/v1/policy/shadow", `{"listSnapshotId":"`+ofac.SnapshotID(info.Digest)+`"}`), 202), "id")
			require.Equal(t, "PROCEED null", verdict(t, n.screen(token, test.told)))
			require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"Quiet Harbour Bakery"`)))
			shown := n.shadowed(id, 2)
			require.Equal(t, 1, shown.GetInt("changed"))
			require.Equal(t, test.candidate, textOf(shown, "examples", "0", "candidate", "rule"))
			require.Equal(t, test.reason, textOf(shown, "examples", "0", "candidate", "reason"), "%s", shown)
			answer(t, n.do("policy", "POST", "/v1/policy/shadow/"+id+"/promote", `{"actor":"ann"}`), 200)
			require.Equal(t, test.verdict, verdict(t, n.screen(token, test.told)), "the list came in force")
			require.Equal(t, 1, n.shadowed(id, 3).GetInt("differing"), "the verdict names the list as the shadow does")
		})
	}
}

// spoiling is a stage whose node cannot compile what it is given.
type spoiling struct {
	*testNode
	err error
}

func (s spoiling) Stage(context.Context, []byte, wire.ListInfo, bool, wire.Common) (wire.Result, error) {
	return wire.Result{}, s.err
}

// A list beside OFAC's that cannot be read or compiled, or that brings out a fault of ours, is refused
// with the reason and without our internals. OFAC's list and the ones in force stay as they are.
func TestListBesideOFACsThatCannotBeCompiled(t *testing.T) {
	grown := func(active *ofac.Index, held *wire.ListInfo, change rulebook.ListChange) ([]byte, wire.ListInfo, error) {
		entities, meta := active.Entities(), active.Meta()
		meta.Further[0].Name = "House list, second edition"
		data, err := ofac.EncodeEntities(entities, meta)
		return data, wire.ListInfo{Digest: ofac.Digest(data), Entries: held.Entries, SDN: held.SDN, Sample: true, Uploaded: true, Brings: change.List.ID}, err
	}
	for name, test := range map[string]struct {
		join   rulebook.ListJoiner
		stage  error
		status int
		says   string
	}{
		"no list": {func(*ofac.Index, *wire.ListInfo, rulebook.ListChange) ([]byte, wire.ListInfo, error) {
			return []byte("no list"), wire.ListInfo{}, nil
		}, nil, 422, "list_rejected"},
		"reading panics": {func(*ofac.Index, *wire.ListInfo, rulebook.ListChange) ([]byte, wire.ListInfo, error) {
			panic("a fault of ours")
		}, nil, 500, "internal"},
		"compiling fails":       {grown, fmt.Errorf("%w: 9 names, at most 8", ofac.ErrEntities), 422, "9 names, at most 8"},
		"its compilation fails": {grown, fmt.Errorf("%w: BUG: its compilation panicked: a fault of ours\ngoroutine 7 [running]:\nmain.go", ofac.ErrEntities), 422, "BUG: its compilation panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNode(t)
			_, token := n.register("")
			n.activate(beside(t, false))
			before := n.Settings().List.Digest
			n.api = n.another(func(d *Deps) {
				d.JoinList = test.join
				if test.stage != nil {
					d.Lists = spoiling{n, test.stage}
				}
			})
			w := n.do("policy", "POST", "/v1/lists/house/entries", `{"reason":"r","add":[{"id":"case-8","kind":"wallet","wallets":["`+shopWallet+`"]}]}`)
			require.Equal(t, test.status, w.Code, "%s", w.Body)
			require.Contains(t, w.Body.String(), test.says)
			require.NotContains(t, w.Body.String(), "goroutine")
			require.Equal(t, before, n.Settings().List.Digest)
			require.Empty(t, n.Settings().Staged)
			require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, n.screen(token, `,"cpName":"LAZARUS GROUP"`)))
			require.Equal(t, "REVIEW R21_POSSIBLE_NAME_MATCH", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
		})
	}
}

// A list that another node staged and that this one cannot compile does not come in force, and who
// asks for it is told why.
func TestStagedListThatCannotBeCompiled(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	n.activate(beside(t, false))
	before := n.Settings().List.Digest
	data := []byte("entities that no node can read")
	_, err := n.Stage(t.Context(), data, wire.ListInfo{Digest: ofac.Digest(data), Entries: 1, SDN: 1, Sample: true, Uploaded: true, Over: before[:], Brings: "house"}, false, wire.Common{})
	require.NoError(t, err)
	for _, body := range []string{`{}`, `{"force":true,"reason":"now"}`} {
		w := n.do("policy", "POST", "/v1/ofac/"+ofac.SnapshotID(ofac.Digest(data))+"/activate", body)
		require.Equal(t, 422, w.Code, "%s", w.Body)
		require.Contains(t, w.Body.String(), "list_rejected")
	}
	require.Equal(t, before, n.Settings().List.Digest)
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, n.screen(token, `,"cpName":"LAZARUS GROUP"`)))
}

// A list beside OFAC's that was not imported in time is told by status and metrics, each by itself.
func TestLateListBesideOFACsIsTold(t *testing.T) {
	n := newTestNode(t)
	entities, meta := beside(t, false)
	meta.Further[0].AgeMax = int64(engine.Hour)
	n.activate(entities, meta)
	told := func() (late bool, number int, metrics string) {
		list := answer(t, n.do("policy", "GET", "/v1/lists", ""), 200).Get("lists", "1")
		return list.GetBool("late"), list.GetInt("number"), n.doAdmin("GET", "/metrics", "").Body.String()
	}
	late, number, metrics := told()
	require.False(t, late)
	require.Equal(t, 3, number)
	require.Contains(t, metrics, "\nrailguard_list_late{number=\"3\"} 0\n")
	n.advance(2 * engine.Hour)
	late, _, metrics = told()
	require.True(t, late)
	require.Contains(t, metrics, "\nrailguard_list_late{number=\"3\"} 1\n")
	require.Contains(t, metrics, "\nrailguard_list_age_seconds{number=\"3\"} 7200\n")
}

// A change of entries that names none says what is wrong with it.
func TestChangeOfNoEntriesIsRefused(t *testing.T) {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) { d.JoinList, d.Lists = joinNothing, n })
	for change, want := range map[string]string{
		``:                       "missing_field add is required",
		`,"add":{"id":"case-7"}`: "invalid_field add must be a list",
		`,"add":[]`:              "invalid_field add must name an entry, or end must",
		`,"end":"case-7"`:        "invalid_field end must be a list of strings",
	} {
		refused := answer(t, n.do("policy", "POST", "/v1/lists/house/entries", `{"reason":"r"`+change+`}`), 422)
		require.Equal(t, want, textOf(refused, "code")+" "+textOf(refused, "details", "0", "param")+" "+textOf(refused, "details", "0", "message"), change)
	}
}
