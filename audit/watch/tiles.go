package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/transparency-dev/merkle/compact"
	tree "github.com/transparency-dev/merkle/proof"

	"railguard/audit/merkle"
	"railguard/audit/note"
	"railguard/audit/proof"
)

const (
	tileLevels = 8 // Levels of the tree in one tile.
	tileWidth  = 1 << tileLevels
)

// tileReader computes nodes of one tree from its hash tiles. It fetches each tile once.
type tileReader struct {
	source *Source
	size   uint64
	held   map[string][]merkle.Hash
}

// proveByTiles makes a consistency proof from the larger tree's tiles, without trusting the
// server. The tiles must lead to both roots.
func proveByTiles(ctx context.Context, s *Source, from, to *note.Checkpoint) ([][]byte, error) {
	t := &tileReader{source: s, size: to.Size, held: map[string][]merkle.Hash{}}
	root, err := t.computeRoot(ctx)
	if err != nil {
		return nil, err
	}
	if root != to.Root { // The tiles belong to another tree than the signed one and prove nothing.
		return nil, fmt.Errorf("%w: its tiles do not lead to the root it signed", ErrAway)
	}
	nodes, err := tree.Consistency(from.Size, to.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	path, err := t.readPath(ctx, &nodes)
	if err != nil {
		return nil, err
	}
	if err := proof.VerifyConsistency(from.Size, to.Size, from.Root, to.Root, path); err != nil {
		if errors.Is(err, proof.ErrInvalid) {
			return nil, fmt.Errorf("%w: the tree of %d leaves does not begin with the tree of %d that was signed before", ErrFork, to.Size, from.Size)
		}
		return nil, err
	}
	return path, nil
}

// Include checks that the leaf with a hash has an index in the tree of a verified checkpoint. It makes
// the proof from the log's tiles, without trusting the server. It returns ErrAbsent if the tree does
// not reach so far, proof.ErrInvalid if another leaf stands there.
func Include(ctx context.Context, s *Source, point *note.Checkpoint, index uint64, leaf proof.Hash) error {
	nodes, err := tree.Inclusion(index, point.Size)
	if err != nil {
		return fmt.Errorf("%w: leaf %d, in a tree of %d", ErrAbsent, index, point.Size)
	}
	t := &tileReader{source: s, size: point.Size, held: map[string][]merkle.Hash{}}
	path, err := t.readPath(ctx, &nodes)
	if err != nil {
		return err
	}
	return proof.VerifyHashInclusion(leaf, index, point.Size, path, point.Root)
}

// readPath reads the nodes of a proof and returns its hashes.
func (t *tileReader) readPath(ctx context.Context, nodes *tree.Nodes) ([][]byte, error) {
	path := make([][]byte, len(nodes.IDs))
	for i, id := range nodes.IDs {
		hash, err := t.readNode(ctx, id)
		if err != nil {
			return nil, err
		}
		path[i] = hash[:]
	}
	path, err := nodes.Rehash(path, hashChildren)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return path, nil
}

func hashChildren(left, right []byte) []byte {
	hash := merkle.Node(left, right)
	return hash[:]
}

// computeRoot computes the root of the tree from its compact range.
func (t *tileReader) computeRoot(ctx context.Context) (merkle.Hash, error) {
	var root merkle.Hash
	ids := compact.RangeNodes(0, t.size, nil)
	for i := len(ids) - 1; i >= 0; i-- {
		hash, err := t.readNode(ctx, ids[i])
		if err != nil {
			return root, err
		}
		if i < len(ids)-1 {
			hash = merkle.Node(hash[:], root[:])
		}
		root = hash
	}
	return root, nil
}

// readNode returns the hash of a complete subtree.
func (t *tileReader) readNode(ctx context.Context, id compact.NodeID) (merkle.Hash, error) {
	level := id.Level / tileLevels
	first := id.Index << (id.Level % tileLevels)
	number := first / tileWidth
	width := min(t.size>>(tileLevels*level)-number*tileWidth, tileWidth)
	path := tilePath(level, number, width)
	hashes, known := t.held[path]
	if !known {
		data, err := t.source.fetchDocument(ctx, path, tileMax)
		if err != nil {
			return merkle.Hash{}, err
		}
		if uint64(len(data)) != width*32 {
			return merkle.Hash{}, fmt.Errorf("%w: %s is %d bytes", ErrAway, path, len(data))
		}
		for at := 0; at < len(data); at += 32 {
			hashes = append(hashes, merkle.Hash(data[at:at+32]))
		}
		t.held[path] = hashes
	}
	row := append([]merkle.Hash(nil), hashes[first%tileWidth:first%tileWidth+1<<(id.Level%tileLevels)]...)
	for len(row) > 1 {
		for i := range len(row) / 2 {
			row[i] = merkle.Node(row[2*i][:], row[2*i+1][:])
		}
		row = row[:len(row)/2]
	}
	return row[0], nil
}

// tilePath returns the path of a hash tile as C2SP tlog-tiles defines it.
func tilePath(level uint, number, width uint64) string {
	groups := []string{fmt.Sprintf("%03d", number%1000)}
	for number /= 1000; number > 0; number /= 1000 {
		groups = append([]string{fmt.Sprintf("x%03d", number%1000)}, groups...)
	}
	path := fmt.Sprintf("/log/tile/%d/%s", level, strings.Join(groups, "/"))
	if width < tileWidth {
		path += fmt.Sprintf(".p/%d", width)
	}
	return path
}
