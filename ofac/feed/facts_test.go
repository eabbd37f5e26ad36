package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// enhancedWith makes an ENHANCED file of n companies; change may alter the text of each.
func enhancedWith(n int, change func(uid int, entity string) string) string {
	var b strings.Builder
	b.WriteString(`<sanctionsData xmlns="` + namespaceEnhanced + `"><publicationInfo><dataAsOf>2026-02-03T00:00:00</dataAsOf><filters><sanctionsLists><sanctionsList>SDN List</sanctionsList></sanctionsLists></filters></publicationInfo><entities>`)
	for uid := 1; uid <= n; uid++ {
		entity := fmt.Sprintf(`<entity id="%d"><generalInfo><entityType>Entity</entityType></generalInfo><sanctionsLists><sanctionsList>SDN List</sanctionsList></sanctionsLists><names><name><isPrimary>true</isPrimary><isLowQuality>false</isLowQuality><translations><translation id="%d"><isPrimary>true</isPrimary><script>Latin</script><formattedFullName>COMPANY %d</formattedFullName></translation></translations></name></names></entity>`, uid, uid, uid)
		if change != nil {
			entity = change(uid, entity)
		}
		b.WriteString(entity)
	}
	b.WriteString(`</entities></sanctionsData>`)
	return b.String()
}

// One malformed entity of many is left out, named and counted; the rest is read.
func TestAMalformedEntityIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(string) string{
		"unknown type":    func(e string) string { return strings.Replace(e, ">Entity<", ">Ghost<", 1) },
		"no name":         func(e string) string { return strings.Replace(e, "COMPANY 500", " ", 1) },
		"no list":         func(e string) string { return strings.Replace(e, "<sanctionsList>SDN List</sanctionsList>", "", 1) },
		"no id":           func(e string) string { return strings.Replace(e, ` id="500"`, "", 1) },
		"an id of before": func(e string) string { return strings.Replace(e, `entity id="500"`, `entity id="499"`, 1) },
		"element in text": func(e string) string { return strings.Replace(e, ">Latin<", "><b>Latin</b><", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			text := enhancedWith(1200, func(uid int, entity string) string {
				if uid == 500 {
					return damage(entity)
				}
				return entity
			})
			loaded, err := LoadFiles([]File{{Name: "SDN_ENHANCED.XML", Data: []byte(text)}}, nil)
			require.NoError(t, err)
			require.Len(t, loaded.Entities, 1199)
			require.Len(t, loaded.Quarantined, 1)
			require.NotEmpty(t, loaded.Quarantined[0].Detail)
			require.Contains(t, strings.Join(loaded.Warnings, "\n"), "malformed and was left out")
		})
	}
}

// More malformed entities than one per thousand refuse the file, with the reason of the
// first.
func TestTooManyMalformedEntitiesRefuseTheFile(t *testing.T) {
	ghosts := func(at ...int) string {
		return enhancedWith(1200, func(uid int, entity string) string {
			for _, ghost := range at {
				if uid == ghost {
					return strings.Replace(entity, ">Entity<", fmt.Sprintf(">Ghost %d<", uid), 1)
				}
			}
			return entity
		})
	}
	_, err := ParseENHANCED(strings.NewReader(ghosts(7)))
	require.NoError(t, err)
	_, err = ParseENHANCED(strings.NewReader(ghosts(7, 9)))
	require.ErrorContains(t, err, "Ghost 7")
	// Damage to the document itself is never set aside.
	text := ghosts(7)
	_, err = ParseENHANCED(strings.NewReader(text[:len(text)-40]))
	require.Error(t, err)
}

// A wallet under an unknown feature type is reported.
func TestAReworderFeatureTypeIsTold(t *testing.T) {
	text := enhancedWith(3, func(uid int, entity string) string {
		feature := `<features><feature id="9"><type>Virtual Asset Address - TRX</type><value>TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G</value></feature><feature id="10"><type>Website</type><value>example.org</value></feature></features></entity>`
		return strings.Replace(entity, "</entity>", feature, 1)
	})
	loaded, err := LoadFiles([]File{{Name: "SDN_ENHANCED.XML", Data: []byte(text)}}, nil)
	require.NoError(t, err)
	require.Len(t, loaded.Suspects, 3)
	require.Equal(t, Suspect{1, "Virtual Asset Address - TRX", "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"}, loaded.Suspects[0])
	require.Contains(t, strings.Join(loaded.Warnings, "\n"), "type that is not known")
}

func TestFamiliesKeepTheirDates(t *testing.T) {
	loaded, err := LoadDir("testdata/enhanced", nil)
	require.NoError(t, err)
	require.Equal(t, nanoseconds(t, "2026-02-03"), loaded.Meta.AsOf[ofac.SDN])
	require.Equal(t, nanoseconds(t, "2026-02-01"), loaded.Meta.AsOf[ofac.CONS])
	require.Equal(t, loaded.Meta.AsOf[ofac.SDN], loaded.Meta.PublishedAt)
}

func TestWalletsAreCountedByChain(t *testing.T) {
	tron := []ofac.Address{
		{Ticker: "TRX", Value: "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"}, {Ticker: "USDT", Value: "TNXoiAJ3dct8Fjg4M9fkLFh9S2v9TXc32G"},
		{Ticker: "XBT", Value: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"}, {Ticker: "BCH", Value: "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"},
	}
	require.Equal(t, []ChainCount{{"BCH", 1}, {"BTC", 1}, {"TRON", 1}}, CountWallets([]ofac.Entity{{Addresses: tron}}))
}
