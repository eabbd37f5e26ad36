// Package cluster is order, durability and membership, and nothing about payments.
//
// Purpose: put records into one replicated log, apply them to the state machine in the same order
// on every node, keep what was acknowledged, and say truthfully how the group stands. It owns the
// raft group, the sequencer, and the published values that edges read without a lock.
//
// May import: hashicorp/raft, hclog, VictoriaMetrics/metrics; port, datadir, nodekey, report; engine
// (Time, Format, limits, profiles as values), fsm, fsm/wire, audit, ofac (to open the list that
// the log activated). Never: httpapi, JSON of requests, engine's rules, credentials.
//
// Map: node.go puts the parts together, opens and closes; config.go; life.go how a node ends,
// stores.go what it has on disk. Each part owns its fields and is given those it asks, never the
// node:
//
//	replica      replica.go                     its place in the raft group: members, leader, terms
//	waiters      waiters.go                     proposals, and who waits for them
//	sequencer    sequencer.go                   records into entries, where this node leads
//	forwarder    forward.go                     records to the leader, with arrivals of frames there
//	adapter      adapter.go                     entries into the state machine, history, readers
//	readRounds   readindex.go                   reads that must be the newest
//	state        publish.go, views.go, pages.go what readers see of what is applied
//	clocks       clock.go                       this clock, the others' and log time
//	gateway      gateway.go                     the port between nodes, and raft's network over it
//	greeter      greeter.go, secret.go          who is let in, dialled, and knows the secret
//	             standing.go                    who is a member, and what others may ask
//	peers        peers.go                       links to the others, and how they are
//	lineage      lineage.go, note.go            of which recovery this folder is
//	membership   membership.go, autopilot.go    changes of the group, on the leader
//	finder       bootstrap.go                   how a node finds or forms its group
//	history      catchup.go, catchup_source.go  leaves that are fetched, and given (answers.go)
//	lists        lists.go, listtables.go        lists by digest, and their tables
//	statuses     publish.go                     the status lists of every minute
//	digester     digest.go                      states compared between nodes
//	compaction   snapshots.go                   when the log is cut
//	duties       duties.go, disk.go, scrub.go   what has to be done now and then
//
// operations.go are an operator's verbs, status.go, metrics.go and keyuse.go what is told. The
// port is in port, the folder in datadir, the recovery of a lost majority in recovery.
//
// Invariants
//
//   - adapter.go alone implements raft.FSM.
//   - A proposal takes effect at most once: an attempt is bound to one raft term
//     by the entry's header, and it is made again only when it certainly cannot
//     take effect any more (waiters.go).
//   - No decision hangs on raft's State, the lease or a clock; the log alone tells
//     what happened.
//   - A disk error ends the process through Config.Fatal; nothing is retried on
//     the same file.
//
// Goroutines of a node, each running a method of its part: sequencer (builds entries on the
// leader, frames on the others), one finisher for every entry in flight (at most three) and one
// sender for every frame (at most two), duties (leadership, snapshots, votes), upkeep (what may
// wait for the disk), disk watch, scrubber, list keeper, status keeper, digester, and raft's own.
// With a port between nodes also: the port's acceptor and one for every connection, one reader
// for every link, the watcher of peers, the finder of the group, the fetcher of history, and with
// given certificates the watcher of their files.
package cluster
