// Package witness is both sides of C2SP tlog-witness: a witness answers add-checkpoint
// and cosigns what continues all that it cosigned before; a log asks it to.
//
// A witness holds one thing: it never cosigns two checkpoints of one log of which
// neither continues the other, whatever crashes. So what it is about to sign is on disk
// before it is signed, and comparing and keeping are one step.
//
//	body.go    the request, both ways
//	server.go  the witness
//	client.go  the log's side
//
// May import: the standard library, audit/note, audit/proof.
// Never: the server, the store; a clock but the one it is given.
package witness
