package text

import (
	_ "embed"
	"strings"
)

// Lists have most Chinese names in Latin letters only. So a name in Han characters is also read
// aloud, in pinyin without tones: 王小林 is "wang xiaolin". A person's name has two to four
// characters, the family name first. In a longer name the words that companies have are
// translated, and the rest is read: 大连永康贸易有限公司 is "dalian yongkang trading co ltd".
// Japanese names in Han characters are read so too, which finds none of them: their readings are
// in no table.

// hanText has a line for each syllable: the syllable, and the characters that are read so.
//
//go:embed han.txt
var hanText string

// The Han characters that are read.
const hanFirst, hanLast = 0x4E00, 0x9FFF

// hanTable says how each character is read.
type hanTable struct {
	syllables []string // The first is "": no reading.
	places    [hanLast - hanFirst + 1]uint16
}

var hanReadings = readHan()

func readHan() *hanTable {
	table := &hanTable{syllables: make([]string, 1, 512)}
	add := func(syllable, characters string) {
		table.syllables = append(table.syllables, syllable)
		for _, r := range characters {
			table.places[r-hanFirst] = uint16(len(table.syllables) - 1)
		}
	}
	for line := range strings.Lines(hanText) {
		if syllable, characters, ok := strings.Cut(strings.TrimSpace(line), " "); ok && syllable != "#" {
			add(syllable, characters)
		}
	}
	for field := range strings.FieldsSeq(namesReadings) {
		add(field[hanBytes:], field[:hanBytes])
	}
	return table
}

// of returns the usual reading of a character, "" if it has none.
func (t *hanTable) of(r rune) string {
	if r < hanFirst || r > hanLast {
		return ""
	}
	return t.syllables[t.places[r-hanFirst]]
}

// namesReadings are of characters that names read otherwise than texts.
const namesReadings = "长chang 都du 晟sheng 卜bu"

// familyReadings are of characters that only as a family name are read so.
var familyReadings = func() map[string]string {
	table := map[string]string{}
	for field := range strings.FieldsSeq("曾zeng 单shan 解xie 仇qiu 查zha 翟zhai 区ou 朴piao 盖ge 召shao 员yun 缪miao 种chong 折she 黑he 乐yue 覃qin 洗xian 祭zhai 繁po 秘bi 郇xun 阚kan 乜nie 佴nai 句gou 炅gui 么yao 薄bo 重chong 能nai 尉wei 隗wei 纪ji 逄pang 笪da 都du 长zhang 莘shen") {
		table[field[:hanBytes]] = field[hanBytes:]
	}
	return table
}()

// doubleFamilies are the family names of two characters; those whose reading is not that of their
// characters have it behind them.
var doubleFamilies = func() map[string]string {
	table := map[string]string{}
	for field := range strings.FieldsSeq(`欧阳 司马 诸葛 上官 皇甫 东方 公孙 慕容 令狐 宇文 长孙zhangsun 司徒 司空 夏侯 端木 独孤 南宫 轩辕 澹台tantai
		申屠 太史 公冶 呼延 拓跋tuoba 万俟moqi 闻人 赫连 钟离 鲜于 闾丘 淳于 单于chanyu 西门 尉迟yuchi 濮阳 东郭 百里 完颜 耶律 纳兰 叶赫 爱新 公羊 宗政 仲孙 左丘 梁丘 第五 乐正yuezheng 子车 颛孙 巫马 公西 漆雕 壤驷 夹谷 宰父 段干 呼延 羊舌 微生`) {
		table[field[:2*hanBytes]] = field[2*hanBytes:]
	}
	return table
}()

// Sizes of Han names.
const (
	hanBytes      = 3  // Bytes of a character that is read.
	hanPersonMin  = 2  // Characters of a person's name.
	hanPersonMost = 4  // A longer name is a company's.
	hanWordMost   = 64 // Characters that are read. More are a text.
)

// SpeakHan returns a name with its Han words read aloud, and whether it is a person's; false: there
// is none to read, because they are a text, a foreign name, or have a character that the table lacks.
func SpeakHan(name string) (spoken string, person, ok bool) {
	if !mayHaveHan(name) {
		return "", false, false
	}
	words := strings.Fields(string(AppendWords(nil, name, false)))
	characters, business, mark, names := 0, false, false, false
	for i, word := range words {
		if isHan(word) {
			words[i] = withoutTitle(word)
			characters += len(words[i]) / hanBytes
			business, mark = business || hasCompanyWord(word), mark || hasCompanyMark(word)
			size, _ := companyWordAtEnd(word)
			names = names || size < len(word) // It is not only a place or the like.
		}
	}
	if characters > hanWordMost {
		return "", false, false
	}
	person = characters >= hanPersonMin && characters <= hanPersonMost && names && !mark
	if !person && !business {
		return "", false, false
	}
	dst, first := make([]byte, 0, 2*len(name)), true
	for _, word := range words {
		switch {
		case !isHan(word):
			dst = append(AppendSeparator(dst, 0), word...)
		case !person:
			dst = appendHanCompany(dst, word)
		case first:
			dst, first = appendHanPerson(dst, words), false
		}
	}
	return string(dst), person, true
}

// withoutTitle returns a name without the title behind it: Mr., Mrs., Miss.
func withoutTitle(word string) string {
	if len(word) > 3*hanBytes {
		for _, title := range [...]string{"先生", "女士", "小姐"} {
			word = strings.TrimSuffix(word, title)
		}
	}
	return word
}

// mayHaveHan reports whether a name may have a Han character, or a form of one: a radical, a character for
// compatibility.
func mayHaveHan(name string) bool {
	for _, r := range name {
		if r >= 0x2E80 && r <= 0x2FDF || r >= hanFirst && r <= hanLast || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F {
			return true
		}
	}
	return false
}

// isHan reports whether a folded word has only Han characters with a reading, and not too many.
func isHan(word string) bool {
	if len(word) > hanWordMost*hanBytes {
		return false
	}
	for _, r := range word {
		if hanReadings.of(r) == "" {
			return false
		}
	}
	return word != ""
}

// appendHanPerson appends the name of a person: the family name, and all other characters as the
// given name, which in Chinese is one word. The family name is the first character, or two of
// doubleFamilies; a last word that can be nothing else is one too (小林 王).
func appendHanPerson(dst []byte, words []string) []byte {
	family, given, several := "", "", false
	for _, word := range words {
		switch {
		case !isHan(word):
		case family == "":
			family = word
		default:
			given, several = given+word, true
		}
	}
	last := words[len(words)-1]
	switch {
	case several && isFamily(family):
	case several && isHan(last) && isFamily(last):
		family, given = last, family+strings.TrimSuffix(given, last)
	default:
		size := hanBytes
		if len(family) > 2*hanBytes && isFamily(family[:2*hanBytes]) {
			size = 2 * hanBytes
		}
		family, given = family[:size], family[size:]+given
	}
	reading, double := doubleFamilies[family]
	if !double {
		reading = familyReadings[family]
	}
	if reading == "" {
		reading = string(appendHanWord(nil, family))
	}
	dst = append(AppendSeparator(dst, 0), reading...)
	if given == "" {
		return dst
	}
	return appendHanWord(dst, given)
}

// isFamily reports whether a word can only be a family name: it has one character, or two that are
// known as one.
func isFamily(word string) bool {
	_, double := doubleFamilies[word]
	return double || len(word) == hanBytes
}

// appendHanWord appends the syllables of a word as one word.
func appendHanWord(dst []byte, word string) []byte {
	dst = AppendSeparator(dst, 0)
	for _, r := range word {
		dst = append(dst, hanReadings.of(r)...)
	}
	return dst
}

// hasCompanyMark reports whether a short word is of the name of a company or another body.
func hasCompanyMark(word string) bool {
	for _, mark := range companyMarks {
		if strings.Contains(word, mark) {
			return true
		}
	}
	return false
}

// hasCompanyWord reports whether a word has one that companies have.
func hasCompanyWord(word string) bool {
	for end := len(word); end > 0; end -= hanBytes {
		if _, meaning := companyWordAtEnd(word[:end]); meaning != "" {
			return true
		}
	}
	return false
}

// companyPiece is a known word within a longer one: a place has no meaning, and is read.
type companyPiece struct {
	start, end int
	meaning    string
}

// appendHanCompany appends a word of a company's name with its known words translated. They are
// looked for from the end, where words of companies stand: 亚泰国际 is 亚泰 and 国际.
func appendHanCompany(dst []byte, word string) []byte {
	var pieces [hanWordMost]companyPiece
	count := 0
	for end := len(word); end > 0; {
		size, meaning := companyWordAtEnd(word[:end])
		if size == 0 {
			end -= hanBytes
			continue
		}
		pieces[count] = companyPiece{end - size, end, meaning}
		count++
		end -= size
	}
	unknown := 0
	for ; count > 0; count-- {
		p := &pieces[count-1]
		dst = appendHanBrand(dst, word[unknown:p.start])
		if unknown = p.end; p.meaning == "" {
			dst = appendHanWord(dst, withoutPlaceKind(word[p.start:p.end]))
		} else {
			dst = append(AppendSeparator(dst, 0), p.meaning...)
		}
	}
	return appendHanBrand(dst, word[unknown:])
}

// companyWordAtEnd returns the bytes of the longest known word with which a text ends, and what it
// means; "": it is a place, perhaps with its kind.
func companyWordAtEnd(text string) (size int, meaning string) {
	for size = min(len(text), companyWordMost+hanBytes); size >= hanBytes; size -= hanBytes {
		word := text[len(text)-size:]
		if meaning, ok := companyWords[word]; ok {
			return size, meaning
		}
		if meaning, ok := companyWords[withoutPlaceKind(word)]; ok && meaning == "" {
			return size, ""
		}
	}
	return 0, ""
}

// withoutPlaceKind returns a place without its kind: city, province, county, district.
func withoutPlaceKind(word string) string {
	for _, kind := range [...]string{"市", "省", "县", "区"} {
		if rest, ok := strings.CutSuffix(word, kind); ok && len(rest) >= 2*hanBytes {
			return rest
		}
	}
	return word
}

// appendHanBrand appends what stands between known words. Of four characters and more, the first
// two are a word: the name of a place, or half of the brand.
func appendHanBrand(dst []byte, brand string) []byte {
	if len(brand) > 3*hanBytes {
		first := brand[:3*hanBytes]
		dst, brand = appendHanWord(dst, first[:2*hanBytes]), brand[2*hanBytes:]
		if withoutPlaceKind(first) != first {
			brand = brand[hanBytes:]
		}
	}
	if brand == "" {
		return dst
	}
	return appendHanWord(dst, brand)
}
