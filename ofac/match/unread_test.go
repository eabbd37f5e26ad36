package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/text"
)

func unreadList(t testing.TB) *Index {
	person := func(uid uint32, names ...list.Name) list.Entity {
		return list.Entity{UID: uid, Type: list.Individual, Lists: list.ListSDN, Names: names}
	}
	x, err := Build([]list.Entity{
		person(1, list.Name{Primary: true, Script: "Latin", Full: "MADURO MOROS, Nicolas"}),
		person(2, list.Name{Primary: true, Script: "Latin", Full: "NAING, Aung"}, list.Name{Script: "Burmese", Full: "နိုင် အောင်"}),
	}, list.Meta{Source: "test"})
	require.NoError(t, err)
	return x
}

// A name that cannot be compared, or not as a whole, says so, and what of it and why.
func TestNamesThatCannotBeCompared(t *testing.T) {
	x, scratch := unreadList(t), NewScratch()
	for name, want := range map[string]struct {
		outcome Outcome
		told    string
	}{
		"สมชาย ใจดี":               {Clear, "สมชาย (Thai), ใจดี (Thai): its letters cannot be read"},
		"Acme ហ៊ុន":                {Clear, "ហ៊ុន (Khmer): its letters cannot be read"},
		"Nicolas Maduro Moros नाम": {Possible, "नाम (Devanagari): its letters cannot be read"},
		"နိုင် အောင်":              {Listed, "နိုင် (Myanmar), အောင် (Myanmar): its letters cannot be read"},
		"&#3626;&#3617;":           {Clear, "an escaped word: its letters cannot be read"},
		"???":                      {Clear, "it has no letter and no digit"},
		"🙂 – ":                     {Clear, "it has no letter and no digit"},
		"Jane Public 🙂":            {Clear, ""},
		"12345":                    {Clear, ""},
		"":                         {Clear, ""},
		" \t":                      {Clear, ""},
	} {
		result := x.Screen(&Query{Name: name}, scratch)
		require.Equal(t, want.outcome, result.Outcome, name)
		require.Equal(t, want.told, result.NotCompared(name), name)
	}
	long := strings.Repeat("abcde fghij klmno ", 20)
	result := x.Screen(&Query{Name: long}, scratch)
	require.Equal(t, "it is too long to be compared to its end", result.NotCompared(long))
}

// No cleared pair silences what could not be compared.
func TestClearingsSayNothingOfUnreadWords(t *testing.T) {
	x, scratch := unreadList(t), NewScratch()
	result := x.Screen(&Query{Name: "Nicolas Maduro Moros नाम", ClearedUIDs: []uint32{1, 2}}, scratch)
	require.Equal(t, Clear, result.Outcome)
	require.Equal(t, UnreadLetters, result.Unread)
}

// A name is compared as it is written and as it is seen.
func TestNamesAsSeenAreCompared(t *testing.T) {
	x, scratch := unreadList(t), NewScratch()
	for _, name := range []string{
		"\u202eSOROM ORUDAM SALOCIN\u202c", "\u202eNICOLAS MADURO MOROS\u202c", "NICOLAS \u202eORUDAM\u202c MOROS",
		"\u2067\u2066URO MOROS\u2069\u2066NICOLAS MAD\u2069\u2069", "&#x202e;SOROM ORUDAM SALOCIN",
	} {
		require.Equal(t, Listed, x.Screen(&Query{Name: name}, scratch).Outcome, "%+q", name)
		require.Equal(t, text.NormaliseName(name), string(scratch.normal), "the normal form is of the name as written")
		require.Equal(t, Listed, x.Screen(&Query{Name: name, Brief: true}, scratch).Outcome, "%+q", name)
	}
	require.Equal(t, Clear, x.Screen(&Query{Name: "\u202eENAJ\u202c"}, scratch).Outcome)
}

func TestMemosThatCannotBeCompared(t *testing.T) {
	x, scratch := unreadList(t), NewScratch()
	for memo, want := range map[string]Unread{"invoice 7 ขอบคุณ": UnreadLetters, "???": UnreadNothing, "thanks 🙂": UnreadNothing} {
		result := x.Memo(&Query{Name: memo}, scratch)
		require.Equal(t, want, result.Unread, memo)
		require.Equal(t, Clear, result.Outcome)
	}
	require.Equal(t, Possible, x.Memo(&Query{Name: "for \u202eSOROM ORUDAM SALOCIN\u202c, thanks"}, scratch).Outcome)
}
