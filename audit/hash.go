package audit

import (
	"crypto/sha256"

	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/merkle"
)

// Hash is a node of the tree: SHA-256 as RFC 6962, section 2.1, applies it.
type Hash = merkle.Hash

const hashSize = sha256.Size

var (
	hasher = rfc6962.DefaultHasher // The hash functions, in the form that the Merkle library takes.
	noHash Hash                    // Means "not known": no known input has this hash.
)

func hashChildren(left, right *Hash) Hash { return merkle.Node(left[:], right[:]) }

// subtreeRoot computes the root over neighbouring hashes, whose number is a power of two. It works on a small
// copy and does not overwrite hashes.
func subtreeRoot(hashes []Hash) Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	var stack [BundleLeaves / 2]Hash
	level := stack[:]
	if len(hashes) > 2*len(level) {
		half := len(hashes) / 2
		left, right := subtreeRoot(hashes[:half]), subtreeRoot(hashes[half:])
		return hashChildren(&left, &right)
	}
	for i := 0; i < len(hashes)/2; i++ {
		level[i] = hashChildren(&hashes[2*i], &hashes[2*i+1])
	}
	for n := len(hashes) / 2; n > 1; n /= 2 {
		for i := 0; i < n/2; i++ {
			level[i] = hashChildren(&level[2*i], &level[2*i+1])
		}
	}
	return level[0]
}

func hashesOf(b []byte) []Hash {
	out := make([]Hash, len(b)/hashSize)
	for i := range out {
		copy(out[i][:], b[i*hashSize:])
	}
	return out
}

func appendHashes(dst []byte, hashes []Hash) []byte {
	for i := range hashes {
		dst = append(dst, hashes[i][:]...)
	}
	return dst
}
