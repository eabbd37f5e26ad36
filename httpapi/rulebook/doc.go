// Package rulebook is what payments are judged by.
//
// Purpose: the policy and its trials, sanctions lists, retro-screening, cleared pairs, the search for a
// name.
//
// May import: httpapi/border, edge, edge/retrace, strictjson, engine, ofac, ofac/judge, fsm (View),
// fsm/leaf, fsm/wire, audit.
// Never: another room of the API.
package rulebook
