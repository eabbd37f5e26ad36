package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

func TestBuildIsCanonical(t *testing.T) {
	want := fingerprint(t, mustMake(t, listtest.SmallList()))
	for seed := range uint64(8) {
		list := listtest.Shuffled(listtest.SmallList(), seed)
		for i := range list {
			list[i].Names = listtest.Shuffled(list[i].Names, seed+1)
			list[i].Addresses = listtest.Shuffled(list[i].Addresses, seed+2)
			list[i].Programs = listtest.Shuffled(list[i].Programs, seed+3)
		}
		require.Equal(t, want, fingerprint(t, mustMake(t, list)))
	}
	encoded, err := list.Encode(listtest.SmallList(), list.Meta{Source: "other"})
	require.NoError(t, err)
	other := compiled(t, Plan{}, encoded)
	require.NotEqual(t, mustMake(t, listtest.SmallList()).Digest(), other.Digest())
}

func TestBuildRoundTrip(t *testing.T) {
	items := mustMake(t, listtest.SmallList())
	encoded, err := list.Encode(listtest.SmallList(), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	require.Equal(t, list.Digest(encoded), items.Digest())
	require.Equal(t, uint16(matcherVersion), items.Matcher())
	require.Equal(t, list.Meta{Source: "test", PublishedAt: 1}, items.Meta())
	require.Equal(t, Counts{Entries: 4, Lists: [list.SourcesMax]int{list.SDN: 4, list.CONS: 1}, Names: 8, Wallets: 2, Individuals: 1, Entities: 1, Vessels: 1, Aircraft: 1}, items.Counts())
	require.Equal(t, fingerprint(t, items), fingerprint(t, mustMake(t, items.Entities())))

	entry, ok := items.Entry(7)
	require.True(t, ok)
	require.Equal(t, "MADURO MOROS, Nicolas", entry.Primary)
	require.Equal(t, []string{"CYBER2", "VENEZUELA"}, entry.Programs)
	require.Equal(t, []list.NamePart{{Kind: "Last Name", Value: "MADURO"}, {Kind: "First Name", Value: "Nicolas"}}, entry.Names[1].Parts)
	_, ok = items.Entry(6)
	require.False(t, ok)
}

func TestBuildJoinsRecordsOfOneParty(t *testing.T) {
	joined := mustMake(t, []list.Entity{listtest.Named(5, list.Company, list.ListCONS, "SBERBANK"), listtest.Named(5, list.Company, list.ListSDN, "SBERBANK", "SBERBANK OF RUSSIA")})
	entry, ok := joined.Entry(5)
	require.True(t, ok)
	require.Equal(t, list.ListSDN|list.ListCONS, entry.Lists)
	require.Len(t, entry.Names, 2)
	require.Equal(t, 1, joined.Counts().Entries)

	_, err := list.Encode([]list.Entity{listtest.Named(5, list.Company, list.ListCONS, "A"), listtest.Named(5, list.Vessel, list.ListSDN, "A")}, list.Meta{})
	require.Error(t, err)
}

func TestEntryDigestChangesWithTheEntry(t *testing.T) {
	before := mustMake(t, listtest.SmallList())
	changed := listtest.SmallList()
	changed[1].Names[1].Weak = true
	after := mustMake(t, changed)
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
	from := mustMake(t, listtest.SmallList())
	next := listtest.SmallList()[1:]
	next[0].Addresses = []list.Address{{Ticker: "USDC", Value: "0x098b716b8aaf21512996dc57eb0615e2383e2f96", FeatureID: 5}, {Ticker: "TRX", Value: "TXYZ1234567890", FeatureID: 7}}
	next = append(next, listtest.Named(11, list.Company, list.ListCONS, "NEW COMPANY"))
	to := mustMake(t, next)
	require.Equal(t, ListDiff{
		Added: []uint32{11}, Removed: []uint32{7}, Changed: []uint32{8},
		AddressesAdded:   []ListedWallet{{8, "TRX", "TXYZ1234567890"}},
		AddressesRemoved: []ListedWallet{{8, "XBT", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}},
	}, Diff(from, to))
	require.Equal(t, ListDiff{}, Diff(from, from))
}

func TestDiffOfAnOrdinaryUpdate(t *testing.T) {
	diff := Diff(mustMake(t, listtest.RealEntities(t, "2025-11-04")), mustMake(t, listtest.RealEntities(t, "2025-11-19")))
	require.Len(t, diff.Added, 105)
	require.Len(t, diff.Removed, 2)
	require.Len(t, diff.AddressesAdded, 13)
	require.Empty(t, diff.AddressesRemoved)
}

// The delisting of Tornado Cash removed 90 addresses; those of its founder stayed.
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

// walletList compiles the parties with addresses of one golden date.
func walletList(t *testing.T, date string) *Tables {
	at := map[uint32]int{}
	var items []list.Entity
	for _, f := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "ofac", "golden", "sdn_"+date+"_addresses.tsv")) {
		uid := listtest.ParseUID(t, f[0])
		i, ok := at[uid]
		if !ok {
			i = len(items)
			at[uid] = i
			items = append(items, listtest.Named(uid, list.Company, list.ListSDN, f[4]))
		}
		items[i].Addresses = append(items[i].Addresses, list.Address{Ticker: f[1], Value: f[2], FeatureID: listtest.ParseUID(t, f[3])})
	}
	return mustMake(t, items)
}

// fingerprint is a digest of all tables of a list. Lists with the same fingerprint give the
// same answers.
func fingerprint(t testing.TB, x *Tables) string {
	l, sum := &x.Words, sha256.New()
	for _, table := range []any{
		x.digest, x.matcher, []byte(x.text), x.textOffsets, x.entities, x.references, x.names, x.parts, x.addresses, x.Facts,
		l.records, l.letters, l.ids, l.neighbourOffsets, l.neighbourRows, l.deletionOffsets, l.deletionRows, l.abjadRows,
		l.postingOffsets, l.postings, l.tokenOffsets, l.Tokens, l.holders, l.Begins, l.remainders, x.beginnings,
	} {
		require.NoError(t, binary.Write(sum, binary.LittleEndian, table))
	}
	fmt.Fprint(sum, x.wallets, x.forms, l.hash)
	return hex.EncodeToString(sum.Sum(nil))
}
