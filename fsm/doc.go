// Package fsm is the replicated truth: bytes in, values out.
//
// Purpose: the one writer that applies log entries to tables of rows, decides
// every screening call's live rules, writes the audit leaves, and can be
// frozen, snapshotted, restored and digested. The same log gives the same
// bytes on every machine.
//
// May import: engine, ofac (value types), fsm/wire, fsm/leaf, audit/merkle, the Merkle
// library's compact range.
// Never: raft, the rest of audit, disk, network, clocks, randomness, goroutines, locks,
// floats, map iteration, fmt outside panics.
//
// Map: machine.go takes an entry and hands each record to the part that owns what the
// record changes; expire.go does so with the tick. A part owns its tables, its private maps
// and its fields of the settings. Its methods alone write them (TestPartsOwnTheirFields);
// reading is free. A part is given the parts that it asks, never the Machine:
//
//	core      core.go, leaf.go, ids.go           the entry, log time, settings, idempotency keys, leaves
//	calendar  calendar.go, apply_due.go          what falls due, and when; asks nobody
//	registry  registry.go, apply_registry.go     agents, users, fleets, operators, their credentials,
//	          books.go, users.go, statuses.go    counters, and positions in the status lists; asks the calendar
//	ledger    ledger.go, apply_screen.go         screening calls, holds, endings, references, activity, the
//	          apply_hold.go, record.go, bands.go pairs of R25; asks the registry, and the desk for reviews and alerts
//	desk      desk.go, apply_review.go           reviews, dispositions, proposals, alerts, reports; asks the
//	          apply_propose.go, apply_sar.go     registry, and the ledger to book what was approved
//	rulebook  rulebook.go, apply_list.go         the policy, lists, matcher, cleared pairs, retro-screening;
//	          apply_retro.go                     asks the calendar, the registry and the desk
//	keys      keys.go, apply_webhook.go          API keys, signing keys, log keys, webhooks; asks the calendar,
//	          apply_reseal.go                    the registry and the rulebook
//
// apply_admin.go has the records about the cluster itself, and those of policy and keys;
// apply_log.go the lines of the log and the epochs of ids.
//
// A part declares each of its tables once, beside the rows: section, since which format,
// codec, bound, share per owner, first position, what Restore demands of a row, when the
// oldest row is over, gauge. New, Freeze, snapshot (snapshot.go), Restore (restore.go), digest
// (digest.go), expiry and gauges are loops over these declarations (declare.go). The codec of
// a row is one function that both writes and reads it (codec.go); restore_checks.go looks at
// restored rows. table.go is the copy-on-write table, heap.go a table kept as a heap, view.go the frozen state. A new table is
// a row, a codec, a field and a declaration in one file (TestATableIsOneDeclaration).
//
// Subpackages: wire are the records and their bytes, leaf the bytes of leaves, leafjson what
// is shown of leaves.
//
// Invariants
//
//   - Apply is called with rising indices by one goroutine.
//   - What a View or an Effects value points to is never changed afterwards.
//   - Apply has no error path: a record is applied or refused, or the node stops.
//   - Private maps follow from the tables. Restore rebuilds them, and nothing iterates them.
//   - What Apply computes changes with the format alone.
package fsm
