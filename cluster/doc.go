// Package cluster is order, durability and membership, and nothing about payments.
//
// Purpose: put records into one replicated log, apply them to the state machine
// in the same order on every node, keep what was acknowledged, and say
// truthfully how the group stands. It owns the raft group, the one port between
// nodes, the data folder, the sequencer, and the published values that edges
// read without a lock.
//
// May import: hashicorp/raft, raft-boltdb, bbolt, hclog, VictoriaMetrics/metrics,
// fxamacker/cbor (messages between nodes), engine (Time, Format, limits, profiles as values), fsm, fsm/wire, audit, ofac
// (to open the list that the log activated), cluster/report.
// Never: httpapi, JSON of requests, engine's rules, credentials.
//
// Invariants
//
//   - adapter.go alone implements raft.FSM; logstore.go alone names raft-boltdb.
//   - A proposal takes effect at most once: an attempt is bound to one raft term
//     by the entry's header, and it is made again only when it certainly cannot
//     take effect any more (waiters.go).
//   - No decision hangs on raft's State, the lease or a clock; the log alone tells
//     what happened.
//   - A disk error ends the process through Config.Fatal; nothing is retried on
//     the same file.
//
// Goroutines of a node: sequencer (builds entries on the leader, frames on the
// others), one finisher for every entry in flight (at most three) and one sender
// for every frame (at most two), duties (leadership, disk, snapshots, votes),
// list keeper, digester, and raft's own. With a port between nodes also: the
// port's acceptor and one for every connection, one reader for every link, the
// watcher of peers, the finder of the group, the fetcher of history, and with given
// certificates the watcher of their files.
package cluster
