package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

func containedList(t testing.TB) *Index {
	return mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "MADURO MOROS, Nicolas"),
		listtest.Named(2, list.Individual, list.ListSDN, "BOUT, Viktor Anatolijevitch", "BOUT, Viktor"),
		listtest.Weak(listtest.Named(3, list.Company, list.ListSDN, "LAZARUS GROUP"), "ZINC GANG"),
		listtest.Named(4, list.Company, list.ListSDN, "BANK MELLI IRAN"),
		listtest.Named(5, list.Company, list.ListSDN, "STROYTRANSGAZ OJSC"),
		listtest.Named(6, list.Vessel, list.ListSDN, "GOLDEN BRIDGE"),
		listtest.Named(7, list.Company, list.ListSDN, "AL QODS", "OPEL"),
		listtest.Named(8, list.Individual, list.ListSDN, "RAHMAN, Abdur", "ABDURRAHMAN"),
		listtest.Named(9, list.Company, list.ListSDN, "T-BANK"),
		listtest.Named(10, list.Individual, list.ListSDN, "FLORES, Cilia Adela", "FLORES, Cilia"),
	})
}

// A listed name of two words or more is at least possible, whatever words stand around it.
func TestListedNamesAmongOtherWords(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	prose := strings.Repeat("please pay the amount that was agreed upon last week to ", 6)
	for query, uid := range map[string]uint32{
		"Nicolas Maduro Moros account 48291":     1,
		"Maduro Moros Nicolas, Caracas":          1,
		"moros maduro nicolas DUBAI":             1,
		"LAZARUS GROUP HK":                       3,
		"BANK MELLI IRAN FRANKFURT BRANCH":       4,
		"VIKTOR BOUT LONDON BRANCH":              2,
		"ATTN LAZARUS GROUP":                     3,
		"c/o Lazarus-Group":                      3,
		"MADURO MOROS OR CILIA FLORES":           10,
		"Smith and Lаzаrus Grоup":                3, // look-alikes
		"LAZARUSGROUP HK":                        3,
		"payee La Zar Us Gro Up of Pyongyang":    3, // spaces in other places
		"Lazarus Group Ltd. Pyongyang":           3,
		"STROYTRANSGAZ OJSC ACCOUNT 48291":       5,
		"stroytransgaz open joint stock company": 5,
		"ACME FOR STROYTRANSGAZ OAO MOSCOW":      5,
		"Golden Bridge IMO 9222222":              6,
		prose + "Lazarus Group":                  3,
		prose + "Lazarus Group " + prose:         3,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotZero(t, result.Outcome, query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	for _, query := range []string{
		"Opel Smith", "M&T Bank", "Abdurrahman Khan", "Golden Bridge Shipping Co. Ltd", "Lazarus Consulting", "Group Lazarette Nine",
		"Zinc Gang Berlin",
	} {
		require.Equal(t, Clear.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A name among other words never blocks by itself, and an officer may clear it.
func TestAContainedNameIsPossibleOnly(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	result := list.Screen(&Query{Name: "Lazarus Group Pyongyang branch office"}, scratch)
	require.Equal(t, Possible, result.Outcome)
	require.Equal(t, SubContained.String(), result.Matches[0].Sub.String())
	require.Equal(t, int32(containedScore-3*containedPerExtra), result.Matches[0].Score)
	result = list.Screen(&Query{Name: "Lazarus Group Pyongyang branch office", ClearedUIDs: []uint32{3}}, scratch)
	require.Equal(t, Clear, result.Outcome)
	result = list.Screen(&Query{Name: "Zinc Gang Berlin", WeakAliases: true}, scratch)
	require.Equal(t, Possible, result.Outcome)
	require.Equal(t, SubWeakAlias, result.Matches[0].Sub)
}

// JR, SR, II, III, ESQ, PHD and MD are titles: the name is what stands before them.
func TestSuffixesOfPersonsAreTitles(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	for _, suffix := range []string{"Jr", "SR.", "II", "iii", "Esq.", "PhD", "M.D."} {
		result := list.Screen(&Query{Name: "Viktor Bout " + suffix}, scratch)
		require.Equal(t, Listed.String(), result.Outcome.String(), suffix)
	}
}

// A result says Truncated when the query is longer than the matcher reads.
func TestLongNamesAreReadInPart(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	require.False(t, list.Screen(&Query{Name: strings.Repeat("peace ", 20)}, scratch).Truncated)
	require.True(t, list.Screen(&Query{Name: strings.Repeat("abcde fghij klmno ", 20)}, scratch).Truncated)
}

// A result says Truncated when the query contains more listed names than are looked at.
func TestMoreNamesInsideThanAreLookedAt(t *testing.T) {
	var entities []list.Entity
	for uid := range uint32(100) {
		entities = append(entities, listtest.Named(uid+1, list.Individual, list.ListSDN, "AHMEDOV, Kasim"))
	}
	list, scratch := mustBuild(t, entities), NewScratch()
	require.False(t, list.Screen(&Query{Name: "payee Kasim Ahmedov"}, scratch).Truncated)
	result := list.Screen(&Query{Name: strings.Repeat("Kasim Ahmedov ", containedHitsMax/100+2)}, scratch)
	require.NotEqual(t, Clear, result.Outcome)
	require.True(t, result.Truncated)
}

func BenchmarkContainedWorst(b *testing.B) {
	list, scratch := containedList(b), NewScratch()
	query := Query{Name: strings.Repeat("a b c ", 85)}
	for b.Loop() {
		list.Screen(&query, scratch)
	}
}

// If a field holds several parties, each is screened for itself, including near spellings.
// A near name in a part leads to a review and never blocks.
func TestPartiesOfOneFieldAreScreenedApart(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	for _, query := range []string{
		"Oliver Bennett or Nicolas Madura Moros", "NICOLAS MADURO MOROZ / Oliver Bennett", "Oliver Bennett & Nikolas Maduro Moros", "A B; Nicolas Maduro Moross; C D",
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, Possible.String(), result.Outcome.String(), query)
		require.Equal(t, uint32(1), result.Matches[0].UID, query)
	}
	require.Equal(t, Clear.String(), list.Screen(&Query{Name: "Oliver Bennett or Jane Public"}, scratch).Outcome.String())
}

// Payment words around a name lower its score little. A name spelled out letter by letter
// is found among other words.
func TestWordsOfThePayment(t *testing.T) {
	list, scratch := containedList(t), NewScratch()
	for _, query := range []string{
		"ATTN Nikolas Maduro Moros", "Nicolas Madura Moros account 48291", "the Lazarus Groupe", "Payment to L-A-Z-A-R-U-S G-R-O-U-P ref 123456",
		"to N I C O L A S  M A D U R O  M O R O S  D U B A I",
	} {
		require.NotEqual(t, Clear.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// Two initials written as one word are read as a person's, even if they could be a legal form.
func TestInitialsWrittenTogether(t *testing.T) {
	list := mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "DERIPASKA, Oleg Vladimirovich"), listtest.Named(2, list.Individual, list.ListSDN, "ZELENKOV, Boris Viktorovich"),
		listtest.Named(3, list.Individual, list.ListSDN, "KHAMENEI, Ali"), listtest.Named(4, list.Individual, list.ListSDN, "IVANOV, Ivan Ivanovich"), listtest.Named(5, list.Company, list.ListSDN, "STERN BAU"),
	})
	scratch := NewScratch()
	found := func(name string) (uids []uint32, outcome Outcome) {
		result := list.Screen(&Query{Name: name}, scratch)
		for _, m := range result.Matches {
			uids = append(uids, m.UID)
		}
		return uids, result.Outcome
	}
	for _, name := range []string{"Deripaska O.V.", "O.V. Deripaska", "DERIPASKA O.V", "Deripaska, O.V.", "Дерипаска О.В.", "Deripaska O. V.", "Deripaska O V"} {
		uids, outcome := found(name)
		require.Equal(t, []uint32{1}, uids, name)
		require.Equal(t, Possible, outcome, name)
	}
	uids, outcome := found("Zelenkov B.V.") // B.V. is a legal form as well.
	require.Equal(t, []uint32{2}, uids)
	require.Equal(t, Possible, outcome)
	for _, name := range []string{"Deripaska K.V.", "Deripaska St.O.V.", "Deripaska O.V.I.P.A.S.", "O.V.", "Stern A.G.", "."} {
		uids, _ := found(name)
		require.Empty(t, uids, name)
	}
	for _, name := range []string{"Seyyed Ali Khamenei", "Sayyid Ali Khamenei", "Ayatollah Ali Khamenei"} {
		uids, outcome := found(name)
		require.Equal(t, []uint32{3}, uids, name)
		require.Equal(t, Listed, outcome, name)
	}
}

// An East Asian name is one word, and other words may be attached to it without a space.
func TestNamesOfEastAsiaAmongOtherWords(t *testing.T) {
	list := mustBuild(t, []list.Entity{
		listtest.Named(1, list.Company, list.ListSDN, "亚新通用机械有限公司"), listtest.Named(2, list.Company, list.ListSDN, "조선새날무역회사"), listtest.Named(3, list.Company, list.ListSDN, "四代目山健組"),
		listtest.Named(4, list.Individual, list.ListSDN, "김정은"), listtest.Named(5, list.Company, list.ListSDN, "弘道会"),
	})
	scratch := NewScratch()
	for query, uid := range map[string]uint32{
		"ATTN 亚新通用机械有限公司 2025": 1, "支付亚新通用机械有限公司货款": 1, "亚新通用机械有限公司货款": 1, "支付 亚新通用机械有限公司": 1, "조선새날무역회사 대금": 2, "대금조선새날무역회사": 2, "四代目山健組 御中": 3,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Len(t, result.Matches, 1, query)
		require.Equal(t, uid, result.Matches[0].UID, query)
		require.Equal(t, Possible, result.Outcome, query)
	}
	require.Equal(t, Listed, list.Screen(&Query{Name: "亚新通用机械有限公司"}, scratch).Outcome)
	for _, query := range []string{"北京通用机械有限公司", "弘道会館書店", "통일김정은행무역회사", "机械有限公司"} {
		require.Equal(t, Clear, list.Screen(&Query{Name: query}, scratch).Outcome, query)
	}
	long := strings.Repeat("亚", 80)
	require.Equal(t, Clear, list.Screen(&Query{Name: long}, scratch).Outcome)
}
