package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// A swap that was checked without any list does nothing if there is a list: a new leader may
// check before it has read its own log to the end.
func TestASwapIsOfTheListItWasCheckedAgainst(t *testing.T) {
	w := &world{t: t, m: New(), term: 2, now: start}
	w.do(wire.KindGenesis, testGenesis())
	stage := func(text string) [32]byte {
		data := []byte(text)
		info := &wire.ListInfo{Digest: sha(data), Entries: 1}
		require.Equal(t, wire.Applied, w.do(wire.KindListChunk, &wire.ListChunk{Digest: sha(data), Total: uint32(len(data)), Data: data, Info: info}).Code)
		return info.Digest
	}
	swap := func(digest [32]byte, base uint64) wire.Result {
		return w.do(wire.KindListActivate, &wire.ListActivate{Digest: digest, Base: base})
	}
	first := stage("first")
	require.Equal(t, wire.Stale, swap(first, 1).Code, "there is no version 1")
	require.Equal(t, wire.Applied, swap(first, wire.ListBase(0)).Code)
	second := stage("second")
	r := swap(second, wire.ListBase(0))
	require.Equal(t, wire.Stale, r.Code)
	require.EqualValues(t, 1, r.Value)
	require.Equal(t, first, w.m.settings.List.Digest)
	require.Equal(t, wire.Applied, swap(second, wire.ListBase(1)).Code)
	require.Equal(t, second, w.m.settings.List.Digest)
	replayAgrees(t, w, 3)
}
