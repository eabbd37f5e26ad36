package registry

import (
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/httpapi/border"
)

var (
	registeredWithMatch = metrics.NewCounter("railguard_agents_registered_with_match_total") // To alert on registrations with a list match (decision 34).
)

func agentRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/agents/register", Registers: true, Handle: registerAgent},
		{Method: http.MethodPost, Path: "/v1/delegates/create", Registers: true, Handle: createDelegate},
		{Method: http.MethodGet, Path: "/v1/agents", Handle: listAgents},
		{Method: http.MethodGet, Path: "/v1/agents/{id}", Handle: getAgent},
		{Method: http.MethodDelete, Path: "/v1/agents/{id}", Handle: retireAgent},
		{Method: http.MethodPatch, Path: "/v1/agents/{id}", Handle: patchAgent},
		{Method: http.MethodGet, Path: "/v1/agents/{id}/limits", Handle: getLimits},
		{Method: http.MethodGet, Path: "/v1/agents/{id}/attestations", Handle: listAttestations},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/attest", Handle: attest},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/model", Handle: setModel},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/reissue", Handle: reissueAgent},
		{Method: http.MethodPost, Path: "/v1/agents/{id}/ownership-transfer", Handle: flagOwnership},
		{Method: http.MethodDelete, Path: "/v1/agents/{id}/ownership-transfer", Handle: cancelOwnership},
	}
}

func statusRoutes() []border.Route {
	var all []border.Route
	for _, verb := range []struct {
		name string
		to   engine.Status
	}{{"suspend", engine.Suspended}, {"reinstate", engine.Active}, {"revoke", engine.Revoked}} {
		all = append(all,
			border.Route{Method: http.MethodPost, Path: "/v1/agents/{id}/" + verb.name, Handle: agentStatus(verb.to)},
			border.Route{Method: http.MethodPost, Path: "/v1/users/{id}/" + verb.name, Handle: userStatus(verb.to)})
		if verb.to != engine.Revoked {
			all = append(all, border.Route{
				Method: http.MethodPost, Path: "/v1/operators/" + verb.name, Handle: operatorStatusChange(verb.to),
			})
		}
	}
	return append(all, border.Route{Method: http.MethodPost, Path: "/v1/operators/limit", Handle: limitOperator})
}

func fleetRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/fleets/create", Registers: true, Handle: createFleet},
		{Method: http.MethodGet, Path: "/v1/fleets", Handle: listFleets},
		{Method: http.MethodGet, Path: "/v1/fleets/{id}", Handle: getFleet},
		{Method: http.MethodPatch, Path: "/v1/fleets/{id}", Handle: patchFleet},
		{Method: http.MethodDelete, Path: "/v1/fleets/{id}", Handle: retireFleet},
		{Method: http.MethodPost, Path: "/v1/fleets/{id}/agents", Handle: assignAgents},
		{Method: http.MethodDelete, Path: "/v1/fleets/{id}/agents/{agentId}", Handle: removeAgent},
	}
}

func userRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/users/register", Registers: true, Handle: registerUser},
		{Method: http.MethodGet, Path: "/v1/users", Handle: listUsers},
		{Method: http.MethodGet, Path: "/v1/users/{id}", Handle: getUser},
		{Method: http.MethodPost, Path: "/v1/users/{id}/reissue", Handle: reissueUser},
	}
}

func whitelistRoutes() []border.Route {
	var all []border.Route
	for _, place := range []struct {
		path string
		find placeOf
	}{
		{"/v1/agents/{id}/whitelist", agentPlace},
		{"/v1/fleets/{id}/whitelist", fleetPlace},
		{"/v1/whitelist", institutionPlace},
	} {
		all = append(all,
			border.Route{Method: http.MethodGet, Path: place.path, Handle: getWhitelist(place.find)},
			border.Route{Method: http.MethodPut, Path: place.path, Handle: putWhitelist(place.find)},
			border.Route{Method: http.MethodPost, Path: place.path + "/entries", Handle: addEntry(place.find)},
			border.Route{Method: http.MethodDelete, Path: place.path + "/entries/{entry}", Handle: removeEntry(place.find)})
	}
	return all
}

// Table returns what the room gives the border.
func Table() border.Room {
	return border.Room{
		Public: border.ConcatRoutes(agentRoutes(), statusRoutes(), fleetRoutes(), userRoutes(), whitelistRoutes()),
		Renderers: map[string]border.Renderer{
			"agent.registered": renderAgent, "agent.reissued": renderAgent, "delegate.created": renderAgent,
			"agent.suspended": renderStatus, "agent.reinstated": renderStatus, "agent.revoked": renderStatus,
			"user.suspended": renderStatus, "user.reinstated": renderStatus, "user.revoked": renderStatus,
			"operator.suspended": renderStatus, "operator.reinstated": renderStatus, "operator.limit": renderOperatorLimit,
			"user.registered": renderUser, "user.reissued": renderUser,
			"fleet.created": renderFleet, "fleet.updated": renderFleetUpdate, "fleet.assigned": renderAssign, "fleet.removed": renderAssign,
			"fleet.retired": renderRetired, "agent.retired": renderRetired,
			"agent.settings": renderSettings, "agent.model_changed": renderModel, "attestation.recorded": renderAttestation,
			"agent.whitelist": renderWhitelist, "fleet.whitelist": renderWhitelist, "policy.whitelist": renderWhitelist,
			"ownership.flagged": renderOwnership, "ownership.cancelled": renderOwnership,
		},
	}
}
