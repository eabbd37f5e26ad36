package strictjson

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildIsBodyWhateverTheRoom: members that fit, that fit to the byte, and that do not.
func TestBuildIsBodyWhateverTheRoom(t *testing.T) {
	for length := range 40 {
		fill := func(m *Members) {
			if length > 0 {
				m.Text("name", strings.Repeat("x", length))
				m.Int("n", 7)
			}
		}
		var m Members
		fill(&m)
		for _, room := range []int{1, 2, 3, len(m), len(m) + 1, len(m) + 2, len(m) + 3, 100} {
			require.Equal(t, string(m.Body()), string(Build(max(room, 1), fill)), "length %d, room %d", length, room)
			used := bytes.Repeat([]byte("x"), room)
			require.Equal(t, string(m.Body()), string(BuildIn(used, fill)), "length %d, in room of %d", length, room)
		}
	}
}
