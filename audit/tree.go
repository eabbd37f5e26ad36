package audit

import (
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"

	"railguard/audit/merkle"
)

// treeReader reads nodes of the tree for one call. It keeps the last tile, because a proof
// needs the same tile several times.
type treeReader struct {
	s      *Store
	bundle uint64
	tile   []Hash
	number uint64
	nodes  []Hash
}

// readNode returns the hash of a complete subtree.
func (r *treeReader) readNode(level uint, index uint64) (Hash, error) {
	s := r.s
	if level >= s.form.level {
		s.mu.RLock()
		h := s.catalog.nodeAt(level, index)
		s.mu.RUnlock()
		if h != noHash {
			return h, nil
		}
		return r.deriveNode(level, index)
	}
	number := s.form.segmentOf(index << level)
	t, state := s.acquireTail(number)
	switch {
	case t != nil:
		defer t.release()
		return r.tailNode(t, level, index)
	case state == slotAbsent:
		return r.adoptedNode(level, index)
	case level >= bundleLevel:
		return r.segmentNode(number, level, index)
	}
	bundle := index << level / BundleLeaves
	if r.tile == nil || r.bundle != bundle {
		tile, err := s.leafHashes(bundle)
		if err != nil {
			return noHash, err
		}
		r.bundle, r.tile = bundle, tile
	}
	first := index << level % BundleLeaves
	return subtreeRoot(r.tile[first : first+1<<level]), nil
}

// deriveNode computes a node at or above segment level that is not known yet, from the adopted
// tree head and the leaves appended since. This is needed after a hole. The catalog keeps the
// node.
func (r *treeReader) deriveNode(level uint, index uint64) (Hash, error) {
	s := r.s
	var h Hash
	if level == s.form.level {
		t, _ := s.acquireTail(index)
		if t == nil {
			return noHash, ErrMissing
		}
		defer t.release()
		var err error
		if h, err = r.tailNode(t, level, index); err != nil {
			return noHash, err
		}
	} else {
		left, err := r.readNode(level-1, 2*index)
		if err != nil {
			return noHash, err
		}
		right, err := r.readNode(level-1, 2*index+1)
		if err != nil {
			return noHash, err
		}
		h = hashChildren(&left, &right)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return h, s.catalog.setNode(level, index, h)
}

func (r *treeReader) segmentNode(number uint64, level uint, index uint64) (Hash, error) {
	if r.nodes == nil || r.number != number {
		open, err := r.s.openSegment(number)
		if err != nil {
			return noHash, err
		}
		r.number, r.nodes = number, open.nodes
		r.s.sealed.release(open)
	}
	bundles := uint64(r.s.form.bundles())
	width := uint64(1) << (level - bundleLevel)
	first := index * width % bundles
	return subtreeRoot(r.nodes[first : first+width]), nil
}

// tailNode computes a node from the tail's leaves and, where leaves are still being
// fetched, from the adopted tree head.
func (r *treeReader) tailNode(t *tail, level uint, index uint64) (Hash, error) {
	first := int(index << level & (t.form.leaves() - 1))
	if level >= bundleLevel {
		from, to := first/BundleLeaves, (first+1<<level)/BundleLeaves
		done := true
		for i := from; i < to && done; i++ {
			done = t.bundleDone[i].Load()
		}
		if done {
			return subtreeRoot(t.bundleRoot[from:to]), nil
		}
	} else {
		done := true
		for k := first; k < first+1<<level && done; k++ {
			done = t.hasLeaf(k)
		}
		if done {
			return subtreeRoot(t.hashes[first : first+1<<level]), nil
		}
	}
	if h, err := r.adoptedNode(level, index); err == nil || level == 0 {
		return h, err
	}
	left, err := r.tailNode(t, level-1, 2*index)
	if err != nil {
		return left, err
	}
	right, err := r.tailNode(t, level-1, 2*index+1)
	if err != nil {
		return right, err
	}
	return hashChildren(&left, &right), nil
}

func (r *treeReader) adoptedNode(level uint, index uint64) (Hash, error) {
	r.s.mu.RLock()
	defer r.s.mu.RUnlock()
	if h, ok := r.s.catalog.adopted[node{level, index}]; ok {
		return h, nil
	}
	return noHash, ErrMissing
}

// leafHashes reads the leaf hashes of a sealed bundle. If they are damaged, it computes them
// again from the leaves.
func (s *Store) leafHashes(bundle uint64) ([]Hash, error) {
	open, err := s.openSegment(s.form.segmentOf(bundle * BundleLeaves))
	if err != nil {
		return nil, err
	}
	defer s.sealed.release(open)
	i := s.form.placeInSegment(bundle*BundleLeaves) / BundleLeaves
	tile, err := open.readTile(i)
	if err == nil {
		return hashesOf(tile), nil
	}
	if b, bundleErr := open.readBundle(i); bundleErr == nil && b.erasedBefore == 0 {
		_ = s.noteDamage(err)
		hashes, hash := make([]Hash, BundleLeaves), new(merkle.Hasher)
		for k := range hashes {
			hashes[k] = hash.Leaf(b.leafData(k))
		}
		if subtreeRoot(hashes) == open.nodes[i] {
			return hashes, nil
		}
	}
	return nil, s.noteDamage(err)
}

// Root returns the root of the tree of a size. The size must not be above Size.
func (s *Store) Root(size uint64) (Hash, error) {
	var root Hash
	if size > s.size.Load() {
		return root, ErrNotYet
	}
	if size == 0 {
		copy(root[:], hasher.EmptyRoot())
		return root, nil
	}
	frontier, err := s.Frontier(size)
	if err != nil {
		return root, err
	}
	root = frontier[len(frontier)-1]
	for i := len(frontier) - 2; i >= 0; i-- {
		root = hashChildren(&frontier[i], &root)
	}
	return root, nil
}

// Frontier returns the compact range of the tree of a size, in the form that Adopt takes.
func (s *Store) Frontier(size uint64) ([]Hash, error) {
	if size > s.size.Load() {
		return nil, ErrNotYet
	}
	hashes, err := s.readNodes(compact.RangeNodes(0, size, nil))
	if err != nil {
		return nil, fmt.Errorf("tree of %d leaves: %w", size, err)
	}
	return hashes, nil
}

func (s *Store) readNodes(ids []compact.NodeID) ([]Hash, error) {
	r := &treeReader{s: s}
	out := make([]Hash, len(ids))
	for i, id := range ids {
		h, err := r.readNode(id.Level, id.Index)
		if err != nil {
			return nil, err
		}
		out[i] = h
	}
	return out, nil
}

// Inclusion returns the audit path (RFC 6962, section 2.1.1) of a leaf in the tree of a size.
// A leaf past its retention still has a path, so that exported copies can be proven.
func (s *Store) Inclusion(index, size uint64) ([][]byte, error) {
	if size > s.size.Load() || index >= size {
		return nil, ErrNotYet
	}
	nodes, err := proof.Inclusion(index, size)
	if err != nil {
		return nil, err
	}
	return s.proofPath(nodes)
}

// Consistency returns the consistency proof (RFC 6962, section 2.1.2) between
// the trees of two sizes, the smaller one first.
func (s *Store) Consistency(from, to uint64) ([][]byte, error) {
	if from > to || to > s.size.Load() {
		return nil, ErrNotYet
	}
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	return s.proofPath(nodes)
}

func (s *Store) proofPath(nodes proof.Nodes) ([][]byte, error) {
	hashes, err := s.readNodes(nodes.IDs)
	if err != nil {
		return nil, err
	}
	path := make([][]byte, len(hashes))
	for i := range hashes {
		path[i] = hashes[i][:]
	}
	return nodes.Rehash(path, hasher.HashChildren)
}

// Tile returns a hash tile in the form of C2SP tlog-tiles: width hashes (1 to 256) at tree
// level 8×level, from 256×index on. Hash tiles reveal nothing about the leaves and stay when
// these are erased.
func (s *Store) Tile(level uint, index uint64, width int) ([]byte, error) {
	if level > 7 || width < 1 || width > BundleLeaves || index >= 1<<(56-8*level) {
		return nil, ErrLimit
	}
	first := index * BundleLeaves
	if (first+uint64(width))<<(8*level) > s.size.Load() {
		return nil, ErrNotYet
	}
	r := &treeReader{s: s}
	tile := make([]byte, 0, width*hashSize)
	for i := range uint64(width) {
		h, err := r.readNode(8*level, first+i)
		if err != nil {
			return nil, fmt.Errorf("tile %d/%d: %w", level, index, err)
		}
		tile = append(tile, h[:]...)
	}
	return tile, nil
}

// EntryBundle returns an entry bundle in the form of C2SP tlog-tiles: width leaves from
// 256×index on, each after its length as u16 big-endian. It contains the leaves, so it is for
// auditors only. It returns ErrPruned if one of them is erased.
func (s *Store) EntryBundle(index uint64, width int) ([]byte, error) {
	leaves, err := s.Bundle(index, width)
	if err != nil {
		return nil, err
	}
	if leaves[0].Erased {
		return nil, ErrPruned
	}
	raw, err := appendBundle(nil, leaves)
	if err != nil {
		return nil, err
	}
	b, err := decodeBundle(raw, len(leaves))
	if err != nil {
		return nil, err
	}
	return raw[:b.entries:b.entries], nil
}

// Bundle returns width leaves (1 to 256) from 256×index on, with their times and keys, for a
// peer. For leaves past their retention it returns only the hashes, even if this disk has
// more. The caller must not change the leaves.
func (s *Store) Bundle(index uint64, width int) ([]Leaf, error) {
	if width < 1 || width > BundleLeaves || index >= 1<<56 {
		return nil, ErrLimit
	}
	first := index * BundleLeaves
	if first+uint64(width) > s.size.Load() {
		return nil, ErrNotYet
	}
	gone := 0
	if oldest := s.oldest.Load(); oldest > first {
		gone = int(min(oldest-first, uint64(width)))
	}
	t, state := s.acquireTail(s.form.segmentOf(first))
	switch {
	case t != nil:
		defer t.release()
		return s.tailBundle(t, s.form.placeInSegment(first), gone, width)
	case state == slotSealed || state == slotErased:
		return s.sealedBundle(index, gone, width)
	}
	return nil, ErrMissing
}

func (s *Store) tailBundle(t *tail, k, gone, width int) ([]Leaf, error) {
	leaves := make([]Leaf, 0, width)
	for i := k; i < k+gone; i++ {
		if !t.hasLeaf(i) {
			return nil, ErrMissing
		}
		leaves = append(leaves, Leaf{Hash: t.hashes[i], Erased: true})
	}
	rest, err := t.readLeaves(k+gone, k+width, new(tailBuffer))
	return append(leaves, rest...), s.noteDamage(err)
}

func (s *Store) sealedBundle(index uint64, gone, width int) ([]Leaf, error) {
	leaves := make([]Leaf, 0, width)
	if gone > 0 {
		hashes, err := s.leafHashes(index)
		if err != nil {
			return nil, err
		}
		for _, h := range hashes[:gone] {
			leaves = append(leaves, Leaf{Hash: h, Erased: true})
		}
	}
	if gone == width {
		return leaves, nil
	}
	b, err := s.readBundle(index)
	if err != nil {
		return nil, err
	}
	if b.erasedBefore > gone { // A Prune before the last start erased them.
		return nil, ErrPruned
	}
	for k := gone; k < width; k++ {
		leaves = append(leaves, b.leafAt(k-b.erasedBefore))
	}
	return leaves, nil
}
