package border

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/edge"
	"railguard/fsm/wire"
)

func TestPartOfARate(t *testing.T) {
	for name, c := range map[string]struct{ limit, own, others, want float64 }{
		"alone":                         {100, 50, 0, 100},
		"nobody asks":                   {100, 0, 0, 100},
		"the rest is free":              {100, 20, 30, 70},
		"exactly used up":               {100, 40, 60, 40},
		"all want more":                 {100, 150, 50, 75},
		"others want it all, we little": {100, 1, 999, 100.0 / ShareLeast},
		"not asked here at all":         {100, 0, 500, 100.0 / ShareLeast},
		"a slow key":                    {1, 2, 2, 0.5},
	} {
		require.InDelta(t, c.want, partOf(c.limit, c.own, c.others), 1e-9, name)
	}
}

// TestPartsAddUp: three nodes that follow each other's demand together admit the key's
// rate, however the demand is spread.
func TestPartsAddUp(t *testing.T) {
	for name, demands := range map[string][3]int64{
		"even": {400, 400, 400}, "one": {1000, 0, 0}, "two": {700, 200, 0}, "little": {10, 10, 10},
	} {
		var nodes [3]*KeyTable
		for i := range nodes {
			nodes[i] = newKeyTable([]*wire.APIKey{{ID: "a", Rate: 100}}, nil)
		}
		told := [3]uint64{}
		for range 40 {
			for i, node := range nodes {
				node.ByID["a"].Use.asked.Store(demands[i])
				others := map[string]uint64{"a": told[(i+1)%3] + told[(i+2)%3]}
				use := node.divideRates(time.Second, others)
				told[i] = 0
				if len(use) > 0 {
					told[i] = uint64(use[0].Milli)
				}
			}
		}
		sum, wanted := 0.0, int64(0)
		for i, node := range nodes {
			sum += min(float64(node.ByID["a"].Calls.Limit()), float64(demands[i]))
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
	for id, key := range table.ByID {
		key.Use.asked.Store(1)
		if id == "k7" {
			key.Use.asked.Store(1000)
		}
	}
	use := table.divideRates(time.Second, nil)
	require.Len(t, use, report.KeyUseMax)
	require.Equal(t, report.KeyUse{Key: "k7", Milli: 500_000}, use[0])
	for range 20 {
		use = table.divideRates(time.Second, nil)
	}
	require.Empty(t, use, "what is asked for no more is told no more")
}

// Registrations on other nodes also reduce this node's part: the rate is the cluster's,
// whichever node is asked.
func TestRegistrationRateIsTheClusters(t *testing.T) {
	var nodes [3]*KeyTable
	for i := range nodes {
		nodes[i] = newKeyTable([]*wire.APIKey{{ID: "a"}}, nil)
	}
	told := [3]uint64{}
	for range 40 {
		for i, node := range nodes {
			node.ByID["a"].creating.asked.Store(100)
			name := "a" + registrationsOf
			use := node.divideRates(time.Second, map[string]uint64{name: told[(i+1)%3] + told[(i+2)%3]})
			require.Len(t, use, 1)
			require.Equal(t, name, use[0].Key)
			told[i] = uint64(use[0].Milli)
		}
	}
	sum := 0.0
	for _, node := range nodes {
		sum += float64(node.ByID["a"].creates.Limit())
	}
	require.InDelta(t, registrationRate, sum, 1)
}

// What a key spends on dear names on other nodes reduces what it may spend here.
func TestShareOfNamesIsTheClusters(t *testing.T) {
	var nodes [3]*KeyTable
	for i := range nodes {
		nodes[i] = newKeyTable([]*wire.APIKey{{ID: "a"}}, nil)
	}
	told := [3]uint64{}
	for range 40 {
		for i, node := range nodes {
			node.ByID["a"].Names.asked.asked.Store(1000)
			use := node.divideRates(time.Second, map[string]uint64{"a" + namesOf: told[(i+1)%3] + told[(i+2)%3]})
			require.Len(t, use, 1)
			require.Equal(t, "a"+namesOf, use[0].Key)
			told[i] = uint64(use[0].Milli)
		}
	}
	sum := 0.0
	for _, node := range nodes {
		sum += float64(node.ByID["a"].Names.tokens.Limit())
	}
	require.InDelta(t, edge.RateDefault/namesPart, sum, 1)
}
