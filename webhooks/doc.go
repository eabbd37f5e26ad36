// Package webhooks sends events to their receivers.
//
// Purpose: the leader sends each webhook the events that it subscribes to, in log order and
// at least once, until the event was received or given up. A slow or dead receiver delays no
// other.
//
// Map: dispatcher.go runs on the leader and has a worker for each webhook; worker.go sends to
// one webhook: its position, its failed events and their retries; reading.go reads events
// with the rights of a webhook; sender.go makes the call, only to public addresses.
//
// May import: audit, cluster/timing, edge, edge/events, engine, fsm, fsm/wire, seal.
// Never: verdicts, incoming HTTP, state that is not in the log and must outlive the node.
package webhooks
