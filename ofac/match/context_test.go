package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

func contextList(t testing.TB) *Index {
	older := listtest.Named(1, list.Individual, list.ListSDN, "ALI, Hassan")
	older.Facts = []list.Fact{
		{Kind: list.FactBirthDate, Label: "Birthdate", Value: "1962-11-23"}, {Kind: list.FactBirthDate, Label: "Birthdate", Value: "circa 1964"}, {Kind: list.FactNationality, Label: "Nationality Country", Value: "Venezuela"},
		{Kind: list.FactPostalAddress, Label: "", Value: "Calle Sierra Madre No. 1280, Culiacan, Mexico"},
	}
	younger := listtest.Named(2, list.Individual, list.ListSDN, "HASSAN, Ali")
	younger.Facts = []list.Fact{{Kind: list.FactBirthDate, Label: "Birthdate", Value: "02 Mar 1975"}, {Kind: list.FactBirthPlace, Label: "Place of Birth", Value: "Pyongyang, Korea, North"}}
	other := listtest.Named(3, list.Individual, list.ListCONS, "HASSAN, Ali")
	rare := listtest.Named(4, list.Individual, list.ListSDN, "ALI HASSAN, Zubaydullahov")
	return mustBuild(t, []list.Entity{older, younger, other, rare})
}

func TestAgreements(t *testing.T) {
	list := contextList(t)
	for _, c := range []struct {
		uid     uint32
		context Context
		want    []string
	}{
		{1, Context{}, nil},
		{1, Context{BirthDate: "1975"}, []string{"date of birth differs: 1975 against 1962, 1964"}},
		{1, Context{BirthDate: "1975-01-02"}, []string{"date of birth differs: 1975 against 1962, 1964"}},
		{1, Context{BirthDate: "1962-11-23"}, []string{"date of birth agrees: 1962-11-23"}},
		{1, Context{BirthDate: "1962-11"}, []string{"date of birth agrees: 1962-11-23"}},
		{1, Context{BirthDate: "1962-11-24"}, []string{"date of birth differs: 1962-11-24 against 1962-11-23"}},
		{1, Context{BirthDate: "1964-05-05"}, []string{"date of birth agrees: circa 1964"}},
		{1, Context{BirthDate: "yesterday"}, nil},
		{2, Context{BirthDate: "1975-03-02"}, []string{"date of birth agrees: 02 Mar 1975"}},
		{1, Context{Country: "ve"}, []string{"country agrees: Venezuela"}},
		{1, Context{Country: "Mexico"}, []string{"country agrees: Mexico"}},
		{1, Context{Country: "DE"}, []string{"country differs: DE against Venezuela, Mexico"}},
		{1, Context{Country: "Atlantis"}, nil},
		{2, Context{Country: "North Korea"}, []string{"country agrees: Korea, North"}},
		{2, Context{Country: "KR"}, []string{"country differs: KR against Korea, North"}},
		{1, Context{Address: "Sierra Madre 1280, Culiacán"}, []string{"address agrees: Calle Sierra Madre No. 1280, Culiacan, Mexico"}},
		{1, Context{Address: "12 High Street, London"}, nil},
		{4, Context{BirthDate: "1975", Country: "DE", Address: "x"}, nil},
		{99, Context{BirthDate: "1975"}, nil},
	} {
		var got []string
		for _, agreement := range list.Agreements(c.uid, &c.context) {
			got = append(got, agreement.String())
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
	require.Equal(t, []birth{{year: 1959}, {year: 1960}, {year: 1961}}, readBirths("1959 to 1961"))
	for _, text := range []string{"23.11.1962", "11/23/1962", "23 11 1962"} {
		require.Equal(t, []birth{{year: 1962}}, readBirths(text), "which number is the month is not said")
	}
}

// Evidence orders equal matches, and context changes no outcome.
func TestTiesAreBrokenByEvidence(t *testing.T) {
	list, scratch := contextList(t), NewScratch()
	order := func(context Context) (uids []uint32) {
		result := list.Screen(&Query{Name: "Ali Hassan", Context: context}, scratch)
		require.Equal(t, Listed, result.Outcome)
		for _, match := range result.Matches {
			require.Equal(t, int32(text.ScoreOne), match.Score)
			require.Equal(t, Listed, match.Outcome)
			uids = append(uids, match.UID)
		}
		return uids
	}
	require.Equal(t, []uint32{1, 2, 3}, order(Context{}), "the SDN before others")
	require.Equal(t, []uint32{2, 3, 1}, order(Context{BirthDate: "1975-03-02"}), "who agrees first, who differs last")
	require.Equal(t, []uint32{1, 3, 2}, order(Context{Country: "MX"}))
}

func TestCountriesAreKnown(t *testing.T) {
	for name, code := range map[string]string{
		"Korea, North": "KP", "north korea": "KP", "Iran": "IR", "RU": "RU", "Russian Federation": "RU", "Syria": "SY", "Burma": "MM", "United States": "US", "": "",
		"United Kingdom": "GB", "uk": "GB", "Kiribati": "KI", "IRN": "IR", "364": "IR", "Россия": "RU", "Korea": "", "Crimea": "", "Region: Crimea": "",
	} {
		require.Equal(t, code, CountryCode(name), name)
	}
}

// TestPrimaryNamesComeFirst checks that an entry whose alias matches comes after an entry
// whose primary name matches as well, even if its id is lower.
func TestPrimaryNamesComeFirst(t *testing.T) {
	branch := listtest.Named(1, list.Company, list.ListSDN, "OTHER HOUSE", "BANK MELLI IRAN ZAO")
	bank := listtest.Named(2, list.Company, list.ListSDN, "BANK MELLI IRAN")
	result := mustBuild(t, []list.Entity{branch, bank}).Screen(&Query{Name: "Bank Meli Iran"}, NewScratch())
	require.Len(t, result.Matches, 2)
	require.Equal(t, result.Matches[0].Score, result.Matches[1].Score)
	require.Equal(t, uint32(2), result.Matches[0].UID)
}
