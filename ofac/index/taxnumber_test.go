package index

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// A taxpayer number of the United States is found however it is printed, in every form of a
// published file, and no other country's number is taken for one.
func TestTaxNumber(t *testing.T) {
	for _, c := range []struct {
		label, value string
		found        bool
	}{
		{"US FEIN", "95-4227517", true},
		{"US FEIN", "954227517", true},
		{"US FEIN", "95-4227517, United States", true},
		{"US FEIN", "CH-217-0-431-423-3, United States", false},
		{"SSN", "954-22-7517 (United States)", true},
		{"Tax ID No.", "95-4227517 (United States)", true},
		{"Tax ID No.", "95 4227517", true},
		{"Tax ID No.", "954227517, issued 2001, not valid", true},
		{"Tax ID No.", "954227517, Belarus", false},
		{"Tax ID No.", "954227517 (Serbia)", false},
		{"Tax ID No.", "954227517, Russia, issued 2001", false},
		{"Tax ID No.", "9542275170", false},
		{"Tax ID No.", "95422751", false},
		{"Tax ID No.", "95-4227517 Texas, United States", false},
		{"Company Number", "95-4227517, United States", true},
		{"Company Number", "954227517, United States", false},
		{"Company Number", "95-4227517, United Kingdom", false},
		{"Passport", "954227517, United States", false},
		{"", "954227517", false},
	} {
		entity := listtest.Named(7, list.Company, list.ListSDN, "HOLY LAND")
		entity.Facts = []list.Fact{{Kind: list.FactDocument, Label: c.label, Value: c.value}}
		tables := mustMake(t, []list.Entity{entity})
		match, found := tables.TaxNumber("954227517")
		require.Equal(t, c.found, found, "%s %s", c.label, c.value)
		if found {
			require.Equal(t, TaxMatch{7, list.ListSDN, c.label}, match)
			_, found = tables.TaxNumber("95-4227517")
			require.True(t, found)
			for _, other := range []string{"", "954227518", "95422751", "9542275170", "95.4227517", "x"} {
				_, found = tables.TaxNumber(other)
				require.False(t, found, other)
			}
		}
		entity.Facts[0].Kind = list.FactRemark
		_, found = mustMake(t, []list.Entity{entity}).TaxNumber("954227517")
		require.False(t, found, "a remark is no document")
	}
}

// Of several parties with one number the first of a core source is named, and all sources are told.
func TestTaxNumberOfSeveralParties(t *testing.T) {
	var entities []list.Entity
	for uid, lists := range map[uint32]list.Lists{5: list.ListCONS, 6: list.ListSDN, 7: list.ListSDN} {
		entity := listtest.Named(uid, list.Company, lists, fmt.Sprint("PARTY ", uid))
		entity.Facts = []list.Fact{{Kind: list.FactDocument, Label: "US FEIN", Value: "95-4227517"}}
		entities = append(entities, entity)
	}
	match, found := mustMake(t, entities).TaxNumber("954227517")
	require.True(t, found)
	require.Equal(t, list.ListSDN|list.ListCONS, match.Lists)
	require.Contains(t, []uint32{5, 6}, match.UID)
}

func FuzzTaxNumber(f *testing.F) {
	f.Add("Tax ID No.", "95-4227517, United States", "95-4227517")
	f.Fuzz(func(t *testing.T, label, value, asked string) {
		number, ok := taxpayerNumber(&list.Fact{Kind: list.FactDocument, Label: label, Value: value})
		if ok && number > 999_999_999 {
			t.Fatalf("%q %q is %d", label, value, number)
		}
		if number, ok := readTaxNumber(asked); ok {
			if again, good := readTaxNumber(fmt.Sprintf("%09d", number)); !good || again != number {
				t.Fatalf("%q reads as %d", asked, number)
			}
		}
	})
}
