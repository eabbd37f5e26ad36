// Package nodekey is the key by which a node proves that it is the member of its name.
//
// Purpose: make a node's key together with its data folder, read it again, and give the digest
// by which the group knows it.
//
// May import: the standard library. Never: another room.
//
// Map
//
//   - key.go: the key, its file's bytes and its digest.
package nodekey
