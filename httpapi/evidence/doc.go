// Package evidence gives what was recorded, with proofs.
//
// Purpose: records, explanations, proofs, exports, the transparency log, events and webhooks.
//
// May import: httpapi/border, httpapi/cosigning, webhooks, edge, edge/events, strictjson, seal,
// engine, ofac, fsm (View), fsm/leaf, fsm/leafjson, fsm/wire, audit, audit/note, audit/proof,
// cluster/report.
// Never: another room of the API.
package evidence
