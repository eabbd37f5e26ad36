// Package port is the one port between nodes: who may come in, and what is said.
//
// Purpose: prove both ends of every connection by TLS, carry raft's messages and the
// calls of nodes to each other over it, and keep strangers and floods out.
//
// May import: hashicorp/raft (its transport), hclog, VictoriaMetrics/metrics,
// fxamacker/cbor, x/time; engine (limits), fsm/wire (values in messages).
// Never: cluster, datadir, audit, the state machine; a decision about the group. What
// a node says of itself and whom it lets speak raft is the door's, which cluster gives.
//
// Map
//
//   - mux.go: the listener, the door, dialling; openconns.go: bounds on the connections.
//   - tls.go, certificates.go: by what nodes prove themselves, and its renewal.
//   - address.go: node ids, and the address that raft's configuration keeps.
//   - transport.go: raft's network, without pipelining (guard G2), each message held
//     to the connection it came by, and the guard that hides raft's heartbeat fast
//     path (G1).
//   - frames.go, messages.go: bytes, and one type for every question and answer.
//   - link.go asks, service.go answers; errors.go: errors that keep their meaning.
//
// Goroutines: the acceptor, one for every connection that came in, one reader for
// every link, one for every question being answered, the watcher of certificate files.
package port
