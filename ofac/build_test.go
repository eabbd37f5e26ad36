package ofac

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func smallList() []Entity {
	first := named(7, Individual, ListSDN, "MADURO MOROS, Nicolas", "MADURO, Nicolas")
	first.Programs = []string{"VENEZUELA", "CYBER2"}
	first.Names[1].Parts = []NamePart{{"Last Name", "MADURO"}, {"First Name", "Nicolas"}}
	second := weak(named(8, Company, ListSDN|ListCONS, "LAZARUS GROUP", "HIDDEN COBRA", "라자루스"), "ZINC")
	second.Sublists = []string{"SDN List"}
	second.Addresses = []Address{{"ETH", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", 5}, {"XBT", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", 6}}
	return []Entity{first, second, named(9, Vessel, ListSDN, "DOVER"), named(10, Aircraft, ListSDN, "YV2030")}
}

func TestBuildIsCanonical(t *testing.T) {
	want := fingerprint(t, mustBuild(t, smallList()))
	for seed := range uint64(8) {
		list := shuffled(smallList(), seed)
		for i := range list {
			list[i].Names = shuffled(list[i].Names, seed+1)
			list[i].Addresses = shuffled(list[i].Addresses, seed+2)
			list[i].Programs = shuffled(list[i].Programs, seed+3)
		}
		require.Equal(t, want, fingerprint(t, mustBuild(t, list)))
	}
	other, err := Build(smallList(), Meta{Source: "other"})
	require.NoError(t, err)
	require.NotEqual(t, mustBuild(t, smallList()).Digest(), other.Digest())
}

func TestBuildRoundTrip(t *testing.T) {
	list := mustBuild(t, smallList())
	encoded, err := EncodeEntities(smallList(), Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	require.Equal(t, Digest(encoded), list.Digest())
	require.Equal(t, MatcherVersion, list.Matcher())
	require.Equal(t, Meta{Source: "test", PublishedAt: 1}, list.Meta())
	require.Equal(t, Counts{Entries: 4, Lists: [SourceCount]int{SDN: 4, CONS: 1}, Names: 8, Wallets: 2, Individuals: 1, Entities: 1, Vessels: 1, Aircraft: 1}, list.Counts())
	require.Equal(t, fingerprint(t, list), fingerprint(t, mustBuild(t, list.Entities())))

	entry, ok := list.Entry(7)
	require.True(t, ok)
	require.Equal(t, "MADURO MOROS, Nicolas", entry.Primary)
	require.Equal(t, []string{"CYBER2", "VENEZUELA"}, entry.Programs)
	require.Equal(t, []NamePart{{"Last Name", "MADURO"}, {"First Name", "Nicolas"}}, entry.Names[1].Parts)
	_, ok = list.Entry(6)
	require.False(t, ok)
}

func TestBuildJoinsRecordsOfOneParty(t *testing.T) {
	joined := mustBuild(t, []Entity{named(5, Company, ListCONS, "SBERBANK"), named(5, Company, ListSDN, "SBERBANK", "SBERBANK OF RUSSIA")})
	entry, ok := joined.Entry(5)
	require.True(t, ok)
	require.Equal(t, ListSDN|ListCONS, entry.Lists)
	require.Len(t, entry.Names, 2)
	require.Equal(t, 1, joined.Counts().Entries)

	_, err := Build([]Entity{named(5, Company, ListCONS, "A"), named(5, Vessel, ListSDN, "A")}, Meta{})
	require.Error(t, err)
}

func TestBuildRefuses(t *testing.T) {
	long := strings.Repeat("x", nameBytesMax)
	ok := named(1, Company, ListSDN, long)
	for name, c := range map[string]struct {
		change func(*Entity)
		good   bool
	}{
		"name of the greatest length": {func(*Entity) {}, true},
		"name one byte longer":        {func(e *Entity) { e.Names[0].Full += "x" }, false},
		"no uid":                      {func(e *Entity) { e.UID = 0 }, false},
		"no type":                     {func(e *Entity) { e.Type = 0 }, false},
		"unknown type":                {func(e *Entity) { e.Type = Aircraft + 1 }, false},
		"no list":                     {func(e *Entity) { e.Lists = 0 }, false},
		"no name":                     {func(e *Entity) { e.Names = nil }, false},
		"empty name":                  {func(e *Entity) { e.Names[0].Full = "" }, false},
		"empty address":               {func(e *Entity) { e.Addresses = []Address{{}} }, false},
		"too many names":              {func(e *Entity) { e.Names = make([]Name, namesPerEntity+1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			entity := ok
			entity.Names = append([]Name(nil), ok.Names...)
			c.change(&entity)
			_, err := Build([]Entity{entity}, Meta{})
			require.Equal(t, c.good, err == nil, err)
		})
	}
	_, err := Build(nil, Meta{Source: strings.Repeat("x", textBytesMax+1)})
	require.Error(t, err)
}

func TestEmptyListClearsEverything(t *testing.T) {
	list := mustBuild(t, nil)
	require.Equal(t, Counts{}, list.Counts())
	require.Equal(t, Clear, list.Screen(&Query{Name: "LAZARUS GROUP"}, NewScratch()).Outcome)
	_, ok := list.Wallet("0x098B716B8Aaf21512996dC57EB0615e2383E2f96")
	require.False(t, ok)
}

func TestEntryDigestChangesWithTheEntry(t *testing.T) {
	before := mustBuild(t, smallList())
	changed := smallList()
	changed[1].Names[1].Weak = true
	after := mustBuild(t, changed)
	a, ok := before.EntryDigest(8)
	require.True(t, ok)
	b, _ := after.EntryDigest(8)
	require.NotEqual(t, a, b)
	same, _ := after.EntryDigest(7)
	old, _ := before.EntryDigest(7)
	require.Equal(t, old, same)
	_, ok = before.EntryDigest(1)
	require.False(t, ok)
}

func TestDiff(t *testing.T) {
	from := mustBuild(t, smallList())
	next := smallList()[1:]
	next[0].Addresses = []Address{{"USDC", "0x098b716b8aaf21512996dc57eb0615e2383e2f96", 5}, {"TRX", "TXYZ1234567890", 7}}
	next = append(next, named(11, Company, ListCONS, "NEW COMPANY"))
	to := mustBuild(t, next)
	require.Equal(t, ListDiff{
		Added: []uint32{11}, Removed: []uint32{7}, Changed: []uint32{8},
		AddressesAdded:   []ListedWallet{{8, "TRX", "TXYZ1234567890"}},
		AddressesRemoved: []ListedWallet{{8, "XBT", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}},
	}, Diff(from, to))
	require.Equal(t, ListDiff{}, Diff(from, from))
}

func TestDiffOfAnOrdinaryUpdate(t *testing.T) {
	diff := Diff(realList(t, "2025-11-04"), realList(t, "2025-11-19"))
	require.Len(t, diff.Added, 105)
	require.Len(t, diff.Removed, 2)
	require.Len(t, diff.AddressesAdded, 13)
	require.Empty(t, diff.AddressesRemoved)
}

// The delisting of Tornado Cash: 90 addresses go, those of its founder stay.
func TestDiffOfTheTornadoCashDelisting(t *testing.T) {
	from, to := walletList(t, "2025-03-04"), walletList(t, "2025-03-21")
	diff := Diff(from, to)
	require.Equal(t, []uint32{39796}, diff.Removed)
	require.Len(t, diff.AddressesRemoved, 90)
	require.Empty(t, diff.AddressesAdded)
	founder, ok := to.Entry(44718)
	require.True(t, ok)
	require.Len(t, founder.Addresses, 8)
	for _, gone := range diff.AddressesRemoved {
		_, ok := from.Wallet(gone.Address)
		require.True(t, ok)
		_, ok = to.Wallet(gone.Address)
		require.False(t, ok)
	}
}

// walletList is a list of the parties with addresses of one golden date.
func walletList(t *testing.T, date string) *Index {
	at := map[uint32]int{}
	var list []Entity
	for _, f := range readRows(t, filepath.Join(dataFolder(t), "ofac", "golden", "sdn_"+date+"_addresses.tsv")) {
		uid := parseUID(t, f[0])
		i, ok := at[uid]
		if !ok {
			i = len(list)
			at[uid] = i
			list = append(list, named(uid, Company, ListSDN, f[4]))
		}
		list[i].Addresses = append(list[i].Addresses, Address{Ticker: f[1], Value: f[2], FeatureID: parseUID(t, f[3])})
	}
	return mustBuild(t, list)
}
