// Package porttest issues certificates to tests of the port between nodes.
//
// May import: testify.
// Never: port itself, whose own tests use it; code that ships.
package porttest
