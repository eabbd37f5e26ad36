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
		{method: http.MethodPost, path: "/v1/agents/register", scope: scopeOwner, roles: registers, body: bodyObject, registers: true, handle: registerAgent},
		{method: http.MethodPost, path: "/v1/delegates/create", scope: scopeOwner, roles: registers, body: bodyObject, registers: true, handle: createDelegate},
		{method: http.MethodGet, path: "/v1/agents", scope: scopeOwner, roles: registryReader, handle: listAgents},
		{method: http.MethodGet, path: "/v1/agents/{id}", scope: scopeOwner, roles: registryReader, handle: getAgent},
		{method: http.MethodPatch, path: "/v1/agents/{id}", scope: scopeOwner, roles: settles, body: bodyObject, handle: patchAgent},
		{method: http.MethodGet, path: "/v1/agents/{id}/limits", scope: scopeOwner, roles: registryReader | wire.RoleScreener, handle: getLimits},
		{method: http.MethodGet, path: "/v1/agents/{id}/attestations", scope: scopeOwner, roles: registryReader, handle: listAttestations},
		{method: http.MethodPost, path: "/v1/agents/{id}/attest", scope: scopeOwner, roles: registers, body: bodyObject, handle: attest},
		{method: http.MethodPost, path: "/v1/agents/{id}/model", scope: scopeOwner, roles: registers, body: bodyObject, handle: setModel},
		{method: http.MethodPost, path: "/v1/agents/{id}/reissue", scope: scopeOwner, roles: registers, body: bodyOptional, handle: reissueAgent},
		{method: http.MethodPost, path: "/v1/agents/{id}/ownership-transfer", scope: scopeOwner, roles: registers, body: bodyObject, handle: flagOwnership},
		{method: http.MethodDelete, path: "/v1/agents/{id}/ownership-transfer", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyOptional, handle: cancelOwnership},
	}
}

func statusRoutes() []route {
	var all []route
	for _, verb := range []struct {
		name string
		to   engine.Status
	}{{"suspend", engine.Suspended}, {"reinstate", engine.Active}, {"revoke", engine.Revoked}} {
		all = append(all,
			route{method: http.MethodPost, path: "/v1/agents/{id}/" + verb.name, scope: scopeOwner, roles: registers, body: bodyObject, handle: agentStatus(verb.to)},
			route{method: http.MethodPost, path: "/v1/users/{id}/" + verb.name, scope: scopeOwner, roles: registers, body: bodyObject, handle: userStatus(verb.to)})
		if verb.to != engine.Revoked {
			all = append(all, route{
				method: http.MethodPost, path: "/v1/operators/" + verb.name, scope: scopeOwner, roles: registers, body: bodyObject, handle: operatorChange(verb.to),
			})
		}
	}
	return all
}

func fleetRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/fleets/create", scope: scopeOwner, roles: registers, body: bodyObject, registers: true, handle: createFleet},
		{method: http.MethodGet, path: "/v1/fleets", scope: scopeOwner, roles: registryReader, handle: listFleets},
		{method: http.MethodGet, path: "/v1/fleets/{id}", scope: scopeOwner, roles: registryReader, handle: getFleet},
		{method: http.MethodPatch, path: "/v1/fleets/{id}", scope: scopeOwner, roles: settles, body: bodyObject, handle: patchFleet},
		{method: http.MethodPost, path: "/v1/fleets/{id}/agents", scope: scopeOwner, roles: registers, body: bodyObject, handle: assignAgents},
		{method: http.MethodDelete, path: "/v1/fleets/{id}/agents/{agentId}", scope: scopeOwner, roles: registers, handle: removeAgent},
	}
}

func userRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/users/register", scope: scopeOwner, roles: registers, body: bodyObject, registers: true, handle: registerUser},
		{method: http.MethodGet, path: "/v1/users", scope: scopeOwner, roles: registryReader, handle: listUsers},
		{method: http.MethodGet, path: "/v1/users/{id}", scope: scopeOwner, roles: registryReader, handle: getUser},
		{method: http.MethodPost, path: "/v1/users/{id}/reissue", scope: scopeOwner, roles: registers, body: bodyOptional, handle: reissueUser},
	}
}

func whitelistRoutes() []route {
	var all []route
	for _, place := range []struct {
		path  string
		scope scope
		roles uint8
		find  placeOf
	}{
		{"/v1/agents/{id}/whitelist", scopeOwner, settles, agentPlace},
		{"/v1/fleets/{id}/whitelist", scopeOwner, settles, fleetPlace},
		{"/v1/whitelist", scopeInstitution, wire.RolePolicy, institutionPlace},
	} {
		all = append(all,
			route{method: http.MethodGet, path: place.path, scope: place.scope, roles: registryReader, handle: getWhitelist(place.find)},
			route{method: http.MethodPut, path: place.path, scope: place.scope, roles: place.roles, body: bodyObject, handle: putWhitelist(place.find)},
			route{method: http.MethodPost, path: place.path + "/entries", scope: place.scope, roles: place.roles, body: bodyObject, handle: addEntry(place.find)},
			route{method: http.MethodDelete, path: place.path + "/entries/{entry}", scope: place.scope, roles: place.roles, body: bodyOptional, handle: removeEntry(place.find)})
	}
	return all
}

func policyRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/policy", scope: scopeInstitution, roles: registryReader, handle: getPolicy},
		{method: http.MethodPut, path: "/v1/policy", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyRaw, handle: putPolicy},
		{method: http.MethodGet, path: "/v1/policy/versions", scope: scopeInstitution, roles: wire.RolePolicy | wire.RoleAuditor | wire.RoleReviewer, handle: listPolicies},
		{method: http.MethodPost, path: "/v1/policy/validate", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyRaw, handle: validatePolicy},
	}
}

func listRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/ofac", scope: scopeInstitution, roles: anyRole, handle: getLists},
		{method: http.MethodPost, path: "/v1/ofac/sync", scope: scopeInstitution, roles: listKeeper, body: bodyOptional, handle: syncLists},
		{method: http.MethodGet, path: "/v1/ofac/{id}/diff", scope: scopeInstitution, roles: listKeeper | wire.RoleReviewer | wire.RoleAuditor, handle: diffLists},
		{method: http.MethodGet, path: "/v1/ofac/{id}/entities", scope: scopeInstitution, roles: wire.RoleAuditor, stream: true, handle: listEntities},
		{method: http.MethodPost, path: "/v1/ofac/{id}/activate", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyOptional, handle: activateList},
		{method: http.MethodPost, path: "/v1/ofac/{id}/rollback", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyObject, stream: true, handle: rollbackList},
		{method: http.MethodPost, path: "/v1/ofac/rollback", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyObject, stream: true, handle: rollbackList},
	}
}

func matchRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/key", scope: scopeReference, roles: anyRole, handle: showOwnKey},
		{method: http.MethodGet, path: "/v1/match", scope: scopeReference, roles: wire.RoleReviewer | wire.RolePolicy | wire.RoleAuditor, handle: matchName},
		{method: http.MethodGet, path: "/v1/cleared", scope: scopeInstitution, roles: wire.RoleReviewer | wire.RoleAuditor | wire.RolePolicy, handle: listCleared},
		{method: http.MethodPost, path: "/v1/cleared", scope: scopeInstitution, roles: wire.RoleReviewer, body: bodyObject, handle: clearPair},
		{method: http.MethodDelete, path: "/v1/cleared/{id}", scope: scopeInstitution, roles: wire.RoleReviewer, body: bodyOptional, handle: removeCleared},
	}
}

// registryAdminRoutes is the registry side of the admin listener: API keys and
// signing keys, which no endpoint of the public API issues, and list uploads,
// which are larger than its bodies.
func (a *API) registryAdminRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/admin/keys", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyObject, handle: createKey},
		{method: http.MethodGet, path: "/admin/keys", scope: scopeInstitution, roles: wire.RoleAdmin, handle: listKeys},
		{method: http.MethodDelete, path: "/admin/keys/{id}", scope: scopeInstitution, roles: wire.RoleAdmin, handle: revokeKey},
		{method: http.MethodPost, path: "/admin/keys/{id}/rotate", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyOptional, handle: rotateKey},
		{method: http.MethodPost, path: "/admin/log-key/rotate", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyObject, handle: rotateLogKey},
		{method: http.MethodGet, path: "/admin/cluster-secret", scope: scopeInstitution, roles: wire.RoleAdmin, handle: showSecret},
		{method: http.MethodPost, path: "/admin/cluster-secret/reseal", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyObject, handle: reseal},
		{method: http.MethodPost, path: "/admin/signing-key/rotate", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyOptional, handle: rotateSigningKey},
		{method: http.MethodGet, path: "/admin/signing-keys", scope: scopeInstitution, roles: wire.RoleAdmin, handle: listSigningKeys},
		{method: http.MethodPost, path: "/admin/signing-keys/{kid}/revoke", scope: scopeInstitution, roles: wire.RoleAdmin, body: bodyObject, handle: revokeSigningKey},
		{
			method: http.MethodPost, path: "/v1/ofac/snapshots", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyRaw, max: engine.ListUploadMax,
			stream: true, handle: uploadList,
		},
		{method: http.MethodPost, path: "/v1/ofac/{id}/activate", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyOptional, handle: activateList},
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
		"matcher.raised": renderMatcher, "format.raised": renderFormat,
		"cleared.added": renderCleared, "cleared.removed": renderCleared, "clock.advanced": renderClock,
	}
}
