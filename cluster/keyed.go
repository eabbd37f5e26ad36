package cluster

import (
	"errors"
	"math"
	"time"

	"railguard/audit"
	"railguard/audit/keyindex"
	"railguard/cluster/datadir"
	"railguard/engine"
)

// foundMost is how many leaves one look into an index returns. There is more than one only if the
// upper 52 bits of two Idempotency-Keys are alike, and for a payment with several leaves.
const foundMost = 16

// indexes find what the state has forgotten (decision 125): the leaves of keyed calls of the last
// 24 hours, those by which payment references of the last 30 days were used or became free, and those
// that say how payments ended, for as long as history has them.
type indexes struct {
	keys, references, endings *keyindex.Index
}

func (x *indexes) openIndexes(config *Config, folder *datadir.Folder, history *audit.Store, l *life) (err error) {
	open := func(name string, isKey func(uint64) bool, kept time.Duration) (*keyindex.Index, error) {
		dir := audit.OSDir(folder.Sub(datadir.KeysFolder + "/" + name))
		if config.Keys != nil {
			dir = config.Keys(name)
		}
		return keyindex.Open(dir, history, keyindex.Options{
			IsKey: isKey, Kept: kept, Ended: l.hasEnded,
			Report: func(err error) {
				l.log.Error("a file of the index cannot be written or read", "index", name, "error", err)
			},
		})
	}
	if x.keys, err = open("calls", engine.IsKeyedFilter, time.Duration(engine.IdempotencyKept)); err != nil {
		return err
	}
	if x.references, err = open("references", engine.IsReferenceFilter, time.Duration(engine.ReferenceKept)); err != nil {
		return err
	}
	x.endings, err = open("endings", engine.IsEndingFilter, math.MaxInt64)
	return err
}

// addLeaves adds leaves that history has just taken.
func (x *indexes) addLeaves(first uint64, leaves []audit.Leaf) {
	x.keys.Add(first, leaves)
	x.references.Add(first, leaves)
	x.endings.Add(first, leaves)
}

func (x *indexes) closeIndexes() error {
	var errs []error
	for _, index := range []*keyindex.Index{x.keys, x.references, x.endings} {
		if index != nil {
			errs = append(errs, index.Close())
		}
	}
	return errors.Join(errs...)
}

// lacks returns how many leaves of history an index still reads back. Calls that need it are refused
// until then.
func (x *indexes) lacks() (most uint64) {
	for _, index := range []*keyindex.Index{x.keys, x.references, x.endings} {
		most = max(most, index.Lacks())
	}
	return most
}

// KeyedLeaves implements edge.Records.
func (x *indexes) KeyedLeaves(key [16]byte) ([]audit.PlacedLeaf, uint64, error) {
	return x.keys.Leaves(engine.KeyedFilter(key), foundMost)
}

// ReferenceLeaves implements edge.Records.
func (x *indexes) ReferenceLeaves(key engine.ReferenceKey) ([]audit.PlacedLeaf, uint64, error) {
	return x.references.Leaves(engine.ReferenceFilter(key), foundMost)
}

// EndingLeaves implements edge.Records.
func (x *indexes) EndingLeaves(record uint64) ([]audit.PlacedLeaf, uint64, error) {
	return x.endings.Leaves(engine.EndingFilter(record), foundMost)
}
