package engine

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListedAddresses counts the addresses of the list that are in another country, as the list says,
// and would be reviewed. They are those of sanctioned parties, so that more of them name embargoed places
// than ordinary ones do.
func TestListedAddresses(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "shared", "data", "ofac", "2025-12-24", "add.csv.gz"))
	if err != nil {
		t.Skip("no real list files")
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	require.NoError(t, err)
	reader := csv.NewReader(packed)
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	rows, err := reader.ReadAll()
	require.NoError(t, err)
	others, reviewed, unread := 0, 0, 0
	embargoed := map[string]bool{"Iran": true, "Cuba": true, "Korea, North": true, "Region: Crimea": true, "Ukraine": true, "-0- ": true, "-0-": true}
	for _, row := range rows {
		if len(row) < 5 || embargoed[row[4]] {
			continue
		}
		others++
		f := cleanFacts()
		f.Request.Address = row[2] + ", " + row[3] + ", " + row[4]
		if hits := NewestRules.JudgeStatic(f); hits.Has(RuleParty) {
			if reviewed++; reviewed < 12 {
				t.Log(f.Request.Address)
			}
		}
		f.Request.Address, f.Request.Country = "", row[4]
		if hits := NewestRules.JudgeStatic(f); hits.Has(RuleParty) {
			if unread++; unread < 10 {
				t.Log("unread ", row[4])
			}
		}
		require.Zero(t, f.Places.Block)
	}
	t.Logf("%d of %d reviewed by the address, %d by the country's name", reviewed, others, unread)
	require.Less(t, reviewed*100, others, "at most one in a hundred")
}
