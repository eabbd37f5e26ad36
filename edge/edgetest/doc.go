// Package edgetest is a node without a network, for the tests of edge and of the rooms
// that stand on it.
//
// Purpose: a World applies records to a real state machine, keeps their leaves in a real
// audit store on a disk in memory, and publishes what came of them as a node does. Its
// clock moves only when a test moves it, and a test may let it fall behind its leader.
//
// Map: world.go is the node, calls.go what callers ask of it.
//
// May import: edge, and what edge imports. Never: anything that serves; no code that
// serves may import it.
package edgetest
