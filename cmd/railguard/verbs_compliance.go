package main

import (
	"net/http"
)

var pageQuery = []field{{flag: "limit", help: "how many (default 50)"}, {flag: "cursor", help: "go on from here"}, {flag: "order", help: "asc: oldest first"}}

var auditQuery = append([]field{
	{flag: "from", help: "from this time on (default: the last 24 hours)"}, {flag: "to", help: "before this time"},
	{flag: "agent", name: "agentId", help: "agent id"}, {flag: "operator", help: "operator's legal name"}, {flag: "verdict", help: "PROCEED, REVIEW, BLOCK or UNKNOWN"},
	{flag: "rule", help: "rule id"}, {flag: "wallet", help: "counterparty wallet"}, {flag: "name", help: "counterparty name"}, {flag: "disposition", help: "APPROVED, REJECTED, ESCALATE_SAR or none"},
}, pageQuery...)

func reviewVerb(name, short, disposition string) verb {
	return verb{
		path: "review " + name, short: short, method: http.MethodPost, url: "/v1/reviews/{txn}", args: []string{"txn"}, keyed: true,
		fields: []field{{flag: "disposition", help: "set by the verb"}, {flag: "by", name: "reviewedBy", required: true, help: "who decides: name or employee id"}, {flag: "notes", help: "why"}},
		preset: map[string]string{"disposition": disposition},
	}
}

func sarVerb(name, short, to string, fields ...field) verb {
	v := verb{
		path: "sar " + name, short: short, method: http.MethodPost, url: "/v1/sar/{txn}/move", args: []string{"txn"}, keyed: true,
		fields:  append([]field{{flag: "to", help: "set by the verb"}, {flag: "by", required: true, help: "who says so: name or employee id"}}, fields...),
		preset:  map[string]string{"to": to},
		example: "  railguard sar " + name + " txn_ntpya6px --by carla",
	}
	for _, f := range fields {
		if f.required || f.flag == "reason" && to == "CLOSED" {
			v.example += map[string]string{"bsa-id": " --bsa-id 31000012345678", "reason": ` --reason "a known caterer: nothing suspicious"`}[f.flag]
		}
	}
	return v
}

var complianceVerbs = []verb{
	{
		path: "review list", group: "compliance", short: "List the review queue", method: http.MethodGet, url: "/v1/queue",
		query: []field{
			{flag: "state", help: "open, claimed, dispositioned or escalated"}, {flag: "rule", help: "rule id"}, {flag: "agent", name: "agentId", help: "agent id"}, {flag: "operator", help: "operator's legal name"},
			{flag: "min-amount", help: "USD"}, {flag: "max-amount", help: "USD"}, {flag: "assignee", help: "who claimed it"}, {flag: "overdue", name: "slaBreached", kind: "bool", help: "only what waits longer than the policy's review.sla"}, {flag: "sort", help: "age, amount or priority"},
		},
		columns: []string{"txnId", "rule", "amount", "agentName", "operatorLegalName", "cpName", "cpWallet", "ageSeconds", "slaDueAt", "state", "assignee"},
	},
	{path: "review show", short: "Show a case: the payment, both names, the list entry, what was decided", method: http.MethodGet, url: "/v1/audit/{txn}", args: []string{"txn"}, person: showRecord, beside: []string{"_policy /v1/policy"}},
	{path: "review next", short: "Lease the next case for ten minutes", method: http.MethodPost, url: "/v1/queue/next", fields: []field{{flag: "by", name: "assignee", help: "who takes it"}, {flag: "filter", kind: "json", help: "filter object"}, {flag: "skip", kind: "list", help: "cases to pass over, divided by commas"}}},
	{path: "review claim", short: "Claim a case", method: http.MethodPost, url: "/v1/queue/{txn}/claim", args: []string{"txn"}, fields: []field{{flag: "by", help: "who takes it"}}},
	{path: "review release", short: "Release a case", method: http.MethodPost, url: "/v1/queue/{txn}/release", args: []string{"txn"}, fields: []field{{flag: "by", help: "who releases it"}, {flag: "force", kind: "bool", help: "release somebody else's claim"}}},
	{path: "review assign", short: "Give a case to somebody, whoever holds it", method: http.MethodPost, url: "/v1/queue/{txn}/assign", args: []string{"txn"}, fields: []field{{flag: "to", name: "assignee", required: true, help: "who is to have it"}, {flag: "by", help: "who assigns"}}},
	{path: "review comment", short: "Comment a case", method: http.MethodPost, url: "/v1/queue/{txn}/comment", args: []string{"txn"}, fields: []field{{flag: "comment", required: true, help: "the comment"}, {flag: "by", help: "who writes"}}},
	reviewVerb("approve", "Approve a REVIEW", "APPROVED"),
	reviewVerb("reject", "Reject a REVIEW", "REJECTED"),
	reviewVerb("escalate", "Escalate a REVIEW to suspicious-activity filing", "ESCALATE_SAR"),
	{
		path: "review bulk", short: "Decide on up to 100 cases at once, each with its own outcome", method: http.MethodPost, url: "/v1/queue/bulk", keyed: true, each: true,
		fields: []field{
			{flag: "txns", name: "txnIds", kind: "list", required: true, help: "the cases, divided by commas"}, {flag: "disposition", required: true, help: "APPROVED, REJECTED or ESCALATE_SAR"},
			{flag: "by", name: "reviewedBy", required: true, help: "who decides: name or employee id"}, {flag: "notes", help: "why"},
		},
		example: `  railguard review bulk --txns txn_ntpya6px,txn_q13Dd1Ez --disposition REJECTED --by carla --notes "one pattern, not our customers"`,
	},
	{path: "review withdraw", short: "Withdraw what another person proposed (four eyes)", method: http.MethodPost, url: "/v1/reviews/{txn}/withdraw", args: []string{"txn"}, keyed: true, fields: []field{{flag: "by", name: "reviewedBy", required: true, help: "who withdraws: name or employee id"}, {flag: "reason", help: "why"}}},
	{
		path: "alerts list", group: "compliance", short: "List alerts: what is no review and wants a person", method: http.MethodGet, url: "/v1/alerts",
		query:   []field{{flag: "state", help: "open or acknowledged"}, {flag: "kind", help: "retro_hit, late_settle, over_limit, not_allowed, list_quarantine or operator_listed"}},
		columns: []string{"alertId", "openedAt", "kind", "state", "txnId", "operatorLegalName", "amountUSDC", "acknowledgedBy"},
		example: `  railguard alerts list --state open`,
	},
	{path: "alerts show", short: "Show an alert", method: http.MethodGet, url: "/v1/alerts/{alert}", args: []string{"alert"}, example: `  railguard alerts show alr_fs5wtzwmmu4e`},
	{
		path: "alerts ack", short: "Acknowledge an alert: you have looked at it, and say why it needs nothing more", method: http.MethodPost, url: "/v1/alerts/{alert}/acknowledge", args: []string{"alert"}, keyed: true,
		fields:  []field{{flag: "by", required: true, help: "who looked: name or employee id"}, {flag: "reason", required: true, help: "why it needs nothing more"}},
		example: `  railguard alerts ack alr_fs5wtzwmmu4e --by carla --reason "the rail settles late on Sundays"`,
	},
	{
		path: "sar list", group: "compliance", short: "List suspicious activity reports", method: http.MethodGet, url: "/v1/sar",
		query:   []field{{flag: "state", help: "DRAFT, READY, FILED or CLOSED"}, {flag: "overdue", kind: "bool", help: "only those whose 30 days are over and that are not filed"}},
		columns: []string{"txnId", "state", "openedAt", "dueAt", "overdue", "escalatedBy"},
		example: `  railguard sar list --order asc   # in the order in which they fall due`,
	},
	{
		path: "sar show", short: "Show all that a report needs, gathered from the records", method: http.MethodGet, url: "/v1/sar/{txn}", args: []string{"txn"},
		query: []field{{flag: "format", help: "json, html (a page to print), csv (the payments) or xml (a draft in the shape of FinCEN's batch file)"}}, form: "format",
		example: `  railguard sar show txn_ntpya6px
  railguard sar show txn_ntpya6px -o json > packet.json
  railguard sar show txn_ntpya6px --format xml > draft.xml`,
	},
	sarVerb("ready", "Say that a report is ready to be filed", "READY", field{flag: "narrative", help: "its text (default: the one it has)"}, field{flag: "reason", help: "why"}),
	sarVerb("redraft", "Make a report a draft again", "DRAFT", field{flag: "reason", help: "why"}),
	sarVerb("filed", "Say that a report was filed", "FILED", field{flag: "bsa-id", required: true, help: "the id of the filing"}),
	sarVerb("close", "Close a report", "CLOSED", field{flag: "reason", help: "why; required where it was not filed"}),
	{path: "audit get", group: "compliance", short: "Show an audit record", method: http.MethodGet, url: "/v1/audit/{txn}", args: []string{"txn"}, person: showRecord, beside: []string{"_policy /v1/policy"}},
	{path: "audit list", short: "Search the audit log", method: http.MethodGet, url: "/v1/audit", query: auditQuery, columns: []string{"txnId", "screenedAt", "verdict", "rule", "agentId", "operatorLegalName"}},
	{path: "audit explain", short: "Show every rule of a record and why each passed or fired", method: http.MethodGet, url: "/v1/audit/{txn}/explain", args: []string{"txn"}, person: showRecord, beside: []string{"/v1/audit/{txn}", "_policy /v1/policy"}},
	{path: "audit replay", short: "Judge a record again from its own evidence", method: http.MethodPost, url: "/v1/audit/{txn}/replay", args: []string{"txn"}},
	{
		path: "match", group: "compliance", short: "Show what a name or wallet matches on the active list", method: http.MethodGet, url: "/v1/match", loose: "name",
		query: []field{{flag: "name", help: "a party's name"}, {flag: "wallet", help: "a wallet"}, {flag: "type", name: "cpType", help: "individual, business or exchange"}, {flag: "explain", kind: "bool", help: "why each name matches, pair by pair"}, {flag: "country", name: "cpCountry", help: "the party's country, orders equal matches"}, {flag: "birth-date", name: "cpDateOfBirth", help: "its date of birth, likewise"}, {flag: "address", name: "cpAddress", help: "its address, likewise"}},
		example: `  railguard match "Nicolas Maduro Moros" --type individual --explain
  railguard match "Nicola Maduro" --birth-date 1962-11-23 --country Venezuela --explain`,
		person: showMatches,
	},
	{
		path: "match name", short: "The same", method: http.MethodGet, url: "/v1/match", loose: "name",
		query:  []field{{flag: "name", help: "a party's name"}, {flag: "wallet", help: "a wallet"}, {flag: "type", name: "cpType", help: "individual, business or exchange"}, {flag: "explain", kind: "bool", help: "why each name matches, pair by pair"}, {flag: "country", name: "cpCountry", help: "the party's country, orders equal matches"}, {flag: "birth-date", name: "cpDateOfBirth", help: "its date of birth, likewise"}, {flag: "address", name: "cpAddress", help: "its address, likewise"}},
		person: showMatches,
	},
	{
		path: "clear add", group: "compliance", short: "Clear a pair: this name is not that listed entry (quietens R21 only)", method: http.MethodPost, url: "/v1/cleared", keyed: true,
		fields:  []field{{flag: "name", required: true, help: "the party's name"}, {flag: "uid", kind: "number", required: true, help: "the listed entry"}, {flag: "reason", required: true, help: "why"}, {flag: "expires-at", required: true, help: "until when, at most a year from now"}, {flag: "by", name: "clearedBy", help: "who decides"}},
		example: `  railguard clear add --name "Lazarus Groupe" --uid 27307 --expires-at 2027-01-01 --by carla --reason "a bakery in Lyon: passport seen"`,
	},
	{path: "clear list", short: "List cleared pairs", method: http.MethodGet, url: "/v1/cleared", columns: []string{"clearedId", "name", "uid", "entryName", "expiresAt", "inForce", "void", "reason", "clearedBy"}},
	{path: "clear remove", short: "Remove a cleared pair", method: http.MethodDelete, url: "/v1/cleared/{cleared}", args: []string{"cleared"}},
	{path: "policy get", group: "compliance", short: "Show the institution's policy", method: http.MethodGet, url: "/v1/policy"},
	{path: "policy versions", short: "List the policy's versions", method: http.MethodGet, url: "/v1/policy/versions", columns: []string{"policyVersion", "activatedAt", "reason"}},
	{path: "whitelist get", group: "compliance", short: "Show the institution's whitelist", method: http.MethodGet, url: "/v1/whitelist"},
	{path: "whitelist put", short: "Replace the institution's whitelist", method: http.MethodPut, url: "/v1/whitelist", fields: []field{{flag: "mode", help: "enforce or off"}, {flag: "entries", kind: "json", help: "JSON list of entries"}, {flag: "kinds", kind: "json", help: "JSON list of wallet, name: what the list speaks of"}, {flag: "reason", help: "why; required for a widening"}, {flag: "by", name: "actor", help: "who decides"}}, example: `  railguard whitelist put --mode enforce --entries '[{"name":"Acme Ltd"}]' --by carla`},
	{path: "whitelist add", short: "Add an entry to the institution's whitelist", method: http.MethodPost, url: "/v1/whitelist/entries", fields: []field{{flag: "wallet", help: "an approved wallet"}, {flag: "name", help: "an approved name, in place of a wallet"}, {flag: "label", help: "free text"}, {flag: "expires-at", help: "until when"}, {flag: "by", name: "addedBy", help: "who decides"}, {flag: "reason", help: "why; required where the list is enforced"}}, keyed: true, example: `  railguard whitelist add --name "Acme Ltd" --by carla`},
	{path: "whitelist remove", short: "Remove an entry from the institution's whitelist", method: http.MethodDelete, url: "/v1/whitelist/entries/{entry}", args: []string{"entry"}},
	{path: "operator suspend", group: "compliance", short: "Suspend all agents of an operator", method: http.MethodPost, url: "/v1/operators/suspend", keyed: true, fields: []field{{flag: "operator-legal-name", required: true, help: "the operator"}, {flag: "reason", required: true, help: "why"}, {flag: "by", name: "actor", required: true, help: "who decides"}}},
	{path: "operator reinstate", short: "Lift an operator's suspension", method: http.MethodPost, url: "/v1/operators/reinstate", keyed: true, fields: []field{{flag: "operator-legal-name", required: true, help: "the operator"}, {flag: "reason", required: true, help: "why"}, {flag: "by", name: "actor", required: true, help: "who decides"}}},
}

var operationVerbs = []verb{
	{path: "ofac status", group: "compliance", short: "Show the active sanctions list and its history", method: http.MethodGet, url: "/v1/ofac"},
	{path: "ofac sync", short: "Fetch the published list now", method: http.MethodPost, url: "/v1/ofac/sync"},
	{path: "ofac diff", short: "Compare a list with the active one", method: http.MethodGet, url: "/v1/ofac/{snapshot}/diff", args: []string{"snapshot"}, query: []field{{flag: "against", help: "active, or a snapshot id"}}},
	{path: "ofac activate", short: "Activate a staged list at one log index on every node", method: http.MethodPost, url: "/v1/ofac/{snapshot}/activate", args: []string{"snapshot"}, fields: []field{{flag: "force", kind: "bool", help: "past failed checks; needs a reason"}, {flag: "reason", help: "why"}, {flag: "by", name: "actor", help: "who decides"}}},
	{path: "ofac undo", short: "Make the list before the active one active again", method: http.MethodPost, url: "/v1/ofac/rollback", fields: []field{{flag: "reason", required: true, help: "why"}, {flag: "by", name: "actor", help: "who decides"}}},
	{path: "ofac rollback", short: "Make an older list active again", method: http.MethodPost, url: "/v1/ofac/{snapshot}/rollback", args: []string{"snapshot"}, fields: []field{{flag: "reason", required: true, help: "why"}, {flag: "by", name: "actor", help: "who decides"}}},
	{
		path: "key create", group: "operation", short: "Create an API key; the secret is shown once", method: http.MethodPost, url: "/admin/keys", admin: true,
		example: `  railguard key create --name acme-prod --roles screener,operator --operator "Acme Inc" --expires 90d`,
		fields:  []field{{flag: "name", required: true, help: "what it is for"}, {flag: "roles", kind: "list", help: "operator, screener, reviewer, auditor, policy, ops, admin (default: admin)"}, {flag: "operator", help: "only this operator's agents and fleets"}, {flag: "networks", name: "ips", kind: "list", help: "CIDRs it may be used from"}, {flag: "expires", help: "e.g. 90d"}, {flag: "rate", help: "e.g. 2000/s; 0 is off"}, {flag: "strict", kind: "bool", help: "every unknown member of its screening calls is an error"}},
	},
	{path: "key list", short: "List API keys", method: http.MethodGet, url: "/admin/keys", admin: true, query: pageQuery, columns: []string{"keyId", "name", "prefix", "roles", "operator", "strict", "expiresAt", "status"}},
	{path: "key rotate", short: "Give a key a second secret; the older one stays until the next rotation", method: http.MethodPost, url: "/admin/keys/{key-id}/rotate", args: []string{"key-id"}, admin: true},
	{path: "key revoke", short: "Revoke a key", method: http.MethodDelete, url: "/admin/keys/{key-id}", args: []string{"key-id"}, admin: true},
	{path: "log-level show", group: "operation", short: "Show what a node logs from", method: http.MethodGet, url: "/admin/log-level", admin: true},
	{path: "log-level set", group: "operation", short: "Log from another level on, until the node ends", method: http.MethodPost, url: "/admin/log-level", admin: true, fields: []field{{flag: "level", required: true, help: "debug, info, warn or error"}}},
	{path: "log-key rotate", group: "operation", short: "Sign the log's checkpoints with new keys from here on", method: http.MethodPost, url: "/admin/log-key/rotate", admin: true, fields: []field{{flag: "reason", required: true, help: "why"}}},
	{path: "cluster-secret status", group: "operation", short: "Show how much is still sealed under cluster secrets of before, and whether they may go", method: http.MethodGet, url: "/admin/cluster-secret", admin: true, person: showResealing},
	{path: "signing-key list", group: "operation", short: "List the keys that sign credentials", method: http.MethodGet, url: "/admin/signing-keys", admin: true, columns: []string{"kid", "state", "activateAt", "revokedAt"}},
	{path: "signing-key rotate", short: "Publish a new signing key; it signs 24 hours later", confirm: "emergency", word: "rotate", plan: planRotation, method: http.MethodPost, url: "/admin/signing-key/rotate", admin: true, fields: []field{{flag: "emergency", kind: "bool", help: "sign with it at once"}, {flag: "revoke", help: "kid whose tokens become BLOCK R2"}, {flag: "reason", help: "why"}}},
	{path: "signing-key revoke", short: "Make every token of a retired key BLOCK R2", method: http.MethodPost, url: "/admin/signing-keys/{kid}/revoke", args: []string{"kid"}, admin: true, fields: []field{{flag: "reason", required: true, help: "why"}}},
	{path: "cluster join", group: "operation", short: "Take in a node that waits at a cluster address", method: http.MethodPost, url: "/v1/cluster/join", fields: []field{{flag: "id", required: true, help: "node id"}, {flag: "addr", required: true, help: "its cluster address"}}},
	{path: "cluster transfer-leader", group: "operation", short: "Hand leadership to another node", method: http.MethodPost, url: "/v1/cluster/transfer-leader", fields: []field{{flag: "to", help: "node id"}}},
	{
		path: "cluster drain", short: "Take the node that is asked out of service: not ready, leadership handed on, then calls refused", method: http.MethodPost, url: "/v1/cluster/drain",
		example: `  railguard cluster drain --grace 15s --url http://n2:8080   # balancers look elsewhere for 15 seconds, then calls are refused
  railguard cluster drain --off --url http://n2:8080         # back into service`,
		fields: []field{{flag: "grace", help: "serve calls for so long while not ready, e.g. 15s; at most 10m"}, {flag: "off", name: "drain", kind: "off", help: "take calls again"}},
	},
	{path: "cluster remove", short: "Remove a node", method: http.MethodPost, url: "/v1/cluster/remove", fields: []field{{flag: "id", required: true, help: "node id"}, {flag: "force", kind: "bool", help: "although no majority of the others answers"}}},
	{path: "cluster promote", short: "Make a node a voter", method: http.MethodPost, url: "/v1/cluster/promote", fields: []field{{flag: "id", required: true, help: "node id"}}},
	{path: "cluster demote", short: "Make a voter a non-voter", method: http.MethodPost, url: "/v1/cluster/demote", fields: []field{{flag: "id", required: true, help: "node id"}, {flag: "force", kind: "bool", help: "although no majority of the others answers"}}},
	{path: "cluster raise-matcher", short: "Judge names with the next version of the matcher, on every node at once: the last step of an upgrade that brings one", method: http.MethodPost, url: "/v1/cluster/matcher", keyed: true, fields: []field{{flag: "to", kind: "number", required: true, help: "the version, one above the one in force (cluster status shows both)"}, {flag: "reason", help: "why"}, {flag: "by", name: "actor", help: "who decides"}}},
	{path: "cluster snapshot", short: "Cut the log with a snapshot now", method: http.MethodPost, url: "/v1/cluster/snapshot"},
	{path: "clock advance", group: "operation", short: "Advance the test clock (development clusters only)", method: http.MethodPost, url: "/v1/test/clock", fields: []field{{flag: "by", name: "advance", required: true, help: "e.g. 25h"}}},
}

var describeCommands = map[string]string{
	"agent": "Agents and their credentials", "fleet": "Fleets: one limit for several agents", "delegate": "Child credentials", "user": "User credentials",
	"sar": "Suspicious activity reports", "alerts": "Alerts: what is no review and wants a person", "review": "The review queue and dispositions", "audit": "Audit records: read, search, explain, replay, export, prove", "match": "Ask the sanctions list",
	"clear": "Cleared pairs: false positives remembered", "policy": "The institution's policy", "whitelist": "The institution's whitelist",
	"backtest": "What another policy or list would have made of recorded calls",
	"shadow":   "What another policy or list makes of calls as they come",
	"retro":    "Screenings of the past against lists",
	"operator": "Operators", "ofac": "Sanctions lists: status, import, activate, roll back", "key": "API keys (admin listener)",
	"log-level": "What one node logs (admin listener)",
	"webhook":   "Who is sent events", "log-key": "Keys that sign the log's checkpoints (admin listener)", "signing-key": "Keys that sign credentials (admin listener)", "cluster-secret": "What the cluster secret seals (admin listener)", "cluster": "The cluster and its nodes", "clock": "The test clock",
}

var hookFields = []field{
	{flag: "name", help: "what to call it"},
	{flag: "types", kind: "list", help: "types of events or groups, comma-separated (screen.block,hold.*); none: all but screen.proceed and webhook.dead_letter"},
	{flag: "sar-allowed", kind: "bool", help: "it may be told what tells of suspicion"},
}

var whySaidField = field{flag: "reason", help: "why, for the audit record"}

var hookArgument = []string{"webhook"}

// webhookVerbs set up who is sent events.
var webhookVerbs = []verb{
	{
		path: "webhook create", group: "compliance", short: "Have events sent to a URL; prints the secret, once", method: http.MethodPost, url: "/v1/webhooks", keyed: true,
		example: `  railguard webhook create --endpoint https://hooks.example.com/railguard --types 'screen.block,review.*,hold.*'`,
		fields: append([]field{
			{flag: "endpoint", name: "url", required: true, help: "https, port 443"}, {flag: "secret", help: "whsec_ and the base64 of 24 to 64 bytes; drawn if left out"},
		}, hookFields...),
	},
	{path: "webhook list", short: "List webhooks", method: http.MethodGet, url: "/v1/webhooks", columns: []string{"webhookId", "name", "url", "state", "operator", "types"}},
	{path: "webhook show", short: "Show a webhook and how far it is", method: http.MethodGet, url: "/v1/webhooks/{webhook}", args: hookArgument},
	{
		path: "webhook set", short: "Change a webhook; it is your key's from then on", method: http.MethodPatch, url: "/v1/webhooks/{webhook}", args: hookArgument,
		fields: append(append([]field{{flag: "endpoint", name: "url", help: "https, port 443"}, {flag: "off", kind: "bool", help: "send nothing; what happens meanwhile is sent when it is on again"}}, hookFields...), whySaidField),
	},
	{path: "webhook delete", short: "Delete a webhook", method: http.MethodDelete, url: "/v1/webhooks/{webhook}", args: hookArgument},
	{
		path: "webhook rotate", short: "Replace a webhook's secret and key; prints the new secret, once", method: http.MethodPost, url: "/v1/webhooks/{webhook}/rotate-secret", args: hookArgument, keyed: true,
		fields: []field{{flag: "overlap", name: "overlapSeconds", kind: "number", help: "seconds for which the older ones sign as well (default a day; 0: they are known to others)"}, {flag: "secret", help: "whsec_ and the base64 of 24 to 64 bytes; drawn if left out"}, whySaidField},
	},
	{path: "webhook test", short: "Send one message of the type webhook.test now", method: http.MethodPost, url: "/v1/webhooks/{webhook}/test", args: hookArgument},
	{
		path: "webhook deliveries", short: "List what was given up, and what is to be sent again", method: http.MethodGet, url: "/v1/webhooks/{webhook}/deliveries", args: hookArgument,
		query: []field{{flag: "limit", help: "how many (default 50)"}, {flag: "cursor", help: "go on from here"}}, columns: []string{"eventId", "state", "attempts", "status", "at"},
	},
	{
		path: "webhook redeliver", short: "Send one event again, or all that were given up", method: http.MethodPost, url: "/v1/webhooks/{webhook}/redeliver", args: hookArgument, keyed: true,
		fields:  []field{{flag: "event", name: "eventId", help: "the id of an event"}, {flag: "all", kind: "bool", help: "all dead letters"}},
		example: "  railguard webhook redeliver whk_1 --event evt_4711_0\n  railguard webhook redeliver whk_1 --all",
	},
}

var jobColumns = []string{"id", "state", "createdAt", "from", "to", "records", "changed"}

// foresightVerbs ask what another policy or list would have done.
var foresightVerbs = []verb{
	{
		path: "backtest run", group: "compliance", short: "Judge recorded calls again under another policy or list, beside what is served", method: http.MethodPost, url: "/v1/backtests",
		fields: []field{
			{flag: "policy", kind: "document", help: "file with the candidate policy, JSON (default: what was in force)"},
			{flag: "list", name: "listSnapshotId", help: "snapshot id of the candidate list (default: what was active)"},
			{flag: "from", required: true, help: "calls from this time on"}, {flag: "to", help: "up to this time (default: now)"},
		},
		example: `  railguard backtest run --policy candidate.json --from 2026-03-01T00:00:00Z
  railguard backtest show bt_1f2e3d4c5b6a_n1`,
	},
	{path: "backtest show", short: "Show how far a backtest is and what came of it", method: http.MethodGet, url: "/v1/backtests/{backtest}", args: []string{"backtest"}},
	{path: "backtest list", short: "List the backtests that the nodes remember", method: http.MethodGet, url: "/v1/backtests", columns: jobColumns},
	{
		path: "shadow start", group: "compliance", short: "Judge calls as they come under another policy or list, beside the verdicts", method: http.MethodPost, url: "/v1/policy/shadow",
		fields: []field{
			{flag: "policy", kind: "document", help: "file with the candidate policy, JSON"}, {flag: "list", name: "listSnapshotId", help: "snapshot id of a candidate list, in place of a policy"},
			{flag: "days", kind: "number", help: "how long, 1 to 30 (default 30)"},
		},
		example: "  railguard shadow start --policy candidate.json --days 7",
	},
	{path: "shadow show", short: "Show what came of a shadow so far", method: http.MethodGet, url: "/v1/policy/shadow/{shadow}", args: []string{"shadow"}},
	{path: "shadow list", short: "List the shadows that the nodes remember", method: http.MethodGet, url: "/v1/policy/shadow", columns: jobColumns},
	{path: "shadow stop", short: "End a shadow", method: http.MethodPost, url: "/v1/policy/shadow/{shadow}/stop", args: []string{"shadow"}},
	{path: "shadow promote", short: "Put the candidate of a shadow into force", method: http.MethodPost, url: "/v1/policy/shadow/{shadow}/promote", args: []string{"shadow"}, keyed: true, fields: []field{{flag: "reason", help: "why; required where it is wider"}, {flag: "by", name: "actor", help: "who decides"}}},
	{path: "retro list", group: "compliance", short: "List the screenings of the past against lists", method: http.MethodGet, url: "/v1/ofac/retro", columns: []string{"retroId", "state", "listSnapshotId", "against", "startedAt", "hits", "known"}},
	{path: "retro show", short: "Show whom a screening of the past found", method: http.MethodGet, url: "/v1/ofac/retro/{retro}", args: []string{"retro"}, query: pageQuery[:2]},
	{
		path: "retro run", short: "Screen the past against a list", method: http.MethodPost, url: "/v1/ofac/retro", keyed: true,
		fields:  []field{{flag: "days", kind: "number", help: "how far back, 1 to 90 (default 90)"}, {flag: "list", name: "listSnapshotId", help: "a list that is or was active (default: the active one)"}, {flag: "against", help: "a list before it, whose entries are left out"}},
		example: "  railguard retro run --days 30\n  railguard retro list",
	},
	{path: "backtest cancel", short: "End a backtest", method: http.MethodPost, url: "/v1/backtests/{backtest}/cancel", args: []string{"backtest"}},
}
