package match

import (
	"fmt"
	"slices"
	"strings"

	"railguard/ofac/list"
	"railguard/ofac/place"
)

// Context is what a caller may say about a named party besides the name. It never softens a
// verdict. It orders matches with equal scores and shows an officer where the listed party
// agrees and where it differs.
type Context struct {
	Country   string // A country's name or its code (ISO 3166).
	BirthDate string // A day, a month or a year: 1962-11-23, 1962-11, 1962.
	Address   string // A postal address.
}

// Agreement compares one fact that the context and the listed party both give.
type Agreement struct {
	Kind   list.FactKind // FactBirthDate, FactNationality (any country) or FactPostalAddress.
	Agrees bool
	Asked  string
	Listed string // The listed value that agrees; otherwise the nearest listed values.
}

// What names the fact: "date of birth", "country", "address".
func (a Agreement) What() string {
	if a.Kind == list.FactNationality {
		return "country"
	}
	return a.Kind.String()
}

// String returns it in words: "date of birth differs: 1975 against 1962".
func (a Agreement) String() string {
	if a.Agrees {
		return fmt.Sprintf("%s agrees: %s", a.What(), a.Listed)
	}
	return fmt.Sprintf("%s differs: %s against %s", a.What(), a.Asked, a.Listed)
}

// Agreements compares the context with the listed facts of a party. It leaves out facts
// that either side lacks.
func (x *Index) Agreements(uid uint32, c *Context) []Agreement {
	at, ok := x.Find(uid)
	if !ok {
		return nil
	}
	return x.agreementsOf(at, c)
}

func (x *Index) agreementsOf(at uint32, c *Context) []Agreement {
	if *c == (Context{}) {
		return nil
	}
	var births, places, addresses []string
	for i := x.EntityAt(at).Facts; i < x.EntityAt(at+1).Facts; i++ {
		value := x.TextAt(x.Facts[i].Value)
		switch x.Facts[i].Kind {
		case list.FactBirthDate:
			births = append(births, value)
		case list.FactNationality, list.FactCitizenship:
			places = append(places, value)
		case list.FactBirthPlace:
			places = append(places, lastPart(value))
		case list.FactPostalAddress:
			places = append(places, lastPart(value))
			addresses = append(addresses, value)
		}
	}
	var list []Agreement
	for _, agreement := range []Agreement{birthAgreement(c.BirthDate, births), countryAgreement(c.Country, places), addressAgreement(c.Address, addresses)} {
		if agreement.Listed != "" {
			list = append(list, agreement)
		}
	}
	return list
}

// lastPart returns the text after the last comma: the country of an address or a
// birthplace.
func lastPart(value string) string {
	if strings.HasSuffix(value, "Korea, North") || strings.HasSuffix(value, "Korea, South") {
		return value[len(value)-len("Korea, North"):]
	}
	return strings.TrimSpace(value[strings.LastIndexByte(value, ',')+1:])
}

// birth is a date of birth; unknown parts are zero.
type birth struct{ year, month, day int }

// months are the first three letters of the English names.
const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// readBirths reads every date in a text: "1962-11-23", "23 Nov 1962", "circa 1959", "1959
// to 1961". It returns a span as all its years, at most twenty.
func readBirths(text string) []birth {
	var dates []birth
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == ',' || r == '.' || r == '/' })
	var day, month, numbers int
	for i, field := range fields {
		parts := strings.Split(field, "-")
		number := readDigits(parts[0])
		switch {
		case number >= 1000 && len(parts[0]) == 4:
			date := birth{year: number, month: month, day: day}
			if len(parts) > 1 {
				date.month = readDigits(parts[1])
			}
			if len(parts) > 2 {
				date.day = readDigits(parts[2])
			}
			if i > 1 && fields[i-1] == "to" && len(dates) > 0 {
				for year := dates[len(dates)-1].year + 1; year < number && len(dates) < 20; year++ {
					dates = append(dates, birth{year: year})
				}
			}
			dates = append(dates, date)
			day, month, numbers = 0, 0, 0
		case number > 0 && number <= 31:
			if numbers++; numbers == 1 {
				day = number
			} else {
				day = 0 // In such texts ("23.11.1962", "11/23/1962") nobody can tell the day from the month.
			}
		case len(field) >= 3 && strings.Contains(months, field[:3]):
			month = strings.Index(months, field[:3])/3 + 1
		}
	}
	return dates
}

// readDigits reads a small number. It returns 0 for any other text.
func readDigits(text string) int {
	n := 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' || i > 4 {
			return 0
		}
		n = n*10 + int(text[i]-'0')
	}
	return n
}

// agreesWith reports whether the parts that both dates have are equal.
func (b birth) agreesWith(other birth) bool {
	return b.year == other.year && (b.month == 0 || other.month == 0 || b.month == other.month) && (b.day == 0 || other.day == 0 || b.day == other.day)
}

func birthAgreement(asked string, listed []string) Agreement {
	agreement := Agreement{Kind: list.FactBirthDate, Asked: asked}
	dates := readBirths(asked)
	if len(dates) == 0 {
		return agreement
	}
	sameYear, years := "", []string(nil)
	for _, text := range listed {
		for _, date := range readBirths(text) {
			if date.agreesWith(dates[0]) {
				agreement.Agrees, agreement.Listed = true, text
				return agreement
			}
			if date.year == dates[0].year {
				sameYear = text
			}
			if year := fmt.Sprint(date.year); !slices.Contains(years, year) && len(years) < shownMax {
				years = append(years, year)
			}
		}
	}
	if agreement.Listed = strings.Join(years, ", "); sameYear == "" {
		agreement.Asked = fmt.Sprint(dates[0].year)
	} else {
		agreement.Listed = sameYear
	}
	return agreement
}

// shownMax is how many listed values are shown when none agrees.
const shownMax = 3

func countryAgreement(asked string, listed []string) Agreement {
	agreement := Agreement{Kind: list.FactNationality, Asked: asked}
	code := countryOf(asked)
	if code == (place.Code{}) {
		return agreement
	}
	var others []string
	for _, country := range listed {
		switch other := countryOf(country); {
		case other == (place.Code{}):
		case other == code:
			agreement.Agrees, agreement.Listed = true, country
			return agreement
		case !slices.Contains(others, country) && len(others) < shownMax:
			others = append(others, country)
		}
	}
	agreement.Listed = strings.Join(others, ", ")
	return agreement
}

// Two addresses agree when they share addressWordsMin words of addressLettersMin letters or
// more.
const (
	addressWordsMin   = 2
	addressLettersMin = 3
)

// addressAgreement finds the listed address that agrees. It never says that addresses
// differ: a party has many, so that means little.
func addressAgreement(asked string, listed []string) Agreement {
	agreement := Agreement{Kind: list.FactPostalAddress, Asked: asked}
	words := addressWords(asked)
	best := addressWordsMin - 1
	for _, address := range listed {
		shared := 0
		for _, word := range addressWords(address) {
			if len(word) >= addressLettersMin && slices.Contains(words, word) {
				shared++
			}
		}
		if shared > best {
			best, agreement.Agrees, agreement.Listed = shared, true, address
		}
	}
	return agreement
}

// countryOf reads a country by its code or its name. The zero code stands for a text that cannot be
// read, that may mean another country, or that names a region: neither says of which country a party is.
func countryOf(text string) place.Code {
	reading := place.Country(text)
	if reading.Doubt || reading.Code.IsRegion() {
		return place.Code{}
	}
	return reading.Code
}

// CountryCode returns the code (ISO 3166-1 alpha-2) of a country given by its name or its code. It
// returns "" for an unknown country.
func CountryCode(text string) string { return countryOf(text).String() }
