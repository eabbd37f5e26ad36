// Command railguard is the whole product in one binary: the server, the
// development cluster, and the verbs of operators, officers and examiners.
//
// Purpose: read flags, open doors in order, close them in reverse. No logic.
//
// May import: anything of the house.
// Never: decisions, formats or state of its own. `railguard verify` uses no
// server code (house_test.go checks its package).
package main
