package parties

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/ofac"
)

// BenchmarkFullIndex measures what an index takes with all its bounds reached: 524,288 payments to 65,535
// counterparties with a wallet each, every name compiled, every eighth payment a hit that says who is paid.
// B/op is what filling it allocates; MB is what stays.
func BenchmarkFullIndex(b *testing.B) {
	for b.Loop() {
		before := heapAfterCollection()
		x := newIndex(engine.Second)
		random := rand.New(rand.NewPCG(1, 1))
		names := make([]string, payeesMax-1)
		for i := range names {
			names[i] = fmt.Sprintf("%s %s %d", word(random), word(random), i)
		}
		for i := range paymentsMax - 1 {
			x.put(false, fullPaid(i, names))
		}
		for x.compileNext(func() {}) {
		}
		b.ReportMetric(float64(heapAfterCollection()-before)/1e6, "MB")
		payments, payees, _ := x.Counts()
		require.Equal(b, paymentsMax-1, payments)
		require.Equal(b, payeesMax-1, payees)
		runtime.KeepAlive(x)
	}
}

func fullPaid(i int, names []string) change {
	at := i % len(names)
	uid := uint32(0)
	if i%8 == 0 {
		uid = uint32(1 + at%100)
	}
	c := paid(uint64(i+1), 1, names[at], uid)
	c.told.payee.links = []Link{{Key: uint64(at + 1), Text: fmt.Sprintf("0x%040d", at), Wallet: true}}
	if uid != 0 {
		c.told.context = ofac.Context{BirthDate: "1976-10-05", Country: "RU"}
	}
	return c
}

func heapAfterCollection() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// BenchmarkRank measures the sum of one piece of work with its parts.
func BenchmarkRank(b *testing.B) {
	w := Work{Hit: true, Rules: 1 << 21, Score: 9416, Agrees: 2, Differs: 1, Money: MoneyWaits, OpenedAt: engine.Second, DueAt: 4 * engine.DayLength}
	for b.Loop() {
		w.Rank(2 * engine.DayLength)
	}
}
