package text

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A character is read as utf8 reads it, whether its bytes are right or not.
func TestDecodeRuneIsThatOfUTF8(t *testing.T) {
	t.Parallel()
	tails := []string{"", "\x00", "a", "\x7f", "\x80", "\x8f", "\x90", "\x9f", "\xa0", "\xbf", "\xc0", "\xff"}
	for first := range 256 {
		for second := range 256 {
			for _, third := range tails {
				for _, fourth := range [...]string{"", "\x80", "z"} {
					name := string([]byte{byte(first), byte(second)}) + third + fourth
					want, size := utf8.DecodeRuneInString(name)
					got, read := decodeRune(name, 0)
					if want != got || size != read {
						require.Equal(t, want, got, "%+q", name)
						require.Equal(t, size, read, "%+q", name)
					}
				}
			}
		}
		want, size := utf8.DecodeRuneInString(string([]byte{byte(first)}))
		got, read := decodeRune(string([]byte{byte(first)}), 0)
		require.Equal(t, want, got)
		require.Equal(t, size, read)
	}
}
