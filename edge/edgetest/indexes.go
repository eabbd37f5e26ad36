package edgetest

import (
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/keyindex"
	"railguard/engine"
	"railguard/fsm"
)

// Indexes find what the state has forgotten, as a node's files do. They implement a part of
// edge.Published and of edge.Records.
type Indexes struct {
	Lost atomic.Bool // The files are being made again.

	keys, references, endings     *keyindex.Index
	keysFrom, usedFrom, endedFrom atomic.Uint64
}

// OpenIndexes opens indexes in memory.
func OpenIndexes(t testing.TB, store *audit.Store) *Indexes {
	open := func(isKey func(uint64) bool, kept time.Duration) *keyindex.Index {
		index, err := keyindex.Open(audittest.NewMemDir(), store, keyindex.Options{IsKey: isKey, Kept: kept, Leaves: 16, Inline: true})
		require.NoError(t, err)
		return index
	}
	return &Indexes{
		keys: open(engine.IsKeyedFilter, time.Duration(engine.IdempotencyKept)), endings: open(engine.IsEndingFilter, math.MaxInt64),
		references: open(engine.IsReferenceFilter, time.Duration(engine.ReferenceKept)),
	}
}

// Take adds the leaves of an entry, and drops from the links of payments to their endings what the
// state has forgotten.
func (x *Indexes) Take(out *fsm.Effects, leaves []audit.Leaf, links map[uint64][]uint64) {
	for _, index := range []*keyindex.Index{x.keys, x.references, x.endings} {
		index.Add(out.FirstLeaf, leaves)
		index.Settle()
	}
	x.keysFrom.Store(out.KeysFrom)
	x.usedFrom.Store(out.UsedFrom)
	x.endedFrom.Store(out.EndedFrom)
	maps.DeleteFunc(links, func(_ uint64, endings []uint64) bool { return slices.Max(endings) < out.EndedFrom })
}

func (x *Indexes) KeysFrom() uint64 { return x.keysFrom.Load() }

func (x *Indexes) UsedFrom() uint64 { return x.usedFrom.Load() }

func (x *Indexes) EndedFrom() uint64 { return x.endedFrom.Load() }

func (x *Indexes) KeyedLeaves(key [16]byte) ([]audit.PlacedLeaf, uint64, error) {
	return x.leaves(x.keys, engine.KeyedFilter(key))
}

func (x *Indexes) ReferenceLeaves(key engine.ReferenceKey) ([]audit.PlacedLeaf, uint64, error) {
	return x.leaves(x.references, engine.ReferenceFilter(key))
}

func (x *Indexes) EndingLeaves(record uint64) ([]audit.PlacedLeaf, uint64, error) {
	return x.leaves(x.endings, engine.EndingFilter(record))
}

func (x *Indexes) leaves(index *keyindex.Index, key uint64) ([]audit.PlacedLeaf, uint64, error) {
	if x.Lost.Load() {
		return nil, 0, keyindex.ErrIncomplete
	}
	return index.Leaves(key, 16)
}
