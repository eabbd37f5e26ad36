package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"railguard/cluster/report"
	"railguard/httpapi/border"
)

// neighbours fakes the other nodes.
type neighbours struct {
	others map[string]uint64
	told   chan []report.KeyUse

	cosigned []report.Cosigned // What the other nodes sent; TellCosigned adds to it.
}

func (n *neighbours) TellUse(use []report.KeyUse)  { n.told <- use }
func (n *neighbours) OthersUse() map[string]uint64 { return n.others }

func (n *neighbours) TellCosigned(c report.Cosigned)    { n.cosigned = append(n.cosigned, c) }
func (n *neighbours) OthersCosigned() []report.Cosigned { return n.cosigned }

// TestRateIsTheClusters: calls on other nodes reduce this node's part, and the refusal
// names the whole rate.
func TestRateIsTheClusters(t *testing.T) {
	n := newTestNode(t)
	around := &neighbours{others: map[string]uint64{"key_shared": 32_000_000}, told: make(chan []report.KeyUse, 100)}
	n.api = n.another(func(d *Deps) { d.Neighbours = around })
	key := testKey("shared")
	key.Rate = 32
	n.addKey(key, testSecret("shared"))
	n.api.Share.Last.Store(-int64(border.ShareEvery)) // A division is due.
	require.NotEqual(t, http.StatusTooManyRequests, n.do("shared", "GET", "/v1/audit/txn_00000000", "").Code)
	use := <-around.told
	require.Len(t, use, 1)
	require.Equal(t, "key_shared", use[0].Key)
	limiter := n.api.KeysNow().ByID["key_shared"].Calls
	require.Equal(t, rate.Limit(32.0/border.ShareLeast), limiter.Limit())
	for range 2*border.BurstFactor*32 + 1 {
		w := n.do("shared", "GET", "/v1/audit/txn_00000000", "")
		if w.Code == http.StatusTooManyRequests {
			require.Equal(t, `"key";q=32;w=1`, w.Header().Get("RateLimit-Policy"))
			return
		}
	}
	require.Fail(t, "never limited")
}

// The metrics show how much of their rates the keys use, for a bounded number of keys.
func TestKeyRatesAreMeasured(t *testing.T) {
	n := newTestNode(t)
	require.Equal(t, http.StatusCreated, n.doAdmin("POST", "/admin/keys", `{"name":"quiet","roles":"ops","rate":"10/s"}`).Code)
	var asked []string
	for id, key := range n.api.KeysNow().ByID {
		if key.Calls != nil {
			key.Use.Average.Store(math.Float64bits(2 * float64(key.Limit)))
			asked = append(asked, id)
		}
	}
	require.NotEmpty(t, asked)
	var out strings.Builder
	n.api.WriteKeyRates(&out)
	for _, id := range asked {
		require.Contains(t, out.String(), fmt.Sprintf("%s{key=%q} ", border.NameKeyRate, id))
	}
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "# TYPE "+border.NameKeyRate+" gauge\n")
}
