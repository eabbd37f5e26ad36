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
	l.Summary = Summary{SDN: FamilySummary{FormatENHANCED, 1000, sdn, sdn, sdn}, CONS: FamilySummary{FormatENHANCED, 1000, cons, cons, cons},
		Entities: sdn + cons, Names: sdn + cons, Addresses: 2 * (sdn + cons)}
	return l
}

func TestCheck(t *testing.T) {
	old := listOf(200, 100).Summary
	for name, test := range map[string]struct {
		old  *Summary
		next func(*Loaded)
		want []ProblemCode
	}{
		"first import":             {nil, func(l *Loaded) {}, nil},
		"the same again":           {&old, func(l *Loaded) {}, nil},
		"newer":                    {&old, func(l *Loaded) { l.Summary.SDN.DataAsOf++ }, nil},
		"old knows nothing":        {&Summary{}, func(l *Loaded) {}, nil},
		"empty":                    {&old, func(l *Loaded) { *l = Loaded{} }, []ProblemCode{ProblemEmpty}},
		"older SDN":                {&old, func(l *Loaded) { l.Summary.SDN.DataAsOf-- }, []ProblemCode{ProblemOlder}},
		"older CONS":               {&old, func(l *Loaded) { l.Summary.CONS.DataAsOf-- }, []ProblemCode{ProblemOlder}},
		"no date in the new list":  {&old, func(l *Loaded) { l.Summary.SDN.DataAsOf = 0 }, nil},
		"95 % stay":                {&old, func(l *Loaded) { *l = listOf(190, 95) }, nil},
		"SDN below 95 %":           {&old, func(l *Loaded) { *l = listOf(189, 100) }, []ProblemCode{ProblemShrunk}},
		"CONS below 95 %":          {&old, func(l *Loaded) { *l = listOf(200, 94) }, []ProblemCode{ProblemShrunk}},
		"both below 95 %":          {&old, func(l *Loaded) { *l = listOf(189, 94) }, []ProblemCode{ProblemShrunk, ProblemShrunk, ProblemShrunk}},
		"much larger":              {&old, func(l *Loaded) { *l = listOf(20000, 100) }, nil},
		"CONS is gone":             {&old, func(l *Loaded) { *l = listOf(300, 0) }, []ProblemCode{ProblemFamilyMissing}},
		"SDN is gone":              {&old, func(l *Loaded) { *l = listOf(0, 300) }, []ProblemCode{ProblemFamilyMissing, ProblemCanary}},
		"first import of CONS":     {nil, func(l *Loaded) { *l = listOf(0, 300) }, []ProblemCode{ProblemFamilyMissing, ProblemCanary}},
		"first import without it":  {nil, func(l *Loaded) { *l = listOf(300, 0) }, nil},
		"no name canary":           {nil, func(l *Loaded) { eachName(l, "LAZARUS GROUPS") }, []ProblemCode{ProblemCanary}},
		"canary in another case":   {nil, func(l *Loaded) { eachName(l, "Lazarus Group") }, nil},
		"no Bitcoin address":       {nil, func(l *Loaded) { eachTicker(l, "ETH") }, []ProblemCode{ProblemCanary}},
		"no Ethereum address":      {nil, func(l *Loaded) { eachTicker(l, "XBT") }, []ProblemCode{ProblemCanary}},
		"no address at all":        {nil, func(l *Loaded) { eachTicker(l, "") }, []ProblemCode{ProblemCanary, ProblemCanary}},
		"old total alone is known": {&Summary{Entities: 400}, func(l *Loaded) {}, []ProblemCode{ProblemShrunk}},
	} {
		t.Run(name, func(t *testing.T) {
			next := listOf(200, 100)
			test.next(&next)
			var got []ProblemCode
			for _, problem := range Check(test.old, &next, DefaultCanaries()) {
				require.NotEmpty(t, problem.Detail)
				require.Contains(t, problem.String(), string(problem.Code)+": ")
				got = append(got, problem.Code)
			}
			require.Equal(t, test.want, got)
		})
	}
	next := listOf(200, 100)
	next.Entities[0].Names = nil
	require.Empty(t, Check(nil, &next, Canaries{}))
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

// The real lists in their order of publication pass; turned around they do not.
func TestCheckRealLists(t *testing.T) {
	skipHeavy(t)
	loaded := func(path string) Loaded {
		list := realList(t, path)
		entities := append([]ofac.Entity(nil), list.Entities...)
		for i := range entities {
			entities[i].Lists = ofac.ListSDN
		}
		return Loaded{Entities: entities, Summary: summarize(&list, nil, entities)}
	}
	old, next := loaded("2025-11-04/sdn_advanced.xml.bz2"), loaded("2025-11-19/sdn_advanced.xml.bz2")
	require.Empty(t, Check(&old.Summary, &next, DefaultCanaries()))
	problems := Check(&next.Summary, &old, DefaultCanaries())
	require.Len(t, problems, 1)
	require.Equal(t, "older: SDN of 2025-11-04 would replace SDN of 2025-11-19", problems[0].String())
	first := loaded("2024-05-28/sdn_advanced.xml.bz2")
	require.Len(t, Check(&next.Summary, &first, DefaultCanaries()), 3) // Older, and 18 % smaller.
	delisted := loaded("2025-03-21/sdn_advanced.xml.bz2")              // 90 addresses less: no problem.
	before := loaded("2025-03-04/sdn_advanced.xml.bz2")
	require.Empty(t, Check(&before.Summary, &delisted, DefaultCanaries()))
}
