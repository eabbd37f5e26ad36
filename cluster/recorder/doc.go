// Package recorder is a node's flight recorder: a ring of what an incident is made of, and a ring
// of the node's last log lines. Both are of fixed size, in memory, and are lost with the process.
//
// It holds no name of a person or party, no content of a payment and no secret: only what the
// node itself said, the codes and routes of refused calls, and the ids of nodes, keys and lists.
//
// May import: nothing.
// Never: a decision, a wait for a disk, or a file.
package recorder
