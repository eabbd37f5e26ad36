package match

import (
	"slices"
	"strings"

	"railguard/ofac/place"
	"railguard/ofac/text"
)

// This file compares what two people told of one fact of a party, as context.go compares it with the
// list.

// Likeness says how near two tellings of one fact are.
type Likeness uint8

// The likenesses.
const (
	Untold Likeness = iota // One of the two says nothing.
	Unlike                 // They differ, or one of them cannot be read.
	Alike                  // They do not differ in what both say: 1974 and 1974-05-02.
	Same                   // They say the same.
)

// CompareBirths compares two dates of birth.
func CompareBirths(a, b string) Likeness {
	if untold(a, b) {
		return Untold
	}
	one, other := readBirths(a), readBirths(b)
	switch {
	case len(one) == 0 || len(other) == 0:
		return compareTexts(a, b)
	case slices.Equal(one, other):
		return Same
	case len(one) == 1 && len(other) == 1 && one[0].agreesWith(other[0]):
		return Alike
	}
	return Unlike
}

// CompareCountries compares two countries, each given by its name or its code.
func CompareCountries(a, b string) Likeness {
	if untold(a, b) {
		return Untold
	}
	one, other := countryOf(a), countryOf(b)
	switch {
	case one == (place.Code{}) && other == (place.Code{}):
		return compareTexts(a, b)
	case one == other:
		return Same
	}
	return Unlike
}

// CompareAddresses compares two postal addresses. They are alike where every word of the shorter one
// stands in the other, and those are enough to be an address (addressAgreement).
func CompareAddresses(a, b string) Likeness {
	if untold(a, b) {
		return Untold
	}
	if compareTexts(a, b) == Same {
		return Same
	}
	short, long := addressWords(a), addressWords(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	telling := 0
	for _, word := range short {
		if !slices.Contains(long, word) {
			return Unlike
		}
		if len(word) >= addressLettersMin {
			telling++
		}
	}
	if telling < addressWordsMin {
		return Unlike
	}
	return Alike
}

func untold(a, b string) bool { return strings.TrimSpace(a) == "" || strings.TrimSpace(b) == "" }

// compareTexts compares texts of which nothing is known but their words.
func compareTexts(a, b string) Likeness {
	if slices.Equal(addressWords(a), addressWords(b)) && (len(addressWords(a)) > 0 || a == b) {
		return Same
	}
	return Unlike
}

func addressWords(address string) []string {
	return strings.Fields(string(text.AppendWords(nil, address, false)))
}
