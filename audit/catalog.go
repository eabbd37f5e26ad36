package audit

import (
	"fmt"

	"github.com/transparency-dev/merkle/compact"
)

// slotState says where a segment's leaves are.
type slotState uint8

const (
	slotAbsent slotState = iota // not on this disk: to be fetched
	slotTail                    // in a tail file, complete or not
	slotSealed                  // in a segment file
	slotErased                  // all leaves past retention; the hash file remains
)

// slot is what memory keeps of a segment: 56 bytes. Ten years at a thousand leaves a second
// take 270 MB; the 90 days of a usual cluster take 7 MB.
type slot struct {
	state     slotState
	cut       uint32 // How many leaves at the front of a sealed segment are erased, at least.
	timeFirst int64
	timeLast  int64
	root      Hash // noHash until the segment is complete or its root was fetched
}

// catalog is the table of segments and the tree above them. Store.mu guards it.
type catalog struct {
	form  geometry
	slots []slot
	// above[k][i] is the node at level form.level+1+k and index i, noHash if
	// not known.
	above [][]Hash
	tails map[uint64]*tail
	// adopted holds the nodes below segment level of the last adopted tree
	// head, so that roots can be computed while its leaves are being fetched.
	adopted     map[node]Hash
	adoptedSize uint64
}

// adoptHead records the hashes of a tree head, in the order of a compact range. size is
// at least 1.
func (s *catalog) adoptHead(size uint64, frontier []Hash) error {
	below := make(map[node]Hash)
	for i, id := range compact.RangeNodes(0, size, nil) {
		if id.Level < s.form.level {
			below[node{id.Level, id.Index}] = frontier[i]
		} else if err := s.setNode(id.Level, id.Index, frontier[i]); err != nil {
			return err
		}
	}
	s.adopted, s.adoptedSize = below, size
	s.slotFor(s.form.segmentOf(size - 1))
	return nil
}

type node struct {
	level uint
	index uint64
}

func (s *catalog) slotFor(number uint64) *slot {
	for uint64(len(s.slots)) <= number {
		s.slots = append(s.slots, slot{})
	}
	return &s.slots[number]
}

func (s *catalog) stateOf(number uint64) slotState {
	if number >= uint64(len(s.slots)) {
		return slotAbsent
	}
	return s.slots[number].state
}

// nodeAt returns the hash of a node at or above segment level, noHash if it is not known.
func (s *catalog) nodeAt(level uint, index uint64) Hash {
	if level == s.form.level {
		if index < uint64(len(s.slots)) {
			return s.slots[index].root
		}
		return noHash
	}
	k := int(level - s.form.level - 1)
	if k < len(s.above) && index < uint64(len(s.above[k])) {
		return s.above[k][index]
	}
	return noHash
}

// setNode records the hash of a node at or above segment level and the hashes above it that
// can then be computed. It returns ErrDiverged if the hash contradicts a known one.
func (s *catalog) setNode(level uint, index uint64, h Hash) error {
	for {
		if known := s.nodeAt(level, index); known != noHash {
			if known != h {
				return fmt.Errorf("tree node %d at level %d: %w", index, level, ErrDiverged)
			}
		} else {
			s.storeNode(level, index, h)
		}
		sibling := s.nodeAt(level, index^1)
		if sibling == noHash || s.nodeAt(level+1, index>>1) != noHash {
			return nil
		}
		if index&1 == 0 {
			h = hashChildren(&h, &sibling)
		} else {
			h = hashChildren(&sibling, &h)
		}
		level, index = level+1, index>>1
	}
}

func (s *catalog) storeNode(level uint, index uint64, h Hash) {
	if level == s.form.level {
		s.slotFor(index).root = h
		return
	}
	k := int(level - s.form.level - 1)
	for len(s.above) <= k {
		s.above = append(s.above, nil)
	}
	for uint64(len(s.above[k])) <= index {
		s.above[k] = append(s.above[k], noHash)
	}
	s.above[k][index] = h
}
