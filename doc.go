// Package railguard is the root of the house: it holds the release's number and the
// tests of the house law (house_test.go). The command is cmd/railguard; where to begin
// reading is docs/ARCHITECTURE.md.
//
// May import: nothing.
// Never: code.
package railguard

// Version is the release that this tree becomes (docs/releases.md). It stands here
// alone; TestOneVersion holds the files that must repeat it against it.
const Version = "0.2.0"
