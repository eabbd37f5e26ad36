package text

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Words in letters that no table reads are found and named; what is read, and what is no letter, is not.
func TestUnreadWords(t *testing.T) {
	for name, want := range map[string][]UnreadWord{
		"สมชาย ใจดี":          {{"สมชาย", "Thai"}, {"ใจดี", "Thai"}},
		"ហ៊ុន សែន":            {{"ហ៊ុន", "Khmer"}, {"សែន", "Khmer"}},
		"नरेंद्र Modi":        {{"नरेंद्र", "Devanagari"}},
		"Abiy አህመድ":           {{"አህመድ", "Ethiopic"}},
		"শেখ, রহমান":          {{"শেখ", "Bengali"}, {"রহমান", "Bengali"}},
		"முருகன்":             {{"முருகன்", "Tamil"}},
		"မြန်မာ":              {{"မြန်မာ", "Myanmar"}},
		"ꦗꦮ 𐐀":                {{"ꦗꦮ", "Javanese"}, {"𐐀", "another script"}},
		"Maduro🙂 ½ ②":         nil,
		"Nicolás Mаduro Đặng": nil,
		"Николай Өмүрбек":     nil,
		"Νικόλαος":            nil,
		"محمد علی":            nil,
		"משה":                 nil,
		"გიორგი":              nil,
		"Արմեն":               nil,
		"习近平 習近平 ﾏﾄﾞｰﾛ":       nil,
		"マドゥーロ・ひらがな":          nil,
		"김정은":                 nil,
		"๑๒๓ १२ ៛ ฿ ์":        nil,
		"ʻOkina ʹ ˈstress ꜜ":  nil,
		"?? \u202e\u200d !":   nil,
		"\xff\xfe":            nil,
		"ا\u0670":             nil,
		"Ⅳ, ４２ and 𝐌𝐚𝐝𝐮𝐫𝐨 Ｏｋ": nil,
	} {
		require.Equal(t, want, UnreadWords(name, 8), name)
		require.Equal(t, want != nil, HasUnread(name), name)
	}
	require.Len(t, UnreadWords("ก ข ค ง", 3), 3)
}

// Every letter of a script that is read in Latin letters is known to be read, and every other one to be
// unread: none is neither.
func TestEveryLetterIsReadOrUnread(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		entry := folds.entryOf(r)
		if !unicode.IsLetter(r) || isModifier(r) {
			continue
		}
		switch {
		case entry.kind == foldDrop, entry.kind >= foldLatin && entry.kind != foldNative:
			require.False(t, HasUnread(string(r)), "%U", r)
		case unicode.In(r, unicode.Thai, unicode.Khmer, unicode.Devanagari, unicode.Ethiopic, unicode.Tamil, unicode.Bengali, unicode.Myanmar, unicode.Lao, unicode.Sinhala, unicode.Tibetan):
			require.True(t, HasUnread(string(r)), "%U", r)
		case unicode.In(r, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			require.False(t, HasUnread(string(r)), "%U", r)
		}
	}
}

func TestLettersOrDigits(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, " 7": true, "é": true, "孫": true, "ส": true, "๑": true, "": false, "???": false, "🙂🙂": false, " - ": false, "&": false, "\u202e\u0301": false,
	} {
		require.Equal(t, want, HasLetters(name), "%q", name)
	}
}
