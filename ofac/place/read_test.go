package place

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

// spellings returns the ways in which a person types a name or a code.
func spellings(name string) []string {
	plain, _ := strings.CutPrefix(name, "?")
	stripped := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(plain))
	decomposed := norm.NFD.String(plain)
	if strings.IndexFunc(plain, func(r rune) bool { return r >= 0x370 && r < 0x1E00 || r > 0x2100 }) >= 0 {
		decomposed, stripped = plain, plain // Beyond Latin nobody types marks one by one.
	}
	return []string{
		plain, strings.ToLower(plain), strings.ToUpper(plain), "  " + plain + " ", plain + ".", "\"" + plain + "\"", strings.ReplaceAll(plain, " ", "  "),
		strings.ReplaceAll(plain, " ", "_"), decomposed, norm.NFKC.String(plain), norm.NFC.String(stripped),
	}
}

// TestCountries reads every country in every spelling of the tables.
func TestCountries(t *testing.T) {
	rows := 0
	read := func(code, name string) {
		for _, text := range spellings(name) {
			got := Country(text)
			require.Equal(t, code, got.Code.String(), "%q", text)
			require.Equal(t, strings.HasPrefix(name, "?"), got.Doubt, "%q", text)
		}
	}
	for _, row := range rowsOf(countriesText, 4) {
		rows++
		for name := range strings.SplitSeq(row[0]+"|"+row[1]+"|"+row[3], "|") {
			read(row[0], name)
		}
		require.Equal(t, row[0], Country(row[2]).Code.String())
		require.Equal(t, row[0], Country(strings.TrimLeft(row[2], "0")).Code.String())
		code, ok := Parse(row[0])
		require.True(t, ok)
		require.Equal(t, row[0], code.String())
	}
	require.Equal(t, 250, rows, "the 249 of ISO 3166-1 and Kosovo")
	for _, row := range rowsOf(variantsText, 2) {
		for name := range strings.SplitSeq(row[1], "|") {
			read(row[0], name)
		}
	}
	for _, row := range rowsOf(regionsText, 3) {
		for name := range strings.SplitSeq(row[0]+"|"+row[1]+"|"+row[2], "|") {
			read(row[0], name)
			for _, country := range []string{"", "UA", "RU"} {
				got := Region(name, Country(country).Code)
				require.Equal(t, Reading{Code: Country(row[0]).Code}, got, "%q in %q", name, country)
			}
			if len(name) > 3 {
				require.True(t, Region(name, Country("US").Code).Doubt, name)
			}
		}
	}
}

// TestUnreadable: what is no country is none.
func TestUnreadable(t *testing.T) {
	for _, text := range []string{"", " ", "XX", "ZZ", "N/A", "unknown", "Iran or Iraq", "Atlantis", "999", "000", "1234", "-", "lRAN", "IR-1234", "\xff\xff", strings.Repeat("Iran ", 200)} {
		require.Equal(t, Reading{}, Country(text), "%q", text)
	}
	for _, text := range []string{"ir", "IRN", "", "IR-", "XX-1", "IR-ab", "UA-4-3", "UA-1234", "U"} {
		_, ok := Parse(text)
		require.False(t, ok, text)
	}
}

// TestRegion: where a region and a country do not go together nothing is sure.
func TestRegion(t *testing.T) {
	for _, c := range []struct{ region, country, want string }{
		{"43", "UA", "UA-43"}, {"9", "UA", "UA-09"}, {"09", "Ukraine", "UA-09"}, {"CR", "RU", "UA-43"}, {"ua-43", "", "UA-43"}, {"UA-43", "DE", "UA-43?"},
		{"Crimea", "US", "UA-43?"}, {"Tehran", "", "IR?"}, {"Havana", "US", ""}, {"Cuba", "US", "CU?"}, {"Cuba", "", "CU?"}, {"CU", "US", "US-CU"}, {"IR", "", "IR?"},
		{"Georgia", "US", "GE?"}, {"GA", "US", "US-GA"}, {"IR-23", "", "IR-23"}, {"Bavaria", "DE", ""}, {"", "UA", ""}, {"Kyiv", "UA", ""}, {"Simferopol district", "UA", "UA-43?"},
		{"LPR", "US", "US-LPR"}, {"DPR", "RU", "UA-14"}, {"Iran", "IR", "IR"}, {"Crimea", "UA-43", "UA-43"},
	} {
		got := Region(c.region, Country(c.country).Code)
		shown := got.Code.String()
		if got.Doubt {
			shown += "?"
		}
		require.Equal(t, c.want, shown, "%q in %q", c.region, c.country)
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"Valiasr St 5, Tehran 19395", "IR"}, {"5 Main St, Springfield, Iran (Islamic Republic of) 1136913113", "IR"}, {"Calle 23, La Habana, Cuba", "CU"},
		{"12 Tehran Street, London, UK", "GB IR"}, {"Cuba, New York 14727", ""}, {"Cuba, NY 14727, USA", "US"}, {"Potonggang District, Pyongyang", "KP"},
		{"Seoul, Republic of Korea", "KR"}, {"ul. Lenina 1, Simferopol 295011", "UA-43"}, {"Khreshchatyk 1, Kyiv, Ukraine", "UA"}, {"ул. Ленина, Севастополь", "UA-40"},
		{"Main St 1, CU", "CU"}, {"", ""}, {"Teheranstrasse 4, Berlin, Germany", "DE"}, {"123", ""}, {"Peachtree St, Atlanta, Georgia", "GE"}, {"Donetsk, Rostov Oblast, Russia", "RU UA-14"},
	} {
		var buffer [placesMax]Code
		var got []string
		for _, code := range Address(c.text, buffer[:0]) {
			got = append(got, code.String())
		}
		require.Equal(t, c.want, strings.Join(got, " "), c.text)
	}
}

func TestNoAllocation(t *testing.T) {
	address := "Valiasr Street 5, Tehran 19395, Islamic Republic of Iran"
	require.Zero(t, testing.AllocsPerRun(100, func() {
		var buffer [placesMax]Code
		Country("Islamic Republic of Iran")
		Country("ایران")
		Region("Республика Крым", Country("UA").Code)
		Address(address, buffer[:0])
	}))
}

func FuzzRead(f *testing.F) {
	f.Add("Iran", "UA-43")
	f.Fuzz(func(t *testing.T, a, b string) {
		first := Country(a)
		require.Equal(t, first, Country(a))
		region := Region(b, first.Code)
		if code := region.Code; code != (Code{}) {
			again, ok := Parse(code.String())
			require.True(t, ok, code.String())
			require.Equal(t, code, again)
		}
		var buffer [placesMax]Code
		require.LessOrEqual(t, len(Address(a+b, buffer[:0])), placesMax)
	})
}

func BenchmarkRead(b *testing.B) {
	for name, run := range map[string]func(){
		"code":   func() { Country("IR") },
		"name":   func() { Country("Islamic Republic of Iran") },
		"region": func() { Region("Bavaria", Country("DE").Code) },
		"address": func() {
			var buffer [placesMax]Code
			Address("12 Upper Montagu Street, London W1H 1LJ, United Kingdom", buffer[:0])
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
