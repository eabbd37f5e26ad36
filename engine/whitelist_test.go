package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"railguard/ofac"
)

const (
	walletA = "0x52908400098527886E0F7030069857D2E4169EE7"
	walletB = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"
)

// listOf makes an enforced whitelist of wallets and names.
func listOf(t require.TestingT, identifiers ...string) *Whitelist {
	list := &Whitelist{Enforce: true}
	for _, text := range identifiers {
		var entry WhitelistEntry
		var ok bool
		if isEVMAddress(text) {
			entry, ok = NewEntry(text, "")
		} else {
			entry, ok = NewEntry("", text)
		}
		require.True(t, ok)
		list = list.With(entry)
	}
	return list
}

func TestWhitelistRule(t *testing.T) {
	tests := []struct {
		name                     string
		agent, fleet, everywhere []string // nil: not set
		wallet, party            string
		sub                      Sub
	}{
		{"not set", nil, nil, nil, walletA, "", 0},
		{"listed wallet", []string{walletA}, nil, nil, "0x52908400098527886e0f7030069857d2e4169ee7", "", 0},
		{"listed name, other spelling", []string{"Acme Ltd"}, nil, nil, "", "ACME, Limited", 0},
		{"unlisted wallet", []string{walletA}, nil, nil, walletB, "", 1},
		{"unlisted name", []string{"Acme Ltd"}, nil, nil, "", "Contoso", 1},
		{"not identified", []string{walletA}, nil, nil, "", "", 2},
		{"blanks identify nobody", []string{walletA}, nil, nil, "  ", " - ", 2},
		{"known wallet, foreign name, names in use", []string{walletA, "Acme Ltd"}, nil, nil, walletA, "Contoso", 3},
		{"known name, foreign wallet, wallets in use", []string{walletA, "Acme Ltd"}, nil, nil, walletB, "Acme Ltd", 3},
		{"known wallet, any name, names not in use", []string{walletA}, nil, nil, walletA, "Contoso", 0},
		{"known name, any wallet, wallets not in use", []string{"Acme Ltd"}, nil, nil, walletB, "Acme Ltd", 0},
		{"wallet given, only names in use", []string{"Acme Ltd"}, nil, nil, walletA, "", 1},
		{"both listed", []string{walletA, "Acme Ltd"}, nil, nil, walletA, "Acme Ltd", 0},
		{"an empty list allows nobody", []string{}, nil, nil, walletA, "", 1},
		{"on the agent's, not on the fleet's", []string{walletA}, []string{walletB}, nil, walletA, "", 1},
		{"on all three", []string{walletA, walletB}, []string{walletA}, []string{walletA, "Acme Ltd"}, walletA, "", 0},
		{"names in use on one list only are in use", []string{walletA}, nil, []string{walletA, "Acme Ltd"}, walletA, "Contoso", 3},
		{"names in use on both, but no name in common", []string{walletA, "Globex"}, nil, []string{walletA, "Acme Ltd"}, walletA, "Contoso", 3},
		{"a name in common is in use", []string{walletA, "Acme Ltd"}, nil, []string{walletA, "Acme Ltd"}, walletA, "Contoso", 3},
		{"nothing in common", []string{walletA}, nil, []string{"Acme Ltd"}, walletA, "Acme Ltd", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := cleanFacts()
			f.Request.Wallet, f.Request.Name = test.wallet, test.party
			if test.agent != nil {
				f.Chain[0].Settings.Whitelist = listOf(t, test.agent...)
			}
			if test.fleet != nil {
				f.Fleet = &FleetProfile{Whitelist: listOf(t, test.fleet...)}
			}
			if test.everywhere != nil {
				f.Policy.Whitelist = listOf(t, test.everywhere...)
			}
			require.Equal(t, test.sub, notWhitelisted(f))
			require.Zero(t, f.ValidUntil)
		})
	}
}

func TestWhitelistOff(t *testing.T) {
	f := cleanFacts()
	f.Policy.Whitelist = listOf(t, walletA)
	f.Policy.Whitelist.Enforce = false
	f.Request.Wallet = walletB
	require.Zero(t, notWhitelisted(f))
	withParents(f, 2).Chain[2].Settings.Whitelist = listOf(t, walletA)
	require.Equal(t, Sub(1), notWhitelisted(f), "a root's list holds for its delegates")
}

func TestWhitelistExpiry(t *testing.T) {
	expiring := func(text string, at Time) WhitelistEntry {
		entry := listOf(t, text).Entries[0]
		entry.ExpiresAt = at
		return entry
	}
	f := cleanFacts()
	f.Request.Wallet = walletA
	f.Chain[0].Settings.Whitelist = (&Whitelist{Enforce: true}).With(expiring(walletA, someday+Hour))
	require.Zero(t, notWhitelisted(f))
	require.Equal(t, someday+Hour, f.ValidUntil, "the judgement lapses with the entry")

	f.ValidUntil, f.Now = 0, someday+Hour
	require.Equal(t, Sub(1), notWhitelisted(f), "an entry is good until its expiry, not at it")
	require.Zero(t, f.ValidUntil, "a hit does not lapse")

	f.Now = someday
	f.Policy.Whitelist = (&Whitelist{Enforce: true}).With(expiring(walletA, someday+Minute))
	require.Zero(t, notWhitelisted(f))
	require.Equal(t, someday+Minute, f.ValidUntil, "the earliest entry")

	f.ValidUntil = 0
	f.Policy.Whitelist = (&Whitelist{Enforce: true}).With(expiring(walletA, someday+Minute), expiring(walletA, 0))
	require.Zero(t, notWhitelisted(f))
	require.Equal(t, someday+Hour, f.ValidUntil, "of two entries for one wallet the longer holds")

	f.ValidUntil, f.Policy.Whitelist = 0, nil
	f.Request.Name = "Contoso"
	f.Chain[0].Settings.Whitelist = (&Whitelist{Enforce: true}).With(expiring(walletA, 0), expiring("Acme Ltd", someday+Hour))
	require.Equal(t, Sub(3), notWhitelisted(f))
	require.Zero(t, f.ValidUntil, "the list goes on speaking of names when its last one expires")
	f.Now = someday + Hour
	require.Equal(t, Sub(3), notWhitelisted(f))
}

func TestWhitelistEdits(t *testing.T) {
	var list *Whitelist
	list = list.With(WhitelistEntry{Name: "b"}, WhitelistEntry{Wallet: "w"})
	require.Equal(t, uint32(1), list.Rev)
	before := list
	list = list.With(WhitelistEntry{Name: "a"})
	require.Len(t, before.Entries, 2, "a published list is never changed")
	ids := func() (ids []uint32) {
		for _, entry := range list.InOrder() {
			ids = append(ids, entry.ID)
		}
		return ids
	}
	require.Equal(t, []uint32{1, 2, 3}, ids())
	require.Equal(t, "a", list.Entries[0].Name)
	list, ok := list.Without(2)
	require.True(t, ok)
	require.Equal(t, uint32(3), list.Rev)
	_, ok = list.Without(2)
	require.False(t, ok)
	list = list.With(WhitelistEntry{Name: "c"})
	require.Equal(t, []uint32{1, 3, 4}, ids())
	_, ok = (*Whitelist)(nil).Without(1)
	require.False(t, ok)
	_, ok = NewEntry("", "...")
	require.False(t, ok)
	_, ok = NewEntry(walletA, "and a name")
	require.False(t, ok)
}

// TestWhitelistAgainstSets: binary search finds what a set of the entries holds, and the lists
// together allow the intersection of the sets.
func TestWhitelistAgainstSets(t *testing.T) {
	names := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta"}
	rapid.Check(t, func(rt *rapid.T) {
		f := cleanFacts()
		common := names
		for level := range rapid.IntRange(1, 3).Draw(rt, "lists") {
			chosen := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(rt, "names")
			list := listOf(t, chosen...)
			switch level {
			case 0:
				f.Chain[0].Settings.Whitelist = list
			case 1:
				f.Fleet = &FleetProfile{Whitelist: list}
			case 2:
				f.Policy.Whitelist = list
			}
			var both []string
			for _, name := range common {
				for _, other := range chosen {
					if name == other {
						both = append(both, name)
					}
				}
			}
			common = both
		}
		f.Request.Name = rapid.SampledFrom(names).Draw(rt, "call")
		want := Sub(1)
		for _, name := range common {
			if name == f.Request.Name {
				want = 0
			}
		}
		require.Equal(t, want, notWhitelisted(f))
	})
}

func TestWhitelistWidens(t *testing.T) {
	two := listOf(t, walletA, "Acme Ltd")
	off := listOf(t, walletA)
	off.Enforce = false
	soon := listOf(t, walletA)
	soon.Entries[0].ExpiresAt = someday
	tests := []struct {
		name     string
		old, new *Whitelist
		want     bool
	}{
		{"none before", nil, two, false},
		{"off before", off, two, false},
		{"gone", two, nil, true},
		{"off", listOf(t, walletA), off, true},
		{"equal", two, listOf(t, walletA, "Acme Ltd"), false},
		{"one entry more", listOf(t, walletA), listOf(t, walletA, walletB), true},
		{"one entry less", listOf(t, walletA, walletB), listOf(t, walletA), false},
		{"longer", soon, listOf(t, walletA), true},
		{"shorter", listOf(t, walletA), soon, false},
		{"names no longer in use", two, listOf(t, walletA), true},
		{"nobody", two, listOf(t), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, WhitelistWidens(test.old, test.new))
		})
	}
}

func TestParty(t *testing.T) {
	key := func(wallet, name string) PartyKey { return (&Request{Wallet: wallet, Name: name}).PartyKey() }
	require.Equal(t, PartyKey{}, key("", ""))
	require.Equal(t, PartyKey{}, key(" ", "--"))
	require.Equal(t, key(walletA, "Acme"), key("0x52908400098527886e0f7030069857d2e4169ee7", "Contoso"), "the wallet speaks first")
	require.Equal(t, key("", "Acme Ltd"), key("", "ACME LIMITED"))
	require.NotEqual(t, key("", "acme"), key("acme", ""))
}

func TestMixers(t *testing.T) {
	require.Equal(t, "2026-11-27.1", MixerVersion())
	require.Greater(t, len(Mixers()), 25)
	ids := make(map[string]bool)
	for _, mixer := range Mixers() {
		require.False(t, ids[mixer.ID], mixer.ID)
		ids[mixer.ID] = true
		require.NotEmpty(t, mixer.Source)
		require.Contains(t, []string{"listed", "delisted", "never"}, mixer.Status)
		require.Equal(t, mixer.Status != "never", mixer.Listed != "", mixer.ID)
		require.Equal(t, mixer.Status == "delisted", mixer.Delisted != "", mixer.ID)
		for _, term := range mixer.Terms {
			match, found := FindMixer(term)
			require.True(t, found, term)
			require.Equal(t, mixer.ID, match.Mixer.ID)
		}
	}
	for _, text := range []string{"Tornado.Cash", "tornado cash", "TORNADO-CASH", "tornadocash", " Tornado  Cash ", "t0rnado cash", "Тоrnado Cash", "Tornado\u200bCash", "ＴＯＲＮＡＤＯ　ＣＡＳＨ"} {
		match, found := FindMixer(text)
		require.True(t, found, text)
		require.Equal(t, "tornado-cash", match.Mixer.ID)
		require.True(t, match.Unambiguous)
	}
	for _, text := range []string{"", " ", "uniswap", "tornado", "cash", "helix bakery", "via tornado cash", "garantex", "aztec rose shipping"} {
		_, found := FindMixer(text)
		require.False(t, found, text)
	}
	for text, unambiguous := range map[string]bool{"helix": false, "dash": false, "Blender": false, "Blender.io": true, "Railgun": false, "Railgun DAO": true} {
		match, found := FindMixer(text)
		require.True(t, found, text)
		require.Equal(t, unambiguous, match.Unambiguous, text)
	}
}

// TestMixersWithin finds mixers among other words, and contracts by their addresses.
func TestMixersWithin(t *testing.T) {
	for text, id := range map[string]string{
		"Tornado Cash v2": "tornado-cash", "via Tornado Cash": "tornado-cash", "tornado.cash (ETH 10)": "tornado-cash", "Tornado.Cash/eth/10": "tornado-cash",
		"swap by t0rnado-cash router": "tornado-cash", "Wasabi Wallet 2.0": "wasabi", "Samourai Whirlpool pool 0.5": "samourai", "Railgun v2": "railgun", "via railgun on polygon": "railgun",
		"Aztec": "aztec", "tornadocash": "tornado-cash",
	} {
		match, found := FindMixerWithin(text)
		require.True(t, found, text)
		require.Equal(t, id, match.Mixer.ID, text)
	}
	for _, text := range []string{"", " ", "v2", "uniswap v4", "helix bakery", "aztec rose shipping", "DoorDash v2", "dash electronics", "tornado alley cash register", "cash tornado", "umbra lighting", "eth pool"} {
		_, found := FindMixerWithin(text)
		require.False(t, found, text)
	}
	_, found := FindMixerWithin(strings.Repeat("a ", FieldMax/2))
	require.False(t, found)
	for _, wallet := range []string{"0x910Cbd523D972eb0a6f4cAe4618aD62622b39DbF", " 0x910cbd523d972eb0a6f4cae4618ad62622b39dbf", "0X910CBD523D972EB0A6F4CAE4618AD62622B39DBF"} {
		mixer, found := FindMixerContract(wallet)
		require.True(t, found, wallet)
		require.Equal(t, "tornado-cash", mixer.ID)
	}
	_, found = FindMixerContract("0x910Cbd523D972eb0a6f4cAe4618aD62622b39DbE")
	require.False(t, found)
}

// TestLooker asks a small list, and checks that remembered and fresh answers are the same.
func TestLooker(t *testing.T) {
	open := func(entities ...ofac.Entity) *ofac.Index {
		index, err := ofac.Build(entities, ofac.Meta{Source: "test", Sample: true})
		require.NoError(t, err)
		return index
	}
	evil := ofac.Entity{UID: 7, Type: ofac.Company, Lists: ofac.ListSDN,
		Names:     []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "SHADOWY TRADING HOUSE"}},
		Addresses: []ofac.Address{{Ticker: "ETH", Value: walletA}}}
	sectoral := ofac.Entity{UID: 8, Type: ofac.Company, Lists: ofac.ListCONS,
		Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "GREY SECTOR BANK"}}}
	other := ofac.Entity{UID: 9, Type: ofac.Individual, Lists: ofac.ListSDN,
		Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "DOE, John Quincy"}}}
	list, empty := open(evil, sectoral, other), open(other)
	looker := NewLooker()
	judge := func(list *ofac.Index, change func(*Facts)) Hits {
		f := cleanFacts()
		f.List = list
		change(f)
		looker.Look(f)
		return NewestRules.JudgeStatic(f)
	}
	for range 2 {
		require.Zero(t, judge(list, func(*Facts) {}).Mask)
		hits := judge(list, func(f *Facts) { f.Request.Name, f.Request.Type = "Shadowy Trading House", "business" })
		require.Equal(t, uint32(1<<7), hits.Mask)
		require.Equal(t, Sub(1), hits.Subs[7])
		hits = judge(list, func(f *Facts) { f.Request.Name = "grey sector bank" })
		require.Equal(t, uint32(1<<7), hits.Mask)
		require.Equal(t, Sub(2), hits.Subs[7], "on the non-SDN list")
		hits = judge(list, func(f *Facts) { f.Request.Wallet = "0x52908400098527886e0f7030069857d2e4169ee7" })
		require.Equal(t, uint32(1<<6), hits.Mask)
		hits = judge(list, func(f *Facts) { withParents(f, 2).Chain[2].OperatorWallet = walletA })
		require.Equal(t, uint32(1<<4), hits.Mask)
		require.Equal(t, Sub(2), hits.Subs[4])
		hits = judge(list, func(f *Facts) { f.Chain[0].OperatorLegalName = "Shadowy Trading House" })
		require.Equal(t, uint32(1<<5), hits.Mask)
		hits = judge(list, func(f *Facts) { f.User = &UserProfile{LegalName: "John Quincy Doe", Agents: []AgentSlot{7}} })
		require.Equal(t, uint32(1<<5), hits.Mask)
		require.Equal(t, Sub(3), hits.Subs[5])
		hits = judge(empty, func(f *Facts) { f.Request.Name = "Shadowy Trading House" })
		require.Zero(t, hits.Mask, "another list is asked anew")
	}
	f := cleanFacts()
	f.List, f.ClearedUntil, f.Request.Name = list, someday+Hour, "Shadowy Trading House"
	looker.Look(f)
	require.Equal(t, someday+Hour, f.ValidUntil)
	require.Equal(t, "SHADOWY TRADING HOUSE", f.PartyName.Matches[0].Name)
	bad := cleanFacts()
	bad.Token, bad.Request.Name = TokenSignature, "Shadowy Trading House"
	looker.Look(bad)
	require.Equal(t, ofac.Clear, bad.PartyName.Outcome, "nobody is looked up for a bad token")
}

func BenchmarkWhitelist(b *testing.B) {
	list := &Whitelist{Enforce: true}
	var entries []WhitelistEntry
	source := rand.New(rand.NewPCG(1, 2))
	for i := range WhitelistMax {
		entry, _ := NewEntry(fmt.Sprintf("0x%040x", source.Uint64()), "")
		if i%2 == 0 {
			entry, _ = NewEntry("", fmt.Sprintf("company %d", source.Uint64()))
		}
		entries = append(entries, entry)
	}
	list = list.With(entries...)
	f := cleanFacts()
	f.Chain[0].Settings.Whitelist, f.Policy.Whitelist = list, list
	f.Request.Wallet, f.Request.Name = list.Entries[1700].Wallet, list.Entries[500].Shown
	b.ReportAllocs()
	for b.Loop() {
		if notWhitelisted(f) != 0 {
			b.Fatal("listed")
		}
	}
}
