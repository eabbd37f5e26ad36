// Package sim is a virtual world for clusters, for tests alone.
//
// Purpose: run several real nodes, with the real raft library, in one process
// under testing/synctest: a network that delays, cuts and breaks connections,
// log stores and history disks that lose what was not synced, clocks that
// jump; and checkers that hold what callers were told against what the nodes
// have.
//
// May import: cluster, audit, audit/audittest, engine, fsm, fsm/wire, raft's
// types, testify.
// Never: production code imports it.
//
// Faults are chosen by a seed. Raft's own timers and random numbers are not, so a
// failing seed fails again likely, not certainly.
package sim
