package proof

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

// tree makes proofs with another implementation: golang.org/x/mod/sumdb/tlog.
type tree []tlog.Hash

func (o tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = o[n]
	}
	return out, nil
}

func leaf(i int64) []byte { return fmt.Appendf(nil, "leaf %d", i) }

func grow(t testing.TB, size int64) tree {
	var o tree
	for i := range size {
		hashes, err := tlog.StoredHashes(i, leaf(i), o)
		require.NoError(t, err)
		o = append(o, hashes...)
	}
	return o
}

func rootOf(t testing.TB, o tree, size int64) Hash {
	root, err := tlog.TreeHash(size, o)
	require.NoError(t, err)
	return Hash(root)
}

func bytesOf(path []tlog.Hash) [][]byte {
	out := make([][]byte, len(path))
	for i := range path {
		out[i] = path[i][:]
	}
	return out
}

func TestInclusion(t *testing.T) {
	const max = 40
	o := grow(t, max)
	for size := int64(1); size <= max; size++ {
		root := rootOf(t, o, size)
		for i := range size {
			p, err := tlog.ProveRecord(size, i, o)
			require.NoError(t, err)
			path := bytesOf(p)
			require.NoError(t, VerifyInclusion(leaf(i), uint64(i), uint64(size), path, root))
			require.NoError(t, VerifyHashInclusion(LeafHash(leaf(i)), uint64(i), uint64(size), path, root))

			require.ErrorIs(t, VerifyInclusion(leaf(i+1), uint64(i), uint64(size), path, root), ErrInvalid)
			require.ErrorIs(t, VerifyInclusion(leaf(i), uint64(i+1), uint64(size), path, root), ErrInvalid)
			require.ErrorIs(t, VerifyInclusion(leaf(i), uint64(i), uint64(size), append(path, root[:]), root), ErrInvalid)
			for k := range path {
				changed := append([][]byte{}, path...)
				changed[k] = someHash("x")
				require.ErrorIs(t, VerifyInclusion(leaf(i), uint64(i), uint64(size), changed, root), ErrInvalid)
				require.ErrorIs(t, VerifyInclusion(leaf(i), uint64(i), uint64(size), path[:k], root), ErrInvalid)
			}
		}
	}
}

func someHash(s string) []byte { h := LeafHash([]byte(s)); return h[:] }

func TestConsistency(t *testing.T) {
	const max = 40
	o := grow(t, max)
	for to := int64(1); to <= max; to++ {
		for from := int64(1); from <= to; from++ {
			p, err := tlog.ProveTree(to, from, o)
			require.NoError(t, err)
			path := bytesOf(p)
			before, after := rootOf(t, o, from), rootOf(t, o, to)
			require.NoError(t, VerifyConsistency(uint64(from), uint64(to), before, after, path))
			forged := before
			forged[0] ^= 1
			require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), forged, after, path), ErrInvalid)
			forged = after
			forged[0] ^= 1
			require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), before, forged, path), ErrInvalid)
			if from < to {
				require.ErrorIs(t, VerifyConsistency(uint64(to), uint64(from), after, before, path), ErrInvalid)
			}
		}
	}
	empty := sha256.Sum256(nil)
	require.NoError(t, VerifyConsistency(0, 5, empty, rootOf(t, o, 5), nil))
	require.ErrorIs(t, VerifyConsistency(0, 5, rootOf(t, o, 1), rootOf(t, o, 5), nil), ErrInvalid)
}

func TestMalformedPath(t *testing.T) {
	require.ErrorIs(t, VerifyInclusion(nil, 0, 2, [][]byte{{1}}, Hash{}), ErrInvalid)
	require.ErrorIs(t, VerifyInclusion(nil, 0, 2, make([][]byte, pathMax+1), Hash{}), ErrInvalid)
	require.ErrorIs(t, VerifyInclusion(nil, 0, 0, nil, Hash{}), ErrInvalid)
	require.ErrorIs(t, VerifyConsistency(1, 2, Hash{}, Hash{}, [][]byte{nil}), ErrInvalid)
}

func FuzzVerify(f *testing.F) {
	o := grow(f, 7)
	root := rootOf(f, o, 7)
	p, err := tlog.ProveRecord(7, 3, o)
	require.NoError(f, err)
	var flat []byte
	for _, h := range p {
		flat = append(flat, h[:]...)
	}
	f.Add(leaf(3), uint64(3), uint64(7), flat)
	f.Fuzz(func(t *testing.T, data []byte, index, size uint64, flat []byte) {
		var path [][]byte
		for len(flat) > 0 {
			n := min(32, len(flat))
			path, flat = append(path, flat[:n]), flat[n:]
		}
		if err := VerifyInclusion(data, index, size, path, root); err == nil && size == 7 && string(data) != string(leaf(int64(index))) {
			t.Fatalf("proved %q at %d", data, index)
		}
		_ = VerifyConsistency(index, size, root, root, path)
	})
}

// rfcRoot and rfcSubproof are RFC 6962, sections 2.1 and 2.1.2, taken literally and without
// optimization.
func rfcRoot(hashes []Hash) Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	k := splitAt(len(hashes))
	left, right := rfcRoot(hashes[:k]), rfcRoot(hashes[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

func rfcSubproof(m int, hashes []Hash, whole bool) [][]byte {
	if m == len(hashes) {
		if whole {
			return nil
		}
		root := rfcRoot(hashes)
		return [][]byte{root[:]}
	}
	k := splitAt(len(hashes))
	if m <= k {
		other := rfcRoot(hashes[k:])
		return append(rfcSubproof(m, hashes[:k], whole), other[:])
	}
	other := rfcRoot(hashes[:k])
	return append(rfcSubproof(m-k, hashes[k:], false), other[:])
}

func splitAt(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

// Random trees have proofs made by the definition. A proof of a continuation holds; after any
// change of the older tree, the newer tree or the proof it does not.
func TestConsistencyByTheDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(6962, 9162))
	for range 300 {
		to := 2 + random.IntN(700)
		from := 1 + random.IntN(to-1)
		hashes := make([]Hash, to)
		for i := range hashes {
			hashes[i] = LeafHash(leaf(random.Int64()))
		}
		path := rfcSubproof(from, hashes, true)
		before, after := rfcRoot(hashes[:from]), rfcRoot(hashes)
		require.NoError(t, VerifyConsistency(uint64(from), uint64(to), before, after, path))

		altered := append([]Hash(nil), hashes...)
		altered[random.IntN(from)][random.IntN(32)] ^= 1 << random.IntN(8)
		rewritten := rfcRoot(altered)
		require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), before, rewritten, rfcSubproof(from, altered, true)), ErrInvalid, "history was rewritten")
		require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), before, rewritten, path), ErrInvalid)
		shorter := rfcRoot(hashes[1:])
		require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to-1), before, shorter, path), ErrInvalid, "a leaf was removed")
		at := random.IntN(len(path))
		forged := append([][]byte(nil), path...)
		forged[at] = someHash("forged")
		require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), before, after, forged), ErrInvalid)
		require.ErrorIs(t, VerifyConsistency(uint64(from), uint64(to), before, after, path[:at]), ErrInvalid)
	}
}
