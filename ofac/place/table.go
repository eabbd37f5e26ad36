package place

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"

	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

// The tables. Countries are made by bench/placegen; the others are written by hand, and each says
// where its rows come from.
var (
	//go:embed countries.txt
	countriesText string
	//go:embed variants.txt
	variantsText string
	//go:embed regions.txt
	regionsText string
	//go:embed cities.txt
	citiesText string
)

// checked is when the tables and the default jurisdictions were last held against OFAC's programmes.
const checked = "2026-11-28"

// named is what a name means.
type named struct {
	code  Code
	doubt bool // It may mean another country as well.
}

// tableSet are the tables as they are looked up. A name is found by the sum of its words' hashes, so
// that their order does not matter.
type tableSet struct {
	version   string
	countries [26 * 26]bool
	numbers   [1000]Code
	names     map[uint64]named // Countries, with their codes.
	regions   map[uint64]Code
	cities    map[uint64]Code // Regions too.
	codes     map[Code]Code   // Other codes of a region.
	regional  map[Code]bool   // The regions that are listed.
	begins    [beginBits / 64]uint64
	longest   int // Words of the longest city.
	nameWords int // Words of the longest name of a country.
}

// beginBits is the size of the filter of words that stand in the name of a city. A power of two.
const beginBits = 8192

var tables = readTables()

// Version names the content of the tables: when they were last held against OFAC's programmes, and
// the beginning of their digest.
func Version() string { return tables.version }

func readTables() *tableSet {
	t := &tableSet{names: map[uint64]named{}, regions: map[uint64]Code{}, cities: map[uint64]Code{}, codes: map[Code]Code{}, regional: map[Code]bool{}}
	sum := sha256.Sum256([]byte(countriesText + variantsText + regionsText + citiesText))
	t.version = checked + "-" + hex.EncodeToString(sum[:4])
	for _, row := range rowsOf(countriesText, 4) {
		code := Code([]byte(row[0] + "\x00\x00\x00\x00"))
		t.countries[pairOf(code[0], code[1])] = true
		number, err := strconv.Atoi(row[2])
		if err != nil {
			panic("BUG: the number of a country: " + row[2])
		}
		t.numbers[number] = code
		t.addNames(code, row[0]+"|"+row[1]+"|"+row[3])
	}
	for _, row := range rowsOf(variantsText, 2) {
		t.addNames(Code([]byte(row[0]+"\x00\x00\x00\x00")), row[1])
	}
	t.addNames(Code{'G', 'B'}, "UK")
	t.addNames(Code{'G', 'R'}, "EL") // The European Union's code.
	for _, row := range rowsOf(regionsText, 3) {
		code := regionOf(row[0])
		t.codes[regionOf(row[1])], t.regional[code] = code, true
		for name := range strings.SplitSeq(row[2], "|") {
			t.regions[sumOfWords(name)] = code
			t.addCity(code, name)
		}
	}
	for _, row := range rowsOf(citiesText, 2) {
		code := Code([]byte((row[0] + "\x00\x00\x00\x00")[:codeSize]))
		for name := range strings.SplitSeq(row[1], "|") {
			t.addCity(code, name)
		}
	}
	return t
}

// rowsOf splits a table into its rows, each of so many fields.
func rowsOf(table string, fields int) (rows [][]string) {
	for line := range strings.Lines(table) {
		if line[0] == '#' {
			continue
		}
		row := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", fields)
		if len(row) != fields || len(row[0]) != 2 && len(row[0]) != 5 {
			panic("BUG: a row of places: " + line)
		}
		rows = append(rows, row)
	}
	return rows
}

func regionOf(text string) Code {
	code, ok := (Code{text[0], text[1]}).with(text[3:])
	if !ok {
		panic("BUG: the code of a region: " + text)
	}
	return code
}

// addNames adds the names of a country. A name that two countries have is a mistake of the tables.
func (t *tableSet) addNames(code Code, names string) {
	for name := range strings.SplitSeq(names, "|") {
		name, doubt := strings.CutPrefix(name, "?")
		var buffer wordList
		list := buffer.read(name)
		sum := list.sum(0, list.count)
		t.nameWords = max(t.nameWords, list.count)
		if before, taken := t.names[sum]; taken && (before.code != code || before.doubt != doubt) || sum == 0 {
			panic("BUG: a name of two countries: " + name)
		}
		t.names[sum] = named{code, doubt}
	}
}

func (t *tableSet) addCity(code Code, name string) {
	var buffer wordList
	list := buffer.read(name)
	if list.count == 0 {
		panic("BUG: a city without a name")
	}
	t.cities[list.sum(0, list.count)] = code
	t.longest = max(t.longest, list.count)
	for _, hash := range list.hashes[:list.count] {
		t.begins[hash%beginBits/64] |= 1 << (hash % 64)
	}
}

func (t *tableSet) inCity(hash uint64) bool { return t.begins[hash%beginBits/64]&(1<<(hash%64)) != 0 }

func sumOfWords(name string) uint64 {
	var buffer wordList
	list := buffer.read(name)
	return list.sum(0, list.count)
}

// wordList is the memory in which a text is split into words; it lies on the stack of its reader.
type wordList struct {
	text   [textBytesMax]byte
	hashes [wordsMax]uint64
	digits [wordsMax]bool
	count  int
}

const (
	textBytesMax = 1024 // Bytes of a folded text that are read in place; a longer one takes memory of its own.
	wordsMax     = 256  // Words of a text that are read.
)

// read splits a text into folded words and keeps the hash of each. Articles and the like are left out.
func (w *wordList) read(written string) *wordList {
	w.count = 0
	folded := text.AppendWords(w.text[:0], written, false)
	for begin := 0; begin < len(folded) && w.count < wordsMax; {
		end := begin
		for end < len(folded) && folded[end] != ' ' {
			end++
		}
		word := folded[begin:end]
		alone := w.count == 0 && end == len(folded) // AND is Andorra.
		if begin = end + 1; len(word) == 0 || isFiller(word) && !alone {
			continue
		}
		w.hashes[w.count], w.digits[w.count] = hashOf(word), isDigit(word[0])
		w.count++
	}
	return w
}

func isFiller(word []byte) bool {
	return string(word) == "the" || string(word) == "of" || string(word) == "and"
}

func hashOf(word []byte) uint64 { return perfect.KeyOf(word).Print() }

// sum adds the hashes of the words from begin to end.
func (w *wordList) sum(begin, end int) (sum uint64) {
	for _, hash := range w.hashes[begin:end] {
		sum += hash
	}
	return sum
}
