package match_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/identifier"
	"railguard/ofac/match"
)

// What becomes of the identifiers of the list of 2025-11-19.
func TestClassesOfTheRealList(t *testing.T) {
	got := map[string]int{}
	for _, listed := range listedIdentifiers(t) {
		got[listed.Class.String()]++
	}
	require.Equal(t, map[string]int{
		"aircraft_tail": 157, "bic": 219, "duns": 35, "email": 326, "imo": 1775, "lei": 165, "mmsi": 646, "national_id": 2999, "other": 1454,
		"passport": 2541, "phone": 97, "registration": 7407, "tax_id": 5241, "website": 1158,
	}, got)
}

// listedIdentifier is one published identifier with the class that it was read as.
type listedIdentifier struct {
	match.IdentifierMatch
	uid uint32
}

func listedIdentifiers(t testing.TB) (all []listedIdentifier) {
	x := realIndex(t)
	x.EachIdentifier(func(uid uint32, class identifier.Class, label, value, country string) {
		all = append(all, listedIdentifier{match.IdentifierMatch{Class: class, Label: label, Value: value, Country: country}, uid})
	})
	return all
}

// spellings are five ways to write an identifier down.
func spellings(class identifier.Class, value string) []string {
	switch class {
	case identifier.Website:
		bare := strings.TrimPrefix(value[max(strings.LastIndex(value, ":/")+1, 0):], "//")
		bare = strings.TrimPrefix(strings.TrimPrefix(bare, "/"), "www.")
		return []string{value, "HTTPS://WWW." + strings.ToUpper(bare), "http://user@" + bare, "//" + bare + "?q=1#x", " <" + bare + "> "}
	case identifier.Email:
		return []string{value, strings.ToUpper(value), "mailto:" + value, "Some Body <" + value + ">", strings.Replace(value, "@", "+tag@", 1)}
	case identifier.Phone:
		return []string{value, "+" + value, "00" + value, strings.Join(strings.Split(value, ""), "-"), "tel. " + strings.ReplaceAll(value, " ", ".") + " ext. 4"}
	case identifier.BIC:
		branch := value[8:]
		if branch == "" {
			branch = "XXX"
		}
		return []string{value, strings.ToLower(value), value[:4] + " " + value[4:], value[:8] + branch, value[:8] + "A" + branch}
	}
	runes := strings.Split(value, "")
	return []string{value, strings.ToLower(value), " " + strings.Join(runes, " "), strings.Join(runes, "-"), "\u00a0" + value + "."}
}

// Every listed identifier is found in every spelling, with the country that the list gives and with
// none, and never without a match when it is told as what it is.
func TestEveryListedIdentifierIsFound(t *testing.T) {
	x, sure, doubtful, short := realIndex(t), 0, 0, 0
	for _, listed := range listedIdentifiers(t) {
		class := listed.Class
		form := identifier.AppendForm(nil, class, listed.Value)
		if class == identifier.Other {
			class = identifier.Registration
		}
		for _, spelled := range spellings(class, listed.Value) {
			found, ok := x.Identifier(&match.IdentifierQuery{Class: class, Value: spelled, Country: match.ListedCountry(listed.Country)})
			if !ok && class == identifier.Registration && listed.Class == identifier.Other && len(form) < 4 {
				short++
				continue
			}
			require.True(t, ok, "%s %q of %d as %q", listed.Label, listed.Value, listed.uid, spelled)
			if found.Doubt == match.NoDoubt {
				sure++
			} else {
				doubtful++
			}
		}
	}
	t.Log(sure, doubtful, short)
}

// randomText draws n signs of an alphabet.
func randomText(random *rand.Rand, alphabet string, n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(text)
}

// randomIdentifier draws an identifier that is sound and, where registers print lengths, as long as
// most registers have it.
func randomIdentifier(random *rand.Rand, class identifier.Class) (value, country string) {
	const letters, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	countries := [...]string{"US", "DE", "FR", "GB", "RU", "IR", "CN", "BR", "IN", "MX", "PA", "AE"}
	country = countries[random.IntN(len(countries))]
	switch class {
	case identifier.BIC:
		return randomText(random, letters, 4) + country + randomText(random, letters+digits, 2), ""
	case identifier.IBAN:
		account := randomText(random, digits, 18)
		for check := 2; ; check++ {
			if value = fmt.Sprintf("DE%02d%s", check, account); identifier.IsSound(class, value) {
				return value, ""
			}
		}
	case identifier.LEI:
		body := randomText(random, letters+digits, 18)
		for check := 2; ; check++ {
			if value = fmt.Sprintf("%s%02d", body, check); identifier.IsSound(class, value) {
				return value, ""
			}
		}
	case identifier.IMO:
		body := randomText(random, digits, 6)
		for check := range 10 {
			if value = fmt.Sprintf("%s%d", body, check); identifier.IsSound(class, value) {
				return value, ""
			}
		}
	case identifier.MMSI, identifier.DUNS:
		return randomText(random, digits, 9), ""
	case identifier.AircraftTail:
		return randomText(random, letters, 2) + "-" + randomText(random, letters+digits, 4), ""
	case identifier.Email:
		return randomText(random, letters, 8) + "@" + randomText(random, letters, 10) + ".com", ""
	case identifier.Website:
		return "https://" + randomText(random, letters, 10) + ".ru/" + randomText(random, letters, 6), ""
	case identifier.Phone:
		return "+49" + randomText(random, digits, 10), ""
	case identifier.Passport:
		return randomText(random, letters, 1) + randomText(random, digits, 8), country
	case identifier.Account:
		return randomText(random, digits, 10), country
	}
	return randomText(random, digits, 8+random.IntN(4)), country
}

// Random identifiers that are sound hit nothing, unless they are a listed one by chance: then the
// number itself is on the list. A run in the build draws 20,000 of each class; with
// RAILGUARD_RANDOM=1000000 it draws as many as the obligation asks for.
func TestRandomIdentifiersHitNothing(t *testing.T) {
	x, count := realIndex(t), 20_000
	if said := os.Getenv("RAILGUARD_RANDOM"); said != "" {
		_, err := fmt.Sscan(said, &count)
		require.NoError(t, err)
	}
	listed := map[string]bool{}
	for _, one := range listedIdentifiers(t) {
		listed[string(identifier.WithoutZeros(identifier.AppendForm(nil, one.Class, one.Value)))] = true
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, word := range identifier.Words() {
		class, _ := identifier.ClassNamed(word)
		byChance := 0
		for range count {
			value, country := randomIdentifier(random, class)
			found, ok := x.Identifier(&match.IdentifierQuery{Class: class, Value: value, Country: country})
			if ok {
				require.True(t, listed[string(identifier.WithoutZeros(identifier.AppendForm(nil, class, value)))], "%s %q %s hits %+v", class, value, country, found)
				byChance++
			}
		}
		t.Logf("%s: %d drawn, %d of them are on the list", class, count, byChance)
	}
}
