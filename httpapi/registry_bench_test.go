package httpapi

import "testing"

const benchAgent = `{"agentName":"Bench","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","spendPolicy":{"dailyLimitUSDC":1000}}`

// BenchmarkRegister is a registration without consensus: parse, screen, apply, hash, mint.
func BenchmarkRegister(b *testing.B) {
	n := unlimitedNode(b)
	b.ReportAllocs()
	for b.Loop() {
		if w := n.do("operator", "POST", "/v1/agents/register", benchAgent); w.Code != 201 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// BenchmarkGetAgent reads one agent, and mints its token again.
func BenchmarkGetAgent(b *testing.B) {
	n := unlimitedNode(b)
	id := textOf(answer(b, n.do("operator", "POST", "/v1/agents/register", benchAgent), 201), "agentId")
	b.ReportAllocs()
	for b.Loop() {
		if w := n.do("operator", "GET", "/v1/agents/"+id, ""); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// unlimitedNode makes a test node whose keys have no rate limit.
func unlimitedNode(b *testing.B) *testNode {
	n := newTestNode(b)
	settings := *n.settings
	settings.Keys = nil
	for _, key := range n.settings.Keys {
		unlimited := *key
		unlimited.Rate = -1
		settings.Keys = append(settings.Keys, &unlimited)
	}
	n.settings = &settings
	return n
}
