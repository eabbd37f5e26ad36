package judge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac/feed"
)

const both = "SDN_ENHANCED 2026-03-10 + CONS_ENHANCED 2026-03-08"

func info(source string, sdn, cons uint32) *wire.ListInfo {
	return &wire.ListInfo{Source: source, SDN: sdn, CONS: cons, Entries: sdn + cons, PublishedAt: engine.Day(20522).Start()}
}

func with(info *wire.ListInfo, names, wallets uint32) *wire.ListInfo {
	changed := *info
	changed.Names, changed.Wallets = names, wallets
	return &changed
}

func chains(info *wire.ListInfo, counts ...wire.ChainCount) *wire.ListInfo {
	changed := *info
	changed.Chains = counts
	return &changed
}

func TestReplacement(t *testing.T) {
	active := info(both, 200, 100)
	sample := &wire.ListInfo{Source: "sample", SDN: 900, Entries: 1000, Sample: true}
	undated := info("SDN_CSV + CONS_CSV", 200, 100)
	later := *undated
	later.PublishedAt += engine.DayLength
	tests := []struct {
		name         string
		active, next *wire.ListInfo
		found        []string
		want         []feed.ProblemCode
	}{
		{"first list", nil, info(both, 9_900, 100), nil, nil},
		{"small first list", nil, info(both, 9_900, 99), nil, []feed.ProblemCode{ProblemSmall}},
		{"small first list after the sample", sample, info(both, 200, 100), nil, nil},
		{"80 % of each chain stay", chains(active, wire.ChainCount{Chain: "EVM", Count: 100}, wire.ChainCount{Chain: "XMR", Count: 9}),
			chains(active, wire.ChainCount{Chain: "EVM", Count: 80}), nil, nil},
		{"one chain below 80 %", chains(active, wire.ChainCount{Chain: "BTC", Count: 500}, wire.ChainCount{Chain: "TRON", Count: 100}),
			chains(active, wire.ChainCount{Chain: "BTC", Count: 500}, wire.ChainCount{Chain: "TRON", Count: 79}), nil, []feed.ProblemCode{feed.ProblemWallets}},
		{"a chain of ten is gone", chains(active, wire.ChainCount{Chain: "DASH", Count: 10}), chains(active), nil, []feed.ProblemCode{feed.ProblemWallets}},
		{"the same again", active, info(both, 200, 100), nil, nil},
		{"newer", active, info("SDN_ENHANCED 2026-03-11 + CONS_ENHANCED 2026-03-08", 200, 100), nil, nil},
		{"empty", active, info(both, 0, 0), nil, []feed.ProblemCode{ProblemEmpty}},
		{"older SDN", active, info("SDN_ENHANCED 2026-03-09 + CONS_ENHANCED 2026-03-08", 200, 100), nil, []feed.ProblemCode{ProblemOlder}},
		{"older CONS under a newer SDN", active, info("SDN_ENHANCED 2026-03-11 + CONS_ENHANCED 2026-03-07", 200, 100), nil, []feed.ProblemCode{ProblemOlder}},
		{"no date in the new list", active, info("SDN_CSV + CONS_CSV", 200, 100), nil, nil},
		{"no date in the active list", &later, info(both, 200, 100), nil, nil},
		{"no family is dated, an older file", &later, undated, nil, []feed.ProblemCode{ProblemOlder}},
		{"95 % stay", active, info(both, 190, 95), nil, nil},
		{"SDN below 95 %", active, info(both, 189, 100), nil, []feed.ProblemCode{ProblemShrunk}},
		{"CONS below 95 %", active, info(both, 200, 94), nil, []feed.ProblemCode{ProblemShrunk}},
		{"both below 95 %", active, info(both, 189, 94), nil, []feed.ProblemCode{ProblemShrunk, ProblemShrunk, ProblemShrunk}},
		{"95 % of the names stay", with(active, 1000, 100), with(active, 950, 80), nil, nil},
		{"names below 95 %", with(active, 1000, 100), with(active, 949, 100), nil, []feed.ProblemCode{ProblemShrunk}},
		{"wallets below 80 %", with(active, 1000, 100), with(active, 1000, 79), nil, []feed.ProblemCode{feed.ProblemWallets}},
		{"much larger", active, info(both, 20_000, 100), nil, nil},
		{"CONS is gone", active, info(both, 300, 0), nil, []feed.ProblemCode{ProblemFamilyMissing}},
		{"SDN is gone", active, info(both, 0, 300), nil, []feed.ProblemCode{ProblemFamilyMissing}},
		{"first list without SDN", nil, info(both, 0, 30_000), nil, []feed.ProblemCode{ProblemFamilyMissing}},
		{"first list without CONS", nil, info(both, 30_000, 0), nil, nil},
		{"the sample is no measure", sample, info(both, 20, 1), nil, nil},
		{"the sample over a published list", active, sample, nil, []feed.ProblemCode{ProblemSample}},
		{"what the content showed", active, info(both, 200, 100), []string{"canary: x"}, []feed.ProblemCode{feed.ProblemCanary}},
		{"told once", nil, info(both, 0, 30_000), []string{"family_missing: the new list has no SDN entries", "canary: x"}, []feed.ProblemCode{ProblemFamilyMissing, feed.ProblemCanary}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var codes []feed.ProblemCode
			for _, problem := range Replacement(test.active, test.next, test.found) {
				code, detail, _ := strings.Cut(problem, ": ")
				require.NotEmpty(t, detail)
				codes = append(codes, feed.ProblemCode(code))
			}
			require.Equal(t, test.want, codes)
		})
	}
	require.Equal(t, []string{
		"older: SDN of 2026-03-09 would replace SDN of 2026-03-10",
		"shrunk: SDN would shrink from 200 to 150 entries: at least 95 % must stay",
		"shrunk: the whole list would shrink from 300 to 250 entries: at least 95 % must stay",
	}, Replacement(active, info("SDN_ENHANCED 2026-03-09 + CONS_ENHANCED 2026-03-08", 150, 100), nil))
	require.Equal(t, []string{"canary: x"}, Content(info(both, 20, 10), []string{"canary: x"}), "an upload is not held to its size")
	require.Equal(t, []string{"empty: the new list has no entry"}, Content(info(both, 0, 0), nil))
}

func TestMissing(t *testing.T) {
	require.Equal(t, []string{"CONS"}, Missing(info("SDN_CSV", 20_000, 0)))
	require.Equal(t, []string{"SDN"}, Missing(info("CONS_CSV", 0, 20_000)))
	require.Empty(t, Missing(info(both, 2, 1)))
	require.Empty(t, Missing(&wire.ListInfo{SDN: 9, Sample: true}))
}
