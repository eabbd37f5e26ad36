// Package webhooks sends events to their receivers.
//
// Purpose: the node that leads sends each webhook the events that it subscribes to, in the
// order of the log and at least once, until the event was received or given up. A slow or
// dead receiver delays nobody else.
//
// Map: dispatcher.go runs on the leader and has a worker for each webhook; worker.go sends to
// one webhook: its position, the events that failed, when they are tried again; reading.go
// reads events with the rights of a webhook; sender.go makes the call, to public addresses
// alone.
//
// May import: audit, cluster/timing, edge, edge/events, engine, fsm, fsm/wire, seal.
// Never: verdicts, HTTP in, state that is not in the log and must outlive the node.
package webhooks
