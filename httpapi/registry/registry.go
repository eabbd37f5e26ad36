package registry

import (
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// The registry: who may act, within what, on which list, by whose word.

var (
	registeredWithMatch = metrics.NewCounter("railguard_agents_registered_with_match_total") // For an alert (decision 34).
)

const (
	registers      = wire.RoleOperator
	registryReader = wire.RoleOperator | wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy
	settles        = wire.RoleOperator | wire.RolePolicy // May change settings; widening them is for policy.
)

func agentRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/agents/register", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Registers: true, Handle: registerAgent},
		{Method: http.MethodPost, Path: "/v1/delegates/create", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Registers: true, Handle: createDelegate},
		{Method: http.MethodGet, Path: "/v1/agents", Scope: border.ScopeOwner, Roles: registryReader, Handle: listAgents},
		{Method: http.MethodGet, Path: "/v1/agents/{id}", Scope: border.ScopeOwner, Roles: registryReader, Handle: getAgent},
		{Method: http.MethodPatch, Path: "/v1/agents/{id}", Scope: border.ScopeOwner, Roles: settles, Body: border.BodyObject, Handle: patchAgent},
		{Method: http.MethodGet, Path: "/v1/agents/{id}/limits", Scope: border.ScopeOwner, Roles: registryReader | wire.RoleScreener, Handle: getLimits},
		{Method: http.MethodGet, Path: "/v1/agents/{id}/attestations", Scope: border.ScopeOwner, Roles: registryReader, Handle: listAttestations},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/attest", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: attest},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/model", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: setModel},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/reissue", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyOptional, Handle: reissueAgent},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/ownership-transfer", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: flagOwnership},
		{Method: http.MethodDelete, Path: "/v1/agents/{id}/ownership-transfer", Scope: border.ScopeInstitution, Roles: wire.RolePolicy, Body: border.BodyOptional, Handle: cancelOwnership},
	}
}

func statusRoutes() []border.Route {
	var all []border.Route
	for _, verb := range []struct {
		name string
		to   engine.Status
	}{{"suspend", engine.Suspended}, {"reinstate", engine.Active}, {"revoke", engine.Revoked}} {
		all = append(all,
			border.Route{Method: http.MethodPost, Path: "/v1/agents/{id}/" + verb.name, Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: agentStatus(verb.to)},
			border.Route{Method: http.MethodPost, Path: "/v1/users/{id}/" + verb.name, Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: userStatus(verb.to)})
		if verb.to != engine.Revoked {
			all = append(all, border.Route{
				Method: http.MethodPost, Path: "/v1/operators/" + verb.name, Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: operatorChange(verb.to),
			})
		}
	}
	return all
}

func fleetRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/fleets/create", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Registers: true, Handle: createFleet},
		{Method: http.MethodGet, Path: "/v1/fleets", Scope: border.ScopeOwner, Roles: registryReader, Handle: listFleets},
		{Method: http.MethodGet, Path: "/v1/fleets/{id}", Scope: border.ScopeOwner, Roles: registryReader, Handle: getFleet},
		{Method: http.MethodPatch, Path: "/v1/fleets/{id}", Scope: border.ScopeOwner, Roles: settles, Body: border.BodyObject, Handle: patchFleet},
		{Method: http.MethodPost, Path: "/v1/fleets/{id}/agents", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Handle: assignAgents},
		{Method: http.MethodDelete, Path: "/v1/fleets/{id}/agents/{agentId}", Scope: border.ScopeOwner, Roles: registers, Handle: removeAgent},
	}
}

func userRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/users/register", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyObject, Registers: true, Handle: registerUser},
		{Method: http.MethodGet, Path: "/v1/users", Scope: border.ScopeOwner, Roles: registryReader, Handle: listUsers},
		{Method: http.MethodGet, Path: "/v1/users/{id}", Scope: border.ScopeOwner, Roles: registryReader, Handle: getUser},
		{Method: http.MethodPost, Path: "/v1/users/{id}/reissue", Scope: border.ScopeOwner, Roles: registers, Body: border.BodyOptional, Handle: reissueUser},
	}
}

func whitelistRoutes() []border.Route {
	var all []border.Route
	for _, place := range []struct {
		path  string
		scope border.Scope
		roles uint8
		find  placeOf
	}{
		{"/v1/agents/{id}/whitelist", border.ScopeOwner, settles, agentPlace},
		{"/v1/fleets/{id}/whitelist", border.ScopeOwner, settles, fleetPlace},
		{"/v1/whitelist", border.ScopeInstitution, wire.RolePolicy, institutionPlace},
	} {
		all = append(all,
			border.Route{Method: http.MethodGet, Path: place.path, Scope: place.scope, Roles: registryReader, Handle: getWhitelist(place.find)},
			border.Route{Method: http.MethodPut, Path: place.path, Scope: place.scope, Roles: place.roles, Body: border.BodyObject, Handle: putWhitelist(place.find)},
			border.Route{Method: http.MethodPost, Path: place.path + "/entries", Scope: place.scope, Roles: place.roles, Body: border.BodyObject, Handle: addEntry(place.find)},
			border.Route{Method: http.MethodDelete, Path: place.path + "/entries/{entry}", Scope: place.scope, Roles: place.roles, Body: border.BodyOptional, Handle: removeEntry(place.find)})
	}
	return all
}

// Table is what the room gives the border.
func Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(agentRoutes(), statusRoutes(), fleetRoutes(), userRoutes(), whitelistRoutes()),
		Renderers: map[string]border.Renderer{
			"agent.registered": renderAgent, "agent.reissued": renderAgent, "delegate.created": renderAgent,
			"agent.suspended": renderStatus, "agent.reinstated": renderStatus, "agent.revoked": renderStatus,
			"user.suspended": renderStatus, "user.reinstated": renderStatus, "user.revoked": renderStatus,
			"operator.suspended": renderStatus, "operator.reinstated": renderStatus,
			"user.registered": renderUser, "user.reissued": renderUser,
			"fleet.created": renderFleet, "fleet.updated": renderFleetUpdate, "fleet.assigned": renderAssign, "fleet.removed": renderAssign,
			"agent.settings": renderSettings, "agent.model_changed": renderModel, "attestation.recorded": renderAttestation,
			"agent.whitelist": renderWhitelist, "fleet.whitelist": renderWhitelist, "policy.whitelist": renderWhitelist,
			"ownership.flagged": renderOwnership, "ownership.cancelled": renderOwnership,
		},
	}
}
