// Package witness is both sides of C2SP tlog-witness: a witness answers add-checkpoint
// and cosigns a checkpoint that continues all it cosigned before; a log asks it to.
//
// A witness guarantees one thing: even after a crash it never cosigns two checkpoints of one
// log of which neither continues the other. So it writes a checkpoint to disk before signing
// it, and handles no other request between comparing and keeping it.
//
//	body.go    the request, both ways
//	server.go  the witness
//	client.go  the log's side
//
// May import: the standard library, audit/note, audit/proof.
// Never: the server, the store; a clock but the one it is given.
package witness
