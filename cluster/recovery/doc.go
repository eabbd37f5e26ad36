// Package recovery makes one survivor of a lost majority the whole group.
//
// Purpose: say what a stopped node's folder tells, and what it cannot; and, by two
// people's word, write what makes it a group again (docs/decisions/0022).
//
// May import: hashicorp/raft (its log's entries), datadir, port (node ids, addresses),
// audit, engine, fsm, fsm/wire.
// Never: cluster: no node runs here. Nothing is opened for writing before the order is
// found right.
//
// Map
//
//   - recovery.go: sources, reports and orders, as the command shows and takes them.
//   - folder.go opens a stopped folder; inspect.go looks.
//   - committed.go: its state without what may never have been committed, for a backup.
//   - write.go does it, step by step; follow.go keeps another survivor.
package recovery
