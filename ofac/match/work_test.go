package match

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	listed "railguard/ofac/list"
	"railguard/ofac/text"
)

// dearNames are the shapes of names that cost the most, each written in any length.
var dearNames = map[string]func(characters int) string{
	"Han":              letters(0x4E00, 20_000),
	"Hiragana":         letters(0x3041, 80),
	"Katakana":         letters(0x30A1, 80),
	"Hangul":           letters(0xAC00, 11_000),
	"Thai":             letters(0x0E01, 40),
	"Lao":              letters(0x0E81, 2),
	"Khmer":            letters(0x1780, 30),
	"Myanmar":          letters(0x1000, 30),
	"Devanagari":       letters(0x0915, 30),
	"Cyrillic":         letters(0x0430, 32),
	"Greek":            letters(0x03B1, 17),
	"Arabic":           letters(0x0627, 20),
	"Hebrew":           letters(0x05D0, 27),
	"Georgian":         letters(0x10D0, 33),
	"Armenian":         letters(0x0561, 38),
	"Latin":            letters('a', 26),
	"digits":           letters('0', 10),
	"Han in words":     words("中国建设银行有限公司"),
	"Hangul words":     words("김정은", "조선", "무역", "은행"),
	"single letters":   words("s", "a", "l", "b", "c", "x", "z"),
	"falling words":    falling,
	"common names":     words("mohammad", "ali", "hussein", "ahmad", "hassan", "abdul", "khan"),
	"long words":       words("khairalldahmanallah", "mohammadtaghiansari", "vladimirovichovskij"),
	"companies":        words("general", "trading", "company", "limited", "liability", "llc", "shipping"),
	"legal forms":      words("limited", "liability", "company", "s", "a", "sociedad", "anonima", "de", "c", "v"),
	"hyphens":          repeated("ali-hassan-al-"),
	"articles":         repeated("bank of the al-"),
	"combining marks":  repeated("a\u0301\u0323\u0308"),
	"mixed scripts":    repeated("aб中ع"),
	"digits, letters":  repeated("m4dur0 n1c0l4s "),
	"stretched":        repeated("laaazarus grouuup "),
	"ampersands":       repeated("a&"),
	"several parties":  repeated("ali hassan & mohammad khan / "),
	"escapes":          repeated("%41%6c%69 \\u0041li =C3=A1 "),
	"entities":         repeated("&eacute;&amp;"),
	"masked":           repeated("n?col@s m$dur0 "),
	"initials":         repeated("o.v. "),
	"dots":             repeated("a.b."),
	"fathers":          repeated("ali bin mohammad "),
	"twice misread":    repeated("NicolÃ¡s "),
	"one-letter Latin": repeated("l I "),
	"letters alone":    words("a", "b", "c", "d", "e", "f", "g", "h", "i", "k"),
	"only marks":       repeated("\u0301"),
	"listed words":     repeated("lazarus group "),
	"listed names":     repeated("nicolas maduro moros, ali khamenei, kim jong un; "),
	"one listed word":  repeated("maduro"),
	"aliases":          repeated("HIDDEN COBRA a.k.a. GUARDIANS OF PEACE f.k.a. APT-C-26 "),
	"many names":       repeated("ivanov or petrov and sidorov / "),
	"Han, kana, words": repeated("金正恩 マドゥロ kim "),
	"Hangul and Han":   repeated("조선金은행銀 "),
}

// letters writes one word of the letters of a script.
func letters(first, count rune) func(int) string {
	return func(characters int) string {
		var b strings.Builder
		for i := range rune(characters) {
			b.WriteRune(first + i*7919%count)
		}
		return b.String()
	}
}

func words(list ...string) func(int) string { return repeated(strings.Join(list, " ") + " ") }

func repeated(text string) func(int) string {
	return func(characters int) string {
		all := []rune(strings.Repeat(text, characters/len([]rune(text))+1))
		return string(all[:characters])
	}
}

// falling writes many different words, the last of the alphabet first.
func falling(characters int) string {
	var b strings.Builder
	for i := 0; b.Len() < characters; i++ {
		b.Write([]byte{byte('z' - i/26%26), byte('z' - i%26), ' '})
	}
	return b.String()[:characters]
}

// work is how many steps the matcher takes for a name.
func work(list *Index, name string, s *Scratch) int {
	list.Screen(&Query{Name: name, NonSDNPossible: true, WeakAliases: true}, s)
	return s.Steps()
}

// stepsOfCharacter is the most work that one character of a name may cause. The dearest
// name of a call takes a little over 2,000 steps a character: single letters, of which 64
// in a row may be a name that is spelled out.
const stepsOfCharacter = 2500

// The work for a name is at most so many steps a character, whatever its script and shape.
// Up to some 24 words it still grows faster than the name, because each run of words is
// looked up; beyond that four times the name is at most six times the work.
func TestWorkGrowsWithTheName(t *testing.T) {
	t.Parallel()
	list, scratch := realList(t, "2025-11-19"), NewScratch()
	for shape, write := range dearNames {
		for characters := 64; characters <= 512; characters += 64 {
			require.LessOrEqual(t, work(list, write(characters), scratch), stepsOfCharacter*characters, "%s, %d characters", shape, characters)
		}
		for characters := 512; 4*characters <= text.QueryBytesMax; characters *= 4 {
			require.LessOrEqual(t, work(list, write(4*characters), scratch), 6*work(list, write(characters), scratch), "%s, %d characters", shape, 4*characters)
		}
	}
}

// Reading a name counts, although nothing of it is on the list: 500 Han characters take as long
// to read as an ordinary call takes, and half of that was charged for nothing.
func TestReadingCounts(t *testing.T) {
	t.Parallel()
	list, scratch := mustBuild(t, []listed.Entity{
		{UID: 1, Type: listed.Company, Lists: listed.ListSDN, Names: []listed.Name{{Full: "Aerocaribbean Airlines", Primary: true}}},
	}), NewScratch()
	require.Greater(t, work(list, dearNames["Han"](500), scratch), 14_000)
	require.Less(t, work(list, "Quiet Harbour Bakery", scratch), 1_000)
}

// A name in a script without blanks is read to 64 characters in a row. What is longer is
// said to be too long, and the whole of it is still looked up.
func TestNamesWithoutBlanksAreReadTo64Characters(t *testing.T) {
	t.Parallel()
	long := letters(0x3400, 6000)(200)
	list, scratch := mustBuild(t, []listed.Entity{
		{UID: 1, Type: listed.Company, Lists: listed.ListSDN, Names: []listed.Name{{Full: "中国建设银行有限公司", Primary: true, Script: "Chinese Simplified"}}},
		{UID: 2, Type: listed.Company, Lists: listed.ListSDN, Names: []listed.Name{{Full: long, Primary: true, Script: "Chinese Simplified"}}},
	}), NewScratch()
	screen := func(name string) Result { return list.Screen(&Query{Name: name}, scratch) }
	for _, script := range []string{"Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"} {
		write := dearNames[script]
		require.False(t, screen(write(nativeReadMax)).Truncated, script)
		require.True(t, screen(write(nativeReadMax+1)).Truncated, script)
		require.False(t, screen(write(40)+" "+write(40)).Truncated, "%s: two words", script)
	}
	require.False(t, screen(dearNames["Latin"](nativeReadMax+1)).Truncated)
	require.Equal(t, Listed, screen(long).Outcome)
	before := dearNames["Han"](nativeReadMax - 10)
	found := screen(before + "中国建设银行有限公司" + before)
	require.Equal(t, Possible, found.Outcome)
	require.Equal(t, uint32(1), found.Matches[0].UID)
	require.True(t, found.Truncated)
	require.Empty(t, screen("的"+before+"中国建设银行有限公司").Matches)
}

// BenchmarkDearNames screens the dearest shapes of names at the greatest length of a call.
func BenchmarkDearNames(b *testing.B) {
	list := realList(b, "2025-11-19")
	for _, shape := range slices.Sorted(maps.Keys(dearNames)) {
		b.Run(shape, func(b *testing.B) {
			scratch, q := NewScratch(), Query{Name: dearNames[shape](512), NonSDNPossible: true, WeakAliases: true}
			for b.Loop() {
				list.Screen(&q, scratch)
			}
		})
	}
}
