// Package process starts and ends real servers on this machine, as children of tests
// and benches.
//
// Purpose: a child that dies with whoever started it (where the system can), whose
// end is known, and addresses that it finds free again after a restart.
//
// May import: nothing of ours.
// Never: production code imports it. It signals no process that it did not start.
//
// Goroutines: one thread a Spawner until Close, one waiter a child until its end.
package process
