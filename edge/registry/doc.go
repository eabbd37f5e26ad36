// Package registry builds the records that change who may act: settings, status, ownership
// and attestation of agents, status of users and operators, fleets, whitelists.
//
// Purpose: for each change a type that reads its body and builds its record, or refuses it.
// New agents, users and credentials are not built here: they are screened, which room edge does.
//
// Map: settings.go changes an agent, status.go suspends, reinstates, revokes and transfers,
// fleets.go makes and changes fleets, whitelist.go changes the list of an agent, a fleet or the
// institution.
//
// May import: edge, engine, ofac, fsm/wire, strictjson. Never: net/http, httpapi, cluster.
package registry
