package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

// evidenceList has enough entries that some words are rare and others common.
func evidenceList(t testing.TB) *Index {
	compiled := []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "BERNARD, Martin"),
		listtest.Named(2, list.Individual, list.ListSDN, "MAMMADOV, Vladimir"),
		listtest.Named(3, list.Individual, list.ListSDN, "WIDODO, Claude"),
		listtest.Named(4, list.Individual, list.ListSDN, "FRIEDRICH, Hans Joachim"),
		listtest.Named(5, list.Individual, list.ListSDN, "AL-RAWI, Saif al-Din Fulayyih Hassan Taha"),
		listtest.Named(6, list.Individual, list.ListSDN, "AL-MASRI, Saif Bin Ibrahim"),
		listtest.Named(7, list.Individual, list.ListSDN, "MADURO, Nicolas"),
		listtest.Named(8, list.Individual, list.ListSDN, "ORTEGA, Hans Omar"),
		listtest.Named(9, list.Individual, list.ListSDN, "GONZALEZ PENUELAS, Ignacio"),
		listtest.Named(10, list.Individual, list.ListSDN, "KHALIDOV, Ruslan K."),
	}
	for i := range uint32(400) {
		compiled = append(compiled, listtest.Named(1000+i, list.Individual, list.ListSDN, fmt.Sprintf("NUMBER%c%c, Other%c%c", 'A'+i%26, 'A'+i/26, 'A'+i/26, 'A'+i%26)))
	}
	return mustBuild(t, compiled)
}

// Letters that look alike in print are read as one another: rn as m, cl as d, vv as w, l as
// i, one of them or all.
func TestWordsAreReadAsTheyPrint(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, uid := range map[string]uint32{
		"Rnartin Bemard":        1,
		"VLADIRNIR MAMRNADOV":   2,
		"vladirnir rnarnrnadov": 2,
		"VIADIMIR MAMMACLOV":    2,
		"CLAUCLE WICLODO":       3,
		"DAUDE WIDODO":          3,
		"NICOIAS MADURO":        7,
		"NlCOIAS MACLURO":       7,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, Possible.String(), result.Outcome.String(), query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	for _, query := range []string{"Rnarth Barnard", "Claude Vividodi"} {
		require.Equal(t, Clear.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A handle is read as the words in it. If a part is short, the handle is one word.
func TestHandlesAreReadApart(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"NicolazMaduro":       Possible,
		"MaduroNicolaz":       Possible,
		"HansJoachimFridrich": Listed,
		"NicMaduro":           Clear,
		"Nicolaz7Maduro":      Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
	require.Equal(t, "nicolaz maduro", string(text.AppendHandleApart(nil, "NicolazMaduro")))
	for _, name := range []string{"", "Nicolas", "McDonald", "nicolas", "MADURO", "Nicolas Maduro", "NicolasM", "NMaduro"} {
		require.Empty(t, text.AppendHandleApart(nil, name), name)
	}
}

// A listed person whose names do not begin with the query's initial is another person.
func TestAnotherInitialIsAnotherPerson(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Hans Friedrich":        Possible,
		"Hans J Friedrich":      Possible,
		"Hans O. Friedrich":     Clear,
		"HANS O FRIEDRICH":      Clear,
		"Hans O Ortega":         Possible, // this o is no part of c/o
		"Ignacio Gonzalez P":    Possible, // initial of the second last name
		"Ruslan Khalidov":       Possible,
		"Ruslan K Khalidov":     Listed,
		"Ruslan Murad Khalidov": Clear,
		"Ruslan Karim Khalidov": Possible,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A person is not matched with a listed one whose father has the same name.
func TestTheFatherIsAnotherPerson(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Saif bin Ibrahim al-Masri":  Listed,
		"Saif al-Masri":              Possible,
		"Ibrahim bin Yunus al-Masri": Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A line that ends with an article counts as cut only if no hyphen binds the article to
// another word.
func TestALineThatGoesOnIsNotCut(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL":                     Possible, // 35 characters
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL 12 HIGH ST LONDON":   Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL/12 HIGH ST LONDON":   Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL-RAWI 12 HIGH STREET": Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL-MOSULI":              Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A name that a payment system cut to its line is found by the rest, if that is as rare as
// two names.
func TestCutNamesAreFound(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"GONZALEZ PENUELAS,":        Possible, // 18 characters
		"GONZALEZ PENUELAS, I":      Possible, // 20 characters
		"GONZALEZ PENUELAS, Ig":     Clear,    // 21 characters: no system cuts there
		"GONZALEZ PENUELAS, Ign":    Possible, // 22 characters
		"Ignacio GONZALEZ":          Possible, // complete words of the name
		"Ignacio GONZALEZ P":        Possible, // 18 characters
		"Ignacio GONZALEZ PENUE":    Possible, // 22 characters
		"Ignacio GONZALES PENUE":    Clear,    // not the beginning of the name
		"  Ignacio GONZALEZ PENUE ": Possible,
		"Saif al-Din Fula":          Possible, // 16 characters
		"Saif al-Din":               Clear,
		"Saif al-Din Fulayyih":      Clear, // 20 characters, but only first names
		"Saif al-Din Fulayyih H":    Possible,
		"HANS JOACHIM FRI":          Possible,
		"Hans Joachim":              Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
	result := list.Screen(&Query{Name: "Ignacio GONZALEZ PENUE"}, scratch)
	require.Equal(t, uint32(9), result.Matches[0].UID)
	require.Equal(t, SubTruncated.String(), result.Matches[0].Sub.String())
}

// Kana of any width are romanised, in the query and in the list, and this reading never
// blocks anybody.
func TestKanaAreReadAloud(t *testing.T) {
	for name, want := range map[string]string{
		"クロサワ シンジ": "kurosawa shinji", "くろさわ　しんじ": "kurosawa shinji", "ｸﾛｻﾜ ｼﾝｼﾞ": "kurosawa shinji", "カ\u3099・ハ\u309a": "ga pa",
		"シャチョウ": "shachou", "キュウ": "kyuu", "ファティマ": "fatima", "ヴィクトル": "vikutoru", "ｳﾞｨ": "vi", "ﾌﾟ-ﾁﾝ": "puchin", "シェフ": "shefu", "ジュン": "jun",
		"ッ\u3099ﾞ": "", "ーァ": "a", "ャﾞ": "ya", "Barack オバマ": "", "黒澤": "", "Kurosawa": "", "": "", "・": "",
	} {
		words, ok := text.AppendKana(nil, name)
		require.Equal(t, want, string(words), name)
		require.Equal(t, want != "", ok, name)
	}
	list, scratch := mustBuild(t, append(listtest.NumberedEntities(400),
		listtest.Named(1, list.Individual, list.ListSDN, "KUROSAWA, Shinji"), listtest.Named(2, list.Individual, list.ListSDN, "ハヤシダ, ケンゾウ"),
	)), NewScratch()
	for query, c := range map[string]struct {
		uid  uint32
		want Outcome
	}{
		"クロサワ シンジ": {1, Possible}, "くろさわ しんじ": {1, Possible}, "ｼﾝｼﾞ ｸﾛｻﾜ": {1, Possible}, "クロザワ シンジ": {1, Possible},
		"ハヤシダ ケンゾウ": {2, Listed}, "Kenzo Hayashida": {2, Possible}, "ハヤシタ ケンゾ": {2, Possible}, "サワムラ シンジ": {0, Clear},
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, c.want.String(), result.Outcome.String(), "%s %+v", query, result.Matches)
		if c.uid != 0 {
			require.Equal(t, c.uid, result.Matches[0].UID, query)
		}
	}
}

// Names are read as they were meant, whatever escapes or wrong decoding changed them.
func TestNamesAreUnescaped(t *testing.T) {
	for name, want := range map[string]string{
		`Nicol\u00e1s \x4Daduro`: "Nicolás Maduro", `\u041f\u0443\u0442\u0438\u043d`: "Путин", "Nicol=C3=A1s": "Nicolás", "NicolÃ¡s": "Nicolás", "Nicol&Atilde;&iexcl;s": "Nicolás",
		"ÐŸÑƒÑ‚Ð¸Ð½": "Путин", "Nicol%C3%83%C2%A1s": "Nicolás", "Nicol?s M?duro": "Nicols Mduro", "M@duro Nicola$": "Maduro Nicolas",
		`\u00`: "", `\`: "", `a\nb`: "", "=": "", "JOÃO": "", "Nicolás": "", "Maduro?": "", "€ 50": "", "maduro@mail.ru": "", "100 $": "", "Ã": "",
	} {
		plain, escaped := text.Unescape(name)
		require.Equal(t, want != "", escaped, name)
		if escaped {
			require.Equal(t, want, plain, name)
		}
	}
	list, scratch := evidenceList(t), NewScratch()
	for _, query := range []string{`Nicol\u00e1s Maduro`, "Nicol=C3=A1s Maduro", "NicolÃ¡s Maduro", "Nicolas Mad?ro", "Nicol@s M@duro", `\u0022MADURO, NICOLAS\u0022`} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEqual(t, Clear.String(), result.Outcome.String(), query)
		require.Equal(t, uint32(7), result.Matches[0].UID, query)
	}
}

// A text that holds tokens, hashes and links is searched to its end: a word that is longer than any name's
// parts the names beside it, and is not cut.
func TestLongWordsOfAMemo(t *testing.T) {
	list, scratch := decisionList(t), NewScratch()
	token := strings.Repeat("aGVsbG8", 40)
	for memo, want := range map[string]Outcome{
		token + " " + token: Clear,
		"ref " + token + " and " + token + " thanks my friend": Clear,
		token + " Nicolas Madruo Moros " + token:               Possible,
	} {
		result := list.Memo(&Query{Name: memo}, scratch)
		require.False(t, result.Truncated, memo)
		require.Equal(t, want, result.Outcome, memo)
	}
}
