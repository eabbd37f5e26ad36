// Package keys builds the records of secrets and of who holds them: API keys, signing keys, the
// log's key, webhooks with their secrets, and values that are sealed anew.
//
// Purpose: for each change a type that reads its body and builds its record, or refuses it.
// Secrets are drawn and sealed here; what goes into a record is a hash or is sealed.
//
// Map: api.go is API keys, signing.go signing keys and the log's key, webhooks.go webhooks,
// reseal.go what an older cluster secret had sealed.
//
// May import: edge, edge/events, engine, fsm (View, Settings), fsm/wire, seal, strictjson.
// Never: net/http, httpapi, cluster, webhooks.
package keys
