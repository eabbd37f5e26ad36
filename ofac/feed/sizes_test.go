package feed

import (
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// The canonical list of a whole real list with all its facts: how large it is, how
// long a node compiles it, and that both forms hold the facts.
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
