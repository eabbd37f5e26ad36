// Package operations is for those who run the service.
//
// Purpose: health, the cluster's verbs, upgrades, API keys, signing keys and the cluster secret, status
// lists, public documents, metrics.
//
// May import: httpapi/border, httpapi/exposition, httpapi/openapi, edge, strictjson, seal, engine,
// engine/credential, ofac/judge, fsm (View), fsm/wire, cluster/report.
// Never: another room of the API.
package operations
