package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// leading makes the duty of a leading node, without pauses.
func (n *testNode) leading() *retrace.Retro {
	r := NewRetro(n.api, n)
	r.SetRest(0)
	return r
}

// screenPast lets the duties run until nothing is left.
func screenPast(t testing.TB, duties ...*retrace.Retro) (steps int) {
	t.Helper()
	for more := true; more; steps++ {
		var err error
		more, err = duties[steps%len(duties)].Step(t.Context())
		require.NoError(t, err)
	}
	return steps
}

// paper makes a list with the sample's entries and the given names.
func paper(names ...string) []ofac.Entity {
	added := testEntities(names...)
	for i := range added {
		added[i].UID = uint32(900_001 + i)
	}
	return append(sample.Entities(), added...)
}

func (n *testNode) retroReport(query string) *fastjson.Value {
	n.t.Helper()
	run := answer(n.t, n.do("auditor", "GET", "/v1/ofac/retro?limit=1", ""), 200)
	return answer(n.t, n.do("auditor", "GET", "/v1/ofac/retro/"+textOf(run, "data", "0", "retroId")+query, ""), 200)
}

// plant makes a history in which a later list will find four payments and three parties.
func (n *testNode) plant() (token, user string, planted []string, added []ofac.Entity) {
	t := n.t
	_, token = n.register("")
	w := n.do("admin", "POST", "/v1/agents/register", `{"agentName":"W","agentType":"supervised","operatorLegalName":"Wallet Works Ltd","purpose":"x","operatorWallet":"0x1111111111111111111111111111111111111111"}`)
	listedID := textOf(answer(t, w, 201), "agentId")
	w = n.do("admin", "POST", "/v1/agents/register", `{"agentName":"B","agentType":"supervised","operatorLegalName":"Paper Tiger Holding","purpose":"x"}`)
	require.Equal(t, 201, w.Code)
	user = textOf(answer(t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"Lone Paper Person","agentIds":["`+listedID+`"]}`), 201), "userId")
	for i := range 200 {
		fields := `,"cpName":"Shop ` + strconv.Itoa(i) + `"`
		switch i {
		case 20, 120, 180:
			fields = `,"cpName":"PAPER TIGER HOLDING"`
		case 50:
			fields = `,"cpWallet":"0x1111111111111111111111111111111111111111"`
		case 60:
			fields = `,"cpName":"LAZARUS GROUP"` // This name was on the list before, and the payment was blocked.
		}
		answer := n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+strconv.Itoa(100+i)+fields+`}`)
		if i == 20 || i == 50 || i == 120 || i == 180 {
			require.Equal(t, "PROCEED null", verdict(t, answer))
			planted = append(planted, member(t, answer.Body.Bytes(), "txnId"))
		}
	}
	added = paper("PAPER TIGER HOLDING", "LONE PAPER PERSON", "WALLET OWNER")
	added[len(added)-1].Addresses = []ofac.Address{{Ticker: "ETH", Value: "0x1111111111111111111111111111111111111111"}}
	return token, user, planted, added
}

// holed is a history that lacks certain leaves.
type holed struct {
	retrace.History
	leaf uint64
}

func (h holed) Scan(q audit.Query, visit func(uint64, audit.Leaf) bool) (audit.ScanResult, error) {
	if q.From == h.leaf {
		return audit.ScanResult{Next: h.leaf}, audit.ErrMissing
	}
	if q.From < h.leaf {
		q.To = min(q.To, h.leaf)
	}
	page, err := h.History.Scan(q, visit)
	page.Done = page.Done && q.To != h.leaf
	return page, err
}

// Retro-screening waits for a record that this node lacks while another node may have it.
// It continues without the record only when no node ever has it.
func TestRetroWaitsForWhatItCannotRead(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	paid := member(t, n.screen(token, `,"cpName":"PAPER TIGER HOLDING"`).Body.Bytes(), "txnId")
	index, ok := n.api.Judges().Now().IDs.ParseTxn(paid)
	require.True(t, ok)
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	away := errors.New("no node answers")
	fetch := func(ctx context.Context, at uint64) ([]byte, error) {
		if away != nil {
			return nil, away
		}
		return n.Leaf(ctx, at)
	}
	leading := func() *retrace.Retro {
		r := retrace.NewRetro(n, holed{n.store, index}, fetch, n.api.Judges().Retracing(), slog.New(slog.DiscardHandler))
		r.SetRest(0)
		return r
	}
	r := leading()
	failed := 0
	for range 10 {
		if _, err := r.Step(t.Context()); err != nil {
			require.ErrorIs(t, err, away)
			failed++
		}
	}
	require.NotZero(t, failed, "it is not passed over")
	require.Zero(t, n.machine.Freeze().Settings().Retro.EndedAt)
	given := leading()
	given.SetPatience(0)
	away = nil
	screenPast(t, r)
	require.Equal(t, 1, n.retroReport("").GetInt("hits"))

	away = errors.New("lost on all nodes")
	answer(t, n.do("policy", "POST", "/v1/ofac/retro", `{}`), 202)
	screenPast(t, given)
	require.Equal(t, "done", textOf(n.retroReport(""), "state"))
}

// An activated list is checked against everybody of the past: what it adds is found once,
// and matches of the previous list are not reported again.
func TestRetroFindsThePlanted(t *testing.T) {
	n := newTestNode(t)
	require.Equal(t, 1, screenPast(t, n.leading()), "under the first list everybody was screened")
	token, user, planted, added := n.plant()
	n.activate(added, sample.Meta())
	after := n.screen(token, `,"cpName":"Paper Tiger Holding"`)
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, after))
	screenPast(t, n.leading())

	report := n.retroReport("")
	require.Equal(t, "done", textOf(report, "state"))
	require.Equal(t, 7, report.GetInt("hits"), "%s", report)
	require.Equal(t, 4, report.GetInt("all", "payments", "count"))
	require.Equal(t, 120+150+220+280, report.GetInt("all", "payments", "amountUSDC"))
	require.Equal(t, 3, report.GetInt("all", "parties"))
	require.Len(t, report.GetArray("entries"), 3)
	var found []string
	for _, item := range report.GetArray("data") {
		if txn := textOf(item, "txnId"); txn != "" {
			found = append(found, txn)
		}
	}
	slices.Sort(planted)
	slices.Sort(found)
	require.Equal(t, planted, found, "and nothing of what came after the list, or was told before")
	texts := ""
	for _, entry := range report.GetArray("entries") {
		texts += textOf(entry, "text") + "\n"
	}
	require.Contains(t, texts, "3 payments of 620 USD to PAPER TIGER HOLDING; 1 registered party that it names")
	require.Contains(t, texts, "1 payment of 150 USD to a wallet of WALLET OWNER; 1 registered party that it names")
	require.Contains(t, fmt.Sprint(report), user)
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=retro_hit", ""), 200).GetArray("data")
	require.Len(t, alerts, 7)

	// Pages of the hits.
	page := n.retroReport("?limit=5")
	require.Len(t, page.GetArray("data"), 5)
	require.Len(t, n.retroReport("?limit=5&cursor="+textOf(page, "nextCursor")).GetArray("data"), 2)

}

// Another list with the same parties reports nothing again; a requested run reports
// everything.
func TestRetroTellsWhatIsNew(t *testing.T) {
	n := newTestNode(t)
	_, _, _, added := n.plant()
	n.activate(added, sample.Meta())
	screenPast(t, n.leading())
	require.Equal(t, 7, n.retroReport("").GetInt("hits"))
	added[0].Programs = append([]string{"OTHER"}, added[0].Programs...)
	n.activate(added, sample.Meta())
	screenPast(t, n.leading())
	require.Zero(t, n.retroReport("").GetInt("hits"), "nothing is added or widened")
	started := answer(t, n.do("policy", "POST", "/v1/ofac/retro", `{"days":1}`), 202)
	require.Equal(t, "running", textOf(started, "state"))
	require.True(t, started.GetBool("asked"))
	require.Equal(t, 409, n.do("policy", "POST", "/v1/ofac/retro", "").Code)
	screenPast(t, n.leading())
	require.Equal(t, 8, n.retroReport("").GetInt("hits"), "all of the list: LAZARUS GROUP besides")
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/ofac/retro", ""), 200).GetArray("data"), 3)
}

// A new leader continues where the last one stopped: nobody is left out or reported twice,
// whatever was lost of a step.
func TestRetroSurvivesLeaders(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for i := range 3000 {
		name := "Shop " + strconv.Itoa(i)
		if i%500 == 7 || i > 2500 && i%2 == 0 {
			name = "PAPER TIGER HOLDING"
		}
		require.Equal(t, 200, n.screen(token, `,"cpName":"`+name+`"`).Code)
	}
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	lost := &losing{Cluster: n, every: 3}
	others := []*retrace.Retro{n.leading(), n.leading(), NewRetro(n.api, lost)}
	for _, r := range others {
		r.SetRest(0)
		r.SetStep(64)
	}
	steps := 0
	for more := true; more; steps++ {
		next, err := others[steps%len(others)].Step(t.Context())
		more = next || err != nil
	}
	require.Greater(t, steps, 10)
	require.Positive(t, lost.failed)
	report := n.retroReport("")
	require.Equal(t, "done", textOf(report, "state"))
	require.Equal(t, 255, report.GetInt("hits"), "more than one word to the log holds")
	require.Equal(t, 255, report.GetInt("all", "payments", "count"))
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=retro_hit&limit=500", ""), 200).GetArray("data"), 255)
}

// losing is a cluster that sometimes loses an answer after it has applied the record.
type losing struct {
	retrace.Cluster
	every, calls, failed int
}

func (l *losing) Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	result, err := l.Cluster.Propose(ctx, kind, body)
	if l.calls++; l.calls%l.every == 0 {
		l.failed++
		return wire.Result{}, wire.ErrUnknown
	}
	return result, err
}

// Retro-screening waits for a list that cannot be read: nobody is left out.
func TestRetroWaitsForItsLists(t *testing.T) {
	n := newTestNode(t)
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	duty := n.leading()
	more, err := duty.Step(t.Context())
	require.NoError(t, err)
	require.True(t, more)
	kept := n.lists
	n.lists = nil
	_, err = duty.Step(t.Context())
	require.ErrorContains(t, err, "list version")
	n.lists = kept
	screenPast(t, duty)
	require.Equal(t, "done", textOf(n.retroReport(""), "state"))
}

// What an officer has cleared opens no new alert, for a counterparty or a registered party;
// after the clearing is removed, it does.
func TestRetroLeavesOutWhatIsCleared(t *testing.T) {
	n := newTestNode(t)
	const name = "Lazarus Groupe"
	_, token := n.register("")
	require.Equal(t, "REVIEW R21_POSSIBLE_NAME_MATCH", verdict(t, n.screen(token, `,"cpName":"`+name+`"`)))
	answer(t, n.do("admin", "POST", "/v1/agents/register", `{"agentName":"B","agentType":"supervised","operatorLegalName":"`+name+`","purpose":"x"}`), 201)
	answer(t, n.do("admin", "POST", "/v1/users/register", `{"legalName":"`+name+`"}`), 201)
	lists := 0
	look := func() (hits int, text string) {
		lists++
		n.activate(paper("ZERPOLAM "+strconv.Itoa(lists)), sample.Meta()) // The list must be a new one, because for one list nothing is reported twice.
		screenPast(t, n.leading())
		n.advance(engine.Second)
		answer(t, n.do("policy", "POST", "/v1/ofac/retro", `{"days":1}`), 202)
		screenPast(t, n.leading())
		report := n.retroReport("")
		return report.GetInt("hits"), textOf(report, "all", "text")
	}
	hits, text := look()
	require.Equal(t, 3, hits)
	require.Contains(t, text, "1 payment of 1 USD and 2 registered parties;")
	cleared := answer(t, n.do("reviewer", "POST", "/v1/cleared", `{"name":"`+name+`","uid":"`+strconv.Itoa(int(listedAs("LAZARUS GROUP")))+`"`+
		`,"reason":"our caterer","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`), 201)
	hits, text = look()
	require.Zero(t, hits)
	require.Equal(t, "0 payments of 0 USD and 0 registered parties; names that are cleared of an entry are left out", text)
	answer(t, n.do("reviewer", "DELETE", "/v1/cleared/"+textOf(cleared, "clearedId"), `{"reason":"no longer"}`), 200)
	hits, _ = look()
	require.Equal(t, 3, hits)
}

// Counterparties that were examined are not examined again, unless the answer may differ.
func TestRetroAsksOnceForEachCounterparty(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	_, wider := n.register(`,"spendPolicy":{"counterpartyScreening":"OFAC+CONS"}`)
	for i := range 300 {
		require.Equal(t, 200, n.screen(token, `,"cpName":"Shop `+strconv.Itoa(i%3)+`"`).Code)
		require.Equal(t, 200, n.screen(wider, `,"cpName":"Shop 0"`).Code)
		require.Equal(t, 200, n.screen(token, `,"cpName":"Shop 0","cpType":"business"`).Code)
	}
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	duty := n.leading()
	screenPast(t, duty)
	require.Equal(t, 5, duty.Asked())
}

// A second run of the same list finds the same people. It reports nobody twice, and says
// how many it left out for that.
func TestRetroCountsWhatIsKnown(t *testing.T) {
	n := newTestNode(t)
	_, _, planted, added := n.plant()
	n.activate(added, sample.Meta())
	screenPast(t, n.leading())
	first := n.retroReport("")
	require.Positive(t, first.GetInt("hits"))
	require.Zero(t, first.GetInt("known"))
	require.NotContains(t, textOf(first, "all", "text"), "not told again")
	answer(t, n.do("policy", "POST", "/v1/ofac/retro", `{"against":"`+textOf(first, "against")+`"}`), 202)
	screenPast(t, n.leading())
	second := n.retroReport("")
	require.Zero(t, second.GetInt("hits"))
	require.Equal(t, first.GetInt("hits"), second.GetInt("known"))
	require.Contains(t, textOf(second, "all", "text"), strconv.Itoa(first.GetInt("hits"))+" hits that earlier runs of this list told of are not told again")
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=retro_hit", ""), 200).GetArray("data")
	require.Len(t, alerts, first.GetInt("hits"), "nobody is told of twice")
	for _, alert := range alerts {
		require.Equal(t, textOf(first, "retroId"), textOf(alert, "retroId"))
		require.NotEmpty(t, textOf(alert, "named", "0", "name"), "%s", alert)
		if txn := textOf(alert, "txnId"); txn != "" {
			require.Contains(t, planted, txn)
			require.NotEmpty(t, textOf(alert, "agentId"))
			require.True(t, alert.Exists("cpName") || alert.Exists("cpWallet"), "who was paid: %s", alert)
		}
	}
}

func TestRetroIsRefused(t *testing.T) {
	n := newTestNode(t)
	for body, param := range map[string]string{
		`{"days":0}`: "days", `{"days":91}`: "days", `{"listSnapshotId":"x"}`: "listSnapshotId", `{"against":"x"}`: "against", `{"since":1}`: "since",
	} {
		w := n.do("policy", "POST", "/v1/ofac/retro", body)
		require.Equal(t, 422, w.Code, body)
		require.Equal(t, param, member(t, w.Body.Bytes(), "param"), body)
	}
	active := textOf(answer(t, n.do("policy", "GET", "/v1/ofac", ""), 200), "active", "snapshotId")
	require.Equal(t, 422, n.do("policy", "POST", "/v1/ofac/retro", `{"against":"`+active+`"}`).Code)
	for _, id := range []string{"x", "evt_aaaaaaaaaaaa", n.api.Judges().Now().IDs.EventID(1, 0)} {
		require.Equal(t, 404, n.do("policy", "GET", "/v1/ofac/retro/"+id, "").Code, id)
	}
}

// retro.suspend is a setting of the policy; removing it needs a reason.
func TestRetroSuspendsByPolicy(t *testing.T) {
	n := newTestNode(t)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"retro":{"suspend":true}}`), 200)
	id, _ := n.register(`,"operatorWallet":"0x1111111111111111111111111111111111111111"`)
	added := paper("WALLET OWNER")
	added[len(added)-1].Addresses = []ofac.Address{{Ticker: "ETH", Value: "0x1111111111111111111111111111111111111111"}}
	n.activate(added, sample.Meta())
	screenPast(t, n.leading())
	require.Equal(t, "SUSPENDED", textOf(answer(t, n.do("operator", "GET", "/v1/agents/"+id, ""), 200), "credentialStatus"))
	w := n.do("policy", "PUT", "/v1/policy", `{}`)
	require.Equal(t, 422, w.Code)
	require.Contains(t, w.Body.String(), "retro.suspend")
}

// The goroutine works on the leading node, and on no other.
func TestRetroRunsWhereItsNodeLeads(t *testing.T) {
	n := newTestNode(t)
	n.activate(paper("PAPER TIGER HOLDING"), sample.Meta())
	cluster := &led{Cluster: n}
	follower := retrace.NewRetro(cluster, n.store, n.Leaf, n.api.Judges().Retracing(), slog.New(slog.DiscardHandler))
	follower.Start()
	duty := NewRetro(n.api, n)
	duty.Start()
	require.Eventually(t, func() bool {
		run := n.Settings().Retro
		return run != nil && run.EndedAt != 0
	}, 30*time.Second, 10*time.Millisecond)
	duty.Stop()
	follower.Stop()
	require.Zero(t, cluster.proposals)
}

// led is a node that does not lead.
type led struct {
	retrace.Cluster
	proposals int
}

func (l *led) Role() string { return "follower" }

func (l *led) Propose(context.Context, wire.Kind, []byte) (wire.Result, error) {
	l.proposals++
	return wire.Result{}, errors.New("not the leader")
}
