package httpapi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPartiesFirstLook and BenchmarkPartiesWarm measure a list of parties on a node that nobody asked
// before, and on one that was asked: of 20,000 payments to 4,000 counterparties.
func BenchmarkPartiesFirstLook(b *testing.B) {
	n := manyPaid(b)
	for b.Loop() {
		n.api = n.another(func(*Deps) {})
		require.Equal(b, 200, n.do("reviewer", "GET", "/v1/parties?state=all&limit=50", "").Code)
	}
}

func BenchmarkPartiesWarm(b *testing.B) {
	n := manyPaid(b)
	for _, path := range []string{"/v1/parties?state=all&limit=50", "/v1/inbox", "/v1/search?q=baker"} {
		for range 5 {
			require.Equal(b, 200, n.do("reviewer", "GET", path, "").Code)
		}
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				require.Equal(b, 200, n.do("reviewer", "GET", path, "").Code)
			}
		})
	}
}

func manyPaid(b *testing.B) *testNode {
	n := newTestNode(b)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":1000,"dailyLimitUSDC":1000000000}`)
	for i := range 20_000 {
		w := n.do("screener", "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":1,"cpName":"Baker %s of Street %d"}`, token, personOf(i%36), i%4000))
		require.Equal(b, 200, w.Code)
	}
	return n
}
