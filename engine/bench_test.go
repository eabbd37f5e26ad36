package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// benchList is a list of made-up parties: enough for the wallet and exact layers.
func benchList(b testing.TB) *ofac.Index {
	b.Helper()
	var entities []ofac.Entity
	for i := range uint32(2000) {
		entities = append(entities, ofac.Entity{UID: i + 1, Type: ofac.Company, Lists: ofac.ListSDN,
			Names:     []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: fmt.Sprintf("QUUX%dVEN ZORB%dAL HOLDING", i*7919, i)}},
			Addresses: []ofac.Address{{Ticker: "ETH", Value: fmt.Sprintf("0x%040x", i)}}})
	}
	list, err := ofac.Build(entities, ofac.Meta{Source: "bench", Sample: true})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// TestPartyFilter: a counterparty's name gets the key of its normal form. It is the same whether
// the list or the memory gave the answer, and even if the name is too long for the matcher.
func TestPartyFilter(t *testing.T) {
	looker := NewLooker()
	f := cleanFacts()
	f.List = benchList(t)
	clean := *f
	for _, name := range []string{"Contoso Trading Limited", "Общество с ограниченной ответственностью Ромашка", "quux, zorb (Holding)", "--", strings.Repeat("quux ", 2000)} {
		for range 2 {
			*f = clean
			f.Request = &Request{Name: name}
			looker.Look(f)
			require.Equal(t, NameFilterKey(name), f.PartyFilter, name[:min(len(name), 40)])
		}
	}
}

// BenchmarkEdge measures the whole judgement of an edge: wallet, operator's name (remembered,
// as usual) and the static rules. It runs with a counterparty name that is listed, which the
// exact layer finds, and with a new clean one in every call.
func BenchmarkEdge(b *testing.B) {
	list := benchList(b)
	var fresh, listed [4 * partyAnswers]string
	for i := range fresh {
		fresh[i] = fmt.Sprintf("Contoso %d Trading Ltd", i)
		listed[i] = fmt.Sprintf("quux%dven, zorb%dal (Holding)", i%2000*7919, i%2000) + strings.Repeat(".", i/2000)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for _, bench := range []struct {
		name string
		call func(i int) string
	}{
		{"no-name", func(int) string { return "" }},
		{"repeated-name", func(int) string { return "Contoso Trading Ltd" }},
		{"thousand-names", func(int) string { return fresh[random.IntN(1000)] }},
		{"listed-name", func(i int) string { return listed[i%len(listed)] }},
		{"fresh-name", func(i int) string { return fresh[i%len(fresh)] }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			looker := NewLooker()
			f := cleanFacts()
			f.List, f.Chain[0].OperatorWallet = list, walletA
			request := &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: walletB, Type: "business", Protocol: "Uniswap"}
			clean := *f
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				*f = clean
				request.Name = bench.call(i)
				f.Request = request
				i++
				looker.Look(f)
				if hits := NewestRules.JudgeStatic(f); hits.Mask&^(1<<7) != 0 {
					b.Fatal(hits.Mask)
				}
			}
		})
	}
}

func BenchmarkJudgeLive(b *testing.B) {
	m := cleanMoment(1)
	b.ReportAllocs()
	for b.Loop() {
		hits := NewestRules.JudgeLive(m)
		if hits.Mask != 0 {
			b.Fatal(hits.Mask)
		}
	}
}

func BenchmarkJudgeStatic(b *testing.B) {
	f := cleanFacts()
	f.Request = &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: "0x52908400098527886E0F7030069857D2E4169EE7",
		Name: "Contoso Trading Ltd", Type: "business", Protocol: "Uniswap"}
	b.ReportAllocs()
	for b.Loop() {
		hits := NewestRules.JudgeStatic(f)
		if hits.Mask != 0 {
			b.Fatal(hits.Mask)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	policy := DefaultPolicy()
	var hits Hits
	hits.Add(10, 1)
	hits.Add(25, 1)
	b.ReportAllocs()
	for b.Loop() {
		if NewestRules.Decide(&hits, policy).Rule != 10 {
			b.Fatal("R10 decides")
		}
	}
}

func BenchmarkVelocityAdd(b *testing.B) {
	var row VelocityRow
	now := someday
	b.ReportAllocs()
	for b.Loop() {
		now += 100 * Millisecond
		row.Add(now, from)
	}
}

func BenchmarkParseUSD(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if amount, err := ParseUSD("9007199254.740993"); err != nil || amount == 0 {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindMixerWithin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, found := FindMixerWithin("Uniswap v4"); found {
			b.Fatal("not a mixer")
		}
	}
}
