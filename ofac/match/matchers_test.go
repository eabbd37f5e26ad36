package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// A program may have several versions. A list then has one name and other tables for each
// version. Compiling for a version that the program lacks fails.
func TestMatchers(t *testing.T) {
	encoded, err := list.Encode(listtest.SmallList(), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	next := MatcherVersion + 1
	both := Matchers{MatcherVersion, next}
	require.Equal(t, next, both.Newest())
	require.Zero(t, Matchers{}.Newest())
	first, err := both.Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	second, err := both.Compile(encoded, next)
	require.NoError(t, err)
	again, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	require.Equal(t, tablesOf(t, first), tablesOf(t, again))

	for version, compiled := range map[uint16]*Index{MatcherVersion: first, next: second} {
		require.Equal(t, version, compiled.Matcher())
		require.Equal(t, list.Digest(encoded), compiled.Digest())
		back, err := list.Encode(compiled.Entities(), compiled.Meta())
		require.NoError(t, err)
		require.Equal(t, encoded, back, "the entities come back from any tables")
	}
	// Only the next version flags a weak alias, which shows which version judged.
	for query, outcomes := range map[string][2]Outcome{"ZINC": {Clear, Possible}, "LAZARUS GROUP": {Listed, Listed}, "Anybody": {Clear, Clear}} {
		require.Equal(t, outcomes[0], first.Screen(&Query{Name: query}, NewScratch()).Outcome, query)
		require.Equal(t, outcomes[1], second.Screen(&Query{Name: query}, NewScratch()).Outcome, query)
	}
	for _, version := range []uint16{0, next} {
		_, err = Compile(encoded, version)
		require.ErrorIs(t, err, ErrMatcherVersion)
	}
}

// A list whose compilation panics is refused like any list that cannot be compiled.
func TestACompilationThatPanicsIsRefused(t *testing.T) {
	encoded, err := list.Encode(listtest.SmallList(), list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	_, err = Carried().CompileWith(Help{Step: func() { panic("a fault of ours") }}, encoded, MatcherVersion)
	require.ErrorIs(t, err, list.ErrEntities)
	require.ErrorContains(t, err, "its compilation panicked: a fault of ours")
}

// The digest of the sample answers is the same for each compilation, and another one for another
// list, another matcher, and tables that answer otherwise.
func TestSampleDigest(t *testing.T) {
	compile := func(entities []list.Entity, version uint16) uint64 {
		encoded, err := list.Encode(entities, list.Meta{Source: "test", PublishedAt: 1})
		require.NoError(t, err)
		index, err := Matchers{MatcherVersion, MatcherVersion + 1}.Compile(encoded, version)
		require.NoError(t, err)
		return index.SampleDigest()
	}
	small := listtest.SmallList()
	first := compile(small, MatcherVersion)
	require.NotZero(t, first)
	require.Equal(t, first, compile(small, MatcherVersion))
	require.NotEqual(t, first, compile(small[1:], MatcherVersion))
}
