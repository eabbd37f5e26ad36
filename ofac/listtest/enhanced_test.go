package listtest

import (
	"encoding/xml"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWriteEnhanced checks that the generated list is well-formed and keeps the given names
// and wallets, hostile ones included.
func TestWriteEnhanced(t *testing.T) {
	raw := WriteEnhanced(SDN, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Entity{ID: 5, Individual: true, Last: "O'NEIL & <SON>", First: "Ann", Aliases: []string{"ANNIE"}, Wallets: map[string]string{"ETH": "0xabc", "SOL": "x"}})
	var list struct {
		AsOf     string `xml:"publicationInfo>dataAsOf"`
		Entities []struct {
			ID    int      `xml:"id,attr"`
			Type  string   `xml:"generalInfo>entityType"`
			List  string   `xml:"sanctionsLists>sanctionsList"`
			Names []string `xml:"names>name>translations>translation>formattedFullName"`
			Kinds []string `xml:"features>feature>type"`
			Coins []string `xml:"features>feature>value"`
		} `xml:"entities>entity"`
	}
	require.NoError(t, xml.Unmarshal(raw, &list))
	require.Equal(t, "2026-01-02T03:04:05", list.AsOf)
	require.Len(t, list.Entities, 1)
	entity := list.Entities[0]
	require.Equal(t, "Individual", entity.Type)
	require.Equal(t, SDN, entity.List)
	require.Equal(t, []string{"O'NEIL & <SON>, Ann", "ANNIE"}, entity.Names)
	require.Equal(t, []string{"0xabc", "x"}, entity.Coins)
	require.Equal(t, "Digital Currency Address - ETH", entity.Kinds[0])
}
