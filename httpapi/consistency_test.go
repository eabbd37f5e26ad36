package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/merkle"
	"railguard/audit/note"
	"railguard/audit/proof"
)

// naiveRoot is RFC 6962's definition of a tree's root, taken literally.
func naiveRoot(hashes []merkle.Hash) merkle.Hash {
	switch len(hashes) {
	case 0:
		return merkle.Hash(mustDecode("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))
	case 1:
		return hashes[0]
	}
	k := 1
	for 2*k < len(hashes) {
		k *= 2
	}
	left, right := naiveRoot(hashes[:k]), naiveRoot(hashes[k:])
	return merkle.Node(left[:], right[:])
}

func mustDecode(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// consistencyAnswer is the answer as a caller without a key reads it.
type consistencyAnswer struct {
	From, To         uint64
	FromRoot, ToRoot string
	Path             []string
}

func (a *consistencyAnswer) path() (path [][]byte) {
	for _, text := range a.Path {
		path = append(path, mustDecode(text))
	}
	return path
}

// Between any two sizes there is a public proof. It holds with the roots of a tree that was
// built naively from the leaves, and fails with the roots of other trees.
func TestConsistencyOfTheLog(t *testing.T) {
	n := newTestNode(t)
	for range 50 {
		n.screen("x", "")
	}
	size := n.store.Size()
	hashes := make([]merkle.Hash, size)
	for i := range hashes {
		data, err := n.store.Leaf(uint64(i))
		require.NoError(t, err)
		hashes[i] = merkle.Leaf(data)
	}
	roots := make([]merkle.Hash, size+1)
	for i := range roots {
		roots[i] = naiveRoot(hashes[:i])
	}
	for to := uint64(0); to <= size; to++ {
		for from := uint64(0); from <= to; from++ {
			w := n.do("", "GET", fmt.Sprintf("/log/consistency/%d/%d", from, to), "")
			require.Equal(t, 200, w.Code, w.Body)
			var a consistencyAnswer
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
			require.Equal(t, [2]uint64{from, to}, [2]uint64{a.From, a.To})
			require.Equal(t, roots[from][:], mustDecode(a.FromRoot))
			require.Equal(t, roots[to][:], mustDecode(a.ToRoot))
			require.NoError(t, proof.VerifyConsistency(from, to, roots[from], roots[to], a.path()))
			if from > 0 && from < to {
				forged := roots[to]
				forged[31] ^= 1
				require.ErrorIs(t, proof.VerifyConsistency(from, to, roots[from], forged, a.path()), proof.ErrInvalid)
				require.ErrorIs(t, proof.VerifyConsistency(from, to, roots[from-1], roots[to], a.path()), proof.ErrInvalid)
			}
		}
	}
	point, err := note.Verify([]byte(n.logText(t, "/log/checkpoint")), n.settings.Genesis.LogKeys)
	require.NoError(t, err)
	require.Equal(t, roots[point.Size], point.Root, "and the signed root is of this tree")
	kept := n.do("", "GET", "/log/consistency/1/2", "").Header().Get("Cache-Control")
	require.Contains(t, kept, "immutable")
}

// Parameters that are no pair of sizes of this tree get no proof.
func TestConsistencyBounds(t *testing.T) {
	n := newTestNode(t)
	size := n.store.Size()
	for _, pair := range []string{
		fmt.Sprintf("%d/%d", 1, size+1), fmt.Sprintf("%d/%d", size+1, size+1), "2/1", "-1/2", "01/2", "1/+2", "1/2x", "x/2",
		"1/9223372036854775808", "1/18446744073709551616", "1/4611686018427387903",
	} {
		w := n.do("", "GET", "/log/consistency/"+pair, "")
		require.Equal(t, 404, w.Code, pair)
		require.Contains(t, w.Body.String(), "not_found", pair)
		require.NotContains(t, w.Header().Get("Cache-Control"), "immutable", "it may be a proof later: %s", pair)
	}
	require.Equal(t, 404, n.do("", "GET", "/log/consistency/1", "").Code)
	require.Equal(t, 404, n.do("", "GET", "/log/consistency", "").Code)
	require.Equal(t, 405, n.do("", "POST", "/log/consistency/1/2", "{}").Code)
	require.Equal(t, 400, n.do("", "GET", "/log/consistency/1/2?from=1", "").Code)
}
