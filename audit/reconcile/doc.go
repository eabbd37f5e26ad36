// Package reconcile compares what a rail paid with what the log allowed.
//
// Purpose: takes the records of a range of leaves and the settlements of a rail's extract,
// matches them, and tells what does not agree: findings in one fixed order, counts, sums and
// digests. The same leaves, files and settings give the same bytes on every machine, whether a
// server or `railguard reconcile` computes them.
//
//	settlement.go  one settlement, and the strict reader of its JSON
//	amount.go      exact amounts; there is no float and no rounding here
//	leaf.go        what a record's leaves say of it; the states are data
//	table.go       what is kept of records and settlements: digests and numbers, no texts but ids
//	key.go         matching by what both sides name
//	infer.go       matching by payee, amount, payer and time, where nothing is named
//	classify.go    which class a matched settlement is of, and what was never paid
//	result.go      findings in order, the summary
//
// May import: the standard library, audit/merkle, engine, fsm/leaf, fsm/leafjson, ofac/identifier, ofac/wallet, strictjson.
// Never: a clock, the disk, the network, randomness; a float.
package reconcile
