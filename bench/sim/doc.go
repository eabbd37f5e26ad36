// Package sim is a virtual world for clusters, for tests alone.
//
// Purpose: run several real nodes, with the real raft library, in one process
// under testing/synctest: a network that delays, loses, cuts and breaks, log stores
// and history disks that are slow, hang, fail and lose what was not synced, clocks
// that jump; and checkers that hold what callers were told against what the nodes
// have. Schedules (schedule_test.go) draw faults by the thousand, guard_test.go
// plays the guards that need whole nodes, and controls_test.go breaks what the
// promises rest on and wants the checkers to say so.
//
// May import: cluster, audit, audit/audittest, engine, fsm, fsm/wire, ofac, raft's
// types, testify.
// Never: production code imports it.
//
// Faults are chosen by a seed. Raft's own timers and random numbers, and the order
// in which goroutines run, are not: a failing seed fails again likely, not
// certainly. Replay it some times.
package sim
