// Package registry keeps agents, users, fleets and whitelists over HTTP.
//
// Purpose: who may act, for whom and within what: registration, settings, status, reading.
//
// May import: httpapi/border, edge, strictjson, engine, ofac, fsm (View), fsm/wire.
// Never: another room of the API.
package registry
