package engine

import (
	_ "embed"
	"strings"

	"railguard/ofac"
)

// mixersTSV is the mixer and privacy-protocol list of R14: a policy list, kept
// apart from the sanctions lists, because most of its entries were never
// sanctioned (decision 30, no. 2).
//
//go:embed mixers.tsv
var mixersTSV string

// Mixer is one entry of the list.
type Mixer struct {
	ID       string // "tornado-cash"
	Terms    []string
	Category string // "custodial-mixer", "contract-mixer", "coinjoin", "privacy-protocol", "privacy-coin", "swap", "market".
	Status   string // OFAC status at the list's date: "listed", "delisted", "never".
	Listed   string // Date of the listing, or "".
	Delisted string // Date of the removal, or "".
	Source   string // Where the facts come from.
}

// MixerMatch is a term that FindMixer found.
type MixerMatch struct {
	Mixer       *Mixer
	Term        string // As the list writes it.
	Unambiguous bool   // The term has two words, or one word with a dot. Such a term is good evidence even inside a name.
}

// mixers is the list, read once. A file that cannot be read is a mistake in the build.
var mixers = readMixers(mixersTSV)

type mixerList struct {
	version string
	entries []Mixer
	terms   map[string]MixerMatch // By squeezed form. It is only looked up, never iterated.
	longest int                   // Length of the longest squeezed term.
}

// MixerVersion returns the version of the list, for the record.
func MixerVersion() string { return mixers.version }

// Mixers returns the list in the order of its file. It must not be changed.
func Mixers() []Mixer { return mixers.entries }

func readMixers(file string) *mixerList {
	list := &mixerList{terms: make(map[string]MixerMatch)}
	for _, line := range strings.Split(strings.TrimSuffix(file, "\n"), "\n") {
		if version, ok := strings.CutPrefix(line, "# version "); ok {
			list.version = version
		}
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 7 {
			panic("BUG: mixers.tsv: a line has not seven cells: " + line)
		}
		list.entries = append(list.entries, Mixer{ID: cells[0], Terms: strings.Split(cells[1], "|"), Category: cells[2],
			Status: cells[3], Listed: cells[4], Delisted: cells[5], Source: cells[6]})
	}
	for i := range list.entries {
		for _, term := range list.entries[i].Terms {
			list.addTerm(&list.entries[i], term)
		}
	}
	return list
}

func (l *mixerList) addTerm(mixer *Mixer, term string) {
	key := string(squeezeText(nil, term))
	match := MixerMatch{Mixer: mixer, Term: term, Unambiguous: strings.ContainsAny(term, " .")}
	if known, twice := l.terms[key]; twice {
		if known.Mixer != mixer {
			panic("BUG: mixers.tsv: two entries share the term " + term)
		}
		match.Unambiguous = match.Unambiguous || known.Unambiguous
	}
	l.terms[key] = match
	l.longest = max(l.longest, len(key))
}

// FindMixer looks a whole text up. The text must equal a term after normalisation, with words
// joined ("Tornado.Cash", "TORNADO-CASH", "tornadocash" are one). FindMixer never searches
// inside the text: "Helix Bakery" is not Helix.
func FindMixer(text string) (MixerMatch, bool) {
	var buffer [2 * FieldMax]byte
	key := squeezeText(buffer[:0], text)
	if len(key) == 0 || len(key) > mixers.longest {
		return MixerMatch{}, false
	}
	match, found := mixers.terms[string(key)]
	return match, found
}

// squeezeText appends the normal form of a text without blanks. It reads the digits 0 and 1 as
// the letters that they imitate.
func squeezeText(dst []byte, text string) []byte {
	start := len(dst)
	dst = ofac.AppendNormalised(dst, text)
	kept := dst[:start]
	for _, c := range dst[start:] {
		switch c {
		case ' ':
			continue
		case '0':
			c = 'o'
		case '1':
			c = 'l'
		}
		kept = append(kept, c)
	}
	return kept
}
