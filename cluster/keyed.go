package cluster

import (
	"time"

	"railguard/audit"
	"railguard/audit/keyindex"
	"railguard/cluster/datadir"
	"railguard/engine"
)

// keyedMost is how many leaves one look for an Idempotency-Key returns. There is more than one
// only if the upper 52 bits of two keys are alike.
const keyedMost = 16

// openKeys opens the index of Idempotency-Keys, by which edges find the calls of the last 24 hours
// that the state has forgotten (decision 125).
func (s *stores) openKeys(config *Config, l *life) (err error) {
	dir := config.Keys
	if dir == nil {
		dir = audit.OSDir(s.folder.Sub(datadir.KeysFolder))
	}
	s.keys, err = keyindex.Open(dir, s.audit, keyindex.Options{
		IsKey: engine.IsKeyedFilter, Kept: time.Duration(engine.IdempotencyKept), Ended: l.hasEnded,
		Report: func(err error) { l.log.Error("a file of Idempotency-Keys cannot be written or read", "error", err) },
	})
	return err
}

// KeyedLeaves implements edge.Records.
func (n *Node) KeyedLeaves(key [16]byte) ([]audit.PlacedLeaf, uint64, error) {
	return n.keys.Leaves(engine.KeyedFilter(key), keyedMost)
}
