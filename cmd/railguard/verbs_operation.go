package main

import "railguard/httpapi/description"

// operationVerbs are about sanctions lists, keys and the cluster.
var operationVerbs = []verb{
	{path: "list status", group: "compliance", short: "Show each list in force, and whether it is late", call: "GET /v1/lists", columns: "id name effect format entries wallets syncedAt late"},
	{path: "list change", short: "Add, change and end entries of an own list", call: "POST /v1/lists/{list}/entries", example: `  railguard list change house --end case-7 --reason "settled"`},
	{path: "ofac status", group: "compliance", short: "Show the active sanctions list and its history", call: "GET /v1/ofac"},
	{path: "ofac sync", short: "Fetch the published list now", call: "POST /v1/ofac/sync"},
	{path: "ofac show", short: "Show a list, what speaks against activating it, and who would leave the active one", call: "GET /v1/ofac/{snapshot}"},
	{path: "ofac diff", short: "Compare a list with the active one", call: "GET /v1/ofac/{snapshot}/diff", query: []field{{name: "against", help: "active, or a snapshot id"}}},
	{path: "ofac activate", short: "Activate a staged list at one log index on every node", call: "POST /v1/ofac/{snapshot}/activate"},
	{path: "ofac undo", short: "Make the list before the active one active again", call: "POST /v1/ofac/rollback"},
	{path: "ofac rollback", short: "Make an older list active again", call: "POST /v1/ofac/{snapshot}/rollback"},
	{
		path: "key create", group: "operation", short: "Create an API key; the secret is shown once", call: "POST /admin/keys",
		fields: []field{
			{flag: "name", required: true, help: "what it is for"},
			{flag: "roles", required: true, kind: description.ListField, help: "operator, screener, settler, viewer, gateway; the institution's keys also reviewer, auditor, policy, ops, admin"},
			{flag: "operator", help: "an operator's id or legal name: only its agents and fleets"},
			{flag: "caller", help: "new: of a merchant, a gateway or a resource server, which sees only its own calls; or the id (cal_…) of one that has keys"},
			{flag: "person", help: "whose key it is; two keys of one person are one person"},
			{flag: "networks", name: "ips", kind: description.ListField, help: "CIDRs it may be used from"},
			{flag: "expires", help: "e.g. 90d, or never (default: 365d, with the role admin 90d)"},
			{flag: "rate", help: "e.g. 2000/s; 0 is off"},
			{flag: "strict", kind: description.TruthField, help: "every unknown member of its screening calls is an error"},
		},
		example: `  railguard key create --name acme-prod --roles screener,operator --operator "Acme Inc" --expires 90d`,
	},
	{path: "key list", short: "List API keys", call: "GET /admin/keys", columns: "keyId name person prefix roles owner strict expiresAt lastUsedAt status", query: pageQuery},
	{path: "key rotate", short: "Give a key another secret; the one before ends at once, or after --overlap", call: "POST /admin/keys/{key-id}/rotate", fields: []field{{flag: "overlap", help: "how long the secret before stays good, e.g. 24h; at most 7d"}}},
	{path: "key end-sessions", short: "Sign a key's person out of the console, everywhere", call: "POST /admin/keys/{key-id}/end-sessions"},
	{path: "key revoke", short: "Revoke a key", call: "DELETE /admin/keys/{key-id}"},
	{path: "log-level show", group: "operation", short: "Show what a node logs from", call: "GET /admin/log-level"},
	{path: "log-level set", group: "operation", short: "Log from another level on, until the node ends", call: "POST /admin/log-level", fields: []field{{flag: "level", required: true, help: "debug, info, warn or error"}}},
	{path: "log-key rotate", group: "operation", short: "Sign the log's checkpoints with new keys from here on", call: "POST /admin/log-key/rotate", fields: []field{{flag: "reason", required: true, help: "why"}}},
	{path: "cluster-secret status", group: "operation", short: "Show how much is still sealed under cluster secrets of before, and whether they may go", call: "GET /admin/cluster-secret", person: showResealing},
	{path: "signing-key list", group: "operation", short: "List the keys that sign credentials and permits", call: "GET /admin/signing-keys", columns: "kid for state activateAt revokedAt"},
	{
		path: "signing-key rotate", short: "Publish a new signing key; it signs 24 hours later", call: "POST /admin/signing-key/rotate", confirm: "emergency", word: "rotate", plan: planRotation,
		fields: []field{{flag: "for", help: "what it signs: credential (the default) or permit"}, {flag: "emergency", kind: description.TruthField, help: "sign with it at once"}, {flag: "revoke", help: "kid whose credentials become BLOCK R2, or whose permits the key set vouches for no more"}, {flag: "reason", help: "why"}},
	},
	{path: "signing-key revoke", short: "Make every token of a retired key BLOCK R2", call: "POST /admin/signing-keys/{kid}/revoke", fields: []field{{flag: "reason", required: true, help: "why"}}},
	{path: "cluster transfer-leader", group: "operation", short: "Hand leadership to another node", call: "POST /v1/cluster/transfer-leader", fields: []field{{name: "to", help: "node id"}}},
	{
		path: "cluster drain", short: "Take the node that is asked out of service: not ready, leadership handed on, then calls refused", call: "POST /v1/cluster/drain",
		fields: []field{{name: "grace", help: "serve calls for so long while not ready, e.g. 15s; at most 10m"}, {flag: "off", name: "drain", kind: oppositeField, help: "take calls again"}},
		example: `  railguard cluster drain --grace 15s --url http://n2:8080   # balancers look elsewhere for 15 seconds, then calls are refused
  railguard cluster drain --off --url http://n2:8080         # back into service`,
	},
	{path: "cluster remove", short: "Remove a node for good: its folder is never admitted again", call: "POST /v1/cluster/remove", subject: "id", example: `  railguard cluster remove --id n3 --confirm n3`},
	{path: "cluster promote", short: "Make a node a voter", call: "POST /v1/cluster/promote"},
	{path: "cluster demote", short: "Make a voter a non-voter", call: "POST /v1/cluster/demote"},
	{
		path: "cluster raise-matcher", short: "Judge names with the next version of the matcher, on every node at once: the last step of an upgrade that brings one", call: "POST /v1/cluster/matcher",
		fields: []field{{name: "to", help: "the version, one above the one in force (cluster status shows both)"}},
	},
	{
		path: "cluster confirm-time", short: "Say that the clocks are right, so that log time may leap: two admins name the same instant", call: "POST /v1/cluster/confirm-time",
		fields:  []field{{flag: "not-after", name: "notAfter", required: true, help: "it is not later than this; readiness names a date"}},
		example: `  railguard cluster confirm-time --not-after 2026-03-23 --reason "the power was away for two days"`,
	},
	{path: "cluster snapshot", short: "Cut the log with a snapshot now", call: "POST /v1/cluster/snapshot"},
	{path: "clock advance", group: "operation", short: "Advance the test clock (development clusters only)", call: "POST /v1/test/clock", fields: []field{{flag: "by", name: "advance", help: "e.g. 25h"}}},
}

// describeCommands are the help texts of commands that group verbs.
var describeCommands = map[string]string{
	"agent": "Agents and their credentials", "fleet": "Fleets: one limit for several agents", "delegate": "Child credentials", "user": "User credentials",
	"sar": "Suspicious activity reports", "sanctions": "Sanctions cases: what a BLOCK because of sanctions leaves to an officer", "alerts": "Alerts: what is no review and wants a person", "review": "The review queue and dispositions", "audit": "Audit records: read, search, explain, replay, export, prove", "match": "Ask the sanctions list",
	"clear": "Cleared pairs: false positives remembered", "policy": "The institution's policy", "whitelist": "The institution's whitelist",
	"backtest": "What another policy or list would have made of recorded calls",
	"shadow":   "What another policy or list makes of calls as they come",
	"retro":    "Screenings of the past against lists",
	"operator": "Operators", "list": "Lists beside OFAC's: status, import, entries, remove", "ofac": "Sanctions lists: status, import, activate, roll back", "key": "API keys (admin listener)",
	"log-level": "What one node logs (admin listener)",
	"webhook":   "Who is sent events", "log-key": "Keys that sign the log's checkpoints (admin listener)", "signing-key": "Keys that sign credentials and permits (admin listener)", "cluster-secret": "What the cluster secret seals (admin listener)", "cluster": "The cluster and its nodes", "clock": "The test clock",
}
