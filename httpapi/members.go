package httpapi

import (
	"net/http"

	"railguard/engine"
	"railguard/strictjson"
)

// What each route takes: the members of its body and the parameters of its query. A
// body's member that is not here is refused, since a limit misspelt would be no limit;
// screening calls have their own rule (edge/request.go), the policy document another
// reader (engine.ParsePolicy). A route that is missing here is not served: New says so.

// Shapes of what bodies have in common.
var (
	whySaid = strictjson.Names("reason", "actor")

	velocityShape = strictjson.Names("maxPerMinute", "maxPerHour", "burstFactor")
	hoursShape    = strictjson.Names("timezone", "holidays").Holding("windows", strictjson.Names("days", "from", "to"))
	spendShape    = strictjson.Names("maxSingleTxUSDC", "dailyLimitUSDC", "allowedChains", "allowedRails", "counterpartyScreening", "noMixerProtocols")
	entryShape    = strictjson.Names("wallet", "name", "label", "expiresAt", "addedBy")
	listShape     = strictjson.Names("mode", "kinds").Holding("entries", entryShape.With("id"))
	paceShape     = strictjson.Shape{"operatingHours": hoursShape, "velocity": velocityShape}
	settingsShape = paceShape.With("allowedCounterpartyTypes").Holding("whitelist", listShape)
	agentShape    = settingsShape.Holding("spendPolicy", spendShape).
			With("agentName", "agentType", "operatorLegalName", "purpose", "underlyingModel", "agentFramework", "metadata")
	webhookShape = strictjson.Names("name", "url", "types", "sarAllowed", "off")
	queueShape   = strictjson.Names("assignee", "reviewedBy", "by")
)

// bodyShapes are the members of every JSON body, by method and path. nil: the handler
// has a rule of its own.
var bodyShapes = map[string]strictjson.Shape{
	"POST /v1/screen":         nil,
	"POST /v1/screen/dry-run": nil,
	"POST /v1/screen/batch":   nil,

	"POST /v1/transactions/{txnId}/settle":  strictjson.Names("amount", "railRef"),
	"POST /v1/transactions/{txnId}/release": strictjson.Names("reason"),

	"POST /v1/agents/register":                  agentShape.With("operatorWallet", "operatorEIN", "fleetId"),
	"POST /v1/delegates/create":                 agentShape.With("parentAgentId", "parentToken", "expiresAt"),
	"PATCH /v1/agents/{id}":                     settingsShape.With("reason", "actor"),
	"POST /v1/agents/{id}/attest":               strictjson.Names("attestedBy", "note"),
	"POST /v1/agents/{id}/model":                whySaid.With("underlyingModel", "model"),
	"POST /v1/agents/{id}/reissue":              whySaid.With("agentName", "operatorLegalName", "operatorWallet", "operatorEIN", "purpose", "underlyingModel", "agentFramework", "overlapHours").Holding("spendPolicy", spendShape),
	"POST /v1/agents/{id}/ownership-transfer":   strictjson.Names("newOperatorLegalName", "effectiveAt", "note", "actor"),
	"DELETE /v1/agents/{id}/ownership-transfer": whySaid,
	"POST /v1/agents/{id}/suspend":              whySaid,
	"POST /v1/agents/{id}/reinstate":            whySaid,
	"POST /v1/agents/{id}/revoke":               whySaid.With("reasonCode"),

	"POST /v1/users/register":       strictjson.Names("legalName", "userName", "email", "agentIds", "agentType", "operatorLegalName"),
	"POST /v1/users/{id}/reissue":   whySaid.With("overlapHours"),
	"POST /v1/users/{id}/suspend":   whySaid,
	"POST /v1/users/{id}/reinstate": whySaid,
	"POST /v1/users/{id}/revoke":    whySaid.With("reasonCode"),

	"POST /v1/operators/suspend":   whySaid.With("operatorLegalName"),
	"POST /v1/operators/reinstate": whySaid.With("operatorLegalName"),

	"POST /v1/fleets/create":      paceShape.With("fleetName", "operatorLegalName", "dailyLimitUSDC").Holding("whitelist", listShape),
	"PATCH /v1/fleets/{id}":       paceShape.With("fleetName", "dailyLimitUSDC", "reason", "actor"),
	"POST /v1/fleets/{id}/agents": strictjson.Names("agentId", "agentIds"),

	"PUT /v1/agents/{id}/whitelist":                    listShape.With("reason", "actor"),
	"POST /v1/agents/{id}/whitelist/entries":           entryShape.With("reason", "actor"),
	"DELETE /v1/agents/{id}/whitelist/entries/{entry}": whySaid,
	"PUT /v1/fleets/{id}/whitelist":                    listShape.With("reason", "actor"),
	"POST /v1/fleets/{id}/whitelist/entries":           entryShape.With("reason", "actor"),
	"DELETE /v1/fleets/{id}/whitelist/entries/{entry}": whySaid,
	"PUT /v1/whitelist":                                listShape.With("reason", "actor"),
	"POST /v1/whitelist/entries":                       entryShape.With("reason", "actor"),
	"DELETE /v1/whitelist/entries/{entry}":             whySaid,

	"POST /v1/ofac/sync":          whySaid,
	"POST /v1/ofac/{id}/activate": whySaid.With("force"),
	"POST /v1/ofac/{id}/rollback": whySaid.With("force"),
	"POST /v1/ofac/rollback":      whySaid.With("force"), // A rollback is forced in any case.
	"POST /v1/cleared":            strictjson.Names("name", "uid", "reason", "expiresAt", "clearedBy"),
	"DELETE /v1/cleared/{id}":     whySaid,

	"POST /v1/webhooks":                    webhookShape.With("secret"),
	"PATCH /v1/webhooks/{id}":              webhookShape.With("reason"),
	"DELETE /v1/webhooks/{id}":             strictjson.Names("reason"),
	"POST /v1/webhooks/{id}/rotate-secret": strictjson.Names("secret", "overlapSeconds", "reason"),
	"POST /v1/webhooks/{id}/test":          {},
	"POST /v1/webhooks/{id}/redeliver":     strictjson.Names("eventId", "all"),

	"POST /v1/audit/{txnId}/replay":     {},
	"POST /v1/reviews/{txnId}":          strictjson.Names("disposition", "reviewedBy", "notes"),
	"POST /v1/reviews/{txnId}/withdraw": strictjson.Names("reviewedBy", "reason"),
	"POST /v1/sar/{txnId}/move":         strictjson.Names("to", "by", "reason", "bsaId", "narrative"),
	"POST /v1/alerts/acknowledge":       strictjson.Names("alertIds", "by", "reason"),
	"POST /v1/queue/bulk":               strictjson.Names("txnIds", "disposition", "reviewedBy", "notes"),
	"POST /v1/alerts/{id}/acknowledge":  strictjson.Names("by", "reason"),
	"POST /v1/queue/next": queueShape.With("skip").Holding("filter",
		strictjson.Names("state", "rule", "agentId", "operator", "minAmount", "maxAmount", "from", "to", "assignee", "q", "slaBreached", "sort")),
	"POST /v1/queue/{txnId}/claim":   queueShape,
	"POST /v1/queue/{txnId}/release": queueShape.With("force"),
	"POST /v1/queue/{txnId}/assign":  queueShape,
	"POST /v1/queue/{txnId}/comment": queueShape.With("comment"),

	"POST /v1/ofac/retro":                 strictjson.Names("days", "listSnapshotId", "against"),
	"POST /v1/backtests":                  strictjson.Names("policy", "listSnapshotId", "from", "to"),
	"POST /v1/policy/shadow":              strictjson.Names("policy", "listSnapshotId", "days"),
	"POST /v1/policy/shadow/{id}/stop":    {},
	"POST /v1/policy/shadow/{id}/promote": strictjson.Names("reason", "actor"),
	"POST /v1/backtests/{id}/cancel":      {},

	"POST /v1/cluster/snapshot":        {},
	"POST /v1/cluster/transfer-leader": strictjson.Names("to"),
	"POST /v1/cluster/join":            strictjson.Names("id", "addr"),
	"POST /v1/cluster/remove":          strictjson.Names("id"),
	"POST /v1/cluster/promote":         strictjson.Names("id"),
	"POST /v1/cluster/demote":          strictjson.Names("id"),
	"POST /v1/cluster/drain":           strictjson.Names("drain", "grace"),
	"POST /v1/cluster/matcher":         whySaid.With("to"),
	"POST /v1/cluster/format":          whySaid.With("to"),
	"POST /v1/test/clock":              strictjson.Names("advance"),

	"POST /admin/keys":                      strictjson.Names("name", "roles", "operator", "networks", "ips", "expires", "expiresAt", "rate", "strict"),
	"POST /admin/keys/{id}/rotate":          whySaid,
	"POST /admin/log-key/rotate":            whySaid,
	"POST /admin/cluster-secret/reseal":     whySaid.With("from"),
	"POST /admin/log-level":                 strictjson.Names("level"),
	"POST /admin/signing-key/rotate":        strictjson.Names("emergency", "revoke", "reason"),
	"POST /admin/signing-keys/{kid}/revoke": whySaid,
}

// paged are the parameters of every list that has pages.
var paged = []string{"limit", "cursor", "order"}

func inPages(names ...string) []string { return append(names, paged...) }

// queryParameters are the parameters of every route that has any, by method and path;
// consistency besides, everywhere under /v1. One that ends in ? is a flag: it needs no
// value, and may be given more than once.
var queryParameters = map[string][]string{
	"GET /v1/activity":                 {"types", "by", "about", "from", "to", "limit", "cursor"},
	"GET /v1/agents":                   inPages("operator", "status", "type", "fleetId"),
	"GET /v1/fleets":                   inPages("operator"),
	"GET /v1/users":                    inPages("status"),
	"GET /v1/agents/{id}/attestations": paged,
	"GET /v1/audit":                    inPages("from", "to", "agentId", "operator", "verdict", "rule", "wallet", "name", "disposition"),
	"GET /v1/audit/{txnId}":            {"wait"},
	"GET /status-lists/{list}":         {"time"},
	"GET /v1/events":                   {"after", "types", "limit", "wait"},
	"GET /v1/audit/export":             {"from", "to", "format", "agentId", "cursor", "first", "treeSize"},
	"GET /v1/queue": inPages("state", "rule", "agentId", "operator", "minAmount", "maxAmount", "from", "to", "assignee", "q",
		"slaBreached", "sort"),
	"GET /v1/transactions":             {"paymentRef"},
	"GET /v1/alerts":                   inPages("state", "kind"),
	"GET /v1/sar":                      inPages("state", "overdue"),
	"GET /v1/sar/{txnId}":              {"format"},
	"GET /v1/policy/versions":          paged,
	"PUT /v1/policy":                   {"reason"},
	"POST /v1/policy/validate":         {"reason"},
	"GET /v1/ofac/{id}/diff":           {"against"},
	"GET /v1/ofac/retro":               paged,
	"GET /v1/ofac/retro/{id}":          {"limit", "cursor"},
	"GET /v1/match":                    {"name", "wallet", "cpType", "type", "cpCountry", "cpDateOfBirth", "cpAddress", "explain"},
	"GET /v1/cleared":                  paged,
	"GET /v1/cluster/backup":           {"from", "since"},
	"GET /readyz":                      {"noleader?", "leader?", "sync?", "maxlag", "exclude?"},
	"GET /admin/keys":                  paged,
	"POST /v1/ofac/snapshots":          {"name"},
	"GET /debug/pprof/profile":         profiling,
	"GET /debug/pprof/trace":           profiling,
	"GET /debug/pprof/symbol":          profiling,
	"GET /debug/pprof/cmdline":         profiling,
	"GET /debug/pprof/heap":            profiling,
	"GET /debug/pprof/allocs":          profiling,
	"GET /debug/pprof/block":           profiling,
	"GET /debug/pprof/mutex":           profiling,
	"GET /debug/pprof/goroutine":       profiling,
	"GET /debug/pprof/threadcreate":    profiling,
	"GET /v1/webhooks":                 paged,
	"GET /v1/webhooks/{id}/deliveries": {"limit", "cursor"},
}

var profiling = []string{"debug?", "seconds?", "gc?"}

// values is how many JSON values a body of the route may have.
func (r *route) values() int {
	if r.max == engine.ScreenBodyMax {
		return engine.ScreenValuesMax
	}
	return engine.BodyValuesMax
}

// checkMembers refuses a body with members that its route does not know: 422. A review
// looks for its transaction first (decision 30, no. 14) and asks for this itself.
func (c *call) checkMembers() error {
	if c.route.shape == nil {
		return nil
	}
	if err := c.asked.Document.CheckShape(c.route.shape); err != nil {
		return proposalError(err)
	}
	return nil
}

// declare gives a route what the tables say of it; false when they should and do not.
func (r *route) declare() bool {
	key := r.method + " " + r.path
	r.parameters = queryParameters[key]
	shape, told := bodyShapes[key]
	r.shape = shape
	r.late = key == http.MethodPost+" /v1/reviews/{txnId}"
	return told || r.body != bodyObject && r.body != bodyOptional
}
