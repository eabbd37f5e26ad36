package text

import (
	"strings"
	"unicode/utf8"
)

// Koreans and people of Hong Kong have names in Han characters too, which they read in their own ways: 金正恩
// is Kim Jong Un and 李家超 is Lee Ka Chiu, while in pinyin they are Jin Zheng'en and Li Jiachao. So a name of
// three or four characters is read in these ways besides, if it begins with a family name of theirs and the
// table has all of its characters. The readings are of the characters that names have most; they were written
// down for this table. Korean names are romanised as in the North, whose people the lists have.

// hanAbroadMin is how many characters such a name has at least: two are a Chinese name far more often.
const hanAbroadMin = 3

// hanAbroad is a way to read Han characters.
type hanAbroad struct {
	families map[rune]string // The readings of family names, which may differ from those of the same character elsewhere.
	readings map[rune]string
}

// readAbroad reads a table with a line for each reading: the reading, its characters, and behind a bar those
// of them that are family names. The first reading of a character counts.
func readAbroad(table string) *hanAbroad {
	h := &hanAbroad{families: map[rune]string{}, readings: map[rune]string{}}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		reading, characters, _ := strings.Cut(strings.TrimSpace(line), " ")
		given, families, _ := strings.Cut(characters, "|")
		addReadings(h.families, foldHan(families), reading)
		addReadings(h.readings, foldHan(given+families), reading)
	}
	return h
}

func addReadings(table map[rune]string, characters, reading string) {
	for _, r := range characters {
		if table[r] == "" {
			table[r] = reading
		}
	}
}

// foldHan folds characters to the form in which names are compared.
func foldHan(characters string) string {
	var folded []byte
	for _, r := range characters {
		folded = append(folded, AppendWords(nil, string(r), false)...)
	}
	return string(folded)
}

// HanWays are the ways to read the Han characters of a person's name besides pinyin.
var HanWays = [...]*hanAbroad{readAbroad(koreanHan), readAbroad(cantoneseHan)}

// hanTitle is how many characters a title has that stands behind a name; see withoutTitle.
const hanTitle = 2

// countHan counts the plain Han characters of a name. Each stays one character when the name is folded.
func countHan(name string) (count int) {
	for _, r := range name {
		if r >= hanFirst && r <= hanLast {
			count++
		}
	}
	return count
}

// Speak returns a person's name read aloud, each character a word, and false if it has no such reading.
func (h *hanAbroad) Speak(name string) (spoken string, ok bool) {
	if !mayHaveHan(name) || countHan(name) > hanPersonMost+hanTitle {
		return "", false
	}
	words := strings.Fields(string(AppendWords(nil, name, false)))
	characters := strings.Join(words, "")
	if len(words) == 1 {
		characters = withoutTitle(characters)
	}
	if count := utf8.RuneCountInString(characters); count < hanAbroadMin || count > hanPersonMost {
		return "", false
	}
	var dst []byte
	for i, r := range characters {
		reading := h.readings[r]
		if i == 0 {
			reading = h.families[r]
		}
		if reading == "" {
			return "", false
		}
		dst = append(AppendSeparator(dst, 0), reading...)
	}
	return string(dst), true
}
