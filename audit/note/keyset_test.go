package note

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func seededSigner(t *testing.T, seed byte) *Signer {
	s, err := NewSigner("pay.example.org/log", bytes.Repeat([]byte{seed}, SeedSize))
	require.NoError(t, err)
	return s
}

// A document that a log serves holds keys, sizes and endorsements, each line once, and nothing else.
func TestServedKeysHoldNothingElse(t *testing.T) {
	old, next := seededSigner(t, 1), seededSigner(t, 2)
	endorsed := old.Endorse(next, 5)
	served := SizesLine(5, math.MaxUint64) + next.VerifierKeys() + endorsed + SizesLine(0, 4) + old.VerifierKeys()
	require.NoError(t, CheckServed(served))
	require.NoError(t, CheckServed(old.VerifierKeys()))
	first, second, _ := strings.Cut(endorsed, "\n")
	witness, err := NewCosigner("w.example.org", bytes.Repeat([]byte{4}, SeedSize))
	require.NoError(t, err)
	for name, other := range map[string]string{
		"a comment":                  served + "# a forger's note\n",
		"a comment in front":         "# a forger's note\n" + served,
		"an empty line":              served + "\n",
		"no last newline":            strings.TrimSuffix(served, "\n"),
		"other line ends":            strings.ReplaceAll(served, "\n", "\r\n"),
		"a space":                    " " + served,
		"a key twice":                served + old.VerifierKeys(),
		"an endorsement of nothing":  endorsed + served,
		"an endorsement by nobody":   strings.Replace(served, endorsed, seededSigner(t, 3).Endorse(next, 5), 1),
		"an endorsement for another": strings.Replace(served, endorsed, old.Endorse(next, 6), 1),
		"words in an endorsement":    strings.Replace(served, first, first+" and more", 1),
		"an endorsement cut":         strings.Replace(served, second, second[:len(second)/2]+"\n", 1),
		"a witness's key":            served + witness.VerifierKey() + "\n",
		"nothing":                    "",
	} {
		require.ErrorIs(t, CheckServed(other), ErrMalformed, name)
	}
}

// Keys are compared as sets of lines, and the error names the key that one side lacks.
func TestKeysAreComparedAsSets(t *testing.T) {
	old, next, stranger := seededSigner(t, 1), seededSigner(t, 2), seededSigner(t, 3)
	witness, err := NewCosigner("w.example.org", bytes.Repeat([]byte{4}, SeedSize))
	require.NoError(t, err)
	rotated := SizesLine(5, math.MaxUint64) + next.VerifierKeys() + old.Endorse(next, 5) + SizesLine(0, 4) + old.VerifierKeys()
	classic, quantum, _ := strings.Cut(old.VerifierKeys(), "\n")
	for name, c := range map[string]struct {
		inside, given, rotations, refused string
		steps                             int
	}{
		"the same":               {inside: old.VerifierKeys(), given: old.VerifierKeys()},
		"other line ends":        {inside: old.VerifierKeys(), given: strings.ReplaceAll(old.VerifierKeys(), "\n", "\r\n")},
		"no last newline":        {inside: old.VerifierKeys(), given: strings.TrimSpace(old.VerifierKeys())},
		"comments, other order":  {inside: old.VerifierKeys(), given: "# ours\n\n  " + quantum + classic},
		"a witness beside them":  {inside: old.VerifierKeys(), given: old.VerifierKeys() + witness.VerifierKey()},
		"a later document":       {inside: old.VerifierKeys(), given: rotated},
		"the newest of many":     {inside: next.VerifierKeys(), given: rotated},
		"led to":                 {inside: next.VerifierKeys(), given: old.VerifierKeys(), rotations: rotated, steps: 1},
		"ML-DSA-44 lost":         {inside: classic + "\n", given: old.VerifierKeys(), refused: "is missing, which is among those given"},
		"Ed25519 lost":           {inside: quantum, given: rotated, refused: "is missing, which is among those given"},
		"lost behind a rotation": {inside: strings.SplitAfter(next.VerifierKeys(), "\n")[0], given: old.VerifierKeys(), rotations: rotated, refused: "is missing, which those given lead to"},
		"one more":               {inside: old.VerifierKeys() + stranger.VerifierKeys(), given: old.VerifierKeys(), refused: "is not among those given"},
		"others":                 {inside: stranger.VerifierKeys(), given: old.VerifierKeys(), rotations: rotated, refused: "is not among those given"},
		"not led to":             {inside: next.VerifierKeys(), given: old.VerifierKeys(), refused: "is not among those given"},
		"a witness inside":       {inside: old.VerifierKeys() + witness.VerifierKey(), given: old.VerifierKeys(), refused: "is not among those given"},
	} {
		keys, steps, err := MatchKeys(c.inside, c.given, c.rotations)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, name)
			require.Regexp(t, `the key "[a-z./]+\+[0-9a-f]{8}\+`, err.Error(), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.steps, steps, name)
		if steps == 0 {
			require.Equal(t, c.given, keys, name)
		}
	}
}
