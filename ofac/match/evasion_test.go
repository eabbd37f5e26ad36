package match

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

// disguises are ways to write a name that a reader still recognises and a plain comparison
// does not.
var disguises = map[string]func(name string, random *rand.Rand) string{
	"zero width": func(name string, random *rand.Rand) string {
		marks := []string{"\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\ufe0f", "\U000e0041"}
		return eachLetter(name, func(r rune) string {
			return string(r) + marks[random.IntN(len(marks))]
		})
	},
	"look-alikes": func(name string, random *rand.Rand) string {
		return eachLetter(name, func(r rune) string {
			if at := strings.IndexRune("ABCEHIJKMOPSTXY", r); at >= 0 && random.IntN(2) == 0 {
				return string([]rune("АВСЕНІЈКМОРЅТХУ")[at])
			}
			return string(r)
		})
	},
	"full width": func(name string, _ *rand.Rand) string {
		return eachLetter(name, func(r rune) string { return string(r - 'A' + 'Ａ') })
	},
	"mathematical": func(name string, _ *rand.Rand) string {
		return eachLetter(name, func(r rune) string { return string(r - 'A' + '𝐀') })
	},
	"circled": func(name string, _ *rand.Rand) string {
		return eachLetter(name, func(r rune) string { return string(r - 'A' + 'Ⓐ') })
	},
	"combining marks": func(name string, random *rand.Rand) string {
		marks := []rune{0x301, 0x308, 0x327, 0x336, 0x20DD, 0x35C}
		return eachLetter(name, func(r rune) string { return string(r) + string(marks[random.IntN(len(marks))]) })
	},
	"digits for letters": func(name string, _ *rand.Rand) string {
		return eachLetter(name, func(r rune) string {
			if at := strings.IndexRune("OIEASTB", r); at >= 0 {
				return string("0134578"[at])
			}
			return string(r)
		})
	},
	"one digit a word": func(name string, _ *rand.Rand) string {
		words := strings.Fields(name)
		for i, word := range words {
			if at := strings.IndexAny(word, "OIEAS"); at >= 0 && len(word) > 3 {
				words[i] = word[:at] + string("01345"[strings.IndexByte("OIEAS", word[at])]) + word[at+1:]
			}
		}
		return strings.Join(words, " ")
	},
	"punctuation inside": func(name string, random *rand.Rand) string {
		words := strings.Fields(name)
		for i, word := range words {
			if len(word) > 3 {
				at := 1 + random.IntN(len(word)-1)
				words[i] = word[:at] + string("-._*"[random.IntN(4)]) + word[at:]
			}
		}
		return strings.Join(words, " ")
	},
	"dots between letters":   func(name string, _ *rand.Rand) string { return spelledOut(name, ".") },
	"spaces between letters": func(name string, _ *rand.Rand) string { return spelledOut(name, " ") },
	"dashes between letters": func(name string, _ *rand.Rand) string { return spelledOut(name, "-") },
	"a letter repeated": func(name string, random *rand.Rand) string {
		words := strings.Fields(name)
		for i, word := range words {
			if len(word) > 3 {
				at := random.IntN(len(word))
				words[i] = word[:at] + strings.Repeat(word[at:at+1], 2) + word[at:]
			}
		}
		return strings.Join(words, " ")
	},
	"vowels repeated": func(name string, _ *rand.Rand) string {
		return eachLetter(name, func(r rune) string {
			if strings.ContainsRune("AEIOU", r) {
				return string([]rune{r, r, r})
			}
			return string(r)
		})
	},
	"no spaces": func(name string, _ *rand.Rand) string { return strings.ReplaceAll(name, " ", "") },
}

// disguiseFloors is how many of a thousand names must be found, for disguises where not all
// are.
var disguiseFloors = map[string]int{
	"digits for letters": 850, "one digit a word": 980, "a letter repeated": 970, "vowels repeated": 960,
}

func eachLetter(name string, change func(rune) string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteString(change(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func spelledOut(name, between string) string {
	words := strings.Fields(name)
	for i, word := range words {
		words[i] = strings.Join(strings.Split(word, ""), between)
	}
	return strings.Join(words, "  ")
}

// plainNames samples strong Latin names of at least two words and ten letters. In shorter
// ones a disguise cannot be told from another name.
func plainNames(compiled *Index, count int) (uids []uint32, names []string) {
	random := rand.New(rand.NewPCG(11, 12))
	for len(names) < count {
		record := compiled.NameAt(uint32(random.IntN(int(compiled.NameCount))))
		full := strings.ToUpper(compiled.TextAt(record.Full))
		entity := compiled.EntityAt(record.Entity)
		if record.Flags&index.NameWeak != 0 || entity.Kind > list.Company || record.Words < 2 || record.Letters < 10 {
			continue
		}
		if strings.Trim(full, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ,.&-()'\"") != "" {
			continue
		}
		if last, first, ok := strings.Cut(full, ", "); ok && entity.Kind == list.Individual {
			full = first + " " + last
		}
		uids, names = append(uids, entity.UID), append(names, full)
	}
	return uids, names
}

func TestDisguisedNamesAreFound(t *testing.T) {
	t.Parallel()
	list, scratch := realList(t, "2025-11-19"), NewScratch()
	uids, names := plainNames(list, 500)
	for kind, disguise := range disguises {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(13, 14))
			var missed []string
			found := 0
			for i, name := range names {
				query := Query{Name: disguise(name, random), NonSDNPossible: true}
				if match, ok := list.ScreenEntry(uids[i], &query, scratch); ok && match.Outcome >= Possible {
					found++
				} else if len(missed) < 5 {
					missed = append(missed, name+" | "+query.Name)
				}
			}
			t.Logf("%d of %d", found, len(names))
			least := len(names)
			if permille, ok := disguiseFloors[kind]; ok {
				least = len(names) * permille / 1000
			}
			require.GreaterOrEqual(t, found, least, strings.Join(missed, "\n"))
		})
	}
}

// A name that a form or a web page escaped is unescaped, up to twice. An l in place of I,
// or an I in place of l, is read as the letter it looks like.
func TestEscapedAndMiscasedNames(t *testing.T) {
	list := mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "MADURO MOROS, Nicolas"), listtest.Named(2, list.Individual, list.ListSDN, "PUTIN, Vladimir Vladimirovich"),
		listtest.Named(3, list.Company, list.ListSDN, "SMITH AND HALLE TRADING"), listtest.Named(4, list.Individual, list.ListSDN, "Сечин, Игорь"),
	})
	scratch := NewScratch()
	for name, uid := range map[string]uint32{
		"Nicolas%20Maduro%20Moros": 1, "Nicolas&nbsp;Maduro&nbsp;Moros": 1, "Nicolas%2520Maduro%2520Moros": 1, "Nicol&aacute;s Maduro Moros": 1,
		"N%69colas Maduro Moros": 1, "&#78;icolas&#x20;Maduro Moros": 1, "Smith &amp; Halle Trading": 3, "Nicolas%26nbsp%3BMaduro Moros": 1,
		"%D0%98%D0%B3%D0%BE%D1%80%D1%8C %D0%A1%D0%B5%D1%87%D0%B8%D0%BD": 4,
		"VLADlMlR VLADlMlROVlCH PUTlN":                                  2, "VIadimir VIadimirovich Putin": 2, "NlCOLAS MADURO MOROS": 1, "NicoIas Maduro Moros": 1,
	} {
		result := list.Screen(&Query{Name: name}, scratch)
		require.NotEmpty(t, result.Matches, name)
		require.Equal(t, uid, result.Matches[0].UID, name)
		require.Equal(t, Listed, result.Outcome, name)
		normal, whole := scratch.Normal()
		require.True(t, whole)
		require.Equal(t, text.NormaliseName(name), string(normal), "the key of a name is of what was sent")
	}
	for name, plain := range map[string]string{"100% Cotton": "", "a%2": "", "%zz": "", "A & B; C": "", "50%25off": "50%off", "%252525": "%25", "": "", "&": "", "x&#0;": "x\uFFFD"} {
		got, escaped := text.Unescape(name)
		require.Equal(t, plain != "", escaped, name)
		require.True(t, !escaped || got == plain, got)
	}
	long, _ := text.Unescape(strings.Repeat("&nGt;", 200))
	require.LessOrEqual(t, len(long), text.QueryBytesMax)
}
