// Package casework is the desk of the officers over HTTP.
//
// Purpose: reviews, the queue, alerts, suspicious activity reports, who did what; parties, the inbox and search.
//
// May import: httpapi/border, edge, edge/events, edge/parties, strictjson, engine, ofac, fsm (View), fsm/leaf,
// fsm/wire, audit.
// Never: another room of the API.
package casework
