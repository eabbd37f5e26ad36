package ofac

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var writeGolden = flag.Bool("golden", false, "write the golden list of entities (once, for a new version)")

// goldenEntities use every field.
func goldenEntities() ([]Entity, Meta) {
	person := named(306, Individual, ListSDN|ListCONS, "MADURO MOROS, Nicolas", "MADURO, Nicolas")
	person.Names[0].Parts = []NamePart{{"Last Name", "Maduro Moros"}, {"First Name", "Nicolas"}}
	person.Names[1].AliasType = "A.K.A."
	person.Sublists, person.Programs = []string{"SDN List", "SSI List"}, []string{"VENEZUELA"}
	person.Facts = []Fact{
		{FactBirthDate, "Birthdate", "23 Nov 1962"}, {FactNationality, "Nationality Country", "Venezuela"}, {FactDocument, "Cedula No.", "5892464, Venezuela"},
	}
	company := weak(named(7, Company, ListSDN, "LAZARUS GROUP"), "ZINC GANG")
	company.Addresses = []Address{{"ETH", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", 77}}
	company.Facts = []Fact{{FactPostalAddress, "", "Pyongyang, Korea, North"}, {FactRemark, "", "Secondary sanctions risk"}}
	vessel := named(70000, Vessel, ListSDN, "OCEAN GLORY")
	vessel.Facts = []Fact{{FactVessel, "Vessel Flag", "Panama"}}
	return []Entity{vessel, person, company}, Meta{Source: "golden", PublishedAt: 1_700_000_000_000_000_000, AsOf: [SourceCount]int64{SDN: 1_700_000_000_000_000_000, CONS: -1}}
}

// The golden file is never regenerated: another version gets another file.
func TestGoldenEntities(t *testing.T) {
	entities, meta := goldenEntities()
	data, err := EncodeEntities(entities, meta)
	require.NoError(t, err)
	const path = "testdata/entities.v1.bin"
	if *writeGolden {
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, hex.Dump(golden), hex.Dump(data))
	read, readMeta, err := DecodeEntities(golden)
	require.NoError(t, err)
	require.Equal(t, meta, readMeta)
	require.Equal(t, []uint32{7, 306, 70000}, []uint32{read[0].UID, read[1].UID, read[2].UID})
	require.Equal(t, entities[1].Facts, read[1].Facts)
	require.Equal(t, entities[1].Names[0].Parts, read[1].Names[0].Parts)
}

// The order of the input does not matter, and what was read encodes to the same bytes.
func TestEntitiesAreCanonical(t *testing.T) {
	entities, meta := goldenEntities()
	want, err := EncodeEntities(entities, meta)
	require.NoError(t, err)
	for seed := range uint64(5) {
		data, err := EncodeEntities(shuffled(entities, seed), meta)
		require.NoError(t, err)
		require.Equal(t, want, data)
	}
	for cut := range want {
		_, _, err := DecodeEntities(want[:cut])
		require.ErrorIs(t, err, ErrEntities)
	}
	_, _, err = DecodeEntities(append(bytes.Clone(want), 0))
	require.ErrorIs(t, err, ErrEntities)
}

// Tables are a pure function of the encoded list and the matcher version, and are
// what Build makes of the entities.
func TestCompileEntities(t *testing.T) {
	entities, meta := goldenEntities()
	encoded, err := EncodeEntities(entities, meta)
	require.NoError(t, err)
	compiled, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	built, err := Build(entities, meta)
	require.NoError(t, err)
	require.Equal(t, fingerprint(t, built), fingerprint(t, compiled))
	list := compiled
	require.Equal(t, meta, list.Meta())
	entry, ok := list.Entry(306)
	require.True(t, ok)
	require.Equal(t, entities[1].Facts, entry.Facts)
	again, err := EncodeEntities(list.Entities(), list.Meta())
	require.NoError(t, err)
	require.Equal(t, encoded, again)
	_, err = Compile(encoded, MatcherVersion+1)
	require.ErrorIs(t, err, ErrMatcherVersion)
	_, err = Compile(encoded[1:], MatcherVersion)
	require.ErrorIs(t, err, ErrEntities)

	changed := entities[1]
	changed.Facts = changed.Facts[:1]
	other := mustBuild(t, []Entity{changed})
	before, _ := list.EntryDigest(306)
	after, _ := other.EntryDigest(306)
	require.NotEqual(t, before, after, "a fact is part of the entry")
}

func TestFactsAreBounded(t *testing.T) {
	for _, fact := range []Fact{{Kind: factKindEnd, Value: "x"}, {}, {Value: string(make([]byte, textBytesMax+1))}} {
		entity := named(1, Individual, ListSDN, "A B")
		entity.Facts = []Fact{fact}
		_, err := Build([]Entity{entity}, Meta{})
		require.Error(t, err)
		_, err = EncodeEntities([]Entity{entity}, Meta{})
		require.Error(t, err)
	}
	for kind := range factKindEnd {
		require.NotEmpty(t, kind.String())
	}
}

func TestRealEntitiesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a real list")
	}
	entities := realEntities(t, "2025-11-19")
	encoded, err := EncodeEntities(entities, Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	start := time.Now()
	compiled, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	sum := sha256.Sum256(encoded)
	t.Logf("%d entities, encoded %d bytes (%x), compiled %d bytes in %v", len(entities), len(encoded), sum[:4], compiled.Size(), time.Since(start))
	require.Less(t, len(encoded), compiled.Size())
	require.Equal(t, fingerprint(t, mustBuild(t, entities)), fingerprint(t, compiled))
}

func FuzzDecodeEntities(f *testing.F) {
	entities, meta := goldenEntities()
	data, err := EncodeEntities(entities, meta)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(entitiesMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		entities, meta, err := DecodeEntities(data)
		if err != nil {
			return
		}
		again, err := EncodeEntities(entities, meta)
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}
