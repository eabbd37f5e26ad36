package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"railguard/ofac"
	"railguard/ofac/identifier"
)

// writtenCountry is a country with every text by which the tables know it.
type writtenCountry struct {
	alpha2, alpha3, number string
	names                  []string
}

// embargoedPlaces and reviewedPlaces are what the default policy holds, written here once more.
var (
	embargoedPlaces = map[string]bool{"CU": true, "IR": true, "KP": true, "UA-43": true, "UA-40": true}
	reviewedPlaces  = map[string]bool{"UA-14": true, "UA-09": true}
)

// placeRows reads a table of ofac/place: its first fields, and the names behind them.
func placeRows(t *testing.T, file string, fields int) (rows [][]string) {
	table, err := os.ReadFile(filepath.Join("..", "ofac", "place", file))
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		if line[0] != '#' {
			rows = append(rows, strings.SplitN(strings.TrimSpace(line), " ", fields))
		}
	}
	return rows
}

// writtenCountries returns the 249 countries of ISO 3166-1, and Kosovo.
func writtenCountries(t *testing.T) (all []writtenCountry) {
	variants := map[string]string{}
	for _, row := range placeRows(t, "variants.txt", 2) {
		variants[row[0]] = row[1]
	}
	for _, row := range placeRows(t, "countries.txt", 4) {
		c := writtenCountry{row[0], row[1], row[2], strings.Split(row[3], "|")}
		for name := range strings.SplitSeq(variants[row[0]], "|") {
			if name != "" && name[0] != '?' { // A name behind ? may mean two countries.
				c.names = append(c.names, name)
			}
		}
		all = append(all, c)
	}
	require.Len(t, all, 250)
	return all
}

// typed returns a text as people type it: in small and large letters, and without its accents.
func typed(text string) []string {
	bare := text
	if strings.IndexFunc(text, func(r rune) bool { return r >= 0x370 && r < 0x1E00 || r > 0x2100 }) < 0 {
		bare = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(text))
	}
	return []string{text, strings.ToLower(text), strings.ToUpper(text), bare, " " + strings.ToLower(bare) + "."}
}

// emptyList has nobody, and placeLooker asks it.
var (
	emptyList = sync.OnceValue(func() *ofac.Index {
		list, err := ofac.Build(nil, ofac.Meta{Source: "nobody", Sample: true})
		if err != nil {
			panic(err)
		}
		return list
	})
	placeLooker = sync.OnceValue(NewLooker)
)

// judgedPlace returns which of R24 and R20 a call hits: "BLOCK", "REVIEW", or "" for neither.
func judgedPlace(change func(*Request)) string {
	f := cleanFacts()
	f.List = emptyList()
	change(f.Request)
	placeLooker().Look(f)
	hits := NewestRules.JudgeStatic(f)
	switch {
	case hits.Has(RuleJurisdiction):
		return "BLOCK"
	case hits.Has(RuleParty):
		return "REVIEW"
	}
	return ""
}

// withIdentifier makes a call with one identifier.
func withIdentifier(class identifier.Class, value, country string) func(*Request) {
	return func(r *Request) { r.Identifiers[0], r.IdentifierCount = Identifier{class, value, country}, 1 }
}

// TestEveryCountryInEveryMember: whatever member tells an embargoed country, and however it is written,
// the payment is blocked, and reviewed where only the address tells it. Every other country is quiet.
func TestEveryCountryInEveryMember(t *testing.T) {
	asked, wrong := 0, 0
	for _, c := range writtenCountries(t) {
		block, review, unsure := "", "", ""
		if embargoedPlaces[c.alpha2] {
			block, review, unsure = "BLOCK", "REVIEW", "REVIEW"
		}
		for _, name := range append([]string{c.alpha2, c.alpha3, c.number, strings.TrimLeft(c.number, "0")}, c.names...) {
			for _, text := range typed(name) {
				text = strings.TrimSuffix(text, map[bool]string{true: "."}[name == c.number || len(name) < 4]) // Nobody puts a dot behind a code.
				for _, member := range []struct {
					name, want string
					change     func(*Request)
				}{
					{"cpCountry", block, func(r *Request) { r.Country = text }},
					{"originCountry", block, func(r *Request) { r.Origin = text }},
					{"country of a tax number", block, withIdentifier(identifier.TaxID, "12345678", text)},
					{"country of a passport", unsure, withIdentifier(identifier.Passport, "X1234567", text)},
					{"cpAddress", review, func(r *Request) { r.Address = "Main Street 5, Springfield 12345, " + text }},
				} {
					if member.name == "cpAddress" && (name == c.number || len(name) < 4 && name[0] < 'A') {
						continue // A number at the end of an address is a postal code.
					}
					if asked++; judgedPlace(member.change) != member.want {
						if wrong++; wrong < 30 {
							t.Errorf("%s: %s %q: %q", c.alpha2, member.name, text, judgedPlace(member.change))
						}
					}
				}
			}
		}
	}
	t.Logf("%d questions, %d wrong", asked, wrong)
}

// TestEveryCountryByItself: a bank's code, an account, a domain and a region's code tell their country.
func TestEveryCountryByItself(t *testing.T) {
	for _, c := range writtenCountries(t) {
		want := ""
		if embargoedPlaces[c.alpha2] {
			want = "BLOCK"
		}
		domain := map[string]string{"GB": "uk"}[c.alpha2]
		if domain == "" {
			domain = strings.ToLower(c.alpha2)
		}
		for _, told := range []struct {
			class identifier.Class
			value string
		}{
			{identifier.BIC, "AAAA" + c.alpha2 + "2L"}, {identifier.BIC, "aaaa" + strings.ToLower(c.alpha2) + "2lxxx"}, {identifier.IBAN, soundIBAN(c.alpha2)}, {identifier.IBAN, strings.ToLower(soundIBAN(c.alpha2))},
			{identifier.Email, "a@shop.example." + domain}, {identifier.Website, "https://shop.example." + strings.ToUpper(domain) + "/a?b"},
		} {
			require.Equal(t, want, judgedPlace(withIdentifier(told.class, told.value, "")), "%s %s", told.class, told.value)
		}
		for _, region := range []string{c.alpha2 + "-7", strings.ToLower(c.alpha2) + "-abc", c.alpha2 + "-01"} {
			require.Equal(t, want, judgedPlace(func(r *Request) { r.Region = region }), region)
			require.Equal(t, want, judgedPlace(func(r *Request) { r.Country, r.Region = c.alpha2, region }), region)
		}
		for _, name := range c.names[:1] {
			got := judgedPlace(func(r *Request) { r.Region = name })
			require.Equal(t, want != "", got != "", "%s as a region: %s", name, got)
		}
	}
	for _, host := range []string{"example.xn--mgba3a4f16a", "example.ایران"} {
		require.Equal(t, "BLOCK", judgedPlace(withIdentifier(identifier.Website, host, "")), host)
	}
	for prefix := 1; prefix < 1000; prefix++ {
		digits, want := strconv.Itoa(prefix), ""
		for _, embargoed := range []string{"53", "98", "850"} {
			if strings.HasPrefix(digits, embargoed) {
				want = "BLOCK"
			}
		}
		for _, number := range []string{"+" + digits + " 21 234 5678", "00" + digits + "-21-2345678"} {
			require.Equal(t, want, judgedPlace(withIdentifier(identifier.Phone, number, "")), number)
		}
	}
}

// soundIBAN returns an account number of a country with sound check digits.
func soundIBAN(alpha2 string) string {
	rest := 0
	for _, c := range "12345678901234" + alpha2 + "00" {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return fmt.Sprintf("%s%02d12345678901234", alpha2, 98-rest)
}

// TestEveryRegionInEveryMember: the regions of the default policy, by every name of theirs.
func TestEveryRegionInEveryMember(t *testing.T) {
	for _, row := range placeRows(t, "regions.txt", 3) {
		want := "BLOCK"
		if reviewedPlaces[row[0]] {
			want = "REVIEW"
		} else {
			require.True(t, embargoedPlaces[row[0]], row[0])
		}
		for _, name := range append([]string{row[0], row[1]}, strings.Split(row[2], "|")...) {
			for _, text := range typed(name) {
				text = strings.TrimSuffix(text, ".")
				for member, change := range map[string]func(*Request){
					"cpCountry":      func(r *Request) { r.Country = text },
					"originCountry":  func(r *Request) { r.Origin = text },
					"cpRegion":       func(r *Request) { r.Region = text },
					"cpRegion of UA": func(r *Request) { r.Country, r.Region = "Ukraine", text },
					"cpRegion of RU": func(r *Request) { r.Country, r.Region = "RUS", text },
				} {
					if len(name) <= 3 && member == "cpRegion" {
						continue // LPR and DPR are many things.
					}
					require.Equal(t, want, judgedPlace(change), "%s: %s %q", row[0], member, text)
				}
				if len(name) > 6 {
					require.Equal(t, "REVIEW", judgedPlace(func(r *Request) { r.Address = "Lenina 5, " + text + " 295000" }), "%s: address %q", row[0], text)
				}
			}
		}
	}
}

// TestNeverBlocked: what only sounds like an embargoed place is never blocked.
func TestNeverBlocked(t *testing.T) {
	address := func(country, text string) func(*Request) {
		return func(r *Request) { r.Country, r.Address = country, text }
	}
	region := func(country, text string) func(*Request) {
		return func(r *Request) { r.Country, r.Region = country, text }
	}
	for name, c := range map[string]struct {
		want   string
		change func(*Request)
	}{
		"Georgia":                           {"", region("Georgia", "")},
		"Georgia, Tbilisi":                  {"", region("GE", "Tbilisi")},
		"Georgia, the state":                {"", region("US", "Georgia")},
		"Georgia, the state by code":        {"", region("United States", "GA")},
		"Georgia, an address":               {"", address("US", "1 Peachtree St, Atlanta, Georgia 30303, USA")},
		"Cuba, a town in New York":          {"", address("US", "5 Main Street, Cuba, NY 14727")},
		"Cuba, the same without a comma":    {"", address("US", "5 Main Street Cuba New York 14727 USA")},
		"Cuba as a region of the US":        {"REVIEW", region("US", "Cuba")},
		"Tehran Street in Berlin":           {"REVIEW", address("DE", "Tehran Street 5, 10117 Berlin, Germany")},
		"Teheraner Straße":                  {"", address("DE", "Teheraner Straße 5, 10117 Berlin, Germany")},
		"Havana Street in Denver":           {"REVIEW", address("US", "1500 Havana Street, Aurora, CO 80010")},
		"Ukraine":                           {"", region("Ukraine", "")},
		"Ukraine by code":                   {"", region("UKR", "")},
		"Ukraine, Kyiv":                     {"", region("UA", "UA-30")},
		"Ukraine, an address":               {"", address("UA", "Khreshchatyk 1, Kyiv 01001, Ukraine")},
		"Russia":                            {"", region("Russian Federation", "Moscow")},
		"South Korea":                       {"", region("Korea, Republic of", "Seoul")},
		"Korea":                             {"REVIEW", region("Korea", "")},
		"an Iranian restaurant in Paris":    {"", func(r *Request) { r.Name, r.Country = "Restaurant Iran", "FR" }},
		"a Cuban in Miami":                  {"", func(r *Request) { r.Name, r.Memo, r.Country = "Juan Cuba", "cuba libre", "US" }},
		"Irvine":                            {"", address("US", "4 Park Plaza, Irvine, CA 92614")},
		"Kuban":                             {"", address("RU", "Krasnaya 5, Krasnodar, Kuban, Russia")},
		"an address that ends in a US code": {"", address("US", "1 Main St, Little Rock, AR")},
	} {
		require.Equal(t, c.want, judgedPlace(c.change), name)
	}
}
