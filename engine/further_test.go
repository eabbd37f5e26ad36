package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/identifier"
)

const (
	reviewedWallet = "0x1111111111111111111111111111111111111111"
	blockedWallet  = "0x2222222222222222222222222222222222222222"
	endingWallet   = "0x3333333333333333333333333333333333333333"
	ofacWallet     = "0x4444444444444444444444444444444444444444"
)

// furtherLists are OFAC's list with one that is reviewed and one that blocks. An entry of the
// latter ends at 1,000 ns.
func furtherLists(t testing.TB) *ofac.Index {
	reviewed := ofac.Further{Number: 1, ID: "un", Name: "UN Security Council", Format: "un-xml"}
	blocks := ofac.Further{Number: 2, ID: "house", Name: "House list", Format: "own", Blocks: true}
	entity := func(list *ofac.Further, number uint32, name, wallet, bic string) ofac.Entity {
		e := ofac.Entity{UID: number, Type: ofac.Company, Lists: ofac.ListSDN}
		if list != nil {
			e.UID, _ = list.UID(number)
			e.Lists, e.ID = list.Source().Set(), name
		}
		e.Names = []ofac.Name{{Primary: true, Script: "Latin", Full: name}}
		e.Addresses = []ofac.Address{{Ticker: "ETH", Value: wallet}}
		e.Facts = []ofac.Fact{{Kind: ofac.FactDocument, Label: "SWIFT/BIC", Value: bic}}
		return e
	}
	ending := entity(&blocks, 2, "Briefly Listed Traders", endingWallet, "ENDBGB2L")
	ending.Until = 1000
	list, err := ofac.Build([]ofac.Entity{
		entity(nil, 1, "Sanctioned Sea Works", ofacWallet, "OFACIRTH"),
		entity(&reviewed, 1, "Mountain Crater Mining", reviewedWallet, "UNITKPPY"),
		entity(&blocks, 1, "Known Defrauder Holdings", blockedWallet, "HOUSDEFF"), ending,
	}, ofac.Meta{Source: "test", Further: []ofac.Further{reviewed, blocks}})
	require.NoError(t, err)
	return list
}

// telling tells a business identifier code.
func telling(value string) func(*Facts) {
	return func(f *Facts) {
		f.Request.Identifiers[0], f.Request.IdentifierCount = Identifier{Class: identifier.BIC, Value: value}, 1
	}
}

// paying tells one of the member wallets.
func paying(role WalletRole, wallet string) func(*Facts) {
	return func(f *Facts) {
		f.Request.Wallets[0], f.Request.WalletCount = RoleWallet{Role: role, Address: wallet}, 1
	}
}

func judgedAt(now Time, change func(*Facts)) func(*Facts) {
	return func(f *Facts) { f.Now = now; change(f) }
}

var furtherCases = map[string]struct {
	change func(*Facts)
	rule   RuleID
	sub    Sub
	list   string
}{
	"nobody":                     {func(*Facts) {}, 0, 0, ""},
	"name, reviewed":             {func(f *Facts) { f.Request.Name = "mountain crater mining" }, 21, 10, "UN Security Council"},
	"operator's name, reviewed":  {func(f *Facts) { f.Chain[0].OperatorLegalName = "Mountain Crater Mining" }, 21, 11, "UN Security Council"},
	"wallet, reviewed":           {func(f *Facts) { f.Request.Wallet = reviewedWallet }, 21, 13, "UN Security Council"},
	"operator's wallet, review":  {func(f *Facts) { f.Chain[0].OperatorWallet = reviewedWallet }, 21, 14, "UN Security Council"},
	"payer, reviewed":            {func(f *Facts) { f.Request.Payer = reviewedWallet }, 21, 15, "UN Security Council"},
	"fee, reviewed":              {paying(WalletFee, reviewedWallet), 21, 16, "UN Security Council"},
	"identifier, reviewed":       {telling("UNITKPPYXXX"), 21, 17, "UN Security Council"},
	"name, blocks":               {func(f *Facts) { f.Request.Name = "Known Defrauder Holdings" }, 7, 4, "House list"},
	"operator's name, blocks":    {func(f *Facts) { f.Chain[0].OperatorLegalName = "Known Defrauder Holdings" }, 5, 6, "House list"},
	"wallet, blocks":             {func(f *Facts) { f.Request.Wallet = blockedWallet }, 6, 3, "House list"},
	"operator's wallet, blocks":  {func(f *Facts) { f.Chain[0].OperatorWallet = blockedWallet }, 4, 4, "House list"},
	"payer, blocks":              {func(f *Facts) { f.Request.Payer = blockedWallet }, 4, 5, "House list"},
	"payer in wallets, blocks":   {paying(WalletPayer, blockedWallet), 4, 5, "House list"},
	"fee, blocks":                {paying(WalletFee, blockedWallet), 6, 4, "House list"},
	"identifier, blocks":         {telling("HOUSDEFF"), 7, 5, "House list"},
	"OFAC's wallet":              {func(f *Facts) { f.Request.Wallet = ofacWallet }, 6, 1, ""},
	"OFAC's identifier":          {telling("OFACIRTH"), 7, 3, ""},
	"wallet before its end":      {judgedAt(999, func(f *Facts) { f.Request.Wallet = endingWallet }), 6, 3, "House list"},
	"wallet at its end":          {judgedAt(1000, func(f *Facts) { f.Request.Wallet = endingWallet }), 0, 0, ""},
	"name before its end":        {judgedAt(999, func(f *Facts) { f.Request.Name = "Briefly Listed Traders" }), 7, 4, "House list"},
	"name at its end":            {judgedAt(1000, func(f *Facts) { f.Request.Name = "Briefly Listed Traders" }), 0, 0, ""},
	"identifier before its end":  {judgedAt(999, telling("ENDBGB2L")), 7, 5, "House list"},
	"identifier after its end":   {judgedAt(2000, telling("ENDBGB2L")), 0, 0, ""},
	"a name that resembles one":  {func(f *Facts) { f.Request.Name = "Mountain Kraters Mining" }, 0, 0, ""},
	"OFAC before a list, wallet": {func(f *Facts) { f.Request.Wallet, f.Request.Elsewhere = reviewedWallet, ofacWallet }, 6, 1, ""},
}

// An exact hit on a list that is reviewed is R21, one on a list that blocks is the rule of an OFAC
// hit; the reason names the list. Nothing else changes a payment that nobody has listed.
func TestListsBesideOFACs(t *testing.T) {
	list := furtherLists(t)
	for name, test := range furtherCases {
		t.Run(name, func(t *testing.T) {
			f := cleanFacts()
			f.List, f.Now = list, 5
			test.change(f)
			looker := NewLooker()
			for range 2 { // The second time from memory.
				g := *f
				looker.Look(&g)
				hits := NewestRules.JudgeStatic(&g)
				hits.Mask &^= 1<<RuleRailChain | 1<<RuleJurisdiction // What else is wrong with such a payment.
				if test.rule == 0 {
					require.Zero(t, hits.Mask&(1<<4|1<<5|1<<6|1<<7|1<<21))
					continue
				}
				require.Equal(t, uint32(1)<<test.rule, hits.Mask&(1<<4|1<<5|1<<6|1<<7|1<<21))
				require.Equal(t, test.sub, hits.Subs[test.rule])
				require.Equal(t, test.list, g.ListNamed(&hits))
				reason := NameList(NewestRules.Reason(test.rule, test.sub, 0), g.ListNamed(&hits))
				require.NotContains(t, reason, "{")
				require.Contains(t, reason, test.list)
			}
			g := *f
			looker.Look(&g)
			if g.Now < 1000 {
				require.Equal(t, Time(1000), g.ValidUntil, "a judgement is good until the next end")
			} else {
				require.Zero(t, g.ValidUntil)
			}
		})
	}
}

// A list with the effect block never becomes a cause for R3 or a tax number: these are kept by the
// registry, and only OFAC's list is asked for them.
func TestReasonWithoutAName(t *testing.T) {
	require.Equal(t, "The counterparty name is on the list of another authority.", NameList(NewestRules.Reason(7, 4, 0), ""))
	require.Equal(t, NewestRules.Reason(7, 1, 0), NameList(NewestRules.Reason(7, 1, 0), "House list"))
}
