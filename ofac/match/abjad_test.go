package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// Names that are listed in Latin alone are found in scripts that leave vowels out, in Hangul and in Han. What is read
// so is a guess: it is reviewed and never blocked.
func TestGuessedReadingsAreReviewed(t *testing.T) {
	named := listtest.Named
	list := mustBuild(t, []list.Entity{
		named(1, list.Individual, list.ListSDN, "AL-HOUTHI, Abdul Karim Badraddin"), named(2, list.Individual, list.ListSDN, "GHALIBAF, Mohammad Bagher"),
		named(3, list.Company, list.ListSDN, "AL-NOOR GENERAL TRADING COMPANY"), named(4, list.Company, list.ListSDN, "PARCHIN INDUSTRIES"),
		named(5, list.Company, list.ListSDN, "KOREA DAESONG TRADING CORPORATION"), named(6, list.Individual, list.ListSDN, "KANG, Mun-kil"),
		named(7, list.Individual, list.ListSDN, "JABARIN, Rustam Fakhri"), named(8, list.Individual, list.ListSDN, "SHARGHI, Parviz"),
		named(9, list.Individual, list.ListSDN, "KIM, Jong Un"), named(10, list.Individual, list.ListSDN, "LEE, Ka-chiu"), named(11, list.Individual, list.ListSDN, "RI, Myong Hun"),
	})
	scratch := NewScratch()
	for name, c := range map[string]struct {
		query string
		uid   uint32
		want  Outcome
	}{
		"Arabic":                        {"عبد الكريم بدر الدين الحوثي", 1, Possible},
		"Arabic, a middle name missing": {"عبدالكريم الحوثي", 1, Possible},
		"Persian":                       {"محمد باقر قالیباف", 2, Possible},
		"Persian, Arabic keyboard":      {"محمد باقر قاليباف", 2, Possible},
		"Arabic company":                {"شركة النور للتجارة العامة", 3, Possible},
		"Persian company":               {"صنایع پارچین", 4, Possible},
		"Hangul company":                {"조선대성무역회사", 5, Possible},
		"Hangul person, North":          {"강문길", 6, Possible},
		"Hebrew":                        {"רוסתם פח'רי ג'בארין", 7, Possible},
		"a word that is translated":     {"پرویز شرقی", 8, Possible},
		"Han, a Korean":                 {"金正恩", 9, Possible},
		"Han, of Hong Kong":             {"李家超先生", 10, Possible},
		"Han, a syllable more":          {"金正恩秀", 9, Clear},
		"Han, a syllable less":          {"李明", 11, Clear},
		"another Arabic name":           {"عبد الله الحمادي", 1, Clear},
		"another Arabic company":        {"شركة الشمس للتجارة العامة", 3, Clear},
		"another Korean company":        {"조선평화무역회사", 5, Clear},
		"another Hebrew name":           {"דוד כהן", 7, Clear},
	} {
		t.Run(name, func(t *testing.T) {
			query := Query{Name: c.query}
			match, ok := list.ScreenEntry(c.uid, &query, scratch)
			require.Equal(t, c.want, match.Outcome, "%v", match)
			require.Equal(t, c.want != Clear, ok)
			require.NotEqual(t, Listed, list.Screen(&query, scratch).Outcome)
		})
	}
}

// A slip is seen in names that are listed in an abjad, too, and such names block as they are listed.
func TestListedAbjadNames(t *testing.T) {
	entity := listtest.Named(1, list.Individual, list.ListSDN, "SULAYMANI, Qasem")
	entity.Names = append(entity.Names, list.Name{ID: 901, AliasType: "A.K.A.", Script: "Arabic", Full: "سلیمانی، قاسم منتظری"})
	list := mustBuild(t, []list.Entity{entity})
	for query, want := range map[string]Outcome{"قاسم منتظری سلیمانی": Listed, "قاسم منتطری سلیمانی": Possible, "قاسم منتظري سليماني": Listed} {
		require.Equal(t, want, list.Screen(&Query{Name: query}, NewScratch()).Outcome, query)
	}
}
