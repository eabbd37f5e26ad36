package place

// Code is the code of a country (ISO 3166-1 alpha-2: "IR") or of one of its regions (ISO 3166-2:
// "UA-43"), with zeros behind it. The zero value is no place.
type Code [codeSize]byte

// codeSize is the length of the longest code: two letters, a dash and three characters.
const codeSize = 6

// String returns the code as ISO writes it.
func (c Code) String() string { return string(c[:c.length()]) }

func (c Code) length() int {
	for i, b := range c {
		if b == 0 {
			return i
		}
	}
	return codeSize
}

// IsRegion reports whether the code is that of a region.
func (c Code) IsRegion() bool { return c[2] == '-' }

// Country returns the code of the country in which a region is, and a country's own.
func (c Code) Country() Code { return Code{c[0], c[1]} }

// Within reports whether a place is other, or lies in it.
func (c Code) Within(other Code) bool { return c == other || c.Country() == other }

// Parse reads a code exactly as ISO 3166 writes it; the country must be one.
func Parse(text string) (Code, bool) {
	if len(text) < 2 || len(text) > codeSize || !isUpper(text[0]) || !isUpper(text[1]) {
		return Code{}, false
	}
	country := Code{text[0], text[1]}
	if !known(country) {
		return Code{}, false
	}
	if len(text) == 2 {
		return country, true
	}
	code, ok := country.with(text[3:])
	if text[2] != '-' || !ok || code.String() != text {
		return Code{}, false
	}
	return code, true
}

// with returns the code of a region of a country. Letters may be small.
func (c Code) with(region string) (Code, bool) {
	if len(region) == 0 || len(region) > codeSize-3 {
		return Code{}, false
	}
	c[2] = '-'
	for i := range len(region) {
		b := upper(region[i])
		if !isUpper(b) && !isDigit(b) {
			return Code{}, false
		}
		c[3+i] = b
	}
	return c, true
}

func known(country Code) bool {
	return isUpper(country[0]) && isUpper(country[1]) && tables.countries[pairOf(country[0], country[1])]
}

func pairOf(a, b byte) int { return 26*int(a-'A') + int(b-'A') }

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func upper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}
