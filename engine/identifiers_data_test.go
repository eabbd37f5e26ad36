package engine

import (
	"compress/bzip2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/identifier"
	"railguard/ofac/listtest"
)

// inTexts are five ways to write an identifier into a text. Numbers that look like any other stand
// beside a word that says what they are.
func inTexts(class identifier.Class, value string) []string {
	bare := value
	if at := strings.Index(value, ":/"); at >= 0 {
		bare = strings.TrimLeft(value[at+1:], "/") // The list has some of one slash.
	}
	switch class {
	case identifier.BIC:
		return []string{"BIC " + value, "bic: " + strings.ToLower(value), "SWIFT code " + value, "pay to SWIFT/BIC " + value + ".", "BIC:" + value[:8] + "XXX"}
	case identifier.Email:
		return []string{value, "write to " + strings.ToUpper(value), "<" + value + ">", "Some Body <" + value + ">, please", "mailto:" + value}
	case identifier.Website:
		return []string{value, "see http://" + bare, "HTTPS://" + strings.ToUpper(bare), "(" + bare + ")", "shop: " + bare + "."}
	case identifier.Phone:
		return []string{"+" + value, "tel. +" + value, "call +" + value + ", please", "Phone: +" + value, "+" + value[:3] + " " + value[3:]}
	case identifier.LEI:
		return []string{value, strings.ToLower(value), "LEI " + value, "lei: " + value, "of " + value + "."}
	case identifier.IMO:
		value = strings.TrimLeft(value, "IMO ")
		return []string{"IMO " + value, "imo" + value, "vessel IMO no. " + value, "IMO:" + value, "(IMO " + value + ")"}
	case identifier.MMSI:
		return []string{"MMSI " + value, "mmsi: " + value, "MMSI no. " + value, "ship, MMSI " + value + ".", "MMSI:" + value}
	case identifier.DUNS:
		return []string{"DUNS " + value, "duns: " + value, "DUNS number " + value, "(DUNS " + value + ")", "DUNS:" + value}
	}
	return nil
}

// TestEveryListedIdentifierInEveryText: every published identifier whose shape or whose label says what
// it is keeps a payment from being let through in whatever text it stands.
func TestEveryListedIdentifierInEveryText(t *testing.T) {
	if testing.Short() {
		t.Skip("parses a whole SDN file: not in short runs")
	}
	file, err := os.Open(filepath.Join(listtest.DataFolder(t), "ofac", "2025-11-19", "sdn_advanced.xml.bz2"))
	require.NoError(t, err)
	defer file.Close()
	parsed, err := feed.ParseADVANCED(bzip2.NewReader(file))
	require.NoError(t, err)
	for i := range parsed.Entities {
		parsed.Entities[i].Lists = ofac.ListSDN
	}
	list, err := ofac.Build(parsed.Entities, ofac.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	texts := []struct {
		name string
		tell func(r *Request, text string)
	}{
		{"memo", func(r *Request, text string) { r.Memo = text }},
		{"cpName", func(r *Request, text string) { r.Name = text }},
		{"cpRegion", func(r *Request, text string) { r.Region = text }},
		{"cpAddress", func(r *Request, text string) { r.Address = text }},
		{"travelRuleRef", func(r *Request, text string) { r.TravelRule = text }},
		{"paymentRef", func(r *Request, text string) { r.Reference = text }},
		{"protocol", func(r *Request, text string) { r.Protocol = text }},
		{"underlyingModel", func(r *Request, text string) { r.Model = text }},
	}
	looker, asked, passed := NewLooker(), 0, map[string]int{}
	list.EachIdentifier(func(uid uint32, class identifier.Class, label, value, country string) {
		for _, text := range inTexts(class, value) {
			for _, member := range texts {
				f := cleanFacts()
				f.List, f.Request = list, &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: walletB, Type: "business"}
				member.tell(f.Request, text)
				looker.Look(f)
				hits := NewestRules.JudgeStatic(f)
				if asked++; NewestRules.Decide(&hits, f.Policy).Verdict != Proceed {
					continue
				}
				if passed[class.String()]++; passed[class.String()] < 8 {
					t.Errorf("%s %q of %d passes in %s: %q", class, value, uid, member.name, text)
				}
			}
		}
	})
	t.Logf("%d questions, passed %v", asked, passed)
	require.Greater(t, asked, 100_000)
	require.Empty(t, passed)
}
