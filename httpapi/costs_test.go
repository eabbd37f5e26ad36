package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/timing"
	"railguard/httpapi/border"
	"railguard/httpapi/guest"
	"railguard/httpapi/lanes"
)

// costFile holds the measured cost of calls of each kind: see TestMeasureCosts.
const costFile = "testdata/costs.tsv"

// measured is one line of costFile.
type measured struct {
	micros float64 // Processor time of a call.
	ratio  float64 // The cost of a call in screening calls; for a walk there is also the cost of each examined thing.
	per    float64
	what   string
}

func readCosts(t testing.TB) map[string]measured {
	t.Helper()
	file, err := os.Open(costFile)
	require.NoError(t, err)
	defer file.Close()
	known := map[string]measured{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		parts := strings.Split(lines.Text(), "\t")
		require.Len(t, parts, 5, lines.Text())
		var m measured
		for i, into := range []*float64{&m.micros, &m.ratio, &m.per} {
			*into, err = strconv.ParseFloat(parts[i+1], 64)
			require.NoError(t, err)
		}
		m.what = parts[4]
		known[parts[0]] = m
	}
	require.NoError(t, lines.Err())
	return known
}

// notMeasured are kinds that no run here can measure, each with the reason why its cost is
// right.
var notMeasured = map[border.Kind]string{
	border.KindNone:   "as dear as the dearest: a route that is not in the table",
	border.KindVerb:   "operators do it by hand, a few times a day, and the group that they ask bounds it",
	border.KindProbe:  "must answer whatever happens, and is as cheap as a 404",
	border.KindEvents: "walks leaves as a search does, and each counts as one of a search; a call that waits looks at a number 20 times a second",
	border.KindDuplex: "opens a stream, as cheap as any call; each part of its lines pays for them as for so many screening calls",
	border.KindDebug:  "belongs to the admin listener, which is not open to callers",
	border.KindWhole:  "counts what a list's compilation costs every node, one second: a hundred times what the request itself costs here",
}

// Every route has a kind, and so a cost and a lane. Every cost rests on a measurement or
// says why not.
func TestEveryRouteHasACostAndALane(t *testing.T) {
	n := newTestNode(t)
	named := map[string]bool{}
	for _, r := range append(n.publicRoutes(), n.adminRoutes()...) {
		at := r.Method + " " + r.Path
		named[at] = true
		is := border.ChargeOf(&r)
		require.NotEqual(t, border.KindNone, border.KindOf[at], "%s: name it in routesOf", at)
		require.False(t, r.Roles != 0 && is.Cost == 0, "%s: whoever has a key pays for the call", at)
		require.Equal(t, border.KindOf[at] == border.KindOpen || is.Cost == 0, r.Roles == 0, "%s: what has no key is paid for by its address", at)
	}
	for at := range border.KindOf {
		require.True(t, named[at], "no such route: %s", at)
	}
	count := 0
	for _, routes := range border.RoutesOf {
		count += len(routes)
	}
	require.Len(t, border.KindOf, count, "a route has one kind")
	costs := readCosts(t)
	for k := range border.Kinds {
		is := border.Charges[k]
		if why := notMeasured[k]; why != "" {
			require.NotContains(t, costs, is.Name)
			continue
		}
		m, known := costs[is.Name]
		require.True(t, known, "%s: not measured", is.Name)
		counted := float64(is.Cost)
		if m.per > 0 {
			counted += m.ratio / m.per * float64(is.Each) / 10
		}
		require.GreaterOrEqual(t, counted*1.25, m.ratio, "%s costs more than it counts", is.Name)
	}
}

// costTable makes the part of docs/ROUTES.md about costs.
func costTable(t testing.TB) string {
	var page strings.Builder
	page.WriteString(costPageHead)
	costs := readCosts(t)
	for k := range border.Kinds {
		is := border.Charges[k]
		if k == border.KindNone {
			continue
		}
		counts := strconv.Itoa(is.Cost)
		if is.Each != 0 {
			counts += fmt.Sprintf(", and %.1f for each", float64(is.Each)/10)
		}
		if why := notMeasured[k]; why != "" {
			fmt.Fprintf(&page, "| %s | %s | %s | | %s |\n", is.Name, counts, is.Bound.Text(), why)
			continue
		}
		m := costs[is.Name]
		fmt.Fprintf(&page, "| %s | %s | %s | %.0f µs = %.1f | %s |\n", is.Name, counts, is.Bound.Text(), m.micros, m.ratio, m.what)
	}
	return page.String()
}

const costPageHead = `## What calls cost

A call is counted in screening calls, by the processor time that it takes within one node, without the network
(` + "`go test ./httpapi -run MeasureCosts -measure`" + `). It counts that much against its key's rate; a call without a key counts against its address
(2,000 a second, burst twice that). No call counts more than its key's burst.

- A walk counts more for each leaf or case that it looked at, once that is known; a search also one for each record that it returns.
- Each 16 KiB of a body beyond the first count one more. A screening call whose token had to be tried and was no good counts 10.
- A name counts what it took, once that is known: one more for every 14,000 steps of the matcher, which are 28 µs. An ordinary name counts none; one of 512
  single letters 70 to 80. A name that was asked a moment ago is remembered and counts none ([decision 100](decisions/0100-neighbours.md)).
- What names take beyond their calls may be a tenth of the key's rate, with a burst of an eighth of a second on each node. A key that owes more gets 429 wherever names are judged, but for
  officers' dispositions, until the debt, of one second at most, is paid ([decision 108](decisions/0108-share-of-names.md)).
- A batch counts its payments, each as a call of its own. A message of [MCP](mcp.md) counts 9, and what its tool calls.

The processors go to owners in turns: when names are being judged on all of them, the owner that had the least work done comes next. An owner whose names are dear
(60 µs on average) has half of them at most, and beside owners whose names are not it rests seven times as long as each turn took. Whoever has more than 200 ms of
work waiting, or would wait half a second behind rests, gets 503 ` + "`overloaded`" + `.

Lanes bound what runs at once on one node:

- *ordinary*: 16,384 calls; of screening calls, so many as are answered in about 60 ms ([decision 172](decisions/0172-verdicts-first.md)). *reserved*: calls are not counted, so that reviewers and operators get through.
- *scans*: half the processors, at least one. Keys take turns, a long walk after every 1,024 leaves or cases. While the node applies entries, a scan computes a
  millisecond at a time and then rests: twice as long on two processors, as long on four, half as long on eight. While verdicts wait longer than in calm it makes way for them, in its first two seconds.
- *watches*: 256, of one key 32. *streams*: 8, of one key 2. Each step of both takes a turn of the scans.
- In each of the last three 64 calls may wait (8 of one key among the scans); others get 503 ` + "`overloaded`" + `.

| kind | counts | lane | measured, in screening calls | what was measured |
|---|---|---|---|---|
`

// Scans wait for one another, in turns; verdicts wait for no scan. When one key's searches
// take all places of a node, it still answers screening calls, and another key's search has
// the next turn.
func TestScansHaveALaneOfTheirOwn(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	ctx := context.Background()
	for range border.ScanPlaces() {
		require.NoError(t, n.api.Scans.Enter(ctx, "key_admin"))
	}
	for _, path := range []string{"/v1/audit?disposition=REJECTED", "/v1/queue?q=x", "/v1/agents"} {
		w := n.do("admin", "GET", path, "", "X-Railguard-Timeout-Ms", "20")
		require.Equal(t, 503, w.Code, path)
		require.Equal(t, "none", w.Header().Get("X-Railguard-Outcome"))
		require.Contains(t, w.Body.String(), `"overloaded"`)
	}
	w := n.do("admin", "POST", "/v1/audit/txn_00000000/replay", "", "X-Railguard-Timeout-Ms", "20")
	require.Equal(t, 503, w.Code)
	require.Equal(t, 200, n.screen(token, "").Code)
	require.Equal(t, 200, n.do("admin", "GET", "/v1/health", "").Code)
	for range border.ScanPlaces() {
		n.api.Scans.Leave("key_admin")
	}
	require.Equal(t, 200, n.do("admin", "GET", "/v1/queue?q=x", "").Code)
	require.NoError(t, n.api.Scans.Enter(ctx, "x"), "a place is left behind by none of them")
	require.Zero(t, n.api.Running())
}

// A long walk checks after each examined thing whether to rest. So a verdict waits at most
// for one time slice and one step of a search.
func TestDearCallsMayRestAtEachStep(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	const many = 40
	for range many {
		require.Equal(t, 200, n.screen(token, `,"cpWallet":"not-an-address"`).Code)
		n.register("")
	}
	asked := 0
	n.api.Scans.Pace = timing.NewPace(1, 0, func() uint64 { asked++; return 0 }, nil) // The slices have no length, so each step asks whether to rest.
	for _, path := range []string{
		"/v1/audit", "/v1/audit?disposition=REJECTED", "/v1/audit/export", "/v1/audit/export?format=csv", "/v1/queue?q=nothinghasit", "/v1/queue",
		"/v1/agents", "/v1/agents?status=SUSPENDED", "/v1/activity", "/v1/events",
	} {
		asked = 0
		require.Equal(t, 200, n.do("admin", "GET", path, "").Code, path)
		require.GreaterOrEqual(t, asked, many, path)
	}
	asked = 0
	require.Equal(t, 200, n.screen(token, "").Code)
	require.Zero(t, asked, "a verdict rests for nobody")
}

// Records written one by one into a reused page buffer look as they do when asked for
// alone: long or short, decided or not, whoever asked before.
func TestPagesShowRecordsAsTheyAreAlone(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for i, more := range []string{
		"", `,"cpName":"` + strings.Repeat("Paper and Ink ", 12) + `"`, `,"cpWallet":"not-an-address"`, "", `,"cpName":"Ink","cpWallet":"not-an-address"`,
	} {
		txn := member(t, n.screen(token, more).Body.Bytes(), "txnId")
		if i == 2 {
			require.Equal(t, 200, n.do("admin", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"a person","notes":"no"}`).Code)
		}
	}
	for range 3 {
		var page struct {
			Data []map[string]any `json:"data"`
		}
		w := n.do("admin", "GET", "/v1/audit", "")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
		require.Len(t, page.Data, 5)
		for _, item := range page.Data {
			alone := map[string]any{}
			require.NoError(t, json.Unmarshal(n.do("admin", "GET", "/v1/audit/"+item["txnId"].(string), "").Body.Bytes(), &alone))
			for name, value := range item {
				require.Equal(t, alone[name], value, "%s of %s", name, item["txnId"])
			}
		}
	}
}

// The exports of one key are bounded: its third waits for a place and is then refused.
func TestStreamsHavePlaces(t *testing.T) {
	n := newTestNode(t)
	n.api.Deadline = 20 * time.Millisecond
	for range border.StreamsOfOneKey {
		require.NoError(t, n.api.Streams.Enter(context.Background(), "key_auditor"))
	}
	require.Equal(t, 503, n.do("auditor", "GET", "/v1/audit/export", "").Code)
	require.Equal(t, 200, n.do("admin", "GET", "/v1/audit/export", "").Code)
	n.api.Streams.Leave("key_auditor")
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/export", "").Code)
	require.Zero(t, n.api.Running())
}

// A walk is charged afterwards for what it examined.
func TestWalksAreChargedByWhatTheyLookAt(t *testing.T) {
	n := newTestNode(t)
	slow := testKey("slow")
	slow.Rate = 500
	n.addKey(slow, testSecret("slow"))
	_, token := n.register("")
	for range 100 {
		require.Equal(t, 200, n.screen(token, "").Code)
	}
	left := func(path string) float64 {
		limiter := n.api.KeysNow().ByID[slow.ID].Calls
		limiter.SetBurstAt(time.Now(), 1000)
		before := limiter.Tokens()
		require.Equal(t, 200, n.do("slow", "GET", path, "").Code, path)
		return before - limiter.Tokens()
	}
	n.api.KeysNow().ByID[slow.ID].Calls.SetLimit(0)
	require.InDelta(t, float64(border.Charges[border.KindSearch].Cost+100*border.Charges[border.KindSearch].Each/10), left("/v1/audit?disposition=REJECTED"), 5)
	require.InDelta(t, float64(border.Charges[border.KindSearch].Cost+(50+50)*border.Charges[border.KindSearch].Each/10), left("/v1/audit?limit=50"), 5, "fifty are looked at, and written")
	require.Greater(t, left("/v1/audit/export"), 100*float64(border.Charges[border.KindExport].Each)/10)
}

// The cost that a guest announces is charged with its call.
func TestGuestsAreCharged(t *testing.T) {
	n := newTestNode(t)
	slow := testKey("slow")
	slow.Rate = 500
	n.addKey(slow, testSecret("slow"))
	require.Equal(t, 200, n.do("slow", "GET", "/v1/key", "").Code)
	limiter := n.api.KeysNow().ByID[slow.ID].Calls
	limiter.SetLimit(0)
	for _, extra := range []int{0, 8} {
		before := limiter.Tokens()
		r := httptest.NewRequest("GET", "/v1/key", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+testSecret("slow"))
		w := httptest.NewRecorder()
		n.api.Handler().ServeHTTP(w, r.WithContext(guest.Costing(r.Context(), extra)))
		require.Equal(t, 200, w.Code)
		require.InDelta(t, float64(border.Charges[border.KindRead].Cost+extra), before-limiter.Tokens(), 0.5)
	}
}

// A caller without a key is limited by its address, a caller with a key is not, and a probe
// is always answered.
func TestKeylessCallsAreBoundedByAddress(t *testing.T) {
	n := newTestNode(t)
	limited := map[string]int{}
	for _, path := range []string{"/v1/health", "/v1/agents", "/nothing", "/log/checkpoint"} {
		n.api.Addresses = lanes.NewAddresses(1, 20, 16)
		for range 25 {
			if n.do("", "GET", path, "").Code == 429 {
				limited[path]++
			}
		}
		require.InDelta(t, 5, limited[path], 1, path)
		require.Equal(t, 200, n.do("admin", "GET", "/v1/agents", "").Code)
		require.Equal(t, 200, n.do("", "GET", "/livez", "").Code)
		require.Equal(t, 200, n.do("", "GET", "/readyz", "").Code)
	}
}
