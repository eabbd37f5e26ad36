// Package audittest is a disk in memory that crashes: the twin of audit.OSDir
// for tests and simulators.
//
// May import: the standard library, audit. Never: anything else of the house; no
// code that serves may import it.
package audittest
