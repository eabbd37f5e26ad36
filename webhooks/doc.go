// Package webhooks sends events to their receivers.
//
// Purpose: the node that leads tells each webhook what happened, in the order of the
// log, each event at least once, until it was received or given up; a slow or dead
// receiver holds up nobody but itself.
//
// Map: dispatcher.go is the leader's duty and has a worker for each webhook; worker.go is
// one webhook: where it is, what waits to be sent again, when; reading.go reads events
// with the rights of a webhook; sender.go makes the call, to no address that is not for
// everybody.
//
// May import: audit, cluster/timing, edge, edge/events, engine, fsm, fsm/wire, seal.
// Never: verdicts, HTTP in, state that is not in the log and must outlive the node.
package webhooks
