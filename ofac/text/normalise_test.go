package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestNormaliseName(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"case and spaces":           {"  Acme   PAYMENTS ", "acme payments"},
		"comma":                     {"MADURO MOROS, Nicolas", "maduro moros nicolas"},
		"accents":                   {"TREVIÑO MORALES, Omar", "trevino morales omar"},
		"accents apart":             {"TREVIN\u0303O", "trevino"},
		"special letters":           {"Straße Łódź Ærø İŞ", "strasse lodz aero is"},
		"apostrophes vanish":        {"Mu'assasat Qur’an ʿAbd", "muassasat quran abd"},
		"ampersand":                 {"G&G Internacional", "g and g internacional"},
		"hyphen parts":              {"AL-QUDS", "al quds"},
		"acronym":                   {"J.P. Morgan", "jp morgan"},
		"dotted domain":             {"Blender.io", "blender io"},
		"limited":                   {"Acme Limited", "acme ltd"},
		"llc with dots":             {"Acme L.L.C.", "acme llc"},
		"russian llc":               {"Общество с ограниченной ответственностью Ромашка", "llc romashka"},
		"public jsc":                {"PUBLIC JOINT STOCK COMPANY GAZPROM", "jsc gazprom"},
		"form at the end":           {"Gazprom PAO", "gazprom jsc"},
		"only a legal form":         {"Limited", "limited"},
		"full width":                {"Ａｃｍｅ", "acme"},
		"mathematical":              {"𝐀𝐜𝐦𝐞", "acme"},
		"zero width":                {"Ac\u200bme\u00ad", "acme"},
		"cyrillic look-alike":       {"Nicоlаs Mаdurо", "nicolas maduro"},
		"cyrillic word":             {"Сечин", "sechin"},
		"latin letter in cyrillic":  {"Вiталiївна", "vitaliyivna"},
		"greek":                     {"Παπαδόπουλος", "papadopoylos"},
		"arabic":                    {"محمد قيصر", "mohammad qysr"},
		"hangul":                    {"조선", "조선"},
		"han next to latin":         {"华为HUAWEI", "华为 huawei"},
		"zero for o":                {"MADUR0", "maduro"},
		"number stays":              {"UNIT 110", "unit 110"},
		"punctuation only":          {"-- ,.;", ""},
		"empty":                     {"", ""},
		"bad utf-8 dropped":         {"Mad\xffuro", "maduro"},
		"direction marks":           {"\u202eAcme\u202c", "acme"},
		"emoji ends a word":         {"Acme😀Pay", "acme pay"},
		"number in an old script":   {"Unit ٣", "unit 3"},
		"small capitals look-alike": {"ᴀᴄᴍᴇ", "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, NormaliseName(c.in))
		})
	}
}

// The table is frozen. Where it folds Latin letters, it must agree with the standard
// decomposition.
func TestFoldTableAgreesWithDecomposition(t *testing.T) {
	for r := rune(0xC0); r < 0x250; r++ {
		base := []rune(norm.NFD.String(string(r)))
		if base[0] >= utf8.RuneSelf || base[0] == r || r == 'İ' {
			continue
		}
		require.Equal(t, strings.ToLower(string(base[0])), NormaliseName(string(r)), "%c", r)
	}
}

func TestAppendNormalisedDoesNotAllocate(t *testing.T) {
	room := make([]byte, 0, 512)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		room = AppendNormalised(room[:0], "Общество с ограниченной ответственностью Ромашка, Kazan")
	}))
	require.Equal(t, "x acme", string(AppendNormalised([]byte("x "), "ACME")))
}

func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{"", "Acme L.L.C.", "ООО Ромашка", "a.b.c", "A&B", "\xff\xfe", "محمد علي", strings.Repeat("a ", 400)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := NormaliseName(name)
		require.True(t, utf8.ValidString(got))
		require.Equal(t, got, string(AppendNormalised([]byte("p"), name)[1:]))
		require.NotContains(t, got, "  ")
		require.Equal(t, strings.TrimSpace(got), got)
		require.Equal(t, got, strings.ToLower(got))
	})
}

// slowWords is AppendWords without the short way for plain words.
func slowWords(name string, lookAlike bool) []byte {
	var dst []byte
	for i := 0; i < len(name); {
		word := scanWord(name, i)
		if word.and {
			dst = append(AppendSeparator(dst, 0), "and"...)
		}
		if word.letters > 0 {
			dst = AppendSeparator(dst, 0)
			mark := len(dst)
			dst = appendWord(dst, name[i:word.end], &word, lookAlike)
			if len(dst) == mark && len(dst) > 0 {
				dst = dst[:len(dst)-1]
			} else if word.digits > 0 {
				readDigitsAsLetters(dst[mark:], lookAlike)
			}
			if lookAlike && mark <= len(dst) {
				dst = squeezeLetters(dst, mark)
			}
		}
		i = word.next
	}
	return dst
}

// TestPlainWordsFoldAsOthers checks that the short way for words of A to Z gives the same
// as the long one.
func TestPlainWordsFoldAsOthers(t *testing.T) {
	pieces := []string{"Acme", "a", "LAAAZARUS", "AAA", " ", "  ", ", ", ".", "L.L.C.", "J.P", "&", "'", "-", "/", "0", "MADUR0", "1", "\t", "é", "Д", "о", "\u200b", "😀", "\xff", "`", "_", "~"}
	choose := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		name := ""
		for range choose.IntN(7) {
			name += pieces[choose.IntN(len(pieces))]
		}
		for _, lookAlike := range []bool{false, true} {
			require.Equal(t, string(slowWords(name, lookAlike)), string(AppendWords(nil, name, lookAlike)), "%q", name)
		}
	}
}
