package ofac

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program may carry more than one version: one list has one name and other tables
// for each, and tables of a version that is not carried are not opened.
func TestMatchers(t *testing.T) {
	encoded, err := EncodeEntities(smallList(), Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	next := MatcherVersion + 1
	both := Matchers{MatcherVersion, next}
	require.Equal(t, next, both.Newest())
	require.Zero(t, Matchers{}.Newest())
	first, err := both.Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	second, err := both.Compile(encoded, next)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	again, err := Compile(encoded, MatcherVersion)
	require.NoError(t, err)
	require.Equal(t, first, again)

	for version, data := range map[uint16][]byte{MatcherVersion: first, next: second} {
		list, err := both.Open(data)
		require.NoError(t, err)
		require.Equal(t, version, list.Matcher())
		require.Equal(t, Digest(encoded), list.Digest())
		back, err := EncodeEntities(list.Entities(), list.Meta())
		require.NoError(t, err)
		require.Equal(t, encoded, back, "the entities come back from any tables")
	}
	// What the next version flags and this one does not tells which of them judged.
	now, err := both.Open(first)
	require.NoError(t, err)
	then, err := both.Open(second)
	require.NoError(t, err)
	for query, outcomes := range map[string][2]Outcome{"ZINC": {Clear, Possible}, "LAZARUS GROUP": {Listed, Listed}, "Anybody": {Clear, Clear}} {
		require.Equal(t, outcomes[0], now.Screen(&Query{Name: query}, NewScratch()).Outcome, query)
		require.Equal(t, outcomes[1], then.Screen(&Query{Name: query}, NewScratch()).Outcome, query)
	}
	_, err = Open(second)
	require.ErrorIs(t, err, ErrMatcherVersion)
	for _, version := range []uint16{0, next} {
		_, err = Compile(encoded, version)
		require.ErrorIs(t, err, ErrMatcherVersion)
	}
}
