package feed

import (
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// The test logs the sizes of a whole real list with its facts and the time to compile it.
// It checks that the compiled list holds a fact and is more than twice as large as the
// encoded one.
func TestRealListAsEntities(t *testing.T) {
	skipHeavy(t)
	list := realList(t, "2025-11-19/sdn_advanced.xml.bz2")
	markFamily(&list, ofac.ListSDN)
	encoded, err := ofac.EncodeEntities(list.Entities, metaOf(&list))
	require.NoError(t, err)
	start := time.Now()
	index, err := ofac.Compile(encoded, ofac.MatcherVersion)
	require.NoError(t, err)
	took := time.Since(start)
	writer, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer writer.Close()
	entry, ok := index.Entry(22790)
	require.True(t, ok)
	t.Logf("encoded %d bytes, %d compressed; compiled %d bytes in %v; %v", len(encoded), len(writer.EncodeAll(encoded, nil)), index.Size(), took, entry.Facts)
	require.Contains(t, entry.Facts, ofac.Fact{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "1962-11-23"})
	require.Less(t, len(encoded), index.Size()/2)
}
