package list

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var writeGolden = flag.Bool("golden", false, "write the golden list of entities (once, for a new version)")

// named makes an entity with strong names, the first of them primary.
func named(uid uint32, kind EntityType, lists Lists, names ...string) Entity {
	entity := Entity{UID: uid, Type: kind, Lists: lists}
	for i, name := range names {
		entity.Names = append(entity.Names, Name{ID: uid*100 + uint32(i), Primary: i == 0, Script: "Latin", Full: name})
	}
	return entity
}

func shuffled(entities []Entity, seed uint64) []Entity {
	entities = slices.Clone(entities)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(entities), func(i, k int) { entities[i], entities[k] = entities[k], entities[i] })
	return entities
}

// goldenEntities use every field.
func goldenEntities() ([]Entity, Meta) {
	person := named(306, Individual, ListSDN|ListCONS, "MADURO MOROS, Nicolas", "MADURO, Nicolas")
	person.Names[0].Parts = []NamePart{{"Last Name", "Maduro Moros"}, {"First Name", "Nicolas"}}
	person.Names[1].AliasType = "A.K.A."
	person.Sublists, person.Programs = []string{"SDN List", "SSI List"}, []string{"VENEZUELA"}
	person.Facts = []Fact{
		{FactBirthDate, "Birthdate", "23 Nov 1962"}, {FactNationality, "Nationality Country", "Venezuela"}, {FactDocument, "Cedula No.", "5892464, Venezuela"},
	}
	company := named(7, Company, ListSDN, "LAZARUS GROUP")
	company.Names = append(company.Names, Name{ID: 799, Weak: true, AliasType: "A.K.A.", Script: "Latin", Full: "ZINC GANG"})
	company.Addresses = []Address{{"ETH", "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", 77}}
	company.Facts = []Fact{{FactPostalAddress, "", "Pyongyang, Korea, North"}, {FactRemark, "", "Secondary sanctions risk"}}
	vessel := named(70000, Vessel, ListSDN, "OCEAN GLORY")
	vessel.Facts = []Fact{{FactVessel, "Vessel Flag", "Panama"}}
	return []Entity{vessel, person, company}, Meta{Source: "golden", PublishedAt: 1_700_000_000_000_000_000, AsOf: [SourcesMax]int64{SDN: 1_700_000_000_000_000_000, CONS: -1}}
}

// The golden file is never regenerated: a new version gets a new file.
func TestGoldenEntities(t *testing.T) {
	entities, meta := goldenEntities()
	data, err := Encode(entities, meta)
	require.NoError(t, err)
	const path = "testdata/entities.v1.bin"
	if *writeGolden {
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, hex.Dump(golden), hex.Dump(data))
	read, readMeta, err := Decode(golden)
	require.NoError(t, err)
	require.Equal(t, meta, readMeta)
	require.Equal(t, []uint32{7, 306, 70000}, []uint32{read[0].UID, read[1].UID, read[2].UID})
	require.Equal(t, entities[1].Facts, read[1].Facts)
	require.Equal(t, entities[1].Names[0].Parts, read[1].Names[0].Parts)
}

// The order of the input does not matter, and a decoded list encodes to the same bytes.
func TestEntitiesAreCanonical(t *testing.T) {
	entities, meta := goldenEntities()
	want, err := Encode(entities, meta)
	require.NoError(t, err)
	for seed := range uint64(5) {
		data, err := Encode(shuffled(entities, seed), meta)
		require.NoError(t, err)
		require.Equal(t, want, data)
	}
	for cut := range want {
		_, _, err := Decode(want[:cut])
		require.ErrorIs(t, err, ErrEntities)
	}
	_, _, err = Decode(append(bytes.Clone(want), 0))
	require.ErrorIs(t, err, ErrEntities)
}

func TestFactsAreBounded(t *testing.T) {
	for _, fact := range []Fact{{Kind: factKindEnd, Value: "x"}, {}, {Value: string(make([]byte, textBytesMax+1))}} {
		entity := named(1, Individual, ListSDN, "A B")
		entity.Facts = []Fact{fact}
		_, err := Encode([]Entity{entity}, Meta{})
		require.Error(t, err)
	}
	for kind := range factKindEnd {
		require.NotEmpty(t, kind.String())
	}
}

func FuzzDecodeEntities(f *testing.F) {
	entities, meta := goldenEntities()
	data, err := Encode(entities, meta)
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(entitiesMagic))
	entities, meta = goldenFurther()
	data, err = Encode(entities, meta)
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		entities, meta, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(entities, meta)
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}
