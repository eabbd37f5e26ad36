package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// Twins of two listed wallets: of a key hash on Bitcoin, and of an EVM account on a list that is reviewed.
const (
	twinSegwit  = "bc1qpa78qajm34ypqk6unwwn9tgxrc9evaez76c64s"
	twinNested  = "3BN2W2uaBtmjogy53Bd641ssnyS4g93uWg"
	twinDoge    = "D6YykL7uEqmuusMAGh632zBZrKzfhyU9tp"
	twinBare    = "0f7c70765b8d48105b5c9b9d32ad061e0b967722"
	twinEVM     = "0x" + twinBare
	twinKava    = "kava1g3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zylyemlr"
	twinCosmos  = "cosmos1g3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyr3dxfy"
	twinListed  = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"
	cleanWallet = "0x52908400098527886E0F7030069857D2E4169EE7"
)

func twinList(t testing.TB) *ofac.Index {
	reviewed := ofac.Further{Number: 1, ID: "un", Name: "UN Security Council", Format: "un-xml"}
	uid, _ := reviewed.UID(1)
	party := func(uid uint32, lists ofac.Lists, name, id, ticker, wallet string) ofac.Entity {
		return ofac.Entity{UID: uid, Type: ofac.Company, Lists: lists, ID: id, Names: []ofac.Name{{Primary: true, Script: "Latin", Full: name}},
			Addresses: []ofac.Address{{Ticker: ticker, Value: wallet}}}
	}
	list, err := ofac.Build([]ofac.Entity{
		party(1, ofac.ListSDN, "Sanctioned Sea Works", "", "XBT", twinListed),
		party(uid, reviewed.Source().Set(), "Mountain Crater Mining", "1", "ETH", ofacWallet),
	}, ofac.Meta{Source: "test", Further: []ofac.Further{reviewed}})
	require.NoError(t, err)
	return list
}

// A wallet of a listed key is judged as the listed wallet, whatever its role is. One that only may be
// is reviewed, on a list that is reviewed too.
func TestTwinsOfListedWallets(t *testing.T) {
	list, looker := twinList(t), NewLooker()
	to := func(wallet string) func(*Facts) { return func(f *Facts) { f.Request.Wallet = wallet } }
	for name, c := range map[string]struct {
		change func(*Facts)
		rule   RuleID
		sub    Sub
		list   string
	}{
		"nobody's":                 {to(cleanWallet), 0, 0, ""},
		"itself":                   {to(twinListed), 6, 1, ""},
		"segwit":                   {to(twinSegwit), 6, 1, ""},
		"nested":                   {to(twinNested), 6, 1, ""},
		"on another chain":         {to(twinDoge), 6, 1, ""},
		"in a link":                {to("https://mempool.space/address/" + twinSegwit), 6, 1, ""},
		"elsewhere":                {func(f *Facts) { f.Request.Wallet, f.Request.Elsewhere = cleanWallet, " "+twinSegwit }, 6, 1, ""},
		"payer":                    {func(f *Facts) { f.Request.Payer = twinSegwit }, 4, 3, ""},
		"payer in wallets":         {paying(WalletPayer, twinDoge), 4, 3, ""},
		"operator":                 {func(f *Facts) { f.Chain[0].OperatorWallet = twinNested }, 4, 1, ""},
		"fee":                      {paying(WalletFee, twinSegwit), 6, 2, ""},
		"the bare hash":            {to(twinBare), 21, subTwin, ""},
		"as an EVM account":        {to(twinEVM), 21, subTwin, ""},
		"may be, elsewhere":        {func(f *Facts) { f.Request.Elsewhere = " " + twinEVM }, 21, subTwin, ""},
		"may be, payer":            {func(f *Facts) { f.Request.Payer = twinEVM }, 21, subTwin, ""},
		"may be, payer in wallets": {paying(WalletPayer, twinEVM), 21, subTwin, ""},
		"may be, intermediary":     {paying(WalletIntermediary, twinEVM), 21, subTwin, ""},
		"may be, payee":            {paying(WalletPayee, twinEVM), 21, subTwin, ""},
		"may be, fee":              {paying(WalletFee, twinEVM), 21, subTwin, ""},
		"may be, operator":         {func(f *Facts) { f.Chain[0].OperatorWallet = twinEVM }, 21, subTwin, ""},
		"may be, another agent's": {func(f *Facts) {
			f.Operator = &OperatorProfile{Wallets: []OperatorWallet{{Wallet: cleanWallet}, {Wallet: twinEVM}}}
		}, 21, subTwin, ""},
		"may be, and one that is":    {func(f *Facts) { f.Request.Wallet, f.Request.Elsewhere = twinEVM, " "+twinDoge }, 6, 1, ""},
		"one that is, and may be":    {func(f *Facts) { f.Request.Wallet, f.Request.Elsewhere = twinDoge, " "+twinEVM }, 6, 1, ""},
		"in a memo":                  {func(f *Facts) { f.Request.Memo = "no business with " + twinSegwit }, 21, subMemo, ""},
		"on a list that is reviewed": {to(twinKava), 21, subPartyWalletReviewed, "UN Security Council"},
		"may be, on such a list":     {to(twinCosmos), 21, subTwin, ""},
	} {
		f := cleanFacts()
		f.List, f.Now = list, 5
		c.change(f)
		looker.Look(f)
		hits := NewestRules.JudgeStatic(f)
		hits.Mask &= 1<<4 | 1<<6 | 1<<21
		if c.rule == 0 {
			require.Zero(t, hits.Mask, name)
			continue
		}
		require.Equal(t, uint32(1)<<c.rule, hits.Mask, name)
		require.Equal(t, c.sub, hits.Subs[c.rule], name)
		require.Equal(t, c.list, f.ListNamed(&hits), name)
	}
}

// A word beside a clean address that cannot be read, or a second address, is R19.
func TestTwoWordsOfWhichOneIsUnread(t *testing.T) {
	list, looker := twinList(t), NewLooker()
	for text, sub := range map[string]Sub{
		"\u041Ex098B716B8Aaf21512996dC57EB0615e2383E2f96 " + cleanWallet:  8,
		cleanWallet + "\n\u041Ex098B716B8Aaf21512996dC57EB0615e2383E2f96": 8,
		"12QtD5BFwRsdNsAZY76UVE1xyCGNT\u043EjH9h " + cleanWallet:          8,
		"0x098B716B8Aaf21512996dC57EB0615e2383E2f96 " + cleanWallet:       7,
		cleanWallet: 0,
	} {
		f := cleanFacts()
		f.List, f.Request.Wallet = list, text
		looker.Look(f)
		require.Equal(t, sub, NewestRules.JudgeStatic(f).Subs[RuleRailChain], text)
	}
}
