package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"railguard/cluster/report"
	"railguard/fsm/wire"
)

func TestPartOfARate(t *testing.T) {
	for name, c := range map[string]struct{ limit, own, others, want float64 }{
		"alone":                         {100, 50, 0, 100},
		"nobody asks":                   {100, 0, 0, 100},
		"the rest is free":              {100, 20, 30, 70},
		"exactly used up":               {100, 40, 60, 40},
		"all want more":                 {100, 150, 50, 75},
		"others want it all, we little": {100, 1, 999, 100.0 / shareLeast},
		"not asked here at all":         {100, 0, 500, 100.0 / shareLeast},
		"a slow key":                    {1, 2, 2, 0.5},
	} {
		require.InDelta(t, c.want, partOf(c.limit, c.own, c.others), 1e-9, name)
	}
}

// TestPartsAddUp: three nodes that follow each other's demand admit the key's rate
// together, however the demand is spread.
func TestPartsAddUp(t *testing.T) {
	for name, demands := range map[string][3]int64{
		"even": {400, 400, 400}, "one": {1000, 0, 0}, "two": {700, 200, 0}, "little": {10, 10, 10},
	} {
		var nodes [3]*keyTable
		for i := range nodes {
			nodes[i] = newKeyTable([]*wire.APIKey{{ID: "a", Rate: 100}}, nil)
		}
		told := [3]uint64{}
		for range 40 {
			for i, node := range nodes {
				node.byID["a"].use.asked.Store(demands[i])
				others := map[string]uint64{"a": told[(i+1)%3] + told[(i+2)%3]}
				use := node.divide(time.Second, others)
				told[i] = 0
				if len(use) > 0 {
					told[i] = uint64(use[0].Milli)
				}
			}
		}
		sum, wanted := 0.0, int64(0)
		for i, node := range nodes {
			sum += min(float64(node.byID["a"].calls.Limit()), float64(demands[i]))
			wanted += demands[i]
		}
		require.InDelta(t, min(100, float64(wanted)), sum, 1, name)
	}
}

func TestUseToldIsBounded(t *testing.T) {
	var keys []*wire.APIKey
	for i := range report.KeyUseMax + 10 {
		keys = append(keys, &wire.APIKey{ID: fmt.Sprintf("k%d", i)})
	}
	table := newKeyTable(keys, nil)
	for id, key := range table.byID {
		key.use.asked.Store(1)
		if id == "k7" {
			key.use.asked.Store(1000)
		}
	}
	use := table.divide(time.Second, nil)
	require.Len(t, use, report.KeyUseMax)
	require.Equal(t, report.KeyUse{Key: "k7", Milli: 500_000}, use[0])
	for range 20 {
		use = table.divide(time.Second, nil)
	}
	require.Empty(t, use, "what is asked for no more is told no more")
}

// neighbours is the others' use in a test.
type neighbours struct {
	others map[string]uint64
	told   chan []report.KeyUse

	cosigned []report.Cosigned // What the others told; TellCosigned adds to it.
}

func (n *neighbours) TellUse(use []report.KeyUse)  { n.told <- use }
func (n *neighbours) OthersUse() map[string]uint64 { return n.others }

func (n *neighbours) TellCosigned(c report.Cosigned)    { n.cosigned = append(n.cosigned, c) }
func (n *neighbours) OthersCosigned() []report.Cosigned { return n.cosigned }

// TestRateIsTheClusters: calls on other nodes take from this node's part, and the
// refusal names the whole rate.
func TestRateIsTheClusters(t *testing.T) {
	n := newTestNode(t)
	around := &neighbours{others: map[string]uint64{"key_shared": 32_000_000}, told: make(chan []report.KeyUse, 100)}
	n.api = n.another(func(d *Deps) { d.Neighbours = around })
	key := testKey("shared")
	key.Rate = 32
	n.addKey(key, testSecret("shared"))
	n.api.share.last.Store(-int64(shareEvery)) // Due.
	require.NotEqual(t, http.StatusTooManyRequests, n.do("shared", "GET", "/v1/audit/txn_00000000", "").Code)
	use := <-around.told
	require.Len(t, use, 1)
	require.Equal(t, "key_shared", use[0].Key)
	limiter := n.api.keysNow().byID["key_shared"].calls
	require.Equal(t, rate.Limit(32.0/shareLeast), limiter.Limit())
	for range 2*burstFactor*32 + 1 {
		w := n.do("shared", "GET", "/v1/audit/txn_00000000", "")
		if w.Code == http.StatusTooManyRequests {
			require.Equal(t, "32", w.Header().Get("RateLimit-Limit"))
			return
		}
	}
	require.Fail(t, "never limited")
}

// Registrations on other nodes take from this node's part, too: the rate is the
// cluster's, whichever node is asked.
func TestRegistrationRateIsTheClusters(t *testing.T) {
	var nodes [3]*keyTable
	for i := range nodes {
		nodes[i] = newKeyTable([]*wire.APIKey{{ID: "a"}}, nil)
	}
	told := [3]uint64{}
	for range 40 {
		for i, node := range nodes {
			node.byID["a"].creating.asked.Store(100)
			name := "a" + registrationsOf
			use := node.divide(time.Second, map[string]uint64{name: told[(i+1)%3] + told[(i+2)%3]})
			require.Len(t, use, 1)
			require.Equal(t, name, use[0].Key)
			told[i] = uint64(use[0].Milli)
		}
	}
	sum := 0.0
	for _, node := range nodes {
		sum += float64(node.byID["a"].creates.Limit())
	}
	require.InDelta(t, registrationRate, sum, 1)
}

// How much of their rates keys use stands in the metrics, for as many as are bearable.
func TestKeyRatesAreMeasured(t *testing.T) {
	n := newTestNode(t)
	require.Equal(t, http.StatusCreated, n.doAdmin("POST", "/admin/keys", `{"name":"quiet","rate":"10/s"}`).Code)
	var asked []string
	for id, key := range n.api.keysNow().byID {
		if key.calls != nil {
			key.use.average.Store(math.Float64bits(2 * float64(key.limit)))
			asked = append(asked, id)
		}
	}
	require.NotEmpty(t, asked)
	var out strings.Builder
	n.api.writeKeyRates(&out)
	for _, id := range asked {
		require.Contains(t, out.String(), fmt.Sprintf("%s{key=%q} ", nameKeyRate, id))
	}
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "# TYPE "+nameKeyRate+" gauge\n")
}
