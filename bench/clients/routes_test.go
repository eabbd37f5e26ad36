package clients

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
	"railguard/httpapi/description"
)

// typedRoutes are the routes that each of the three clients has a call for, by its name in TypeScript.
var typedRoutes = map[string]string{
	"GET /v1/.well-known/jwks.json":         "jwks",
	"POST /v1/agents/register":              "register",
	"POST /v1/agents/{id}/attest":           "attest",
	"GET /v1/agents/{id}/limits":            "limits",
	"POST /v1/agents/{id}/reinstate":        "reinstate",
	"POST /v1/agents/{id}/revoke":           "revoke",
	"POST /v1/agents/{id}/suspend":          "suspend",
	"GET /v1/audit/{txnId}":                 "audit",
	"POST /v1/delegates/create":             "delegate",
	"GET /v1/events":                        "events",
	"GET /v1/health":                        "health",
	"GET /v1/inbox":                         "inbox",
	"POST /v1/inbox/{itemId}/assign":        "assignItem",
	"POST /v1/inbox/{itemId}/claim":         "claimItem",
	"POST /v1/inbox/{itemId}/comment":       "commentItem",
	"GET /v1/inbox/{itemId}/comments":       "itemComments",
	"POST /v1/inbox/{itemId}/release":       "releaseItem",
	"GET /v1/learning":                      "learning",
	"GET /v1/parties":                       "parties",
	"GET /v1/parties/{partyId}":             "party",
	"POST /v1/parties/{partyId}/decide":     "decideParty",
	"POST /v1/permits/redeem":               "redeemPermit",
	"POST /v1/reviews/{txnId}":              "review",
	"POST /v1/screen":                       "screen",
	"POST /v1/screen/batch":                 "batch",
	"POST /v1/screen/dry-run":               "dryRun",
	"POST /v1/screen/stream":                "stream",
	"POST /v1/search":                       "search",
	"POST /v1/transactions/{txnId}/confirm": "confirm",
	"POST /v1/transactions/{txnId}/release": "release",
	"POST /v1/transactions/{txnId}/settle":  "settle",
	"POST /v1/webhooks":                     "createWebhook",
	"POST /v1/webhooks/{id}/redeliver":      "redeliver",
}

// untypedRoutes are the routes that are called by Call, call and call, each with the reason.
var untypedRoutes = []struct{ reason, routes string }{
	{"the page of the published API, in a browser", `
		GET /docs
		GET /docs/changelog.json
		GET /docs/errors
		GET /docs/explorer.js
		GET /docs/rules
		GET /docs/swagger-ui-bundle.js
		GET /docs/swagger-ui.css
		GET /openapi.json
	`},
	{"probes of a balancer", `
		GET /livez
		GET /readyz
	`},
	{"proofs, read by tools of transparency logs and by railguard verify", `
		GET /log/checkpoint
		GET /log/consistency/{from}/{to}
		GET /log/cosigned
		GET /log/keys
		GET /log/policy
		GET /log/tile
		GET /log/tile/entries
		GET /log/tile/entries/{index}
		GET /log/tile/{level}
		GET /log/tile/{level}/{index}
	`},
	{"other protocols, with clients of their own", `
		GET /.well-known/oauth-protected-resource
		GET /.well-known/oauth-protected-resource/mcp
		GET /contexts/kya/v1
		POST /mcp
		POST /x402/settle
		GET /x402/supported
		POST /x402/verify
	`},
	{"the Verifier reads it, at the address that a list is at", `
		GET /status-lists/{list}
	`},
	{"the same as the POST, which keeps names out of logs", `
		GET /v1/search
	`},
	{"of the console: what a person has typed and not sent", `
		GET /v1/drafts
		DELETE /v1/drafts/{name}
		GET /v1/drafts/{name}
		PUT /v1/drafts/{name}
	`},
	{"of the console: one review at a time; the calls of the inbox work on reviews too", `
		GET /v1/queue
		POST /v1/queue/bulk
		POST /v1/queue/next
		POST /v1/queue/{txnId}/assign
		POST /v1/queue/{txnId}/claim
		POST /v1/queue/{txnId}/comment
		POST /v1/queue/{txnId}/release
		POST /v1/reviews/{txnId}/withdraw
	`},
	{"officers read and move them in the console; they stand in the inbox and on their party's page", `
		GET /v1/alerts
		POST /v1/alerts/acknowledge
		GET /v1/alerts/{id}
		POST /v1/alerts/{id}/acknowledge
		GET /v1/cleared
		POST /v1/cleared
		DELETE /v1/cleared/{id}
		GET /v1/proposals
		GET /v1/proposals/{id}
		POST /v1/proposals/{id}/confirm
		POST /v1/proposals/{id}/withdraw
		GET /v1/sanctions/blocked-property
		GET /v1/sanctions/cases
		POST /v1/sanctions/cases
		GET /v1/sanctions/cases/{id}
		POST /v1/sanctions/cases/{id}/move
		GET /v1/sanctions/cases/{id}/report
		GET /v1/sar
		POST /v1/sar
		GET /v1/sar/{txnId}
		POST /v1/sar/{txnId}/move
		PUT /v1/sar/{txnId}/narrative
	`},
	{"a second look is made in the console, which hides what would spoil it", `
		GET /v1/learning/second-looks
		GET /v1/learning/second-looks/{lookId}
		POST /v1/learning/second-looks/{lookId}
	`},
	{"operators of a cluster use railguard cluster", `
		POST /v1/cluster/admit
		GET /v1/cluster/backup
		GET /v1/cluster/backups
		POST /v1/cluster/backups
		POST /v1/cluster/confirm-time
		POST /v1/cluster/demote
		POST /v1/cluster/drain
		POST /v1/cluster/format
		GET /v1/cluster/leader
		POST /v1/cluster/matcher
		GET /v1/cluster/peers
		POST /v1/cluster/promote
		POST /v1/cluster/remove
		GET /v1/cluster/snapshot
		POST /v1/cluster/snapshot
		GET /v1/cluster/status
		POST /v1/cluster/transfer-leader
		POST /v1/test/clock
	`},
	{"lists are brought and compared by railguard lists and in the console", `
		GET /v1/lists
		POST /v1/lists/{id}/entries
		GET /v1/match
		POST /v1/match
		GET /v1/ofac
		GET /v1/ofac/retro
		POST /v1/ofac/retro
		GET /v1/ofac/retro/{id}
		POST /v1/ofac/rollback
		POST /v1/ofac/sync
		GET /v1/ofac/{id}
		POST /v1/ofac/{id}/activate
		GET /v1/ofac/{id}/diff
		GET /v1/ofac/{id}/entities
		POST /v1/ofac/{id}/rollback
	`},
	{"rules are written by railguard policy and in the console", `
		GET /v1/backtests
		POST /v1/backtests
		GET /v1/backtests/{id}
		POST /v1/backtests/{id}/cancel
		GET /v1/policy
		PUT /v1/policy
		GET /v1/policy/shadow
		POST /v1/policy/shadow
		GET /v1/policy/shadow/{id}
		POST /v1/policy/shadow/{id}/promote
		POST /v1/policy/shadow/{id}/stop
		POST /v1/policy/validate
		GET /v1/policy/versions
		GET /v1/whitelist
		PUT /v1/whitelist
		POST /v1/whitelist/entries
		DELETE /v1/whitelist/entries/{entry}
	`},
	{"an audit reads whole periods: railguard audit and bundle", `
		GET /v1/activity
		GET /v1/audit
		GET /v1/audit/export
		POST /v1/audit/search
		GET /v1/audit/{txnId}/explain
		GET /v1/audit/{txnId}/proof
		POST /v1/audit/{txnId}/replay
	`},
	{"the registry is kept by whoever registers agents, by Call", `
		GET /v1/agents
		DELETE /v1/agents/{id}
		GET /v1/agents/{id}
		PATCH /v1/agents/{id}
		GET /v1/agents/{id}/attestations
		POST /v1/agents/{id}/model
		DELETE /v1/agents/{id}/ownership-transfer
		POST /v1/agents/{id}/ownership-transfer
		POST /v1/agents/{id}/reissue
		GET /v1/agents/{id}/whitelist
		PUT /v1/agents/{id}/whitelist
		POST /v1/agents/{id}/whitelist/entries
		DELETE /v1/agents/{id}/whitelist/entries/{entry}
		GET /v1/fleets
		POST /v1/fleets/create
		DELETE /v1/fleets/{id}
		GET /v1/fleets/{id}
		PATCH /v1/fleets/{id}
		POST /v1/fleets/{id}/agents
		DELETE /v1/fleets/{id}/agents/{agentId}
		GET /v1/fleets/{id}/whitelist
		PUT /v1/fleets/{id}/whitelist
		POST /v1/fleets/{id}/whitelist/entries
		DELETE /v1/fleets/{id}/whitelist/entries/{entry}
		POST /v1/operators/limit
		POST /v1/operators/reinstate
		POST /v1/operators/suspend
		GET /v1/users
		POST /v1/users/register
		GET /v1/users/{id}
		POST /v1/users/{id}/reinstate
		POST /v1/users/{id}/reissue
		POST /v1/users/{id}/revoke
		POST /v1/users/{id}/suspend
	`},
	{"a look at one's own payments, by Call; events tell of them", `
		GET /v1/transactions
		GET /v1/transactions/unresolved
	`},
	{"a webhook is kept by an admin, by Call", `
		GET /v1/webhooks
		DELETE /v1/webhooks/{id}
		GET /v1/webhooks/{id}
		PATCH /v1/webhooks/{id}
		GET /v1/webhooks/{id}/deliveries
		POST /v1/webhooks/{id}/rotate-secret
		POST /v1/webhooks/{id}/test
	`},
	{"about the key of the caller: the console and railguard key", `
		GET /v1/key
		POST /v1/key/end-sessions
	`},
}

// TestEveryRouteIsTypedOrNamed: each route of the description has a call in all three clients, or stands
// in the list of those that have none, with the reason; and no list names a route that does not exist.
func TestEveryRouteIsTypedOrNamed(t *testing.T) {
	reasons := map[string]string{}
	for _, group := range untypedRoutes {
		for route := range strings.SplitSeq(strings.TrimSpace(group.routes), "\n") {
			route = strings.TrimSpace(route)
			require.Empty(t, reasons[route], "%s stands there twice", route)
			reasons[route] = group.reason
		}
	}
	described := map[string]bool{}
	for _, operation := range description.Operations() {
		described[operation.Route] = true
		_, typed := typedRoutes[operation.Route]
		assert.True(t, typed != (reasons[operation.Route] != ""), "%s: give it a call in all three clients and a row of client/testdata/cases.json, or name why it has none", operation.Route)
	}
	for route := range reasons {
		assert.True(t, described[route], "%s is no route", route)
	}
	for route := range typedRoutes {
		assert.True(t, described[route], "%s is no route", route)
	}
}

// TestTypedRoutesAreCalls: what is said to be typed is a call of each client, which names its route.
func TestTypedRoutesAreCalls(t *testing.T) {
	python, err := os.ReadFile(home + "/python/railguard/client.py")
	require.NoError(t, err)
	typescript := regexp.MustCompile(`(?m)^  (\w+)<[^()]*>\(`).ReplaceAllString(typescriptSource(t), "  $1(") // A call may be generic.
	capital := regexp.MustCompile("[A-Z]")
	goCalls := map[string]bool{}
	for i := range reflect.TypeFor[*client.Client]().NumMethod() {
		goCalls[strings.ToLower(reflect.TypeFor[*client.Client]().Method(i).Name)] = true
	}
	for route, name := range typedRoutes {
		assert.True(t, goCalls[strings.ToLower(name)], "Go has no call for %s", route)
		snake := capital.ReplaceAllStringFunc(name, func(letter string) string { return "_" + strings.ToLower(letter) })
		last := lastWord(route)
		for _, at := range []struct{ source, begin, end string }{
			{string(python), "\n    def " + snake + "(", "\n    def "}, {strings.ReplaceAll(typescript, "\n  async ", "\n  "), "\n  " + name + "(", "\n  }\n"},
		} {
			_, body, found := strings.Cut(at.source, at.begin)
			assert.True(t, found, "no call %s for %s", at.begin, route)
			body, _, _ = strings.Cut(body, at.end)
			assert.Contains(t, body, last, "%s does not name its route %s", at.begin, route)
		}
	}
}

// lastWord is the last part of a route's path that is no parameter.
func lastWord(route string) string {
	words := strings.Split(route, "/")
	for i := len(words) - 1; ; i-- {
		if !strings.HasPrefix(words[i], "{") {
			return words[i]
		}
	}
}
