package text

import "strings"

// AppendSpelling appends the spelling fold of a Latin word. It replaces letters that
// transliterations of Cyrillic, Arabic, Persian and Greek names exchange by one common
// letter, and doubled letters by one. Two words with the same fold are spellings of one
// name, as far as a clerk can see. A word of a group in respellingOf gets the fold of the
// group's first word. Other scripts are appended unchanged.
func AppendSpelling(dst, word []byte) []byte {
	if n := len(word); n > 3 && word[0] <= '9' && isOrdinal(word[n-2], word[n-1]) {
		word = word[:n-2] // So 558th is read as 558.
	}
	if known, ok := respellingOf.LookUp(word); ok {
		return foldLetters(dst, known.first)
	}
	return foldLetters(dst, word)
}

func foldLetters[T string | []byte](dst []byte, word T) []byte {
	base := len(dst)
	for i := 0; i < len(word); {
		code, size := spellingAt(word, i)
		i += size
		for _, c := range []byte(code) {
			if len(dst) > base && dst[len(dst)-1] == c {
				continue
			}
			dst = append(dst, c)
		}
	}
	// A final h after a vowel is mute: Abdullah, Abdulla. The Persian and
	// Levantine ending -eh is the same letter as -ah: Zadeh, Zada.
	if n := len(dst); n-base > 3 && dst[n-1] == 'h' && IsFoldVowel(dst[n-2]) {
		dst = dst[:n-1]
		if word[len(word)-2] == 'e' {
			dst[n-2] = 'a'
		}
	}
	return dst
}

func isOrdinal(a, b byte) bool {
	return a == 't' && b == 'h' || a == 's' && b == 't' || a == 'n' && b == 'd' || a == 'r' && b == 'd'
}

// spellingAt returns the fold of the letters that begin at i.
func spellingAt[T string | []byte](word T, i int) (code string, size int) {
	c := word[i]
	rest := len(word) - i
	next := byte(0)
	if rest > 1 {
		next = word[i+1]
	}
	if code, size = spellingGroup(word, i, c, next, rest); size > 0 {
		return code, size
	}
	switch c {
	case 'q':
		return "k", 1
	case 'c':
		if next == 'e' || next == 'i' || next == 'y' {
			return "s", 1
		}
		return "k", 1
	case 'w':
		return "v", 1
	case 'x':
		return "ks", 1
	case 'e', 'y':
		return "i", 1
	case 'o':
		return "u", 1
	}
	return oneByte[c], 1
}

// spellingGroup returns the fold of a group of letters, and size 0 if none begins here.
func spellingGroup[T string | []byte](word T, i int, c, next byte, rest int) (code string, size int) {
	third := byte(0)
	if rest > 2 {
		third = word[i+2]
	}
	switch {
	case next == 'h' && (c == 'k' || c == 'z' || c == 'p' || c == 't' || c == 'd' || c == 'g' || c == 's' || c == 'c'):
		return foldPair(c), 2
	case c == 'd' && next == 'z' && third == 'h':
		return "j", 3
	case c == 't' && next == 'c' && third == 'h':
		return "c", 3
	case c == 't' && next == 's' && third == 'c' && rest > 3 && word[i+3] == 'h':
		return "c", 4 // the German spelling: Tschaikowski
	case c == 's' && next == 'c' && third == 'h':
		return "x", 3
	case c == 'd' && next == 'j':
		return "j", 2
	case c == 'c' && next == 'k':
		return "k", 2
	case c == 't' && next == 'z':
		return "ts", 2
	case c == 'o' && next == 'u' && isVowel(third) && (i == 0 || isVowel(word[i-1])):
		return "v", 2 // the French spelling of w: Raoui, Rawi; Oualid, Walid
	case c == 'o' && next == 'u':
		return "u", 2
	case c == 'j' && rest == 1 && i > 0 && isVowel(word[i-1]):
		return "i", 1 // the German, Polish and Czech spelling of y: Zelenskyj, Andrej
	case next == 'f' && third == 'f' && rest == 3 && i > 1 && (c == 'o' || c == 'e'):
		return foldTriple(c), 3
	case next == 'u' && rest == 2 && i > 2 && (c == 'a' && !isVowel(word[i-1]) || c == 'e' && (!isVowel(word[i-1]) || word[i-1] == 'y')):
		return foldBelarusian(c), 2
	}
	return "", 0
}

// foldPair is the fold of a consonant followed by h.
func foldPair(c byte) string {
	switch c {
	case 'k':
		return "h"
	case 'z':
		return "j"
	case 'p':
		return "f"
	case 's':
		return "x"
	case 'c':
		return "c"
	}
	return oneByte[c] // So th, dh and gh are read as t, d and g.
}

// foldTriple is the fold of the ending -off or -eff.
func foldTriple(c byte) string {
	if c == 'o' {
		return "uv"
	}
	return "iv"
}

// foldBelarusian is the fold of the ending -au or -eu, which in Russian is -ov or -ev:
// Shpakau, Kavaleu.
func foldBelarusian(c byte) string {
	if c == 'a' {
		return "uv"
	}
	return "iv"
}

var oneByte = oneByteStrings()

func oneByteStrings() (list [256]string) {
	for i := range list {
		list[i] = string([]byte{byte(i)})
	}
	return list
}

func isVowel(c byte) bool { return letterClass[c] == 1 }

func IsFoldVowel(c byte) bool { return c == 'a' || c == 'i' || c == 'u' }

// AppendSkeleton appends the consonants of a spelling fold.
func AppendSkeleton(dst, fold []byte) []byte {
	for _, c := range fold {
		if !IsFoldVowel(c) {
			dst = append(dst, c)
		}
	}
	return dst
}

// Costs of edits, in hundredths of a letter.
const (
	costEdit       = 100
	CostVowels     = 45  // one vowel for another
	costClass      = 60  // one consonant for another of its class
	costKey        = 80  // a letter for one beside it on the keyboard
	costSwap       = 70  // two letters exchanged
	costDouble     = 25  // a letter doubled or undoubled
	CostWeak       = 50  // an extra h or y
	costVowelGap   = 75  // an extra vowel
	costNumber     = 300 // one digit for another, which makes another number
	costImpossible = 1 << 20
)

// letterClass maps letters that sound alike to one class; vowels are 1.
var letterClass = [256]uint8{
	'a': 1, 'e': 1, 'i': 1, 'o': 1, 'u': 1, 'y': 1, 'b': 2, 'p': 2, 'd': 3, 't': 3, 'g': 4, 'k': 4, 'q': 4, 'c': 4,
	's': 5, 'z': 5, 'x': 5, 'v': 6, 'w': 6, 'f': 6, 'm': 7, 'n': 7, 'j': 8, 'h': 9, 'l': 10, 'r': 11,
}

func substitutionCost(a, b byte) int32 {
	if a == b {
		return 0
	}
	switch {
	case a <= '9' || b <= '9':
		return costNumber
	case letterClass[a] == 0 || letterClass[a] != letterClass[b]:
		if a == 'j' && strings.IndexByte(soundsOfJ, b) >= 0 || b == 'j' && strings.IndexByte(soundsOfJ, a) >= 0 || a == 'c' && b == 's' || a == 's' && b == 'c' {
			return costClass
		}
		if areBeside(a, b) {
			return costKey
		}
		return costEdit
	case letterClass[a] == 1:
		return CostVowels
	}
	return costClass
}

// soundsOfJ are the letters for which some language writes j: g, i, y and, in folds, x,
// which is sh (Prigozhin, Prigoschin).
const soundsOfJ = "gixy"

// keyboardRows are the rows of the usual keyboard; each row begins half a key further right
// than the one above it.
var keyboardRows = [...]string{"qwertyuiop", "asdfghjkl", "zxcvbnm"}

// areBeside reports whether two letters are neighbours on the keyboard. A slipped finger
// changes the sound but seldom makes another word.
func areBeside(a, b byte) bool {
	for row, keys := range keyboardRows {
		at := strings.IndexByte(keys, a)
		if at < 0 {
			continue
		}
		for other := max(row-1, 0); other <= min(row+1, len(keyboardRows)-1); other++ {
			to := strings.IndexByte(keyboardRows[other], b)
			if first := at - max(other-row, 0); to >= 0 && (other == row && (to == at-1 || to == at+1) || other != row && (to == first || to == first+1)) {
				return true
			}
		}
	}
	return false
}

// letterCodes numbers the letters for substitutions: a to z from 1; digits and all bytes
// before them 27; everything else 0.
var letterCodes = numberLetters()

const letterCodeCount = 32

func numberLetters() (codes [256]uint8) {
	for c := range codes {
		switch {
		case c <= '9':
			codes[c] = 27
		case c >= 'a' && c <= 'z':
			codes[c] = uint8(c - 'a' + 1)
		}
	}
	return codes
}

// substitutions holds substitutionCost of two different letters, by their codes.
var substitutions = tabulateSubstitutions()

func tabulateSubstitutions() (costs [letterCodeCount][letterCodeCount]uint16) {
	for a := range 256 {
		for b := range 256 {
			if a != b {
				costs[letterCodes[a]][letterCodes[b]] = uint16(substitutionCost(byte(a), byte(b)))
			}
		}
	}
	return costs
}

// gapCost is the cost of leaving out letter i of word.
func gapCost(word []byte, i int) int32 {
	c := word[i]
	switch {
	case i > 0 && word[i-1] == c || i+1 < len(word) && word[i+1] == c:
		return costDouble
	case c == 'h' || c == 'y':
		return CostWeak
	case letterClass[c] == 1:
		return costVowelGap
	}
	return costEdit
}

// spellingCost is the least cost to turn a into b by substitutions, gaps and exchanges of
// neighbours (optimal string alignment). It returns costImpossible when that exceeds limit
// or a word is longer than WordBytesMax.
func spellingCost(a, b []byte, limit int32) int32 {
	if len(a) > WordBytesMax || len(b) > WordBytesMax {
		return costImpossible
	}
	// A common beginning and end cost nothing. One letter is kept on either side of the
	// difference, so that doublings and exchanges are still seen.
	start, tail := 0, 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for tail < len(a)-start && tail < len(b)-start && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	start, tail = max(start-1, 0), max(tail-1, 0)
	a, b = a[start:len(a)-tail], b[start:len(b)-tail]

	return alignmentCost(a, b, limit)
}

// costColumn is one column of the table of spellingCost: a letter of the second word and
// its costs in the last rows.
type costColumn struct {
	rows         uint64 // costs of 16 bits each, the last row's in the lowest bits
	gap          int32
	letter, code uint8
}

// alignmentCost fills the table of spellingCost. It uses a small table where that is
// enough, because the table is cleared each time.
func alignmentCost(a, b []byte, limit int32) int32 {
	if len(b) < ordinaryLetters {
		var columns [ordinaryLetters]costColumn
		return fillColumns(columns[:len(b)+1], a, b, limit)
	}
	var columns [WordBytesMax + 1]costColumn
	return fillColumns(columns[:min(len(b), WordBytesMax)+1], a, b, limit)
}

// ordinaryLetters is the number of columns of the small table. Most words differ in fewer
// letters.
const ordinaryLetters = 10

// fillColumns fills the table row by row. There is one empty column more than b has
// letters.
func fillColumns(columns []costColumn, a, b []byte, limit int32) int32 {
	total := int32(0)
	for j, letter := range b[:len(columns)-1] {
		alone := gapCost(b, j)
		total += alone
		columns[j+1] = costColumn{rows: uint64(total), gap: alone, letter: letter, code: letterCodes[letter]}
	}
	previous := uint8(0)
	for i, letter := range a {
		alone, costs := gapCost(a, i), &substitutions[letterCodes[letter]%letterCodeCount]
		diagonal := int32(uint16(columns[0].rows))
		left := diagonal + alone
		columns[0].rows = columns[0].rows<<16 | uint64(left)
		best := left
		for j := 1; j < len(columns); j++ {
			column := &columns[j]
			if column.letter != letter {
				diagonal += int32(costs[column.code%letterCodeCount])
			}
			above := int32(uint16(column.rows))
			left = min(diagonal, above+alone, left+column.gap)
			if column.letter == previous && j > 1 && columns[j-1].letter == letter && letter != previous {
				left = min(left, int32(uint16(columns[j-2].rows>>32))+costSwap)
			}
			column.rows = column.rows<<16 | uint64(left)
			diagonal = above
			best = min(best, left)
		}
		if best > limit {
			return costImpossible
		}
		previous = letter
	}
	if cost := int32(uint16(columns[len(columns)-1].rows)); cost <= limit {
		return cost
	}
	return costImpossible
}

// CostLimit is the greatest cost at which two words are still spellings of one, by the
// length of the longer.
func CostLimit(length int) int32 {
	switch {
	case length <= 2:
		return 0
	case length == 3:
		return 50
	case length == 4:
		return 75
	case length <= 6:
		return 125
	case length <= 9:
		return 200
	}
	return 260
}

// Similarities of words, 1e-4.
const (
	SameSpelling = 9650 // same spelling fold
	ClearlyClose = 9200 // close enough by the letters alone
	WordFloor    = 7000 // below it two words are not close
)

// SpelledWord is a word prepared for comparison.
type SpelledWord struct {
	Text, Fold       []byte
	TextBag, FoldBag LetterBag
}

// WordSimilarity compares two different Latin words. It returns 0, or WordFloor to
// SameSpelling.
func WordSimilarity(a, b *SpelledWord) int32 {
	if string(a.Fold) == string(b.Fold) {
		return SameSpelling
	}
	length := int32(max(len(a.Text), len(b.Text)))
	best := int32(0)
	limit := CostLimit(int(length))
	if !a.TextBag.FartherThan(b.TextBag, limit) {
		if cost := spellingCost(a.Text, b.Text, limit); cost <= limit {
			if best = ScoreOne - cost*(ScoreOne/100)/length; best >= ClearlyClose {
				return min(best, SameSpelling)
			}
		}
	}
	length = int32(max(len(a.Fold), len(b.Fold)))
	limit = CostLimit(int(length))
	closer := (ScoreOne - best*100/97) * length / (ScoreOne / 100) // At a greater cost the fold would be no closer than the letters.
	if !a.FoldBag.FartherThan(b.FoldBag, min(limit, closer)) {
		if cost := spellingCost(a.Fold, b.Fold, min(limit, closer+costEdit-costSwap)); cost <= limit { // This leaves room for an exchange of letters, which may come after a row of higher cost.
			best = max(best, (ScoreOne-cost*(ScoreOne/100)/length)*97/100)
		}
	}
	if best < WordFloor {
		return 0
	}
	return min(best, SameSpelling)
}

// Bounds for words that share their beginning. One of them is a shorter form, an abbreviation, or
// has another ending (WHEEL, WHEELED; ELECTR, ELECTRONIC).
const (
	stemLetters = 4    // The shared beginning has at least so many letters.
	stemShare   = 80   // The shared beginning is at least so many per cent of the shorter word.
	stemFloor   = 7500 // The least similarity of such words. It grows by up to stemRange with the part of the longer word that the beginning covers.
	stemRange   = 1800
)

// LooseLettersMin is how many letters a word needs to be compared loosely.
const LooseLettersMin = 3

// LooseSimilarity compares two words of names whose other words match: as WordSimilarity,
// or by a shared beginning. In a person's name the beginning must be nearly the whole
// longer word: ALEXEI is not ALEXANDER.
func LooseSimilarity(a, b *SpelledWord, person bool) int32 {
	foldA, foldB := a.Fold, b.Fold
	if len(a.Text) < LooseLettersMin || len(b.Text) < LooseLettersMin || foldA[0] != foldB[0] {
		return 0
	}
	if similarity := WordSimilarity(a, b); similarity > 0 {
		return similarity
	}
	shared := 0
	for shared < len(foldA) && shared < len(foldB) && foldA[shared] == foldB[shared] {
		shared++
	}
	shorter, longer := min(len(foldA), len(foldB)), max(len(foldA), len(foldB))
	if person {
		shorter = longer
	}
	if shared < stemLetters || shared*100 < shorter*stemShare || shared*2 < longer {
		return 0
	}
	return int32(stemFloor + stemRange*shared/longer)
}
