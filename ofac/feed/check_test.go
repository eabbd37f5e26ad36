package feed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// listOf makes a loaded list of n SDN and m CONS entities that passes the checks.
func listOf(sdn, cons int) Loaded {
	var l Loaded
	for i := range sdn + cons {
		e := ofac.Entity{UID: uint32(i + 1), Type: ofac.Company, Lists: ofac.ListSDN, Names: []ofac.Name{{Primary: true, Full: "LAZARUS GROUP"}},
			Addresses: []ofac.Address{{Ticker: "XBT", Value: "1"}, {Ticker: "ETH", Value: "0x"}}}
		if i >= sdn {
			e.Lists = ofac.ListCONS
		}
		l.Entities = append(l.Entities, e)
	}
	l.Summary = Summary{SDN: FamilySummary{FormatENHANCED, 1000, sdn, sdn, sdn, nil}, CONS: FamilySummary{FormatENHANCED, 1000, cons, cons, cons, nil},
		Entities: sdn + cons, Names: sdn + cons, Addresses: 2 * (sdn + cons)}
	return l
}

func TestInspect(t *testing.T) {
	for name, test := range map[string]struct {
		next func(*Loaded)
		want []string
	}{
		"whole":                  {func(l *Loaded) {}, nil},
		"empty is told apart":    {func(l *Loaded) { *l = Loaded{} }, nil},
		"no SDN entry":           {func(l *Loaded) { *l = listOf(0, 300) }, []string{"canary: the new list does not name LAZARUS GROUP"}},
		"no name canary":         {func(l *Loaded) { eachName(l, "LAZARUS GROUPS") }, []string{"canary: the new list does not name LAZARUS GROUP"}},
		"canary in another case": {func(l *Loaded) { eachName(l, "Lazarus Group") }, nil},
		"no Bitcoin address":     {func(l *Loaded) { eachTicker(l, "ETH") }, []string{"canary: the new list has no XBT address"}},
		"no Ethereum address":    {func(l *Loaded) { eachTicker(l, "XBT") }, []string{"canary: the new list has no ETH address"}},
		"no address at all":      {func(l *Loaded) { eachTicker(l, "") }, []string{"canary: the new list has no XBT address", "canary: the new list has no ETH address"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := listOf(200, 100)
			test.next(&next)
			require.Equal(t, test.want, Inspect(&next, DefaultCanaries()))
		})
	}
	next := listOf(200, 100)
	next.Entities[0].Names = nil
	require.Empty(t, Inspect(&next, Canaries{}))
}

func eachName(l *Loaded, full string) {
	for i := range l.Entities {
		l.Entities[i].Names[0].Full = full
	}
}

func eachTicker(l *Loaded, ticker string) {
	for i := range l.Entities {
		for j := range l.Entities[i].Addresses {
			l.Entities[i].Addresses[j].Ticker = ticker
		}
	}
}

// The real lists hold all canaries.
func TestInspectRealLists(t *testing.T) {
	skipHeavy(t)
	for _, path := range []string{"2024-05-28", "2025-03-21", "2025-11-04", "2025-11-19"} {
		list := realList(t, path+"/sdn_advanced.xml.bz2")
		entities := append([]ofac.Entity(nil), list.Entities...)
		for i := range entities {
			entities[i].Lists = ofac.ListSDN
		}
		require.Empty(t, Inspect(&Loaded{Entities: entities}, DefaultCanaries()), path)
	}
}
