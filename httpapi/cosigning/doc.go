// Package cosigning asks witnesses to cosign the log's checkpoints: on the leader, one
// round after the other, beside everything else a node does.
//
// A round takes the newest checkpoint, asks every witness at once, waits for the last of
// them or for its time, and publishes what came. Verdicts, records and checkpoints never
// wait for it. What witnesses answer is verified before it is kept.
//
// May import: the standard library, audit/note, audit/witness, cluster/report.
// Never: the log, the store, HTTP as a server.
package cosigning
