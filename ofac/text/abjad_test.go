package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbjadNames(t *testing.T) {
	for written, want := range map[string]string{
		"محمد الحوثي":                 "mohammad al houthi",
		"شركة النور للتجارة العامة":   "company al nur trading general",
		"عبد الرحمن":                  "abdal RHMN",
		"عبدالستار":                   "abdal STAR",
		"قاسم و برادران":              "qasim and brothers",
		"شرکت پارسیان":                "company BARSYAN",
		"بین\u200cالمللی":             "international", // With a zero-width non-joiner, as the next.
		"احمدی\u200cنژاد":             "AHMDY NZhAD",
		"م. الشامي":                   "m al ShAMY",
		"מוחמד בן עלי":                "mohammad bin ali",
		"עבד אל-קאדר":                 "abdal QADR",
		"חברת דרום בע\"מ":             "company DRWM ltd",
		"Mohammad خان":                "mohammad khan",
		"النور 2000 Ltd":              "al nur 2000 ltd",
		"\u202bمحمد\u202c \u064bعليّ": "mohammad ali",
		"ﻣﺤﻤﺪ":                        "mohammad", // Presentation forms.
	} {
		read, ok, _ := AppendAbjad(nil, written, true)
		require.True(t, ok, written)
		require.Equal(t, want, string(read), written)
	}
	for _, other := range []string{"Mohammad", "", "Мухаммад", "김정은", "mohammаd", "\u0640"} {
		_, ok, _ := AppendAbjad(nil, other, true)
		require.False(t, ok, other)
	}
}

// A word that is translated may be a name, too.
func TestAbjadWordsBySound(t *testing.T) {
	read, ok, translated := AppendAbjad(nil, "شركة الشرق", false)
	require.True(t, ok && translated)
	require.Equal(t, "company al ShRQ", string(read))
	_, ok, translated = AppendAbjad(nil, "محمد الحوثي", false)
	require.True(t, ok && !translated)
}

func TestAbjadSimilarity(t *testing.T) {
	for _, c := range []struct {
		written string
		alike   string
		strange string
	}{
		{"حوثي", "houthi huthi hothy", "hatha hadi hath"},
		{"فتحي", "fathi fathy fethi", "fatih fattah fata"},
		{"نورالدين", "nuruddin nouraldin noureddine", "nuri nurin"},
		{"رشيد", "rashid rasheed rachid rachide", "rashad rushdi rash"},
		{"قذافي", "qadhafi gaddafi kadhafi qazafi", "khatib qasim qadir"},
		{"رمضان", "ramadan ramazan ramadhan", "ramadi rahman"},
		{"أزهر", "azhar", "azar izhari"},
		{"إسحاق", "ishaq eshagh ishak", "ishraq saq"},
		{"وحيد", "wahid vahid waheed ouahid", "hadi ahad wahda"},
		{"تشاد", "chad tchad", "shad tad"},
		{"حاتم", "hatem hatim", "hatami hattab"},
		{"سارة", "sara sarah saarah", "saratov sri"},
		{"چنگیز", "changiz", "jangiz hangiz"},
		{"ژیلا", "zhila jila", "shila ila"},
		{"ח'ורי", "khoury khouri", "kori hur"},
		{"פישמן", "fishman", "bashman"},
		{"ג'בריל", "jibril gabril", "kabul"},
	} {
		var room [2 * WordBytesMax]byte
		signs := appendSigns(room[:0], c.written)
		for _, latin := range fields(c.alike) {
			require.GreaterOrEqual(t, AbjadSimilarity(signs, latin), int32(8000), "%s %s %s", c.written, signs, latin)
			require.True(t, shareKey(signs, latin), "%s %s %s", c.written, signs, latin)
		}
		for _, latin := range fields(c.strange) {
			require.True(t, !shareKey(signs, latin) || AbjadSimilarity(signs, latin) < 9000, "%s %s %s", c.written, signs, latin)
		}
	}
}

func fields(text string) (list [][]byte) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == ' ' {
			list, start = append(list, []byte(text[start:i])), i+1
		}
	}
	return list
}

func shareKey(signs, latin []byte) bool {
	for _, sought := range AppendSoughtKeys(nil, signs) {
		for _, listed := range AppendListedKeys(nil, latin) {
			if sought == listed {
				return true
			}
		}
	}
	return false
}

func TestHangulOfCompanies(t *testing.T) {
	for written, want := range map[string][2]string{
		"조선대성무역회사":  {"korea daeseong trading corporation", "korea taesong trading corporation"},
		"대성은행":      {"daeseong bank", "taesong bank"},
		"조선 광명 총회사": {"korea gwang myeong general corporation", "korea kwang myong general corporation"},
		"김정은":       {"gim jeong eun", "kim jong un"},
		"로은행":       {"ro eun haeng", "ro un haeng"}, // Three syllables are a person.
	} {
		south, ok := AppendSpoken(nil, []byte(written), false)
		require.True(t, ok)
		north, ok := AppendSpoken(nil, []byte(written), true)
		require.True(t, ok)
		require.Equal(t, want, [2]string{string(south), string(north)}, written)
	}
}

// A sought word has a bounded number of keys.
func FuzzAbjad(f *testing.F) {
	for _, seed := range []string{"محمد", "שלום", "ثثثثثثثثثث", "ג'ג'ג'", "ا", "ع", "ضضضض al"} {
		f.Add(seed, "mohammad")
	}
	f.Fuzz(func(t *testing.T, name, latin string) {
		read, _, _ := AppendAbjad(nil, name, true)
		for _, word := range fields(string(read)) {
			if len(word) == 0 || !IsAbjad(word) {
				continue
			}
			require.LessOrEqual(t, len(AppendSoughtKeys(nil, word)), abjadKeysMax)
			other := AppendWords(nil, latin, false)
			require.LessOrEqual(t, len(AppendListedKeys(nil, other)), 2)
			similarity := AbjadSimilarity(word, other[:min(len(other), WordBytesMax)])
			require.True(t, similarity == 0 || similarity >= WordFloor && similarity <= abjadEqual)
		}
	})
}
