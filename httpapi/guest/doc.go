// Package guest asks the public API from inside the process.
//
// Purpose: what stands in front of the API and speaks another protocol (the console, x402,
// MCP, a gateway) makes calls of it in the name of its caller, with that caller's key and address,
// and keeps the answer. What its own work costs counts with such a call.
//
// Map: ask.go makes a call and keeps what comes back, and refuses queries.
//
// May import: the standard library. Never: httpapi, edge, the state.
package guest
