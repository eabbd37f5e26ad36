package engine

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// plainFindMixer is what FindMixerWithin means: every run of words is looked up in the list.
func plainFindMixer(text string) (MixerMatch, bool) {
	words := bytes.Fields(ofac.AppendNormalised(nil, text))
	if match, found := mixers.terms[string(appendSqueezed(nil, bytes.Join(words, nil)))]; found {
		return match, true
	}
	telling := 0
	for _, word := range words {
		if !isMixerFiller(word) {
			telling++
		}
	}
	for first := range words {
		for last := first; last < len(words); last++ {
			match, found := mixers.terms[string(appendSqueezed(nil, bytes.Join(words[first:last+1], nil)))]
			if found && (match.Unambiguous || first == last && telling == 1 && !isMixerFiller(words[first])) {
				return match, true
			}
		}
	}
	return MixerMatch{}, false
}

// TestFindMixerWithinIsPlain: the quick search finds what the plain one finds, in texts of terms,
// their parts, fillers and other words.
func TestFindMixerWithinIsPlain(t *testing.T) {
	parts := []string{"v2", "via", "on", "ETH", "the", "Bakery", "Helix", "4", "-", "Straße", "Rail", "gun", "0", "1"}
	for _, mixer := range Mixers() {
		for _, term := range mixer.Terms {
			parts = append(append(parts, term, strings.ToUpper(term)), strings.FieldsFunc(term, func(r rune) bool { return r == ' ' || r == '.' })...)
		}
	}
	random := rand.New(rand.NewPCG(14, 14))
	hits := 0
	for range 30_000 {
		var text strings.Builder
		for range 1 + random.IntN(5) {
			text.WriteString(parts[random.IntN(len(parts))])
			text.WriteString([]string{"", " ", "  ", "-", "."}[random.IntN(5)])
		}
		want, wanted := plainFindMixer(text.String())
		got, found := FindMixerWithin(text.String())
		require.Equal(t, wanted, found, "%q", &text)
		require.Equal(t, want, got, "%q", &text)
		if found {
			hits++
		}
	}
	require.Greater(t, hits, 1000)
}

// TestEveryContractIsFound: in every case of its letters, and with blanks around it. One other digit
// at the end, or before it, is another wallet.
func TestEveryContractIsFound(t *testing.T) {
	require.NotEmpty(t, mixers.contracts)
	for address, mixer := range mixers.contracts {
		for _, spelled := range []string{address, " " + address + "\n"} {
			found, ok := FindMixerContract(spelled)
			require.True(t, ok, spelled)
			require.Same(t, mixer, found)
		}
		if !isEVMAddress(address) {
			continue
		}
		_, ok := FindMixerContract("0x" + strings.ToUpper(address[2:]))
		require.True(t, ok, address)
		for at := len(address) - 5; at < len(address); at++ {
			other := []byte(address)
			other[at] = "0123456789abcdef0"[bytes.IndexByte([]byte("0123456789abcdef"), other[at])+1]
			if _, listed := mixers.contracts[string(other)]; !listed {
				_, ok := FindMixerContract(string(other))
				require.False(t, ok, "%s", other)
			}
		}
	}
}
