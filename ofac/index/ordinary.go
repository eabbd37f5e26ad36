package index

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railguard/ofac/text"
)

//go:embed people.txt
var peopleTable string

//go:embed frequent.txt
var frequentTable string

//go:embed companies.txt
var companiesTable string

// Ordinary is what the tables of ordinary names say of a word. The zero value is that of a word that is in
// none of them.
type Ordinary struct {
	person, other int32  // Its class in names of persons and of others; see readOrdinary. 0: it is not among them.
	row           uint32 // Its place among all ordinary words, in order of letters, from 1.
}

// ordinaryWords are the words of all tables, and ordinaryList is the same in order of letters.
var (
	ordinaryWords = mergeOrdinary(readOrdinary(peopleTable+frequentTable), readOrdinary(companiesTable))
	ordinaryList  = slices.Sorted(maps.Keys(ordinaryWords.Words()))
)

// readOrdinary reads lines of a class and its words: one of 2 to the power of the class names has the
// word. Of two classes of a word the one of more names counts.
func readOrdinary(table string) map[string]int32 {
	classes := map[string]int32{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		class, err := strconv.Atoi(words[0])
		if err != nil || class < 1 {
			panic("ofac/index: a table of ordinary words has the line " + line)
		}
		for _, word := range words[1:] {
			if known, ok := classes[word]; !ok || int32(class) < known {
				classes[word] = int32(class)
			}
		}
	}
	return classes
}

func mergeOrdinary(people, companies map[string]int32) *text.Lexicon[Ordinary] {
	both := maps.Clone(people)
	maps.Copy(both, companies)
	words := make(map[string]Ordinary, len(both))
	for i, word := range slices.Sorted(maps.Keys(both)) {
		words[word] = Ordinary{people[word], companies[word], uint32(i + 1)}
	}
	return text.NewLexicon(words)
}

// OrdinaryOf returns what the tables of ordinary names say of a word.
func OrdinaryOf(word []byte) Ordinary {
	o, _ := ordinaryWords.LookUp(word)
	return o
}

// Known tells whether ordinary names have the word.
func (o Ordinary) Known() bool { return o.row != 0 }

// genericClass is the class up to which a word says hardly anything of a company.
const genericClass = 6

// IsGeneric tells whether a word, of which o says what the tables do, says hardly anything of a company:
// one in some hundred has it, or it names a business, a place of business or a domain.
func (o Ordinary) IsGeneric(word []byte) bool {
	return o.other != 0 && o.other <= genericClass || text.BusinessWords.Has(word) || text.PlaceWords.Has(word)
}

// ordinaryNear are the listed words close to each ordinary word. Most words of a fresh name that are not
// listed are ordinary ones, so that they are searched once for each list and not for each name.
type ordinaryNear struct {
	offsets []uint32 // By row of the word, which counts from 1; the item before the first row is 0.
	rows    []neighbourRow
	slips   []bool // By row: the word is one edit away from a known respelling.
}

// NearOrdinary returns what Near finds for an ordinary word, and whether Finder.Slips finds anything.
func (l *WordLayer) NearOrdinary(o Ordinary) (rows []neighbourRow, slips bool) {
	n := &l.ordinary
	return n.rows[n.offsets[o.row-1]:n.offsets[o.row]], n.slips[o.row]
}

// findOrdinary finds the listed words close to each ordinary word that is not a listed one.
func (b *builder) findOrdinary() {
	l := &b.Words
	n := ordinaryNear{offsets: make([]uint32, 1, len(ordinaryList)+1), slips: make([]bool, len(ordinaryList)+1)}
	var f Finder
	var fold []byte
	for i, written := range ordinaryList {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		if word := []byte(written); !l.IsWhole(word) {
			fold = text.AppendSpelling(fold[:0], word)
			for _, near := range l.Near(&f, &text.SpelledWord{Text: word, Fold: fold, TextBag: text.BagOf(word), FoldBag: text.BagOf(fold)}) {
				n.rows = append(n.rows, near.packRow())
			}
			n.slips[i+1] = len(f.Slips(word)) > 0
		}
		n.offsets = append(n.offsets, uint32(len(n.rows)))
	}
	n.rows = slices.Clip(n.rows)
	l.ordinary = n
}
