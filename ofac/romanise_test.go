package ofac

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names of East Asia in other systems than the list's.
func TestRomanisations(t *testing.T) {
	list := mustBuild(t, []Entity{
		named(1, Individual, ListSDN, "MAO, Zedong"), named(2, Individual, ListSDN, "XI, Jinping"),
		named(3, Individual, ListSDN, "DENG, Xiao Ping"), named(4, Individual, ListSDN, "KIM, Jong Un"),
		named(5, Individual, ListSDN, "JANG, Song Thaek"), named(6, Individual, ListSDN, "ZHANG, Zhong Liang"),
		named(7, Individual, ListSDN, "CHIANG, Ching-kuo"), named(8, Individual, ListSDN, "조, 명록"),
		named(9, Company, ListSDN, "BRIGADE 44"), named(10, Individual, ListSDN, "PAK, Pong Ju"),
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

func TestSyllableKeys(t *testing.T) {
	key := func(word string, table *syllableTable) string {
		key, _ := appendSyllables(nil, []byte(word), table)
		return string(key)
	}
	for pinyin, wade := range map[string]string{
		"zedong": "tsetung", "xiaoping": "hsiaoping", "jintao": "chintao", "zhou": "chou", "deng": "teng", "guo": "kuo", "qing": "ching",
		"rong": "jung", "xuan": "hsuan", "yue": "yueh", "zi": "tzu", "shi": "shih", "gui": "kuei", "luo": "lo", "nv": "nu",
	} {
		require.NotEmpty(t, key(pinyin, syllables.pinyin), pinyin)
		require.Equal(t, key(pinyin, syllables.pinyin), key(wade, syllables.wade), pinyin)
	}
	for _, pair := range [][2]string{{"jeongeun", "jongun"}, {"gyeonghui", "kyonghui"}, {"cheolsu", "cholsu"}, {"myeongguk", "myongguk"}} {
		require.NotEmpty(t, key(pair[0], syllables.korean), pair[0])
		require.Equal(t, key(pair[0], syllables.korean), key(pair[1], syllables.korean), "%v", pair)
	}
	for _, word := range []string{"smith", "vladimir", "x", ""} {
		require.Empty(t, key(word, syllables.pinyin), word)
		require.Empty(t, key(word, syllables.korean), word)
	}
}

// inKana writes a folded Latin name in Katakana: false, it is no Japanese name. A consonant
// without a vowel has one, and l, v and th are no sounds of Japanese, if foreign names are asked for.
func inKana(name string, foreign bool) (string, bool) {
	if foreign {
		name = strings.NewReplacer("l", "r", "th", "s", "ph", "f", "kh", "h", "zh", "j", "q", "k", "x", "ks", "ck", "k", "c", "k").Replace(name)
	}
	var kana strings.Builder
	for i := 0; i < len(name); {
		if name[i] == ' ' {
			kana.WriteRune('・')
			i++
			continue
		}
		best, length := rune(0), 0
		for at, sound := range kanaSyllables {
			if n := len(sound); n > length && !isCapital(sound[0]) && sound != "-" && strings.HasPrefix(name[i:], sound) {
				best, length = rune(at)+kanaFirst, n
			}
		}
		if best == 0 {
			if !foreign || i+1 < len(name) && isVowel(name[i+1]) && name[i] != 'y' && name[i] != 'w' && !strings.ContainsRune("fdtslr", rune(name[i])) {
				return "", false
			}
			vowel := byte('u')
			if name[i] == 't' || name[i] == 'd' {
				vowel = 'o'
			}
			for at, sound := range kanaSyllables {
				if sound == string([]byte{name[i], vowel}) {
					best = rune(at) + kanaFirst
				}
			}
			if best == 0 {
				return "", false
			}
			length = 1
		}
		kana.WriteRune(best)
		i += length
	}
	return kana.String(), true
}

// Persons whom the list has in Latin letters alone are asked for in Kana: names of Japan are found,
// of others it is counted how many are, and nobody is blocked by such a reading.
func TestKanaOfLatinNames(t *testing.T) {
	list := realList(t, "2025-11-19")
	scratch := NewScratch()
	asked, found := map[string]int{}, map[string]int{}
	ask := func(kind, query string, uid uint32) {
		match, _ := list.ScreenEntry(uid, &Query{Name: query}, scratch)
		for i := range scratch.hits {
			require.NotEqual(t, Listed.String(), scratch.hits[i].outcome.String(), query)
		}
		asked[kind]++
		if match.Outcome >= Possible {
			found[kind]++
		}
	}
	native := map[uint32]bool{}
	for id := range list.nameCount {
		if record := list.name(id); hasLossy(list.textAt(record.full)) {
			native[record.entity] = true
		}
	}
	for id := range list.nameCount {
		record := list.name(id)
		entity := list.entity(record.entity)
		full := list.textAt(record.full)
		last, first, parted := strings.Cut(full, ", ")
		if entity.kind != Individual || record.flags&(nameWeak|namePrimary) != namePrimary || !parted || native[record.entity] {
			continue
		}
		name := string(appendWords(nil, first+" "+last, false))
		if kana, ok := inKana(name, false); ok {
			ask("Japanese names", kana, entity.uid)
		} else if kana, ok = inKana(name, true); ok && id%4 == 0 {
			ask("other names", kana, entity.uid)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(asked)) {
		t.Logf("%s: %d of %d", kind, found[kind], asked[kind])
	}
	require.Equal(t, asked["Japanese names"], found["Japanese names"])
}
