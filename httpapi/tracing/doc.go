// Package tracing sends the walk of sampled calls to a collector, as spans of OpenTelemetry (OTLP over HTTP,
// in JSON). It is off unless a collector is named. A call never waits for it: a span that finds no room in the
// queue is dropped and counted. A span says which route a call took, how it ended and how long each step
// lasted, and nothing of the payment, the caller or a person.
//
// May import: cluster/timing. Never: anything of a call's content.
package tracing
