// Package fsm is the replicated truth: bytes in, values out.
//
// Purpose: the one writer that applies log entries to tables of rows, decides
// every screening call's live rules, writes the audit leaves, and can be
// frozen, snapshotted, restored and digested. The same log gives the same
// bytes on every machine.
//
// May import: engine, ofac (value types), fsm/wire, audit/merkle, the Merkle library's
// compact range.
// Never: raft, the rest of audit, disk, network, clocks, randomness, goroutines, locks,
// floats, map iteration, fmt outside panics.
//
// Invariants: Apply is called with rising indices by one goroutine; what a
// View or an Effects value points to is never changed afterwards.
package fsm
