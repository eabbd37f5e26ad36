// Command railguard-bench measures and examines a railguard from outside: under load
// against targets, statement by statement of the specification, and the name matcher
// against labelled names.
//
// Purpose: what builders and buyers of a railguard run; no part of the server.
//
// May import: bench/load, bench/conformance, bench/names, bench/sim, ofac/sample, cobra.
// Never: serves anybody.
package main
