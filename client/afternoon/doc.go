// Command afternoon is the integrator's afternoon in Go: RAILGUARD_URL (several,
// comma-separated) and RAILGUARD_KEY say where, RAILGUARD_ISSUER whose credentials
// they are (railguard).
//
// May import: client.
// Never: more than an example.
package main
