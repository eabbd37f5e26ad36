// Package testcluster starts and ends real clusters on this machine, for tests and benches.
//
// Purpose: builds of the product; development clusters, and single servers from which others make
// clusters of their own; children that die with the process that started them, if the system
// supports that, and whose end is noticed; addresses that are still free when a server is
// restarted.
//
// May import: nothing of ours. Never: production code imports it. It signals no process that it
// did not start.
//
// Goroutines: one thread a Spawner until Close, one waiter a child until its end.
package testcluster
