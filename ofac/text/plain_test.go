package text_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/text"
)

// TestPlainWordsAreReadLikeOthers: words of ASCII letters and digits take a short way through
// AppendWords. A sign that is dropped, put into each of them, makes them take the long one.
func TestPlainWordsAreReadLikeOthers(t *testing.T) {
	const dropped = "\u200b"
	random := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		var plain, other strings.Builder
		for range 1 + random.IntN(5) {
			word := make([]byte, 1+random.IntN(9))
			alphabet := []string{"0123456789", "abcXYZ01", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}[random.IntN(3)]
			for i := range word {
				word[i] = alphabet[random.IntN(len(alphabet))]
			}
			end := []string{" ", ", ", "/", " (", ") ", ";"}[random.IntN(6)]
			plain.WriteString(string(word) + end)
			other.WriteString(dropped + string(word) + end)
		}
		want := string(text.AppendWords(nil, other.String(), false))
		require.Equal(t, want, string(text.AppendWords(nil, plain.String(), false)), "%q", &plain)
	}
}
