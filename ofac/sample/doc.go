// Package sample is a small list of real designations for trying the service
// out without a network.
//
// Purpose: give demonstrations and tests an ofac.Entity set and the Meta that
// labels it a sample. It is dated, incomplete, and must never pass for a
// published list: answers that rest on it say ofacSource kv:sample.
//
// May import: the standard library, railguard/ofac.
// Never: clocks, disk, network, goroutines.
package sample
