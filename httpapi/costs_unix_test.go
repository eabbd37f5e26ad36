//go:build unix

package httpapi

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/border"
)

var measure = flag.Bool("measure", false, "measure what calls cost and write "+costFile)

// costSample is one kind of call that can be repeated.
type costSample struct {
	kind   border.Kind
	looked int // Things that one call of a walk examines.
	what   string
	call   func(i int) *http.Request
}

// processor returns the processor time that this process has used.
func processor(t testing.TB) time.Duration {
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// TestMeasureCosts measures the processor time of a call of each kind, relative to a
// screening call, and writes costFile. It checks nothing: TestEveryRouteHasACostAndALane
// compares the charges with the file.
func TestMeasureCosts(t *testing.T) {
	if !*measure {
		t.Skip("measures only with -measure")
	}
	n := newTestNode(t)
	samples := costSamples(t, n)
	best := make([]time.Duration, len(samples))
	next := make([]int, len(samples))
	for range 5 { // Rounds: the smallest result is the least disturbed one.
		for i, s := range samples {
			runtime.GC()
			const enough = 40 * time.Millisecond
			began, calls := processor(t), 0
			for processor(t)-began < enough && calls < 3000 {
				r := s.call(next[i])
				w := &discard{header: http.Header{}}
				n.api.Handler().ServeHTTP(w, r)
				require.Less(t, w.status, 300, border.Charges[s.kind].Name)
				next[i]++
				calls++
			}
			if each := (processor(t) - began) / time.Duration(calls); best[i] == 0 || each < best[i] {
				best[i] = each
			}
		}
	}
	var text strings.Builder
	text.WriteString("# kind, microseconds of the processor a call, in screening calls, of these for each thing looked at, what was measured\n")
	for i, s := range samples {
		ratio := float64(best[i]) / float64(best[0])
		per := 0.0
		if s.looked > 0 {
			per = ratio / float64(s.looked)
		}
		fmt.Fprintf(&text, "%s\t%.1f\t%.2f\t%.4f\t%s\n", border.Charges[s.kind].Name, float64(best[i].Nanoseconds())/1000, ratio, per, s.what)
	}
	require.NoError(t, os.WriteFile(costFile, []byte(text.String()), 0o644))
}

// costSamples fills a node with data to walk over. It makes the most expensive usual call
// of each kind: filters that nothing passes, the largest pages.
func costSamples(t *testing.T, n *testNode) []costSample {
	for i := range n.settings.Keys {
		n.settings.Keys[i].Rate = -1
	}
	n.reopen(nil)
	_, token := n.register("")
	const leaves, agents = 5000, 600
	ids := make([]string, agents)
	for i := range ids {
		ids[i], _ = n.register("")
	}
	review := `,"cpWallet":"not-an-address"`
	txns := make([]string, leaves)
	for i := range txns {
		txns[i] = member(t, n.screen(token, review).Body.Bytes(), "txnId")
	}
	request := func(method, path string, body string) *http.Request {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+testAdminSecret)
		return r
	}
	same := func(method, path, body string) func(int) *http.Request {
		return func(int) *http.Request { return request(method, path, body) }
	}
	screening := `{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa","cpName":"Paper and Ink Trading"}`
	return []costSample{
		{border.KindScreening, 0, "POST /v1/screen with wallet and name", same("POST", "/v1/screen", screening)},
		{border.KindRead, 0, "GET /v1/agents/{id}/limits", func(i int) *http.Request { return request("GET", "/v1/agents/"+ids[i%agents]+"/limits", "") }},
		{border.KindCredential, 0, "GET /v1/agents/{id}", func(i int) *http.Request { return request("GET", "/v1/agents/"+ids[i%agents], "") }},
		{border.KindWrite, 0, "PATCH of an agent", func(i int) *http.Request {
			return request("PATCH", "/v1/agents/"+ids[i%agents], fmt.Sprintf(`{"velocity":{"maxPerMinute":%d},"reason":"r"}`, 1+i%1000))
		}},
		{border.KindIssue, 0, "POST /v1/agents/register", same("POST", "/v1/agents/register",
			`{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Quiet Trading House","purpose":"buy"}`)},
		{border.KindNames, 0, "GET /v1/match, explained", same("GET", "/v1/match?name=Quiet+Paper+and+Ink+Trading+House&explain=true", "")},
		{border.KindPolicy, 0, "POST /v1/policy/validate", same("POST", "/v1/policy/validate", `{"velocity":{"maxPerMinute":700}}`)},
		{border.KindPage, 0, "GET /v1/agents, 500 of them", same("GET", "/v1/agents?limit=500", "")},
		{border.KindSearch, border.LeafScanMax, "GET /v1/audit by a disposition that no record has", same("GET", "/v1/audit?disposition=REJECTED", "")},
		{border.KindQueue, leaves, "GET /v1/queue by a text that no case has", same("GET", "/v1/queue?q=nothinghasit", "")},
		{border.KindEvidence, 0, "POST /v1/audit/{txnId}/replay", func(i int) *http.Request { return request("POST", "/v1/audit/"+txns[i%leaves]+"/replay", "") }},
		{border.KindBundle, 0, "GET /log/tile/entries/000", same("GET", "/log/tile/entries/000", "")},
		{border.KindExport, leaves, "GET /v1/audit/export", same("GET", "/v1/audit/export", "")},
		{border.KindDiff, 0, "GET /v1/ofac/{id}/diff of the sample with itself", same("GET", "/v1/ofac/"+listID(n)+"/diff", "")},
		{border.KindOpen, 0, "GET /v1/health", same("GET", "/v1/health", "")},
	}
}

func listID(n *testNode) string {
	digest := n.List().Digest()
	return fmt.Sprintf("snp_%x", digest[:8])
}
