package text

import (
	"bytes"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"railguard/ofac/perfect"
)

// Lists write Chinese names in pinyin (Zedong) or in Wade-Giles (Tse-tung, without its
// apostrophes), and Korean names in the romanisation of South Korea (Jeongeun), of
// McCune-Reischauer (Chŏngŭn) or of North Korea (Jong Un). A word that consists of
// syllables has a key that is the same in every system. The deletion table holds listed
// words under this key.
//
// Two pinyin words with the same key may be different names (Zhang, Chang). So a pinyin
// word is only looked up among words that may be Wade-Giles, and the reverse. Korean keys
// merge o and u, k and g and so on.
//
// A misspelt syllable is often another syllable. So two syllables are close only if some
// systems write them alike.

// pinyinSource lists the syllables by initial: "b a ai an" is ba, bai, ban.
const pinyinSource = `
- a ai an ang ao e ei en er ou
b a ai an ang ao ei en eng i ian iao ie in ing o u
p a ai an ang ao ei en eng i ian iao ie in ing o ou u
m a ai an ang ao e ei en eng i ian iao ie in ing iu o ou u
f a an ang ei en eng o ou u
d a ai an ang ao e ei en eng i ian iao ie ing iu ong ou u uan ui un uo
t a ai an ang ao e eng i ian iao ie ing ong ou u uan ui un uo
n a ai an ang ao e ei en eng i ian iang iao ie in ing iu ong ou u uan uo v ve ue
l a ai an ang ao e ei eng i ia ian iang iao ie in ing iu ong ou u uan un uo v ve ue
g a ai an ang ao e ei en eng ong ou u ua uai uan uang ui un uo
k a ai an ang ao e en eng ong ou u ua uai uan uang ui un uo
h a ai an ang ao e ei en eng ong ou u ua uai uan uang ui un uo
j i ia ian iang iao ie in ing iong iu u uan ue un
q i ia ian iang iao ie in ing iong iu u uan ue un
x i ia ian iang iao ie in ing iong iu u uan ue un
zh a ai an ang ao e ei en eng i ong ou u ua uai uan uang ui un uo
ch a ai an ang ao e en eng i ong ou u ua uai uan uang ui un uo
sh a ai an ang ao e ei en eng i ou u ua uai uan uang ui un uo
r an ang ao e en eng i ong ou u uan ui un uo
z a ai an ang ao e ei en eng i ong ou u uan ui un uo
c a ai an ang ao e en eng i ong ou u uan ui un uo
s a ai an ang ao e en eng i ong ou u uan ui un uo
y a an ang ao e i in ing ong ou u uan ue un
w a ai an ang ei en eng o u
`

// wadeInitials are the initials of Wade-Giles without their apostrophes.
var wadeInitials = map[string]string{
	"b": "p", "d": "t", "g": "k", "j": "ch", "q": "ch", "x": "hs", "zh": "ch", "r": "j", "z": "ts", "c": "ts",
}

// wadeFinals are the finals that Wade-Giles writes differently from pinyin.
var wadeFinals = map[string]string{
	"ong": "ung", "iong": "iung", "ian": "ien", "ie": "ieh", "ue": "ueh", "ve": "ueh", "v": "u", "er": "erh",
}

// wadeWhole are the syllables that follow no rule.
var wadeWhole = map[string]string{
	"zi": "tzu", "ci": "tzu", "si": "ssu", "zhi": "chih", "chi": "chih", "shi": "shih", "ri": "jih",
	"ge": "ko", "ke": "ko", "he": "ho", "duo": "to", "tuo": "to", "luo": "lo", "nuo": "no", "zuo": "tso", "cuo": "tso", "suo": "so",
	"zhuo": "cho", "chuo": "cho", "ruo": "jo", "gui": "kuei", "kui": "kuei",
	"ye": "yeh", "you": "yu", "yan": "yen", "yong": "yung", "yue": "yueh",
}

// syllableTable maps the spelling of a syllable to its key.
type syllableTable struct {
	// These bits spare most words a lookup: for each letter, whether a syllable begins or
	// ends with it.
	begins, ends uint32
	lengths      [32][32]uint8 // For each first and last letter, a bit for each length that a syllable has.

	shift     uint8
	spellings []uint64 // packed spellings; 0 is a free place, where a lookup ends
	keys      []string // key of the spelling at the same place
}

func newSyllableTable(keys map[string]string) *syllableTable {
	log := bits.Len(uint(2 * len(keys)))
	t := &syllableTable{shift: uint8(64 - log), spellings: make([]uint64, 1<<log), keys: make([]string, 1<<log)}
	for _, spelling := range slices.Sorted(maps.Keys(keys)) {
		t.begins |= 1 << (spelling[0] & 31)
		t.ends |= 1 << (spelling[len(spelling)-1] & 31)
		t.lengths[spelling[0]&31][spelling[len(spelling)-1]&31] |= 1 << len(spelling)
		at := t.placeOf(packLetters([]byte(spelling)))
		t.spellings[at], t.keys[at] = packLetters([]byte(spelling)), keys[spelling]
	}
	return t
}

// packLetters packs the letters of a syllable, at most syllableBytes.
func packLetters(word []byte) uint64 {
	value := uint64(0)
	for _, c := range word {
		value = value<<8 | uint64(c)
	}
	return value
}

// placeOf returns the place of a spelling, or the free place where it would be.
func (t *syllableTable) placeOf(spelling uint64) int {
	at := int(spelling * perfect.Odd1 >> t.shift)
	for t.spellings[at] != spelling && t.spellings[at] != 0 {
		at = (at + 1) & (len(t.spellings) - 1)
	}
	return at
}

// keyOf returns the key of a syllable. It returns false when the word is no syllable.
func (t *syllableTable) keyOf(word []byte) (string, bool) {
	if t.lengths[word[0]&31][word[len(word)-1]&31]>>len(word)&1 == 0 {
		return "", false
	}
	spelling := packLetters(word)
	at := t.placeOf(spelling)
	return t.keys[at], t.spellings[at] == spelling
}

// syllableTables are the tables of the systems. The key of a Chinese syllable is
// its Wade-Giles spelling.
type syllableTables struct{ pinyin, wade, korean *syllableTable }

var syllables = makeSyllables()

func makeSyllables() syllableTables {
	pinyin, wades := map[string]string{}, map[string]string{}
	for line := range strings.Lines(pinyinSource) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		initial := strings.TrimPrefix(fields[0], "-")
		for _, final := range fields[1:] {
			syllable := initial + final
			wade, whole := wadeWhole[syllable]
			if !whole {
				wade = orSame(wadeInitials, initial) + orSame(wadeFinals, final)
			}
			pinyin[syllable], wades[wade] = wade, wade
		}
	}
	wades["teh"], wades["szu"] = "te", "ssu" // older spellings
	return syllableTables{newSyllableTable(pinyin), newSyllableTable(wades), newSyllableTable(koreanSyllables())}
}

func orSame(table map[string]string, part string) string {
	if other, ok := table[part]; ok {
		return other
	}
	return part
}

// The parts of a Korean syllable in the form "spelling=sign".
const (
	koreanOnsets = "=- g=K k=K kh=K n=N d=T t=T th=T r=R l=R m=M b=P p=P ph=P s=S sh=S j=C ch=C h=H"
	koreanVowels = "a=a ae=e ai=e e=e eo=o o=o u=o oo=o eu=o ou=o oh=o ya=ya yae=ye ye=ye yeo=yo yo=yo you=yo yu=yo yoo=yo " +
		"oe=oe oi=oe wa=wa wae=we we=we wo=wo weo=wo woo=o wi=wi ui=i eui=i i=i ee=i"
	koreanCodas = "= k=K g=K n=N l=L m=M p=P b=P ng=G"
)

func koreanSyllables() map[string]string {
	table := map[string]string{}
	for onset := range strings.FieldsSeq(koreanOnsets) {
		onset, onsetSign, _ := strings.Cut(onset, "=")
		for vowel := range strings.FieldsSeq(koreanVowels) {
			vowel, vowelSign, _ := strings.Cut(vowel, "=")
			for coda := range strings.FieldsSeq(koreanCodas) {
				coda, codaSign, _ := strings.Cut(coda, "=")
				table[onset+vowel+coda] = onsetSign + vowelSign + codaSign
			}
		}
	}
	return table
}

// Bounds of a word that consists of syllables.
const (
	syllableBytes = 6  // letters of the longest syllable
	syllablesMax  = 4  // syllables of one word
	syllableTries = 64 // readings tried of one word, to bound the work
)

// AppendSyllables appends the key of a word that consists of syllables of the table, and
// returns how many there are. It returns 0 for any other word. It takes the longest
// syllable that leaves a readable rest.
func AppendSyllables(dst, word []byte, table *syllableTable) ([]byte, int) {
	if len(word) == 0 || table.begins>>(word[0]&31)&1 == 0 || table.ends>>(word[len(word)-1]&31)&1 == 0 {
		return dst, 0
	}
	tries := syllableTries
	return appendRest(dst, word, table, syllablesMax, &tries)
}

func appendRest(dst, word []byte, table *syllableTable, left int, tries *int) ([]byte, int) {
	for length := min(len(word), syllableBytes); length > 0 && left > 0 && *tries > 0; length-- {
		*tries--
		key, ok := table.keyOf(word[:length])
		if !ok || length < len(word) && isVowel(word[length-1]) && isVowel(word[length]) {
			continue // Two vowels in a row belong to one syllable; otherwise the word is of another language.
		}
		mark := len(dst)
		dst = append(append(dst, key...), '.')
		if length == len(word) {
			return dst, 1
		}
		rest, count := appendRest(dst, word[length:], table, left-1, tries)
		if count > 0 {
			return rest, count + 1
		}
		dst = dst[:mark]
	}
	return dst, 0
}

// IsSyllable reports whether a word is one Chinese or Korean syllable.
func IsSyllable(word []byte) bool {
	if len(word) < 2 || len(word) > syllableBytes {
		return false
	}
	_, pinyin := syllables.pinyin.keyOf(word)
	_, wade := syllables.wade.keyOf(word)
	_, korean := syllables.korean.keyOf(word)
	return pinyin || wade || korean
}

// SameSyllable reports whether two syllables may be the same in some system.
func SameSyllable(a, b []byte) bool {
	if key, ok := syllables.korean.keyOf(a); ok {
		if other, ok := syllables.korean.keyOf(b); ok && key == other {
			return true
		}
	}
	if key, ok := syllables.pinyin.keyOf(a); ok && key == string(b) {
		return true
	}
	key, ok := syllables.pinyin.keyOf(b)
	return ok && key == string(a)
}

// syllableSystem is one way to write syllables. It has the kind of hash for a listed word
// and the kind for a word that is looked up.
type syllableSystem struct {
	Table          *syllableTable
	Listed, Sought HashKind
	Least          int // least number of syllables of a word that has a key
}

var SyllableSystems = [...]syllableSystem{
	{syllables.pinyin, hashPinyin, hashWade, 1},
	{syllables.wade, hashWade, hashPinyin, 1},
	{syllables.korean, hashKorean, hashKorean, 2},
}

// Kana are syllables, and are transliterated letter by letter: a name wholly in Kana is
// romanised in the query and in the list, in the system that lists use (Hepburn, long
// vowels as short ones). So a Japanese name matches its Latin spelling. Foreign names
// are compared by sounds, see AppendSounds.

// kanaSyllables are the sounds of U+30A1 to U+30FA. Capitals are the small Kana, which change the
// syllable before them. A dash means that the Kana has no sound of its own.
var kanaSyllables = strings.Fields("A a I i U u E e O o ka ga ki gi ku gu ke ge ko go sa za shi ji su zu se ze so zo ta da chi ji - tsu zu te de to do" +
	" na ni nu ne no ha ba pa hi bi pi fu bu pu he be pe ho bo po ma mi mu me mo YA ya YU yu YO yo ra ri ru re ro WA wa i e o n vu ka ke va vi ve vo")

// Ranges of Kana.
const (
	kanaFirst, kanaLast         = 0x30A1, 0x30FA
	hiraganaFirst, hiraganaLast = 0x3041, 0x3096
	kanaLong                    = 0x30FC
	halfFirst, halfLast         = 0xFF66, 0xFF9D
	halfVoiced, halfHardened    = 0xFF9E, 0xFF9F
	voiced, hardened            = 0x3099, 0x309A
)

// kanaOf returns the Katakana for any Kana character, or 0 for another character.
func kanaOf(r rune) rune {
	if r >= halfFirst && r <= halfLast {
		r, _ = utf8.DecodeRuneInString(folds.entryOf(r).plain)
	}
	switch {
	case r >= hiraganaFirst && r <= hiraganaLast:
		return r + kanaFirst - hiraganaFirst
	case r >= kanaFirst && r <= kanaLast, r == kanaLong:
		return r
	}
	return 0
}

// kanaMarked returns the Katakana with the voicing mark that follows half-width and
// decomposed letters: カ and the mark are ガ. It returns 0 if the letter takes no such mark.
func kanaMarked(kana, mark rune) rune {
	switch {
	case mark == halfVoiced || mark == voiced:
		if kana == 'ウ' {
			return 'ヴ'
		}
		if strings.ContainsRune("カキクケコサシスセソタチツテトハヒフヘホ", kana) {
			return kana + 1
		}
	case (mark == halfHardened || mark == hardened) && strings.ContainsRune("ハヒフヘホ", kana):
		return kana + 2
	}
	return 0
}

// AppendKana appends the romanised words of a name that is wholly in Kana. It returns false
// for any other name.
func AppendKana(dst []byte, name string) ([]byte, bool) {
	if IsPlain(name) {
		return dst, false
	}
	base, mark, last := len(dst), -1, rune(0)
	for _, r := range name {
		kana := kanaOf(r)
		switch {
		case kana != 0:
			if mark < 0 {
				dst = AppendSeparator(dst, base)
				mark = len(dst)
			}
			dst = appendKanaSound(dst, mark, kana)
		case last != 0 && kanaMarked(last, r) != 0:
			kana = kanaMarked(last, r)
			dst = append(dst[:len(dst)-len(kanaSyllables[last-kanaFirst])], kanaSyllables[kana-kanaFirst]...)
		case last != 0 && r == '-': // Banks write this character for the sign of a long vowel.
			continue
		case folds.entryOf(r).kind == foldDrop:
			continue
		case folds.entryOf(r).kind == foldSpace || folds.entryOf(r).kind == foldDot:
			mark = -1
		default:
			return dst[:base], false
		}
		last = kana
	}
	return dst, len(dst) > base
}

// appendKanaSound appends the sound of one Katakana to the word that begins at mark.
func appendKanaSound(dst []byte, mark int, kana rune) []byte {
	if kana == kanaLong {
		return dst
	}
	sound := kanaSyllables[kana-kanaFirst]
	if sound == "-" {
		return dst
	}
	if !isCapital(sound[0]) {
		return append(dst, sound...)
	}
	before := dst[mark:]
	if n := len(before); n > 1 && isVowel(before[n-1]) { // For example, fu and A give fa, shi and YA give sha, ki and YA give kya.
		dst = dst[:len(dst)-1]
		if bytes.HasSuffix(dst[mark:], []byte("h")) || bytes.HasSuffix(dst[mark:], []byte("j")) {
			sound = sound[len(sound)-1:]
		}
	}
	for i := range len(sound) {
		dst = append(dst, lowerByte(sound[i]))
	}
	return dst
}
