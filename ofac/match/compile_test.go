package match

import (
	"crypto/sha256"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// Tables are a pure function of the encoded list and the matcher version. Build makes the
// same tables of the entities.
func TestCompileEntities(t *testing.T) {
	encoded, err := os.ReadFile("../list/testdata/entities.v1.bin")
	require.NoError(t, err)
	entities, meta, err := list.Decode(encoded)
	require.NoError(t, err)
	compiled, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	built, err := Build(entities, meta)
	require.NoError(t, err)
	require.Equal(t, tablesOf(t, built), tablesOf(t, compiled))
	require.Equal(t, meta, compiled.Meta())
	entry, ok := compiled.Entry(306)
	require.True(t, ok)
	require.Equal(t, entities[1].Facts, entry.Facts)
	again, err := list.Encode(compiled.Entities(), compiled.Meta())
	require.NoError(t, err)
	require.Equal(t, encoded, again)
	_, err = Compile(encoded, MatcherVersion+1)
	require.ErrorIs(t, err, ErrMatcherVersion)
	_, err = Compile(encoded[1:], MatcherVersion)
	require.ErrorIs(t, err, list.ErrEntities)

	changed := entities[1]
	changed.Facts = changed.Facts[:1]
	other := mustBuild(t, []list.Entity{changed})
	before, _ := compiled.EntryDigest(306)
	after, _ := other.EntryDigest(306)
	require.NotEqual(t, before, after, "a fact is part of the entry")
}

func TestRealEntitiesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a real list")
	}
	entities := listtest.RealEntities(t, "2025-11-19")
	encoded, err := list.Encode(entities, list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	start := time.Now()
	compiled, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	sum := sha256.Sum256(encoded)
	t.Logf("%d entities, encoded %d bytes (%x), compiled %d bytes in %v", len(entities), len(encoded), sum[:4], compiled.Size(), time.Since(start))
	require.Less(t, len(encoded), compiled.Size())
	require.Equal(t, tablesOf(t, mustBuild(t, entities)), tablesOf(t, compiled))
}

func TestEmptyListClearsEverything(t *testing.T) {
	list := mustBuild(t, nil)
	require.Equal(t, index.Counts{}, list.Counts())
	require.Equal(t, Clear, list.Screen(&Query{Name: "LAZARUS GROUP"}, NewScratch()).Outcome)
	_, ok := list.Wallet("0x098B716B8Aaf21512996dC57EB0615e2383E2f96")
	require.False(t, ok)
}
