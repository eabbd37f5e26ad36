package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// East Asian names are found in other romanisations than the list's.
func TestRomanisations(t *testing.T) {
	list := mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "MAO, Zedong"), listtest.Named(2, list.Individual, list.ListSDN, "XI, Jinping"),
		listtest.Named(3, list.Individual, list.ListSDN, "DENG, Xiao Ping"), listtest.Named(4, list.Individual, list.ListSDN, "KIM, Jong Un"),
		listtest.Named(5, list.Individual, list.ListSDN, "JANG, Song Thaek"), listtest.Named(6, list.Individual, list.ListSDN, "ZHANG, Zhong Liang"),
		listtest.Named(7, list.Individual, list.ListSDN, "CHIANG, Ching-kuo"), listtest.Named(8, list.Individual, list.ListSDN, "조, 명록"),
		listtest.Named(9, list.Company, list.ListSDN, "BRIGADE 44"), listtest.Named(10, list.Individual, list.ListSDN, "PAK, Pong Ju"),
	})
	scratch := NewScratch()
	for name, c := range map[string]struct {
		query string
		uid   uint32
		want  bool
	}{
		"wade-giles":                       {"Mao Tse-tung", 1, true},
		"wade-giles with apostrophes":      {"Hsi Chin-p'ing", 2, true},
		"pinyin with tones":                {"Xí Jìnpíng", 2, true},
		"pinyin split":                     {"Mao Ze Dong", 1, true},
		"pinyin joined":                    {"Deng Xiaoping", 3, true},
		"wade-giles of a split name":       {"Teng Hsiao-p'ing", 3, true},
		"long halves joined":               {"Zhang Zhongliang", 6, true},
		"pinyin of a wade-giles name":      {"Jiang Jingguo", 7, true},
		"given name first":                 {"Zedong Mao", 1, true},
		"revised romanisation":             {"Gim Jeongeun", 4, true},
		"mccune-reischauer":                {"Kim Chŏng-ŭn", 4, true},
		"common newspaper spelling":        {"Kim Jong-un", 4, true},
		"the South for the North":          {"Jang Seong-taek", 5, true},
		"voiced letters of the South":      {"Park Bong-ju", 10, true},
		"hangul":                           {"김정은", 4, true},
		"hangul, decomposed":               {"\u1100\u1175\u11b7\u110c\u1165\u11bc\u110b\u1173\u11ab", 4, true},
		"hangul, parted":                   {"김 정은", 4, true},
		"hangul as listed":                 {"조명록", 8, true},
		"hangul as listed, decomposed":     {"\u110c\u1169\u1106\u1167\u11bc\u1105\u1169\u11a8", 8, true},
		"another syllable":                 {"Kim Jong Nam", 4, false},
		"two pinyin names of one spelling": {"Zhong Zedong", 1, false},
		"number in words":                  {"Brigade Forty-Four", 9, true},
		"another number":                   {"Brigade Forty-Five", 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			match, ok := list.ScreenEntry(c.uid, &Query{Name: c.query}, scratch)
			require.Equal(t, c.want, ok && match.Outcome >= Possible, "%+v", match)
		})
	}
}
