package list

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenFurther are the entities of version 1 and those of two lists beside OFAC's; they use every
// field.
func goldenFurther() ([]Entity, Meta) {
	entities, meta := goldenEntities()
	un := Further{Number: 1, ID: "un", Name: "UN Security Council", Authority: "United Nations", Format: "un-xml", Families: []string{"DPRK", "Taliban"}, AgeMax: 1e15}
	house := Further{Number: 15, ID: "house-2", Name: "House list", Blocks: true, Format: "own"}
	meta.Further = []Further{un, house}
	meta.AsOf[un.Source()], meta.AsOf[house.Source()] = 1_600_000_000_000_000_000, 5
	add := func(list *Further, number uint32, entity Entity, id string, until int64) {
		entity.UID, _ = list.UID(number)
		entity.Lists, entity.ID, entity.Until = list.Source().Set(), id, until
		entities = append(entities, entity)
	}
	add(&un, 6907993, named(1, Individual, 0, "ERIC BADEGE"), "CDi.001", 0)
	add(&house, 1, named(2, Company, 0, "KNOWN DEFRAUDER"), "case 7", 1_800_000_000_000_000_000)
	return entities, meta
}

// Version 2 is the form of lists with further ones. The golden file is never regenerated.
func TestGoldenFurther(t *testing.T) {
	entities, meta := goldenFurther()
	data, err := Encode(entities, meta)
	require.NoError(t, err)
	const path = "testdata/entities.v2.bin"
	if *writeGolden {
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, hex.Dump(golden), hex.Dump(data))
	require.True(t, IsEntities(golden))
	read, readMeta, err := Decode(golden)
	require.NoError(t, err)
	require.Equal(t, meta, readMeta)
	require.Equal(t, "CDi.001", read[3].ID)
	require.EqualValues(t, 1_800_000_000_000_000_000, read[4].Until)
	for cut := range golden {
		_, _, err := Decode(golden[:cut])
		require.ErrorIs(t, err, ErrEntities)
	}
}

// The effect of a list follows from the source on which its entities stand, and the uids of its
// entities do not change with it.
func TestFurtherSources(t *testing.T) {
	seen := ListSDN | ListCONS
	for number := uint8(1); number <= FurtherMax; number++ {
		for _, blocks := range []bool{false, true} {
			row := Further{Number: number, Blocks: blocks}
			set := row.Source().Set()
			require.Zero(t, seen&set)
			seen |= set
			require.Equal(t, blocks, set.Block())
			require.False(t, set.Core())
			require.True(t, set.IsFurther())
			require.False(t, set.IsOFAC())
			require.Equal(t, row.Source(), set.First())
			uid, ok := row.UID(7)
			require.True(t, ok)
			require.True(t, row.Holds(uid))
			require.True(t, set.publishedBy(publisherOf(uid)))
			require.False(t, set.publishedBy(OFAC))
		}
	}
	require.Equal(t, ^Lists(0), seen, "every source is OFAC's or that of a further list")
	_, meta := goldenFurther()
	require.Equal(t, "SDN", meta.NameOf(ListSDN))
	require.Equal(t, "UN Security Council", meta.NameOf(meta.Further[0].Source().Set()))
	require.Equal(t, "House list", meta.NameOf(meta.Further[0].Source().Set()|meta.Further[1].Source().Set()), "one that blocks first")
	require.Nil(t, meta.FurtherNamed("none"))
	require.Equal(t, "house-2", meta.FurtherNamed("house-2").ID)
}

func TestFurtherIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Meta, []Entity){
		"no number":              func(m *Meta, _ []Entity) { m.Further[0].Number = 0 },
		"too great a number":     func(m *Meta, _ []Entity) { m.Further[1].Number = FurtherMax + 1 },
		"falling numbers":        func(m *Meta, _ []Entity) { m.Further[0].Number = 15 },
		"OFAC's id":              func(m *Meta, _ []Entity) { m.Further[0].ID = "sdn" },
		"capital letters":        func(m *Meta, _ []Entity) { m.Further[0].ID = "UN" },
		"an id twice":            func(m *Meta, _ []Entity) { m.Further[0].ID = "house-2" },
		"a name twice":           func(m *Meta, _ []Entity) { m.Further[0].Name = "House list" },
		"no name":                func(m *Meta, _ []Entity) { m.Further[0].Name = "" },
		"no format":              func(m *Meta, _ []Entity) { m.Further[0].Format = "" },
		"a long authority":       func(m *Meta, _ []Entity) { m.Further[0].Authority = strings.Repeat("x", listNameBytesMax+1) },
		"an empty family":        func(m *Meta, _ []Entity) { m.Further[0].Families = []string{""} },
		"a negative age":         func(m *Meta, _ []Entity) { m.Further[0].AgeMax = -1 },
		"a list that is unknown": func(m *Meta, _ []Entity) { m.Further = m.Further[:1] },
		"another effect":         func(m *Meta, _ []Entity) { m.Further[1].Blocks = false },
		"an id of OFAC's":        func(_ *Meta, e []Entity) { e[0].ID = "x" },
		"an end of OFAC's":       func(_ *Meta, e []Entity) { e[0].Until = 1 },
		"an end before 1970":     func(_ *Meta, e []Entity) { e[3].Until = -1 },
		"a long id":              func(_ *Meta, e []Entity) { e[3].ID = strings.Repeat("x", entityIDBytesMax+1) },
		"OFAC's entity on it":    func(_ *Meta, e []Entity) { e[0].Lists = e[3].Lists },
	} {
		t.Run(name, func(t *testing.T) {
			entities, meta := goldenFurther()
			change(&meta, entities)
			_, err := Encode(entities, meta)
			require.Error(t, err)
		})
	}
}
