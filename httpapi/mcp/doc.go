// Package mcp serves the Model Context Protocol at /mcp: tools with which an agent asks
// whether it may pay.
//
// Purpose: a guest in front of the public API. A tool is one call of that API, or two,
// with the caller's key; what the API answers is the tool's result. A verdict is a
// result, whatever it is; that there is none is an error that says "do not pay".
//
// Map: guest.go routes, admits and tells how to get a key; gate.go refuses what may be
// read in two ways; tools.go are the tools, payments.go those about a payment that was
// screened; states.go says what an old answer means; results.go makes results of answers;
// api.go asks the API.
//
// May import: engine (what a rule is about), strictjson, the SDK of the protocol.
// Never: httpapi, edge, the state; what is behind the tipping-off wall.
package mcp
