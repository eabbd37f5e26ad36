// Package cluster is order, durability and membership, and nothing about payments.
//
// Purpose: put records into one replicated log, apply them to the state machine
// in the same order on every node, keep what was acknowledged, and say
// truthfully how the group stands. It owns the raft group, the sequencer, and the
// published values that edges read without a lock.
//
// May import: hashicorp/raft, hclog, VictoriaMetrics/metrics; port, datadir, report;
// engine (Time, Format, limits, profiles as values), fsm, fsm/wire, audit, ofac (to
// open the list that the log activated).
// Never: httpapi, JSON of requests, engine's rules, credentials.
//
// Map: node.go opens and closes; config.go; sequencer.go, waiters.go, adapter.go are
// the way of a record; forward.go the same from another node; readindex.go, views.go,
// publish.go what is read; duties.go, disk.go, snapshots.go, digest.go, scrub.go,
// lists.go what runs beside; bootstrap.go, membership.go, autopilot.go, operations.go
// who belongs to the group; peers.go, answers.go, lineage.go the others; catchup.go
// history that is fetched; status.go, metrics.go what is told. The port is in port,
// the folder in datadir, the recovery of a lost majority in recovery.
//
// Invariants
//
//   - adapter.go alone implements raft.FSM.
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
