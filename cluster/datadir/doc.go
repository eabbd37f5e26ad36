// Package datadir is a node's data folder: what stands in it, and who may touch it.
//
// Purpose: the lock, node.json with the node's key, recovery.json, raft's log and its snapshots, and the
// one way in which small files are replaced.
//
// May import: hashicorp/raft (its store interfaces), raft-boltdb (term and vote), bbolt, hclog,
// VictoriaMetrics/metrics; engine (sizes), nodekey.
// Never: cluster, port, the state machine, audit (whose folder it only names).
//
// Map
//
//   - folder.go: the layout, the lock, node.json, node.key; folder_unix.go: what the system does.
//   - record.go: recovery.json, what two people decided and how far it is done.
//   - logstore.go: opening the log, and the watchdog over every write to it (guards G3
//     and G4); journal.go: entries in segment files, cuts; segment.go: one file of them,
//     to the byte; logfile.go: a look at the file of votes before bbolt maps it.
//   - snapshots.go: raft's snapshot files, written gently; stillsnapshot.go: the same
//     of a stopped node, for reading.
package datadir
