// Package chaos breaks real clusters and checks that they kept their promises.
//
// Purpose: start real server processes on this machine, kill, stop, cut off,
// drain, wipe and restart them under load, keep the history of what callers were
// told, and check that history and the nodes' audit logs against the model of
// docs/ARCHITECTURE.md: linearizable verdicts, no limit overspent, no answer lost
// or doubled, one log on all nodes.
//
// May import: engine (amounts), audit/note, audit/proof and audit/examine (signed checkpoints,
// proofs), ofac/listtest (hand-made lists), cluster/testcluster
// (children), the Merkle library, Porcupine, the HDR histogram.
// Never: any other room of the server. It is a black box behind HTTP.
//
// Invariants
//
//   - A check never trusts the service to say that all is well: verdicts are
//     predicted again from the exported leaves, roots are computed again from the
//     leaves' bytes, and every checker has hand-made histories that it must refuse.
//   - Only processes that the package started are signalled, by their id, and all
//     of them are gone when a run ends.
//   - Figures (gaps, rates) are reported, not asserted; only liveness has bounds, and
//     they are generous.
//
// Goroutines: one thread that starts children (one in each network namespace), one
// waiter a child, two pumps a proxied connection, in a fabric of namespaces one
// reader a node and one queue a link, one a client, one observer a node. All end
// with their run.
package chaos
