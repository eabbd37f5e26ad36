// Package sim is a virtual world for clusters, for tests alone.
//
// Purpose: run several real nodes, with the real raft library, in one process under
// testing/synctest: a network that delays, loses, cuts and breaks, log stores and history disks
// that are slow, hang, fail and lose what was not synced, clocks that jump; and checkers that
// compare the answers which callers got with the content of the nodes. Schedules
// (schedule_test.go) draw thousands of faults. guard_test.go tests the guards that need whole
// nodes. controls_test.go breaks what the promises depend on, and the checkers must report it.
//
// May import: bench/spec, cluster, audit, audit/audittest, engine, fsm, fsm/wire, ofac, raft's types,
// testify. Never: production code imports it.
//
// Faults are chosen by a seed. Raft's timers and random numbers, and the order in which
// goroutines run, do not depend on the seed. So a seed that failed will probably fail again, but
// not certainly; run it several times.
package sim
