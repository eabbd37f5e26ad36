// Package load measures Railguard under load and judges the figures, for railguard-bench.
//
// Purpose: drive a cluster (its own, spawned for the run on this machine or by attendants on hosts
// of their own, or one that is named) with a seeded
// workload, in an open loop with constant arrival or in a closed loop; measure the same machine's
// disk, bare HTTP and bare raft in the same run; compare the figures with targets; keep them in a
// file, so that two runs can be compared.
//
// May import: engine, engine/credential, ofac, fsm and fsm/wire (the suites in process),
// ofac/listtest (hand-made lists), cluster/testcluster (children), hashicorp/raft with two log
// stores (a base line), the HDR histogram, go-moremath (comparing). Never: any other room of the
// server. A cluster is a black box behind HTTP.
//
// Invariants
//
//   - A figure that was not measured is not printed: a suite that could not run says
//     why, and its targets count as missed.
//   - In an open loop a call's latency runs from the instant it was due, whether or
//     not it could be sent then: a stall is felt by every call that fell into it.
//   - No load is sent to a cluster that has agents of somebody else, except with --foreign.
//   - Everything spawned listens on the loopback, or on its host's address, and is gone, with its
//     folder, when the run ends. On a host that is also so when the loader vanishes.
//   - An attendant runs nothing but nodes and base lines, for one loader at a time who has its secret.
//
// Goroutines: in a closed loop one a caller; in an open loop one a connection and a dispatcher on
// a thread of its own; one that tells progress. All end with their load. One a host that tells
// its attendant that the loader lives, until the run ends; in an attendant one that watches for
// that. Children are cluster/testcluster's.
package load
