package audit

import (
	"fmt"
	"slices"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"

	"railguard/audit/merkle"
)

// BundleProof returns the proof that ImportBundle needs besides the leaves, for the tree of a
// size. For a whole bundle it is the path from the bundle's node to the root. For the partial
// bundle at the tree's end it is the compact range before it.
func (s *Store) BundleProof(index uint64, width int, size uint64) ([][]byte, error) {
	first := index * BundleLeaves
	if width == BundleLeaves && first+BundleLeaves <= size {
		path, err := s.Inclusion(first, size)
		if err != nil {
			return nil, err
		}
		return path[bundleLevel:], nil // the first eight hashes lead from the leaf to the bundle
	}
	if width < 1 || width > BundleLeaves || first+uint64(width) != size {
		return nil, ErrLimit
	}
	frontier, err := s.Frontier(first)
	if err != nil {
		return nil, err
	}
	path := make([][]byte, len(frontier))
	for i := range frontier {
		path[i] = frontier[i][:]
	}
	return path, nil
}

// ImportBundle takes the leaves from a peer's Bundle if BundleProof shows that they lead to
// the trusted tree head. It writes those that are missing or damaged here. It returns
// ErrCorrupt if the bundle lies in a sealed segment, which only ImportSegment can replace.
func (s *Store) ImportBundle(index uint64, leaves []Leaf, trust Trust, path [][]byte) error {
	if err := proveBundle(index, leaves, trust, path); err != nil {
		return fmt.Errorf("bundle %d: %w", index, err)
	}
	first := index * BundleLeaves
	number := s.form.segmentOf(first)
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.checkUsable(); err != nil {
		return err
	}
	if first+uint64(len(leaves)) > s.size.Load() {
		return ErrGap
	}
	leaves, err := s.withoutErased(first, leaves)
	if err != nil {
		return fmt.Errorf("bundle %d: %w", index, err)
	}
	t, err := s.writeTail(number)
	if err != nil {
		return s.markBroken(err)
	}
	if t == nil {
		if s.isDamaged(first) {
			return fmt.Errorf("bundle %d: segment %d is to be replaced whole: %w", index, number, ErrCorrupt)
		}
		return nil
	}
	defer t.release()
	if err := s.writeFrames(t, first, leaves, false); err != nil {
		return err
	}
	leavesImported.Add(len(leaves))
	s.forgetDamage(first, first+BundleLeaves)
	if err := s.setRoot(t); err != nil {
		return err
	}
	return s.offerSeal(t)
}

// withoutErased reduces leaves that are past retention to their hashes, even if the peer sent
// more. Every other leaf must have its bytes, or it returns ErrMissing: a peer that is ahead
// may have erased it.
func (s *Store) withoutErased(first uint64, leaves []Leaf) ([]Leaf, error) {
	oldest := s.oldest.Load()
	out := slices.Clone(leaves)
	for i := range out {
		l := &out[i]
		if !l.Erased {
			l.Hash = noHash // A hash sent together with the bytes proves nothing.
		}
		switch expired := first+uint64(i) < oldest; {
		case l.Erased && !expired:
			return nil, ErrMissing
		case !l.Erased && expired:
			*l = Leaf{Time: l.Time, Hash: s.hash.Leaf(l.Data), Erased: true}
		}
	}
	return out, nil
}

func proveBundle(index uint64, leaves []Leaf, trust Trust, path [][]byte) error {
	if len(leaves) == 0 || len(leaves) > BundleLeaves || index >= 1<<48 || len(path) > 64 {
		return ErrLimit
	}
	for _, h := range path {
		if len(h) != hashSize {
			return ErrUnproven
		}
	}
	hashes, hash := make([]Hash, len(leaves)), new(merkle.Hasher)
	for i := range leaves {
		if err := leaves[i].checkLimits(); err != nil {
			return err
		}
		if i > 0 && leaves[i].Time < leaves[i-1].Time {
			return fmt.Errorf("times: %w", ErrUnproven)
		}
		if leaves[i].Erased {
			hashes[i] = leaves[i].Hash
		} else { // A hash sent together with the leaf proves nothing.
			hashes[i] = hash.Leaf(leaves[i].Data)
		}
	}
	first := index * BundleLeaves
	var root []byte
	var err error
	switch {
	case len(leaves) == BundleLeaves && first+BundleLeaves <= trust.Size:
		n := subtreeRoot(hashes)
		root, err = proof.RootFromInclusionProof(hasher, index, (trust.Size-1)>>bundleLevel+1, n[:], path)
	case first+uint64(len(leaves)) == trust.Size:
		root, err = rootAfter(first, path, hashes)
	default:
		return ErrLimit
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if Hash(root) != trust.Root {
		return ErrUnproven
	}
	return nil
}

// rootAfter appends leaf hashes to a compact range and returns the root.
func rootAfter(size uint64, frontier [][]byte, hashes []Hash) ([]byte, error) {
	factory := compact.RangeFactory{Hash: hasher.HashChildren}
	r, err := factory.NewRange(0, size, frontier)
	if err != nil {
		return nil, err
	}
	for i := range hashes {
		if err := r.Append(hashes[i][:], nil); err != nil {
			return nil, err
		}
	}
	return r.GetRootHash(nil)
}
