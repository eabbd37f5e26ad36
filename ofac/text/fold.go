package text

import (
	_ "embed"
	"strconv"
	"strings"
	"unicode/utf8"
)

// foldText is the frozen table of characters (written by bench/foldgen). It is part of the
// binary and does not depend on the Go release. So two nodes built with different Unicode
// tables fold every name alike.
//
//go:embed fold.txt
var foldText string

// foldKind says what a character does in a name.
type foldKind uint8

const (
	foldKeep     foldKind = iota // not in the table: a letter kept as it is
	foldDrop                     // is dropped
	foldSpace                    // ends a word
	foldDot                      // ends a word, or binds the letters of an acronym
	foldAnd                      // the word "and"
	foldLatin                    // Latin letters or a digit
	foldNative                   // letters of a script that is kept
	foldCyrillic                 // scripts with a transliteration; all later kinds are such scripts too
	foldGreek
	foldArabic
	foldHebrew
	foldGeorgian
	foldArmenian
)

// foldEntry says how to fold one character.
type foldEntry struct {
	kind     foldKind
	plain    string // folded in its own script; for foldLatin in Latin
	skeleton string // the Latin letter it looks like
	latin    string // its transliteration
}

const foldPageSize = 256

// foldTable maps a rune to its entry in two steps: page, then index.
type foldTable struct {
	pages   [0x110000 / foldPageSize]uint16
	places  []uint16 // pages of foldPageSize indices into entries
	entries []foldEntry
}

var folds = parseFolds(foldText)

// parseFolds reads the embedded table. A malformed table is a bug of the build.
func parseFolds(text string) *foldTable {
	table := &foldTable{entries: make([]foldEntry, 1, 4096), places: make([]uint16, foldPageSize, 64*foldPageSize)}
	known := map[foldEntry]uint16{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 5 {
			panic("BUG: malformed row in fold.txt: " + line)
		}
		entry := foldEntry{kind: foldKindOf(fields[1][0]), plain: emptyIfDash(fields[2]), skeleton: emptyIfDash(fields[3]), latin: emptyIfDash(fields[4])}
		index, ok := known[entry]
		if !ok {
			index = uint16(len(table.entries))
			known[entry] = index
			table.entries = append(table.entries, entry)
		}
		first, last, ranged := strings.Cut(fields[0], "-")
		if !ranged {
			last = first
		}
		table.fillRange(parseHex(first), parseHex(last), index)
	}
	return table
}

func (t *foldTable) fillRange(first, last rune, index uint16) {
	for r := first; r <= last; r++ {
		page := &t.pages[r/foldPageSize]
		if *page == 0 {
			*page = uint16(len(t.places) / foldPageSize)
			t.places = append(t.places, make([]uint16, foldPageSize)...)
		}
		t.places[int(*page)*foldPageSize+int(r%foldPageSize)] = index
	}
}

// entryOf returns the entry of a rune; entry zero (foldKeep) if the table has none.
func (t *foldTable) entryOf(r rune) *foldEntry {
	if uint32(r) > utf8.MaxRune {
		return &t.entries[0]
	}
	return &t.entries[t.places[int(t.pages[r/foldPageSize])*foldPageSize+int(r%foldPageSize)]]
}

func foldKindOf(letter byte) foldKind {
	const letters = "?DSPNLXCGAHOE"
	if i := strings.IndexByte(letters, letter); i > 0 {
		return foldKind(i)
	}
	panic("BUG: unknown kind in fold.txt: " + string(letter))
}

func emptyIfDash(field string) string {
	if field == "-" {
		return ""
	}
	return field
}

func parseHex(field string) rune {
	value, err := strconv.ParseUint(field, 16, 32)
	if err != nil {
		panic("BUG: bad code point in fold.txt: " + field)
	}
	return rune(value)
}
