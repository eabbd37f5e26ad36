package list

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every source has a name of its own, and at least one is a core source.
func TestSources(t *testing.T) {
	core := 0
	for _, source := range Sources() {
		row := source.Row()
		require.NotEmpty(t, row.Title)
		require.Equal(t, OFAC, row.Publisher)
		found, known := SourceNamed(row.Name)
		require.True(t, known)
		require.Equal(t, source, found)
		require.Equal(t, source, source.Set().First())
		require.Equal(t, row.Core, source.Set().Core())
		if row.Core {
			core++
		}
	}
	require.Positive(t, core)
	_, known := SourceNamed("")
	require.False(t, known)
	require.Equal(t, "SDN+CONS", (ListSDN | ListCONS).String())
	require.Equal(t, SDN, (ListSDN | ListCONS).First())
	require.True(t, (ListSDN | ListCONS).Core())
	require.False(t, Lists(0).Core())
}

// An entity may stand only on sources of the publisher in its uid, and OFAC's uids are its
// own numbers.
func TestUID(t *testing.T) {
	uid, ok := UID(OFAC, 27307)
	require.True(t, ok)
	require.EqualValues(t, 27307, uid)
	for _, number := range []uint32{0, 1 << publisherShift} {
		_, ok := UID(OFAC, number)
		require.False(t, ok)
	}
	_, ok = UID(OFAC+1, 1)
	require.False(t, ok)
	_, err := Encode([]Entity{named(1<<publisherShift-1, Company, ListSDN, "GREATEST NUMBER")}, Meta{})
	require.NoError(t, err)
	_, err = Encode([]Entity{named(1<<publisherShift, Company, ListSDN, "OF ANOTHER PUBLISHER")}, Meta{})
	require.ErrorContains(t, err, "another publisher: SDN")
	_, err = Encode([]Entity{named(1, Company, 1<<2, "UNKNOWN LIST")}, Meta{})
	require.ErrorContains(t, err, "unknown lists")
}

// A list with only SDN and CONS has the same bytes as before there were other sources; the
// dates of others follow.
func TestDatesOfSources(t *testing.T) {
	for _, dates := range [][]int64{{5, 0}, {5, -6, 0, 0}, {0, 7, 8, 0, 9}} {
		e := entityEncoder{}
		e.writeDates(dates, true)
		d := entityDecoder{data: e.data}
		read := make([]int64, len(dates))
		require.True(t, d.readDates(read))
		require.Empty(t, d.failed)
		require.Empty(t, d.data)
		require.Equal(t, dates, read)
	}
	e := entityEncoder{}
	e.writeDates([]int64{5, 0, 0}, false)
	require.Equal(t, []byte{10, 0, 0}, e.data)
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
			_, err := Encode([]Entity{entity}, Meta{})
			require.Equal(t, c.good, err == nil, err)
		})
	}
	_, err := Encode(nil, Meta{Source: strings.Repeat("x", textBytesMax+1)})
	require.Error(t, err)
}
