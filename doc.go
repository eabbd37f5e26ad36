// Package railguard is the root of the house: it holds no code, only the tests
// of the house law (house_test.go). The command is cmd/railguard; where to begin
// reading is docs/ARCHITECTURE.md.
//
// May import: nothing.
// Never: code.
package railguard
