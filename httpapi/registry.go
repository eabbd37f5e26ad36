package httpapi

import (
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/fsm/wire"
)

// The registry: who may act, within what, on which list, by whose word.

var (
	registrationsRefused = metrics.NewCounter("railguard_registrations_refused_total")
	registeredWithMatch  = metrics.NewCounter("railguard_agents_registered_with_match_total") // For an alert (decision 34).
)

const (
	registers      = wire.RoleOperator
	registryReader = wire.RoleOperator | wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy
	settles        = wire.RoleOperator | wire.RolePolicy // May change settings; widening them is for policy.
	listKeeper     = wire.RolePolicy | wire.RoleOps
)

// institution guards what holds for all operators: a key whose scope is one of
// them has no say in it, whatever its roles.
func institution(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		if c.key.Operator != "" {
			return failure(http.StatusForbidden, "forbidden", "this holds for the whole institution: a key with an operator's scope may not do it")
		}
		return handle(c)
	}
}

// registryRoutes is the registry side of the public API.
func (a *API) registryRoutes() []route {
	var all []route
	for _, group := range [][]route{
		agentRoutes(), statusRoutes(), fleetRoutes(), userRoutes(), whitelistRoutes(), policyRoutes(), listRoutes(), matchRoutes(),
	} {
		all = append(all, group...)
	}
	return append(all, testClockRoute())
}

func agentRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/agents/register", roles: registers, body: bodyObject, registers: true, handle: registerAgent},
		{method: http.MethodPost, path: "/v1/delegates/create", roles: registers, body: bodyObject, registers: true, handle: createDelegate},
		{method: http.MethodGet, path: "/v1/agents", roles: registryReader, handle: listAgents},
		{method: http.MethodGet, path: "/v1/agents/{id}", roles: registryReader, handle: getAgent},
		{method: http.MethodPatch, path: "/v1/agents/{id}", roles: settles, body: bodyObject, handle: patchAgent},
		{method: http.MethodGet, path: "/v1/agents/{id}/limits", roles: registryReader | wire.RoleScreener, handle: getLimits},
		{method: http.MethodGet, path: "/v1/agents/{id}/attestations", roles: registryReader, handle: listAttestations},
		{method: http.MethodPost, path: "/v1/agents/{id}/attest", roles: registers, body: bodyObject, handle: attest},
		{method: http.MethodPost, path: "/v1/agents/{id}/model", roles: registers, body: bodyObject, handle: setModel},
		{method: http.MethodPost, path: "/v1/agents/{id}/reissue", roles: registers, body: bodyOptional, handle: reissueAgent},
		{method: http.MethodPost, path: "/v1/agents/{id}/ownership-transfer", roles: registers, body: bodyObject, handle: flagOwnership},
		{method: http.MethodDelete, path: "/v1/agents/{id}/ownership-transfer", roles: wire.RolePolicy, body: bodyOptional, handle: cancelOwnership},
	}
}

func statusRoutes() []route {
	var all []route
	for _, verb := range []struct {
		name string
		to   engine.Status
	}{{"suspend", engine.Suspended}, {"reinstate", engine.Active}, {"revoke", engine.Revoked}} {
		all = append(all,
			route{method: http.MethodPost, path: "/v1/agents/{id}/" + verb.name, roles: registers, body: bodyObject, handle: agentStatus(verb.to)},
			route{method: http.MethodPost, path: "/v1/users/{id}/" + verb.name, roles: registers, body: bodyObject, handle: userStatus(verb.to)})
		if verb.to != engine.Revoked {
			all = append(all, route{
				method: http.MethodPost, path: "/v1/operators/" + verb.name, roles: registers, body: bodyObject, handle: operatorChange(verb.to),
			})
		}
	}
	return all
}

func fleetRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/fleets/create", roles: registers, body: bodyObject, registers: true, handle: createFleet},
		{method: http.MethodGet, path: "/v1/fleets", roles: registryReader, handle: listFleets},
		{method: http.MethodGet, path: "/v1/fleets/{id}", roles: registryReader, handle: getFleet},
		{method: http.MethodPatch, path: "/v1/fleets/{id}", roles: settles, body: bodyObject, handle: patchFleet},
		{method: http.MethodPost, path: "/v1/fleets/{id}/agents", roles: registers, body: bodyObject, handle: assignAgents},
		{method: http.MethodDelete, path: "/v1/fleets/{id}/agents/{agentId}", roles: registers, handle: removeAgent},
	}
}

func userRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/users/register", roles: registers, body: bodyObject, registers: true, handle: registerUser},
		{method: http.MethodGet, path: "/v1/users/{id}", roles: registryReader, handle: getUser},
		{method: http.MethodPost, path: "/v1/users/{id}/reissue", roles: registers, body: bodyOptional, handle: reissueUser},
	}
}

func whitelistRoutes() []route {
	var all []route
	for _, place := range []struct {
		path  string
		roles uint8
		find  placeOf
	}{
		{"/v1/agents/{id}/whitelist", settles, agentPlace},
		{"/v1/fleets/{id}/whitelist", settles, fleetPlace},
		{"/v1/whitelist", wire.RolePolicy, institutionPlace},
	} {
		guard := func(handle func(*call) error) func(*call) error { return handle }
		if place.path == "/v1/whitelist" {
			guard = institution
		}
		all = append(all,
			route{method: http.MethodGet, path: place.path, roles: registryReader, handle: getWhitelist(place.find)},
			route{method: http.MethodPut, path: place.path, roles: place.roles, body: bodyObject, handle: guard(putWhitelist(place.find))},
			route{method: http.MethodPost, path: place.path + "/entries", roles: place.roles, body: bodyObject, handle: guard(addEntry(place.find))},
			route{method: http.MethodDelete, path: place.path + "/entries/{entry}", roles: place.roles, body: bodyOptional, handle: guard(removeEntry(place.find))})
	}
	return all
}

func policyRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/policy", roles: registryReader, handle: getPolicy},
		{method: http.MethodPut, path: "/v1/policy", roles: wire.RolePolicy, body: bodyRaw, handle: institution(putPolicy)},
		{method: http.MethodGet, path: "/v1/policy/versions", roles: wire.RolePolicy | wire.RoleAuditor | wire.RoleReviewer, handle: listPolicies},
		{method: http.MethodPost, path: "/v1/policy/validate", roles: wire.RolePolicy, body: bodyRaw, handle: validatePolicy},
	}
}

func listRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/ofac", roles: anyRole, handle: getLists},
		{method: http.MethodPost, path: "/v1/ofac/sync", roles: listKeeper, body: bodyOptional, handle: institution(syncLists)},
		{method: http.MethodGet, path: "/v1/ofac/{id}/diff", roles: listKeeper | wire.RoleReviewer | wire.RoleAuditor, handle: diffLists},
		{method: http.MethodPost, path: "/v1/ofac/{id}/activate", roles: wire.RolePolicy, body: bodyOptional, handle: institution(activateList)},
		{method: http.MethodPost, path: "/v1/ofac/{id}/rollback", roles: wire.RolePolicy, body: bodyObject, stream: true, handle: institution(rollbackList)},
		{method: http.MethodPost, path: "/v1/ofac/rollback", roles: wire.RolePolicy, body: bodyObject, stream: true, handle: institution(rollbackList)},
	}
}

func matchRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/match", roles: wire.RoleReviewer | wire.RolePolicy | wire.RoleAuditor, handle: matchName},
		{method: http.MethodGet, path: "/v1/cleared", roles: wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy, handle: institution(listCleared)},
		{method: http.MethodPost, path: "/v1/cleared", roles: wire.RoleReviewer, body: bodyObject, handle: institution(clearPair)},
		{method: http.MethodDelete, path: "/v1/cleared/{id}", roles: wire.RoleReviewer, body: bodyOptional, handle: institution(removeCleared)},
	}
}

// registryAdminRoutes is the registry side of the admin listener: API keys and
// signing keys, which no endpoint of the public API issues, and list uploads,
// which are larger than its bodies.
func (a *API) registryAdminRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/admin/keys", roles: wire.RoleAdmin, body: bodyObject, handle: createKey},
		{method: http.MethodGet, path: "/admin/keys", roles: wire.RoleAdmin, handle: listKeys},
		{method: http.MethodDelete, path: "/admin/keys/{id}", roles: wire.RoleAdmin, handle: revokeKey},
		{method: http.MethodPost, path: "/admin/keys/{id}/rotate", roles: wire.RoleAdmin, body: bodyOptional, handle: rotateKey},
		{method: http.MethodPost, path: "/admin/signing-key/rotate", roles: wire.RoleAdmin, body: bodyOptional, handle: rotateSigningKey},
		{method: http.MethodGet, path: "/admin/signing-keys", roles: wire.RoleAdmin, handle: listSigningKeys},
		{method: http.MethodPost, path: "/admin/signing-keys/{kid}/revoke", roles: wire.RoleAdmin, body: bodyObject, handle: revokeSigningKey},
		{
			method: http.MethodPost, path: "/v1/ofac/snapshots", roles: wire.RolePolicy, body: bodyRaw, max: engine.ListUploadMax,
			stream: true, handle: uploadList,
		},
		{method: http.MethodPost, path: "/v1/ofac/{id}/activate", roles: wire.RolePolicy, body: bodyOptional, handle: institution(activateList)},
	}
}

// registryRenderers renders the leaves of the registry side, by kind.
func (a *API) registryRenderers() map[string]renderer {
	return map[string]renderer{
		"agent.registered": renderAgent, "agent.reissued": renderAgent, "delegate.created": renderAgent,
		"agent.suspended": renderStatus, "agent.reinstated": renderStatus, "agent.revoked": renderStatus,
		"user.suspended": renderStatus, "user.reinstated": renderStatus, "user.revoked": renderStatus,
		"operator.suspended": renderStatus, "operator.reinstated": renderStatus,
		"user.registered": renderUser, "user.reissued": renderUser,
		"fleet.created": renderFleet, "fleet.updated": renderFleetUpdate, "fleet.assigned": renderAssign, "fleet.removed": renderAssign,
		"agent.settings": renderSettings, "agent.model_changed": renderModel, "attestation.recorded": renderAttestation,
		"agent.whitelist": renderWhitelist, "fleet.whitelist": renderWhitelist, "policy.whitelist": renderWhitelist,
		"ownership.flagged": renderOwnership, "ownership.cancelled": renderOwnership,
		"policy.activated": renderPolicy, "list.staged": renderStaged, "list.activated": renderActivation, "list.synced": renderSynced,
		"cleared.added": renderCleared, "cleared.removed": renderCleared, "clock.advanced": renderClock,
	}
}
