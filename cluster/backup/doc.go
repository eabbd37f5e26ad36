// Package backup puts a cluster into one file, and a file onto an empty machine.
//
// Purpose: the parts of a backup, written from a frozen state and history; reading them back with
// every digest compared; the folder of a node that begins a new lineage from them
// (docs/decisions/0069).
//
// May import: filippo.io/age (encryption), hashicorp/raft (its snapshots),
// transparency-dev/merkle (compact ranges), datadir, nodekey, port (addresses), recovery (the log of
// a lost node), audit, engine, engine/credential (the key set), fsm, fsm/wire. Never: cluster, HTTP. It runs no node, and
// decrypts nothing but the file itself: what is sealed under the cluster secret stays sealed.
//
// Map
//
//   - manifest.go: what a backup says of itself; write.go: its parts, as a tar.
//   - node.go: backups of a running node and of a stopped one.
//   - seal.go: the file around them; read.go: reading and proving it.
//   - restore.go: a new lineage in an empty folder; drill.go: whether a restored folder works.
package backup
