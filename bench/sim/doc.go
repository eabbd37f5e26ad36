// Package sim is a virtual world for clusters, for tests and for `railguard-bench prove` alone.
//
// Purpose: run several real nodes, with the real raft library and their real files, in one process
// under testing/synctest: a network that delays, loses, cuts and breaks, disks that are slow, hang,
// fail, tear, lie and lose what was not synced, clocks that jump, members that change, two builds;
// and checkers that compare the answers which callers got with the content of the nodes. Schedules
// (schedule.go) draw thousands of faults, each done to one node, some or all (scope.go), and end in
// part with a recovery or a restore (afterlife.go). guard_test.go tests the guards that need whole
// nodes. controls_test.go breaks what the promises depend on, and the checkers must report it.
//
// May import: bench/spec, cluster, backup, datadir, recovery, audit, audit/audittest, engine, fsm,
// fsm/wire, ofac, raft's types, age, testify. Never: production code imports it.
//
// Faults are chosen by a seed: which come, to whom, when, and how much of the time between them passes.
// Raft's timers and random numbers, and the order in which goroutines run, do not depend on the seed. So
// the same seed makes the same faults, to hosts that may have other roles and bytes on their way. A seed
// that failed will probably fail again, but not certainly; run it several times.
//
// Map
//
//   - world.go: hosts and their processes; network.go, stream.go; disk.go and files.go: a process's syncs, and
//     what a host's folder keeps of them.
//   - faults.go, scope.go, members.go, builds.go: what is done to them.
//   - calls.go, clients.go, leave.go, history.go: what callers do and are told.
//   - invariants.go, books.go, leavebooks.go, trace.go: whether it holds.
package sim
