// Package fsm is the replicated state machine: bytes in, values out.
//
// Purpose: the only writer of the state. It applies log entries to tables of rows, judges
// every screening call by the live rules and writes the audit leaves. The state can be
// frozen, snapshotted, restored and digested. The same log gives the same bytes on every
// machine.
//
// May import: engine, ofac (value types), fsm/wire, fsm/leaf, audit/merkle, the Merkle
// library's compact range.
// Never: raft, the rest of audit, disk, network, clocks, randomness, goroutines, locks,
// floats, map iteration, fmt outside the errors of Restore.
//
// Map: machine.go takes an entry and hands each record to the part that owns what the record
// changes; expire.go does the same for a tick. A part owns its tables, its private maps and
// its fields of the settings. Only its own methods write them (TestPartsOwnTheirFields);
// every part may read them. A part gets the parts that it uses, never the Machine:
//
//	core      core.go, leaf.go, ids.go           the entry, log time, settings, idempotency keys, leaves
//	calendar  calendar.go, apply_due.go          reminders and their times; uses no other part
//	registry  registry.go, apply_registry.go     agents, users, fleets, operators, their credentials,
//	          books.go, users.go, statuses.go    counters, and positions in the status lists; uses the calendar
//	ledger    ledger.go, apply_screen.go         screening calls, holds, endings, references, activity, the
//	          apply_hold.go, record.go, bands.go pairs of R25; uses the registry, and the desk for reviews and alerts
//	desk      desk.go, apply_review.go           reviews, dispositions, proposals, alerts, reports; uses the
//	          apply_propose.go, apply_sar.go     registry, and the ledger to book what was approved
//	rulebook  rulebook.go, apply_list.go         the policy, lists, matcher, cleared pairs, retro-screening;
//	          apply_retro.go                     uses the calendar, the registry and the desk
//	keys      keys.go, apply_webhook.go          API keys, signing keys, log keys, webhooks; uses the calendar,
//	          apply_reseal.go                    the registry and the rulebook
//
// apply_admin.go has the records about the cluster itself, and those of policy and keys;
// apply_log.go those about the lines of the log and the epochs of ids.
//
// A part declares each of its tables once, next to the rows: section, first format, codec,
// bound, share per owner, first position, what Restore checks in a row, when the oldest row
// expires, gauge. New, Freeze, snapshot (snapshot.go), Restore (restore.go), digest
// (digest.go), expiry and gauges are loops over these declarations (declare.go). The codec of
// a row is one function that both writes and reads it (codec.go); restore_checks.go checks
// restored rows. table.go is the copy-on-write table, heap.go a table kept as a heap, view.go
// the frozen state. A new table is a row, a codec, a field and a declaration in one file
// (TestATableIsOneDeclaration).
//
// Subpackages: wire has the records and their bytes, leaf the bytes of leaves, leafjson their
// JSON.
//
// Invariants
//
//   - Apply is called with rising indices by one goroutine.
//   - What a View or an Effects value points to is never changed afterwards.
//   - Apply has no error path: a record is applied or refused, or the node stops.
//   - Private maps follow from the tables. Restore rebuilds them, and nothing iterates them.
//   - What Apply computes changes with the format alone.
package fsm
