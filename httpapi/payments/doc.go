// Package payments screens payments over HTTP.
//
// Purpose: one payment, many at once, the dry run, and the outcome of a payment.
//
// May import: httpapi/border, edge, strictjson, engine, fsm/leafjson, fsm/wire, cluster/timing.
// Never: another room of the API.
package payments
