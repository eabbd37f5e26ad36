package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/identifier"
)

// listedNumbers is a list of two companies, one of them on the consolidated list only, with an
// identifier of every class.
func listedNumbers(t testing.TB) *ofac.Index {
	fact := func(kind ofac.FactKind, label, value string) ofac.Fact {
		return ofac.Fact{Kind: kind, Label: label, Value: value}
	}
	list, err := ofac.Build([]ofac.Entity{
		{UID: 7, Type: ofac.Company, Lists: ofac.ListSDN, Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "QUUXVEN ZORBAL HOLDING"}},
			Addresses: []ofac.Address{{Ticker: "ETH", Value: walletA}},
			Facts: []ofac.Fact{
				fact(ofac.FactOther, "SWIFT/BIC", "QUUXIRTH"), fact(ofac.FactOther, "Website", "http://www.quuxven.com"), fact(ofac.FactOther, "Website", "https://shop.quuxven.ru"),
				fact(ofac.FactOther, "Website", "www.facebook.com/quuxven"), fact(ofac.FactOther, "Email Address", "pay@quuxven.com"),
				fact(ofac.FactOther, "Phone Number", "982188526301"), fact(ofac.FactOther, "D-U-N-S Number", "53-400-4252"),
				fact(ofac.FactDocument, "Tax ID No.", "7707083893, Russia"), fact(ofac.FactDocument, "Registration Number", "0010581, Iran"),
				fact(ofac.FactDocument, "Identification Number", "IMO 6166689"), fact(ofac.FactDocument, "MMSI", "626393000"),
				fact(ofac.FactDocument, "Legal Entity Number", "5493001KJTIIGC8Y1R12"), fact(ofac.FactDocument, "Passport", "T36369585, Iran"),
				fact(ofac.FactDocument, "Seafarer's Identification Document", "GH778899, Russia"), fact(ofac.FactVessel, "Aircraft Tail Number", "EP-QUX"),
				fact(ofac.FactDocument, "National ID No.", "12345"),
			}},
		{UID: 8, Type: ofac.Company, Lists: ofac.ListCONS, Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "FROBNITZ GULP BANK"}},
			Facts: []ofac.Fact{fact(ofac.FactRemark, "", "SWIFT/BIC FROBRUMM"), fact(ofac.FactDocument, "Tax ID No.", "7744000912 (Russia)")}},
	}, ofac.Meta{Source: "test", Sample: true})
	require.NoError(t, err)
	return list
}

// judgeTold judges a call that tells these identifiers and this memo.
func judgeTold(looker *Looker, list *ofac.Index, memo string, told ...Identifier) Decision {
	f := cleanFacts()
	f.List = list
	f.Request = &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: walletB, Type: "business", Memo: memo, IdentifierCount: len(told)}
	copy(f.Request.Identifiers[:], told)
	looker.Look(f)
	hits := NewestRules.JudgeStatic(f)
	return NewestRules.Decide(&hits, f.Policy)
}

func TestIdentifiersAreJudged(t *testing.T) {
	list, looker := listedNumbers(t), NewLooker()
	for _, c := range []struct {
		class          identifier.Class
		value, country string
		rule           RuleID
		sub            Sub
	}{
		{identifier.BIC, "QUUXIRTH", "", RulePartyName, subIdentifierListed},
		{identifier.BIC, "quux ir th 123", "", RulePartyName, subIdentifierListed},
		{identifier.BIC, "QUUXDETJ", "", 0, 0},
		{identifier.BIC, "FROBRUMMXXX", "", RulePartyName, subIdentifierListed},
		{identifier.BIC, "QUUX", "", RuleRailChain, subUnsound},
		{identifier.IBAN, "DE89370400440532013001", "", RuleRailChain, subUnsound + 1},
		{identifier.IBAN, "DE89370400440532013000", "", 0, 0},
		{identifier.LEI, "5493001KJTIIGC8Y1R12", "", RulePartyName, subIdentifierListed},
		{identifier.LEI, "5493001KJTIIGC8Y1R13", "", RuleRailChain, subUnsound + 2},
		{identifier.TaxID, "7707083893", "RU", RulePartyName, subIdentifierListed},
		{identifier.TaxID, "7707-083-893", "Russia", RulePartyName, subIdentifierListed},
		{identifier.TaxID, "7707083893", "", RulePartyName, subIdentifierListed},
		{identifier.TaxID, "7707083893", "Kazakhstan", RulePossibleName, subIdentifierPossible},
		{identifier.Registration, "7707083893", "RU", RulePossibleName, subIdentifierPossible},
		{identifier.Registration, "7707083893", "KZ", RulePossibleName, subIdentifierPossible}, // Two doubts are still an officer's.
		{identifier.TaxID, "7744000912", "KZ", 0, 0},                                           // Doubtful, and not on a core source.
		{identifier.TaxID, "7744000912", "RU", RulePartyName, subIdentifierListed},
		{identifier.Registration, "10581", "IR", RulePartyName, subIdentifierListed},
		{identifier.Registration, "00010581", "IR", RulePartyName, subIdentifierListed},
		{identifier.Registration, "10581", "", RulePossibleName, subIdentifierPossible},
		{identifier.Registration, "10581", "DE", RulePossibleName, subIdentifierPossible},
		{identifier.NationalID, "12345", "DE", RulePossibleName, subIdentifierPossible},
		{identifier.Passport, "T 36369585", "IR", RulePartyName, subIdentifierListed},
		{identifier.Passport, "Т36369585", "", RulePartyName, subIdentifierListed}, // A Cyrillic letter.
		{identifier.Passport, "GH778899", "RU", RulePossibleName, subIdentifierPossible},
		{identifier.Passport, "--", "RU", RuleRailChain, subUnsound + 9},
		{identifier.IMO, "IMO 6166689", "", RulePartyName, subIdentifierListed},
		{identifier.IMO, "6166688", "", RuleRailChain, subUnsound + 3},
		{identifier.MMSI, "626393000", "", RulePartyName, subIdentifierListed},
		{identifier.MMSI, "62639300", "", RuleRailChain, subUnsound + 4},
		{identifier.AircraftTail, "epqux", "", RulePartyName, subIdentifierListed},
		{identifier.Email, "Pay+march@QuuxVen.com", "", RulePartyName, subIdentifierListed},
		{identifier.Account, "pay@quuxven.com", "", RulePossibleName, subIdentifierPossible},
		{identifier.Email, "pay", "", RuleRailChain, subUnsound + 5},
		{identifier.Website, "https://pay.quuxven.com:8443/checkout?id=1", "", RulePartyName, subIdentifierListed},
		{identifier.Website, "notquuxven.com", "", 0, 0},
		{identifier.Website, "quuxven.ru", "", RulePossibleName, subIdentifierPossible},
		{identifier.Website, "facebook.com/QuuxVen/about", "", RulePartyName, subIdentifierListed},
		{identifier.Website, "facebook.com/other", "", RulePossibleName, subIdentifierPossible},
		{identifier.Website, "my shop", "", RuleRailChain, subUnsound + 6},
		{identifier.Phone, "+98 (21) 8852-6301", "", RulePartyName, subIdentifierListed},
		{identifier.Phone, "021 88526301", "IR", RulePartyName, subIdentifierListed},
		{identifier.Phone, "1", "", RuleRailChain, subUnsound + 7},
		{identifier.DUNS, "534004252", "", RulePartyName, subIdentifierListed},
		{identifier.DUNS, "53400425", "", RuleRailChain, subUnsound + 8},
		{identifier.Account, "4711", "", 0, 0},
	} {
		got := judgeTold(looker, list, "", Identifier{c.class, c.value, c.country})
		require.Equal(t, []any{c.rule, c.sub}, []any{got.Rule, got.Sub}, "%s %q %s: %s", c.class, c.value, c.country, NewestRules.FullReason(got.Rule, got.Sub, 0, 0))
	}
	last := judgeTold(looker, list, "", Identifier{identifier.Account, "1", ""}, Identifier{identifier.Passport, "T36369585", "IR"})
	require.Equal(t, RulePartyName, last.Rule, "every identifier is looked at")
}

// A memo that names somebody listed is reviewed and never blocked, and an ordinary one passes.
func TestMemosAreJudged(t *testing.T) {
	list, looker := listedNumbers(t), NewLooker()
	for memo, found := range map[string]bool{
		"":                                        false,
		"Invoice 4711, cleaning in March":         false,
		"for Quuxven Zorbal Holding, March":       true,
		"invoice to QUUXVEN-ZORBAL, Holding!":     true,
		"Quuxven":                                 false,
		"send to " + walletA:                      true,
		"send to " + walletB:                      false,
		"ethereum:" + walletA + "@1":              true,
		"BIC: QUUXIRTH":                           true,
		"SWIFT/BIC QUUXIRTH":                      true,
		"BIC/SWIFT: QUUXIRTH":                     true,
		"see https:/quuxven.com":                  true,
		"SWIFT code QUUXIRTHXXX please":           true,
		"QUUXIRTH":                                false,
		"vessel IMO6166689":                       true,
		"vessel IMO no. 6166689.":                 true,
		"order 6166689":                           false,
		"write to <PAY@quuxven.com>.":             true,
		"see https://www.quuxven.com/x":           true,
		"see quuxven.com.":                        true,
		"facebook.com/quuxven":                    true,
		"lei 5493001KJTIIGC8Y1R12":                true,
		"5493001KJTIIGC8Y1R12":                    true,
		"call +98 21 8852 6301 now":               true,
		"passport no T36369585":                   true,
		"INN 7707083893":                          true,
		"7707083893":                              false,
		"IBAN DE89 3704 0044 0532 0130 00":        false,
		"+":                                       false,
		"pay to IR82 0540 1026 8002 0817 9090 02": true, // Not listed, and Iranian.
		"or by mail, a@silibank.kp":               true,
		"passport no. of a@silibank.de":           false,
		"@ . :// www. IMO BIC":                    false,
	} {
		got := judgeTold(looker, list, memo)
		if strings.HasPrefix(memo, "pay to IR") || strings.HasSuffix(memo, ".kp") {
			require.Equal(t, []any{RuleParty, subPlaceOfText, Review}, []any{got.Rule, got.Sub, got.Verdict}, memo)
		} else if found {
			require.Equal(t, []any{RulePossibleName, subMemo, Review}, []any{got.Rule, got.Sub, got.Verdict}, memo)
		} else {
			require.Equal(t, Proceed, got.Verdict, memo)
		}
	}
	many := ""
	for i := range 8 {
		many += fmt.Sprintf("0x%040x ", 1<<40+i)
	}
	require.Equal(t, Review, judgeTold(looker, list, many+walletA).Verdict, "no number of other wallets hides one")
	require.Equal(t, Review, judgeTold(looker, list, strings.Repeat("a@b.de ", 64)+"pay@quuxven.com").Verdict, "no number of other addresses hides one")
	require.Equal(t, Proceed, judgeTold(looker, list, strings.Repeat("a@b.de ", 12)).Verdict)
}

// A record is judged again when nobody has its list any more: what its identifiers say by themselves is
// known all the same.
func TestIdentifiersAreReadWithoutAList(t *testing.T) {
	for told, want := range map[Identifier]RuleID{
		{identifier.IBAN, "IR820540102680020817909002", ""}:    RuleJurisdiction,
		{identifier.Account, "IR820540102680020817909002", ""}: RuleJurisdiction,
		{identifier.IBAN, "DE88 3704 0044 0532 0130 00", ""}:   RuleRailChain,
		{identifier.IBAN, "DE89 3704 0044 0532 0130 00", ""}:   0,
	} {
		f := cleanFacts()
		f.Request.Identifiers[0], f.Request.IdentifierCount = told, 1
		hits := NewestRules.JudgeStatic(f)
		require.Equal(t, want != 0, hits.Mask != 0, told.Value)
		require.Equal(t, want != 0, want != 0 && hits.Has(want), told.Value)
	}
}

func FuzzMemo(f *testing.F) {
	list, looker := listedNumbers(f), NewLooker()
	f.Add("BIC: QUUXIRTH +98 21 88 IMO6166689 a@b.c https://x.y/z DE89 3704 0044 0532 0130 00")
	f.Fuzz(func(t *testing.T, memo string) {
		if len(memo) > 4*NameRunesMax {
			memo = memo[:4*NameRunesMax]
		}
		if got := judgeTold(looker, list, memo); got.Verdict == Block {
			t.Fatalf("%q blocks", memo)
		}
	})
}
