package merkle

import (
	"crypto/sha256"
	"hash"
)

// Hash is a node of the tree.
type Hash = [sha256.Size]byte

// The prefixes keep a leaf from being taken for a node.
const (
	leafPrefix = 0
	nodePrefix = 1
)

// Leaf returns the hash of one leaf's bytes. Up to 2 KiB, as most leaves have, it does not allocate.
func Leaf(data []byte) Hash {
	var buffer [2 << 10]byte
	return sha256.Sum256(append(append(buffer[:0], leafPrefix), data...))
}

// Hasher hashes one leaf after the other without allocating. The zero Hasher is ready for use.
// It must not be shared.
type Hasher struct {
	state  hash.Hash
	buffer []byte // A field, so that the sum does not escape to the heap.
}

// Leaf returns the hash of one leaf's bytes.
func (h *Hasher) Leaf(data []byte) (sum Hash) {
	if h.state == nil {
		h.state, h.buffer = sha256.New(), make([]byte, 1, sha256.Size)
	}
	h.state.Reset()
	h.buffer = append(h.buffer[:0], leafPrefix)
	h.state.Write(h.buffer)
	h.state.Write(data)
	h.buffer = h.state.Sum(h.buffer[:0])
	copy(sum[:], h.buffer)
	return sum
}

// Node returns the hash of two neighbours.
func Node(left, right []byte) Hash {
	var both [1 + 2*sha256.Size]byte
	both[0] = nodePrefix
	copy(both[1:], left)
	copy(both[1+sha256.Size:], right)
	return sha256.Sum256(both[:])
}
