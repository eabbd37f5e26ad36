// Package httpapi is the HTTP API of a node: the border and the rooms behind it.
//
// Purpose: composition. New opens the rooms, each with what it needs, and gives their routes
// and renderers to the border.
//
// May import: cluster/timing, httpapi/border and the rooms beside it (payments, registry, casework, evidence,
// rulebook, operations), httpapi/cosigning, webhooks, edge/retrace, seal, engine;
// VictoriaMetrics/metrics.
// Never: a handler, a route, a record: they are the rooms'.
package httpapi
