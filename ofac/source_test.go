package ofac

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every source can be told from the others by its name, and one at least is a core one.
func TestSources(t *testing.T) {
	core := 0
	for source := range SourceCount {
		row := source.Row()
		require.NotEmpty(t, row.Title)
		require.Less(t, row.Publisher, publisherCount)
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

// An entity stands on sources of the publisher that its uid names, and OFAC's uids are
// its own numbers.
func TestUID(t *testing.T) {
	uid, ok := UID(OFAC, 27307)
	require.True(t, ok)
	require.EqualValues(t, 27307, uid)
	for _, number := range []uint32{0, 1 << publisherShift} {
		_, ok := UID(OFAC, number)
		require.False(t, ok)
	}
	_, ok = UID(publisherCount, 1)
	require.False(t, ok)
	_, err := Build([]Entity{named(1<<publisherShift-1, Company, ListSDN, "GREATEST NUMBER")}, Meta{})
	require.NoError(t, err)
	_, err = Build([]Entity{named(1<<publisherShift, Company, ListSDN, "OF ANOTHER PUBLISHER")}, Meta{})
	require.ErrorContains(t, err, "another publisher: SDN")
	_, err = Build([]Entity{named(1, Company, 1<<SourceCount, "UNKNOWN LIST")}, Meta{})
	require.ErrorContains(t, err, "unknown lists")
}

// A list without other sources than SDN and CONS has the bytes that it had before there
// were others; the dates of others follow.
func TestDatesOfSources(t *testing.T) {
	for _, dates := range [][]int64{{5, 0}, {5, -6, 0, 0}, {0, 7, 8, 0, 9}} {
		e := entityEncoder{}
		e.dates(dates, true)
		d := entityDecoder{data: e.data}
		read := make([]int64, len(dates))
		require.True(t, d.dates(read))
		require.Empty(t, d.failed)
		require.Empty(t, d.data)
		require.Equal(t, dates, read)
	}
	e := entityEncoder{}
	e.dates([]int64{5, 0, 0}, false)
	require.Equal(t, []byte{10, 0, 0}, e.data)
}
