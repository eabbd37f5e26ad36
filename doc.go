// Package railguard is the root of the repository: it holds the release number and the tests
// of the house rules (house_test.go). The command is cmd/railguard; docs/ARCHITECTURE.md is
// where to begin reading.
//
// May import: nothing.
// Never: code.
package railguard

// Version is the release that this tree becomes (docs/releases.md). TestOneVersion compares
// the files that must repeat it with this constant.
const Version = "0.2.0"
