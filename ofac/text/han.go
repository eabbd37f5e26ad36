package text

import (
	_ "embed"
	"strings"
	"unicode/utf8"
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

// hanReadings holds the usual reading of each character, "" if it has none.
var hanReadings = readHan()

func readHan() *[hanLast - hanFirst + 1]string {
	var table [hanLast - hanFirst + 1]string
	for line := range strings.Lines(hanText) {
		syllable, characters, ok := strings.Cut(strings.TrimSpace(line), " ")
		if syllable == "#" || !ok {
			continue
		}
		for _, r := range characters {
			table[r-hanFirst] = syllable
		}
	}
	for character, syllable := range hanPairs(namesReadings) {
		table[character-hanFirst] = syllable
	}
	return &table
}

// namesReadings are of characters that names read otherwise than texts.
const namesReadings = "长chang 都du 晟sheng 卜bu"

// familyReadings are of characters that only as a family name are read so.
var familyReadings = hanPairs("曾zeng 单shan 解xie 仇qiu 查zha 翟zhai 区ou 朴piao 盖ge 召shao 员yun 缪miao 种chong 折she 黑he 乐yue 覃qin 洗xian 祭zhai 繁po 秘bi 郇xun 阚kan 乜nie 佴nai 句gou 炅gui 么yao 薄bo 重chong 能nai 尉wei 隗wei 纪ji 逄pang 笪da 都du 长zhang 莘shen")

func hanPairs(text string) map[rune]string {
	pairs := map[rune]string{}
	for field := range strings.FieldsSeq(text) {
		r, size := utf8.DecodeRuneInString(field)
		pairs[r] = field[size:]
	}
	return pairs
}

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
	hanBytes      = 3  // Bytes of a character of hanReadings.
	hanPersonMin  = 2  // Characters of a person's name.
	hanPersonMost = 4  // A longer name is a company's.
	hanWordMost   = 64 // Characters of a word that are read. A longer word is a text.
)

// SpeakHan returns a name with its Han words read aloud; false: there is none to read.
func SpeakHan(name string) (string, bool) {
	if !mayHaveHan(name) {
		return "", false
	}
	words := strings.Fields(string(AppendWords(nil, name, false)))
	spoken, found := make([]byte, 0, 2*len(name)), false
	for i := 0; i < len(words); {
		end, characters := i, 0
		for end < len(words) && isHan(words[end]) {
			characters += len(words[end]) / hanBytes
			end++
		}
		if end == i {
			spoken = append(AppendSeparator(spoken, 0), words[i]...)
			i++
			continue
		}
		person := characters >= hanPersonMin && characters <= hanPersonMost && !hasCompanyMark(words[i:end])
		if person {
			spoken, found = appendHanPerson(spoken, words[i:end]), true
		}
		for ; i < end; i++ {
			if !person {
				mark := len(spoken)
				spoken = appendHanCompany(spoken, words[i])
				found = found || len(spoken) > mark
			}
		}
	}
	return string(spoken), found
}

// mayHaveHan reports whether a name may have a Han character, by the lead bytes.
func mayHaveHan(name string) bool {
	for i := range len(name) {
		if name[i] >= 0xE2 && name[i] != 0xEF { // From the radicals of U+2E80 on.
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
		if r < hanFirst || r > hanLast || hanReadings[r-hanFirst] == "" {
			return false
		}
	}
	return true
}

// appendHanPerson appends the words of a person's name: the family name, and the given name as
// one word.
func appendHanPerson(dst []byte, words []string) []byte {
	first := words[0]
	family, rest := first[:hanBytes], first[hanBytes:]
	reading, ok := familyReadings[firstRune(family)]
	if !ok {
		reading = hanReadings[firstRune(family)-hanFirst]
	}
	if len(first) >= 2*hanBytes && (len(first) > 2*hanBytes || len(words) > 1) {
		if double, ok := doubleFamilies[first[:2*hanBytes]]; ok {
			family, rest = first[:2*hanBytes], first[2*hanBytes:]
			if reading = double; reading == "" {
				reading = hanReadings[firstRune(family)-hanFirst] + hanReadings[firstRune(family[hanBytes:])-hanFirst]
			}
		}
	}
	dst = append(AppendSeparator(dst, 0), reading...)
	if rest != "" {
		dst = appendHanWord(dst, rest)
	}
	for _, word := range words[1:] {
		dst = appendHanWord(dst, word)
	}
	return dst
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// appendHanWord appends the syllables of a word as one word.
func appendHanWord(dst []byte, word string) []byte {
	dst = AppendSeparator(dst, 0)
	for _, r := range word {
		dst = append(dst, hanReadings[r-hanFirst]...)
	}
	return dst
}

// hasCompanyMark reports whether a short name is one of a company or another body.
func hasCompanyMark(words []string) bool {
	for _, word := range words {
		for _, mark := range companyMarks {
			if strings.Contains(word, mark) {
				return true
			}
		}
	}
	return false
}

// appendHanCompany appends a word of a company's name with its known words translated. It appends
// nothing if it knows none of them.
func appendHanCompany(dst []byte, word string) []byte {
	mark, unknown, known := len(dst), 0, false
	for at := 0; at < len(word); {
		size, meaning := companyWordAt(word[at:])
		if size == 0 {
			at += hanBytes
			continue
		}
		if unknown < at {
			dst = appendHanWord(dst, word[unknown:at])
		}
		if meaning == "" {
			dst = appendHanWord(dst, word[at:at+size])
		} else {
			dst = append(AppendSeparator(dst, 0), meaning...)
			known = true
		}
		at += size
		if meaning == "" && at < len(word) && strings.Contains(placeKinds, word[at:at+hanBytes]) {
			at += hanBytes
		}
		unknown = at
	}
	if unknown < len(word) {
		dst = appendHanWord(dst, word[unknown:])
	}
	if !known {
		return dst[:mark]
	}
	return dst
}

// placeKinds stand behind the name of a place: city, province, county, district.
const placeKinds = "市省县区"

// companyWordAt returns the bytes of the longest known word with which a text begins, and what it
// means; "": it is a place, and is read.
func companyWordAt(text string) (size int, meaning string) {
	for size = min(len(text), companyWordMost); size >= hanBytes; size -= hanBytes {
		if meaning, ok := companyWords[text[:size]]; ok {
			return size, meaning
		}
	}
	return 0, ""
}
