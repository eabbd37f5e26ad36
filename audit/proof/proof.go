package proof

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/merkle"
)

// Hash is a node of the tree.
type Hash = merkle.Hash

// ErrInvalid: the proof does not show what it claims.
var ErrInvalid = errors.New("proof: invalid")

// pathMax bounds a path: no path in a tree of 2^64 leaves is longer.
const pathMax = 64

// LeafHash returns the hash of a leaf's bytes (RFC 6962, section 2.1).
func LeafHash(leaf []byte) Hash { return merkle.Leaf(leaf) }

// VerifyInclusion checks that a leaf has an index in the tree with the given size and root
// (RFC 9162, section 2.1.3.2). path holds hashes of 32 bytes, from the leaf upwards.
func VerifyInclusion(leaf []byte, index, size uint64, path [][]byte, root Hash) error {
	return VerifyHashInclusion(LeafHash(leaf), index, size, path, root)
}

// VerifyHashInclusion is VerifyInclusion for callers who have only the leaf's hash.
func VerifyHashInclusion(leafHash Hash, index, size uint64, path [][]byte, root Hash) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, size, leafHash[:], path, root[:]); err != nil {
		return fmt.Errorf("leaf %d in tree of %d: %w: %w", index, size, ErrInvalid, err)
	}
	return nil
}

// VerifyConsistency checks that the tree of size to, with root toRoot, begins with the whole
// tree of size from, with root fromRoot (RFC 9162, section 2.1.4.2): nothing was changed,
// removed or reordered between two checkpoints. Every tree continues the empty tree.
func VerifyConsistency(from, to uint64, fromRoot, toRoot Hash, path [][]byte) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if from == 0 && fromRoot != Hash(rfc6962.DefaultHasher.EmptyRoot()) {
		return fmt.Errorf("root of the empty tree: %w", ErrInvalid)
	}
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, from, to, path, fromRoot[:], toRoot[:]); err != nil {
		return fmt.Errorf("trees of %d and %d: %w: %w", from, to, ErrInvalid, err)
	}
	return nil
}

func checkPath(path [][]byte) error {
	if len(path) > pathMax {
		return fmt.Errorf("path of %d hashes: %w", len(path), ErrInvalid)
	}
	for i, h := range path {
		if len(h) != len(Hash{}) {
			return fmt.Errorf("hash %d of the path has %d bytes: %w", i, len(h), ErrInvalid)
		}
	}
	return nil
}

// ParseConsistency reads the answer of GET /log/consistency/{from}/{to}. It verifies nothing.
func ParseConsistency(data []byte, from, to uint64) ([][]byte, error) {
	var answer struct {
		From, To uint64
		Path     []string
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.From != from || answer.To != to {
		return nil, fmt.Errorf("not a proof between the trees of %d and %d: %w", from, to, ErrInvalid)
	}
	path := make([][]byte, len(answer.Path))
	for i, text := range answer.Path {
		hash, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("hash %d of the path: %w: %w", i, ErrInvalid, err)
		}
		path[i] = hash
	}
	return path, nil
}
