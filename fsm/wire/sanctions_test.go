package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCausesComeBack(t *testing.T) {
	for _, uid := range []uint32{1, 7777, 1<<32 - 1} {
		cause := PartyCause(uid)
		again, is := cause.UID()
		require.True(t, is && cause.Sound())
		require.Equal(t, uid, again)
		_, is = cause.Place()
		require.False(t, is)
	}
	for _, code := range []string{"IR", "UA-43", "GB-ABE"} {
		cause := PlaceCause(code)
		again, is := cause.Place()
		require.True(t, is && cause.Sound(), code)
		require.Equal(t, code, again)
		require.Equal(t, "place "+code, cause.String())
		_, is = cause.UID()
		require.False(t, is)
	}
	for _, code := range []string{"", "I", "ir", "I R", "UA-43456", "É"} {
		require.Zero(t, PlaceCause(code), code)
	}
	for _, cause := range []Cause{0, 1, causeParty, causeParty | 1<<33, causePlace, causePlace | 'I', causePlace | 'I'<<16 | 'R', 3 << causeShift} {
		require.False(t, cause.Sound(), "%x", uint64(cause))
	}
	require.Equal(t, "uid 7777", PartyCause(7777).String())
	require.Equal(t, "unnamed", Cause(0).String())
}
