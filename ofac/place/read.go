package place

import "strings"

// Reading is what a text says of a place. The zero value is a text that cannot be read.
type Reading struct {
	Code  Code
	Doubt bool // The text may mean this place, or another one.
}

// Country reads a country: a code with two or three letters or three digits, or a name. An
// embargoed region is read too, because people write it there. It does not allocate.
func Country(text string) Reading {
	text = strings.TrimSpace(text)
	if len(text) == 2 {
		if code := (Code{upper(text[0]), upper(text[1])}); known(code) {
			return Reading{Code: code}
		}
	}
	if number, ok := numberOf(text); ok {
		return Reading{Code: tables.numbers[number]}
	}
	if len(text) > textBytesMax/4 {
		return Reading{}
	}
	var buffer wordList
	words := buffer.read(text)
	sum := words.sum(0, words.count)
	if code, found := tables.regions[sum]; found {
		return Reading{Code: code}
	}
	if name, found := tables.names[sum]; found {
		return Reading{name.code, name.doubt}
	}
	code, _ := codeIn(text)
	return Reading{Code: code}
}

// numberOf reads a country's number; leading zeros may be missing.
func numberOf(text string) (number int, ok bool) {
	if len(text) == 0 || len(text) > 3 {
		return 0, false
	}
	for i := range len(text) {
		if !isDigit(text[i]) {
			return 0, false
		}
		number = 10*number + int(text[i]-'0')
	}
	return number, true
}

// codeIn reads the code of a region in any case.
func codeIn(text string) (Code, bool) {
	text = strings.Trim(text, " .,;:\"'()")
	if len(text) < 4 || text[2] != '-' {
		return Code{}, false
	}
	country := Code{upper(text[0]), upper(text[1])}
	if !known(country) {
		return Code{}, false
	}
	code, ok := country.with(text[3:])
	if !ok {
		return Code{}, false
	}
	return canonical(code), true
}

// canonical returns the code under which a region is listed.
func canonical(code Code) Code {
	if code.Country() == (Code{'U', 'A'}) && code[4] == 0 {
		code[3], code[4] = '0', code[3] // A spreadsheet took the zero away.
	}
	if listed, found := tables.codes[code]; found {
		return listed
	}
	return code
}

// Region reads the region of a country; the country may be unknown (zero). A region that is not
// embargoed anywhere is only read by its code, and any other text is no place: Reading is zero. A
// name of an embargoed place that does not go with the country is in doubt. It does not allocate.
func Region(text string, country Code) Reading {
	text = strings.TrimSpace(text)
	if code, ok := codeIn(text); ok {
		return Reading{code, !goesWith(code, country)}
	}
	if text == "" || len(text) > textBytesMax/4 {
		return Reading{}
	}
	var buffer wordList
	words := buffer.read(text)
	sum := words.sum(0, words.count)
	if code, found := tables.regions[sum]; found && (len(text) > codeSize-3 || goesWith(code, country)) {
		return Reading{code, !goesWith(code, country)}
	}
	if country != (Code{}) {
		if code, ok := country.Country().with(text); ok {
			return Reading{Code: canonical(code)}
		}
	}
	if name, found := tables.names[sum]; found {
		return Reading{name.code, name.doubt || name.code != country}
	}
	var found [placesMax]Code
	for _, code := range words.cities(found[:0]) {
		if code.IsRegion() || country == (Code{}) {
			return Reading{code, true}
		}
	}
	return Reading{}
}

// goesWith reports whether a region may be said to lie in a country. Of the regions of Ukraine that
// are listed, many say that they lie in Russia.
func goesWith(code, country Code) bool {
	in := country.Country()
	if in == (Code{}) || in == code.Country() {
		return true
	}
	return in == Code{'R', 'U'} && tables.regional[code]
}

// placesMax is how many places of one text are told.
const placesMax = 4

// Address appends to found, which must have room for them, the places that an address may name: the
// country at its end, and the embargoed regions, capitals and cities that stand in it as whole
// words. It appends at most the places for which found has room, and each once. It does not allocate
// for an address of ordinary length.
func Address(text string, found []Code) []Code {
	var buffer wordList
	words := buffer.read(text)
	end := words.count
	for end > 1 && words.digits[end-1] {
		end-- // A postal code.
	}
	for begin := max(0, end-tables.nameWords); begin < end; begin++ {
		if name, known := tables.names[words.sum(begin, end)]; known {
			found = appendOnce(found, name.code)
			break
		}
	}
	return words.cities(found)
}

// cities appends the embargoed places whose names stand in the text as whole words.
func (w *wordList) cities(found []Code) []Code {
	for begin := range w.count {
		if !tables.inCity(w.hashes[begin]) {
			continue
		}
		for end := min(w.count, begin+tables.longest); end > begin; end-- {
			if code, known := tables.cities[w.sum(begin, end)]; known {
				found = appendOnce(found, code)
				break
			}
		}
	}
	return found
}

func appendOnce(found []Code, code Code) []Code {
	for _, other := range found {
		if other == code {
			return found
		}
	}
	if len(found) == cap(found) {
		return found
	}
	return append(found, code)
}
