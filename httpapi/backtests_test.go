package httpapi

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// backtest starts a backtest and returns its report once it has ended.
func (n *testNode) backtest(body string) *fastjson.Value {
	n.t.Helper()
	id := textOf(answer(n.t, n.do("policy", "POST", "/v1/backtests", body), 202), "id")
	return n.ended("/v1/backtests/" + id)
}

func (n *testNode) ended(path string) (report *fastjson.Value) {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		report = answer(n.t, n.do("auditor", "GET", path, ""), 200)
		return textOf(report, "state") != "running"
	}, 10*time.Minute, 5*time.Millisecond)
	return report
}

// chronicle makes a random history through the API: agents with limits, delegates,
// users and fleets, settings of every kind, policies and lists that change, officers
// who decide, payments that are held, settled and released.
type chronicle struct {
	n       *testNode
	random  *rand.Rand
	agents  []string
	tokens  []string
	fleets  []string
	reviews []string
	paid    []string
	all     []string
	lists   int
}

func (h *chronicle) pick(texts []string) string { return texts[h.random.IntN(len(texts))] }

func (h *chronicle) chance(percent int) bool { return h.random.IntN(100) < percent }

func (h *chronicle) must(role, method, path, body string) *fastjson.Value {
	h.n.t.Helper()
	w := h.n.do(role, method, path, body)
	require.Less(h.n.t, w.Code, 300, "%s %s %s: %s", method, path, body, w.Body)
	v, err := fastjson.ParseBytes(w.Body.Bytes())
	require.NoError(h.n.t, err)
	return v
}

// try makes a call that the current state may refuse.
func (h *chronicle) try(role, method, path, body string) {
	h.n.t.Helper()
	require.Less(h.n.t, h.n.do(role, method, path, body).Code, 500, "%s %s %s", method, path, body)
}

func (h *chronicle) begin() {
	for i := range 4 {
		v := h.must("admin", "POST", "/v1/fleets/create", fmt.Sprintf(`{"fleetName":"F%d","operatorLegalName":"Acme Inc","dailyLimitUSDC":%d}`, i, 20_000*(i+1)))
		h.fleets = append(h.fleets, textOf(v, "fleetId"))
	}
	extras := []string{
		`,"spendPolicy":{"maxSingleTxUSDC":5000,"dailyLimitUSDC":20000,"allowedChains":["BASE","SOL"],"allowedRails":["USDC","ACH"]}`,
		`,"spendPolicy":{"dailyLimitUSDC":9000,"counterpartyScreening":"OFAC+CONS"}`, ``,
		`,"velocity":{"maxPerMinute":6}`, `,"operatingHours":{"timezone":"Europe/Berlin","windows":[{"days":["MON","TUE","WED","THU","FRI"],"from":"08:00","to":"18:00"}]}`,
		`,"allowedCounterpartyTypes":["business"]`, `,"whitelist":{"mode":"enforce","entries":[{"name":"Good Shop"}]}`,
		`,"operatorWallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"`, `,"metadata":{"note":"of the operator with the listed wallet"}`,
	}
	for i, extra := range extras {
		kind := []string{"supervised", "autonomous"}[i%2]
		operator, fleet := "Acme Inc", ""
		if strings.Contains(extra, "operatorWallet") || strings.Contains(extra, "listed wallet") {
			operator = "Listed Wallet Inc" // A listed wallet blocks all agents of its operator.
		} else if i%2 == 0 {
			fleet = `,"fleetId":"` + h.fleets[i/2] + `"`
		}
		v := h.must("admin", "POST", "/v1/agents/register",
			`{"agentName":"A`+strconv.Itoa(i)+`","agentType":"`+kind+`","operatorLegalName":"`+operator+`","purpose":"buy"`+extra+fleet+`}`)
		id := textOf(v, "agentId")
		h.agents, h.tokens = append(h.agents, id), append(h.tokens, textOf(v, "token"))
		if kind == "supervised" {
			user := h.must("admin", "POST", "/v1/users/register", `{"legalName":"Ivo Iv`+strconv.Itoa(i)+`","agentIds":["`+id+`"]}`)
			h.tokens = append(h.tokens, textOf(user, "token"))
		}
		child := h.n.do("admin", "POST", "/v1/delegates/create", `{"agentName":"child","parentAgentId":"`+id+`"}`)
		if child.Code == 201 {
			h.agents, h.tokens = append(h.agents, member(h.n.t, child.Body.Bytes(), "agentId")), append(h.tokens, member(h.n.t, child.Body.Bytes(), "token"))
		}
	}
}

// listedAs returns the number of the sample list's entry with that name.
func listedAs(name string) uint32 {
	for _, entity := range sample.Entities() {
		if entity.Names[0].Full == name {
			return entity.UID
		}
	}
	panic("the sample does not list " + name)
}

// policies are put into force one after another.
var policies = []string{
	`{}`,
	`{"rules":{"R17":"shadow","R20":"block"},"velocity":{"maxPerMinute":40},"attestation":{"above":5000},"names":{"review":0.85},"requireCounterparty":"all","payer":{"mustBeOperators":"review"}}`,
	`{"jurisdictions":{"block":["CU","IR","KP","UA-43","UA-40","BY"],"review":["KE"]},"structuring":{"count":3,"low":900,"high":1000,"window":"6h"},"rules":{"R9":"off"},"ofac":{"maxAge":"24h","onStale":"review"}}`,
	`{"allowedCounterpartyTypes":["business","exchange"],"counterpartyCaps":{"exchange":3000},"paymentRef":{"once":"off"}}`,
	`{"rules":{"R10":"block","R18":"off","R16":"shadow"},"operatingHours":{"timezone":"America/New_York","windows":[{"days":["MON","TUE","WED","THU","FRI","SAT"],"from":"06:00","to":"22:00"}]}}`,
}

// screen makes one screening call.
func (h *chronicle) screen() {
	r := h.random
	amount := []string{"1", "25.50", "950", "990.01", "4999", "5001", "9500", "12000"}[r.IntN(8)]
	fields := ""
	add := func(percent int, name string, values ...string) {
		if h.chance(percent) {
			fields += `,"` + name + `":"` + values[r.IntN(len(values))] + `"`
		}
	}
	add(60, "cpName", "Good Shop", "Jane Doe", "LAZARUS GROUP", "Lazarus Grupp", "Paper Tiger Holding", "PAPER TYGER HOLDING", "J\\u00fcrgen M\\\"ller")
	add(40, "cpWallet", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "0x1111111111111111111111111111111111111111")
	add(40, "chain", "BASE", "SOL", "BTC", "moon")
	add(30, "rail", "USDC", "ACH", "WIRE", "pigeon")
	add(30, "cpType", "business", "individual", "exchange", "ghost")
	add(10, "protocol", "tornado cash", "uniswap")
	add(10, "underlyingModel", "gpt-9")
	add(10, "paymentRef", "ref-"+strconv.Itoa(r.IntN(40)))
	add(8, "payerWallet", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "0x1111111111111111111111111111111111111111", "my own")
	add(8, "cpCountry", "Germany", "BY", "Kenya", "IRN", "Atlantis")
	add(4, "cpRegion", "UA-43", "Donetsk", "Bavaria")
	add(4, "originCountry", "FR", "Belarus", "404", "Korea")
	add(4, "cpAddress", "Valiasr 1, Tehran", "5 Main Street, Springfield", "Kyiv, Ukraine")
	add(4, "memo", "rent for March", "rent to Paper Tiger Holding", "pay 0x098B716B8Aaf21512996dC57EB0615e2383E2f96")
	if h.chance(6) {
		fields += `,"wallets":[{"role":"` + h.pick([]string{"payer", "payee", "fee"}) + `","address":"` + h.pick([]string{"0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "0x1111111111111111111111111111111111111111"}) + `"}]`
	}
	if h.chance(6) {
		fields += `,"cpIdentifiers":[` + h.pick([]string{`{"type":"tax_id","value":"77-889900-11","country":"DE"}`, `{"type":"registration","value":"7788990011"}`, `{"type":"bic","value":"DEUTDEFF"}`, `{"type":"bic","value":"none"}`, `{"type":"email","value":"a@example.by"}`}) + `]`
	}
	if h.chance(8) {
		fields += `,"hold":{"ttlSeconds":` + strconv.Itoa(60+r.IntN(5000)) + `}`
	}
	token := h.pick(h.tokens)
	if h.chance(2) {
		token = "no such token"
	}
	v := h.must("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+fields+`}`)
	txn := textOf(v, "txnId")
	h.all = append(h.all, txn)
	switch textOf(v, "verdict") {
	case "REVIEW":
		h.reviews = append(h.reviews, txn)
	case "PROCEED":
		h.paid = append(h.paid, txn)
	}
}

// change makes one random call other than screening.
func (h *chronicle) change() {
	r := h.random
	agent := h.pick(h.agents)
	switch r.IntN(14) {
	case 0:
		h.must("policy", "PUT", "/v1/policy", `{"reason":"test","policy":`+policies[r.IntN(len(policies))]+`}`)
	case 1:
		h.changeList()
	case 2, 3:
		if len(h.reviews) > 0 {
			at := r.IntN(len(h.reviews))
			h.must("reviewer", "POST", "/v1/reviews/"+h.reviews[at], `{"disposition":"`+h.pick([]string{"APPROVED", "APPROVED", "REJECTED", "ESCALATE_SAR"})+`","reviewedBy":"ann"}`)
			h.reviews = append(h.reviews[:at], h.reviews[at+1:]...)
		}
	case 4:
		h.try("admin", "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"test","actor":"ann"}`)
	case 5, 6:
		h.try("admin", "POST", "/v1/agents/"+agent+"/reinstate", `{"reason":"test","actor":"ann"}`)
	case 7:
		h.try("admin", "POST", "/v1/agents/"+agent+"/attest", `{"attestedBy":"ann"}`)
	case 8:
		h.try("admin", "PATCH", "/v1/agents/"+agent, `{"velocity":{"maxPerMinute":`+strconv.Itoa(2+r.IntN(9))+`},"reason":"test"}`)
	case 9:
		h.try("admin", "PATCH", "/v1/fleets/"+h.pick(h.fleets), `{"dailyLimitUSDC":`+strconv.Itoa(10_000+r.IntN(90_000))+`,"reason":"test"}`)
	case 10:
		if len(h.paid) > 0 {
			h.try("settler", "POST", "/v1/transactions/"+h.pick(h.paid)+"/settle", `{"amount":`+strconv.Itoa(1+r.IntN(2000))+`}`)
		}
	case 11:
		if len(h.paid) > 0 {
			h.try("settler", "POST", "/v1/transactions/"+h.pick(h.paid)+"/release", `{"reason":"test"}`)
		}
	case 12:
		h.try("reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Grupp","uid":"`+strconv.Itoa(int(listedAs("LAZARUS GROUP")))+`","reason":"test","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z","clearedBy":"ann"}`)
	case 13:
		h.try("admin", "POST", "/v1/operators/"+h.pick([]string{"suspend", "reinstate", "reinstate"}), `{"operatorLegalName":"Acme Inc","reason":"test","actor":"ann"}`)
	}
}

// changeList activates a list with one more person, or without the added ones.
func (h *chronicle) changeList() {
	h.lists++
	entities := sample.Entities()
	if h.lists%2 == 1 {
		paper := testEntities("PAPER TIGER HOLDING")
		paper[0].UID = 999_999
		paper[0].Facts = []ofac.Fact{{Kind: ofac.FactDocument, Label: "Tax ID No.", Value: "7788990011, Germany"}}
		entities = append(entities, paper...)
	}
	h.n.activate(entities, sample.Meta())
}

func (h *chronicle) run(records int) {
	for i := range records {
		h.screen()
		if i%7 == 6 {
			h.change()
		}
		switch h.random.IntN(20) {
		case 0:
			h.n.advance(engine.Time(h.random.IntN(40)) * engine.Minute)
		case 1, 2, 3, 4:
			h.n.advance(engine.Time(h.random.IntN(30)) * engine.Second)
		}
	}
}

func newChronicle(n *testNode, seed uint64) *chronicle {
	h := &chronicle{n: n, random: rand.New(rand.NewPCG(seed, 1))}
	h.begin()
	return h
}

// A backtest with the policy and the list that were live at each call finds no difference,
// whatever changed between the calls. RAILGUARD_BACKTEST_RECORDS makes the history longer
// (make backtest: 100,000).
func TestBacktestOfWhatWasLiveDiffersNowhere(t *testing.T) {
	records := 2500
	if text := os.Getenv("RAILGUARD_BACKTEST_RECORDS"); text != "" {
		var err error
		records, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	n := newTestNode(t)
	from := n.LogTime()
	h := newChronicle(n, 7)
	h.run(records)
	n.api.rulebook.Jobs.SetRest(0)
	began := time.Now()
	report := n.backtest(`{"from":"` + from.String() + `"}`)
	t.Logf("%d records in %s", records, time.Since(began).Round(time.Millisecond))
	require.Equal(t, "done", textOf(report, "state"))
	require.Equal(t, "key_policy", textOf(report, "createdBy"))
	require.Equal(t, "test policy", textOf(report, "createdByName"), "people know keys by name")
	require.Equal(t, records, report.GetInt("records"))
	require.Zero(t, report.GetInt("differing"), "%s", report.Get("examples"))
	require.Empty(t, report.GetArray("examples"))
	require.Zero(t, report.GetInt("notHeld", "listGone"))
	require.Zero(t, report.GetInt("notHeld", "unreadable"))
	require.Zero(t, report.GetInt("agents", "inexact"))
	verdicts := map[string]bool{}
	for _, cell := range report.GetArray("matrix") {
		require.Equal(t, textOf(cell, "recorded"), textOf(cell, "candidate"))
		verdicts[textOf(cell, "recorded")] = true
	}
	require.Len(t, verdicts, 4, "the history must have every verdict")
	decided := 0
	for _, rule := range report.GetArray("rules") {
		if rule.GetInt("recorded") > 0 {
			decided++
		}
	}
	require.Greater(t, decided, 15, "and most of the rules: %s", report.Get("rules"))
}

// A backtest keeps its own counters: they follow the verdicts that it computes, and what
// officers decided.
func TestBacktestCountsWhatGoesAnotherWay(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, token := n.register(`,"spendPolicy":{"dailyLimitUSDC":100}`)
	from := n.LogTime()
	pay := func(amount, fields, want string) (txn string) {
		w := n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+fields+`}`)
		require.Equal(t, want, verdict(t, w))
		return member(t, w.Body.Bytes(), "txnId")
	}
	reviewed := pay("60", `,"cpType":"ghost"`, "REVIEW R20_COUNTERPARTY") // In the backtest this payment proceeds.
	over := pay("60", "", "PROCEED null")                                 // In the backtest this payment is above the limit: 60 + 60.
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+reviewed, `{"disposition":"APPROVED","reviewedBy":"ann"}`), 200)
	under := pay("10", "", "REVIEW R11_DAILY_LIMIT")                                                  // In the backtest this payment is within the limit: 60 + 10.
	pay("35", "", "REVIEW R11_DAILY_LIMIT")                                                           // In the backtest the verdict is the same: 70 + 35.
	answer(t, n.do("settler", "POST", "/v1/transactions/"+over+"/release", `{"reason":"test"}`), 200) // This releases a payment that was not made in the backtest.
	pay("31", "", "PROCEED null")                                                                     // In the backtest 70 + 31 is too much, so this is a REVIEW.
	n.advance(engine.DayLength)
	pay("100", "", "PROCEED null") // This payment is made on another day.

	report := n.backtest(`{"from":"` + from.String() + `","policy":{"rules":{"R20":"off"}}}`)
	require.Equal(t, 6, report.GetInt("records"))
	require.Equal(t, 4, report.GetInt("changed"), "%s", report)
	got := map[string]string{}
	for _, e := range report.GetArray("examples") {
		got[textOf(e, "txnId")] = textOf(e, "recorded", "verdict") + " " + textOf(e, "candidate", "verdict") + " " + textOf(e, "candidate", "rule")
	}
	require.Equal(t, "REVIEW PROCEED ", got[reviewed])
	require.Equal(t, "PROCEED REVIEW R11_DAILY_LIMIT", got[over])
	require.Equal(t, "REVIEW PROCEED ", got[under])
	require.Len(t, got, 4)
	require.Equal(t, 2, report.GetInt("notHeld", "officerDecisions"))
	require.Equal(t, 1, report.GetInt("agents", "inexact"))
	require.Equal(t, 3, report.GetInt("reviews", "recorded"))
	require.Equal(t, 3, report.GetInt("reviews", "candidate"))
	require.Equal(t, []int{2, 1, 0, 1}, ints(report.Get("saved"), "count", "approved", "refused", "undecided"))
}

// TestBacktestTellsWhatOfficersSaid of the reviews that a candidate saves: which of these they refused.
func TestBacktestTellsWhatOfficersSaid(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	from := n.LogTime()
	var reviewed []string
	for range 4 {
		reviewed = append(reviewed, n.waits(token, "Nikolas Maduro"))
	}
	for i, disposition := range []string{"APPROVED", "APPROVED", "REJECTED", "ESCALATE_SAR"} {
		n.decides("reviewer", reviewed[i], disposition)
	}
	saved := n.backtest(`{"from":"` + from.String() + `","policy":{"rules":{"R21":"off"}}}`).Get("saved")
	require.Equal(t, []int{4, 2, 2, 0}, ints(saved, "count", "approved", "refused", "undecided"))
	require.Equal(t, []string{reviewed[2], reviewed[3]}, []string{textOf(saved, "refusedExamples", "0", "txnId"), textOf(saved, "refusedExamples", "1", "txnId")}, saved.String())
	require.NotContains(t, saved.String(), "ESCALATE", "who reads a backtest learns of no report")
	require.Equal(t, []int{0, 0, 0, 0}, ints(n.backtest(`{"from":"`+from.String()+`","policy":{"rules":{"R10":"off"}}}`).Get("saved"), "count", "approved", "refused", "undecided"), "they all stay")
}

// A backtest of another list matches every call against that list, and against no other.
func TestBacktestOfAnotherList(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	from := n.LogTime()
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"Paper Tiger Holding"`)))
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"Good Shop"`)))
	to := n.LogTime()
	n.activate(append(sample.Entities(), testEntities("PAPER TIGER HOLDING")...), sample.Meta())
	id := textOf(answer(t, n.do("policy", "GET", "/v1/ofac", ""), 200), "active", "snapshotId")
	body := `{"from":"` + from.String() + `","to":"` + to.String() + `","listSnapshotId":"` + id + `"}`
	report := n.backtest(body)
	require.Equal(t, 2, report.GetInt("records"))
	require.Equal(t, 1, report.GetInt("changed"))
	require.Equal(t, "R7_COUNTERPARTY_NAME_OFAC", textOf(report, "examples", "0", "candidate", "rule"))
	require.Equal(t, id, textOf(report, "listSnapshotId"))

	// Where no node holds a call's list any more, the backtest takes the list rules'
	// results from the record.
	clear(n.lists)
	report = n.backtest(`{"from":"` + from.String() + `","to":"` + to.String() + `"}`)
	require.Equal(t, 0, report.GetInt("differing"))
	require.Equal(t, 2, report.GetInt("notHeld", "listGone"))
	require.Equal(t, 1, report.GetInt("agents", "inexact"))
	w := n.do("policy", "POST", "/v1/backtests", body)
	require.Equal(t, 422, w.Code, "nor can it be tried")
	require.Equal(t, "listSnapshotId", member(t, w.Body.Bytes(), "param"))
}

// A backtest with another band counts R25 anew, from one window before its first call on.
func TestBacktestCountsAnotherBand(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	pay := func() {
		require.Equal(t, "PROCEED null", verdict(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":950,"cpName":"Good Shop"}`)))
		n.advance(engine.Hour)
	}
	pay()
	pay()
	from := n.LogTime()
	pay()
	pay()
	report := n.backtest(`{"from":"` + from.String() + `","policy":{"structuring":{"count":3,"low":900,"high":1000,"window":"24h"}}}`)
	require.Equal(t, 2, report.GetInt("records"), "those before warm the counts and are not judged")
	require.Equal(t, 2, report.GetInt("changed"))
	report = n.backtest(`{"from":"` + from.String() + `","policy":{"structuring":{"count":3,"low":900,"high":1000,"window":"1h"}}}`)
	require.Zero(t, report.GetInt("changed"))
}

func TestBacktestIsRefused(t *testing.T) {
	n := newTestNode(t)
	for _, test := range []struct {
		body, param string
		code        int
	}{
		{`{}`, "from", 422},
		{`{"from":"yesterday"}`, "from", 422},
		{`{"from":"2030-01-01T00:00:00Z"}`, "from", 422},
		{`{"from":"2026-03-22T00:00:00Z","policy":{"rules":{"R6":"off"}}}`, "policy.rules.R6", 422},
		{`{"from":"2026-03-22T00:00:00Z","policy":[]}`, "policy", 422},
		{`{"from":"2026-03-22T00:00:00Z","listSnapshotId":"snp_0000000000000000"}`, "listSnapshotId", 422},
		{`{"from":"2026-03-22T00:00:00Z","until":1}`, "until", 422},
	} {
		w := n.do("policy", "POST", "/v1/backtests", test.body)
		require.Equal(t, test.code, w.Code, "%s: %s", test.body, w.Body)
		require.Equal(t, test.param, member(t, w.Body.Bytes(), "param"), "%s: %s", test.body, w.Body)
	}
	require.Empty(t, answer(t, n.do("policy", "GET", "/v1/backtests", ""), 200).GetArray("data"))
	for _, id := range []string{"x", "bt_000000000000_n1", "bt_000000000000_n2", "shd_000000000000_n1"} {
		require.Equal(t, 404, n.do("policy", "GET", "/v1/backtests/"+id, "").Code, id)
		require.Equal(t, 404, n.do("policy", "POST", "/v1/backtests/"+id+"/cancel", "").Code, id)
	}
	require.Equal(t, 422, n.do("policy", "POST", "/v1/backtests/x/cancel", `{"why":1}`).Code)
}

// Only one backtest runs at a time. A cancelled one reports that it was cancelled, and
// another may start.
func TestBacktestIsCancelled(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 200 {
		n.screen(token, "")
	}
	n.leafGate = make(chan struct{}) // The job waits for the first profile.
	body := `{"from":"` + testStart.String() + `"}`
	id := textOf(answer(t, n.do("policy", "POST", "/v1/backtests", body), 202), "id")
	w := n.do("policy", "POST", "/v1/backtests", body)
	require.Equal(t, 409, w.Code)
	require.Equal(t, "job_running", member(t, w.Body.Bytes(), "code"))
	report := answer(t, n.do("policy", "POST", "/v1/backtests/"+id+"/cancel", ""), 200)
	require.Equal(t, "cancelled", textOf(report, "state"))
	require.NotEmpty(t, textOf(report, "endedAt"))
	close(n.leafGate)
	require.Equal(t, 200, n.backtest(body).GetInt("records"))
	list := answer(t, n.do("reviewer", "GET", "/v1/backtests", ""), 200).GetArray("data")
	require.Len(t, list, 2)
	require.Equal(t, "done", textOf(list[0], "state"))
	require.Equal(t, "cancelled", textOf(list[1], "state"))
	for range retrace.FinishedKept + 3 {
		n.backtest(body)
	}
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/backtests", ""), 200).GetArray("data"), retrace.FinishedKept+1, "the newest ended one and those before it")
	require.Equal(t, 404, n.do("policy", "GET", "/v1/backtests/"+id, "").Code)
	require.True(t, strings.HasSuffix(id, "_n1"))
}
