package main

import "railguard/httpapi/description"

// pageQuery are the parameters of a list on the admin listener.
var pageQuery = []field{{flag: "limit", help: listingHelp["limit"]}, {flag: "cursor", help: listingHelp["cursor"]}, {flag: "order", help: listingHelp["order"]}}

// partyFields are short flags for the properties by which a party is looked up.
var partyFields = []field{{flag: "type", name: "cpType"}, {flag: "country", name: "cpCountry"}, {flag: "birth-date", name: "cpDateOfBirth"}, {flag: "address", name: "cpAddress"}}

// entryFields are the help texts for the members of an approved party.
var entryFields = []field{{flag: "wallet", help: "an approved wallet"}, {flag: "name", help: "an approved name, in place of a wallet"}, {flag: "reason", help: "why; required where the list is enforced"}}

// hookFields are the help texts for a webhook's members that the description lacks.
var hookFields = []field{{flag: "name", help: "what to call it"}, {flag: "off", help: "send nothing; what happens meanwhile is sent when it is on again"}}

// complianceVerbs are about reviews, alerts, reports, evidence and policy.
var complianceVerbs = []verb{
	{
		path: "review list", group: "compliance", short: "List the review queue", call: "GET /v1/queue", columns: "txnId rule amount agentName operatorLegalName cpName cpWallet ageSeconds slaDueAt state assignee",
		query: []field{{name: "state", help: "open, claimed, dispositioned or escalated"}, {name: "slaBreached", kind: description.TruthField}},
	},
	{path: "review show", short: "Show a case: the payment, both names, the list entry, what was decided", call: "GET /v1/audit/{txn}", person: showRecord, beside: []string{"_policy /v1/policy"}},
	{path: "review next", short: "Lease the next case for ten minutes", call: "POST /v1/queue/next", omit: "reviewedBy by", fields: []field{{flag: "by", name: "assignee", help: "who takes it"}}},
	{path: "review claim", short: "Claim a case", call: "POST /v1/queue/{txn}/claim", omit: "assignee reviewedBy"},
	{path: "review release", short: "Release a case", call: "POST /v1/queue/{txn}/release", omit: "assignee reviewedBy", fields: []field{{name: "force", help: "release somebody else's claim"}}},
	{path: "review assign", short: "Give a case to somebody, whoever holds it", call: "POST /v1/queue/{txn}/assign", omit: "reviewedBy", fields: []field{{flag: "to", name: "assignee", help: "who is to have it"}}},
	{path: "review comment", short: "Comment a case", call: "POST /v1/queue/{txn}/comment", omit: "assignee reviewedBy"},
	{path: "review approve", short: "Approve a REVIEW", call: "POST /v1/reviews/{txn}", preset: map[string]string{"disposition": "APPROVED"}},
	{path: "review reject", short: "Reject a REVIEW", call: "POST /v1/reviews/{txn}", preset: map[string]string{"disposition": "REJECTED"}},
	{path: "review escalate", short: "Escalate a REVIEW to suspicious-activity filing", call: "POST /v1/reviews/{txn}", preset: map[string]string{"disposition": "ESCALATE_SAR"}},
	{
		path: "review bulk", short: "Decide on up to 100 cases at once, each with its own outcome", call: "POST /v1/queue/bulk", each: true,
		example: `  railguard review bulk --txns txn_ntpya6px,txn_q13Dd1Ez --disposition REJECTED --by carla --notes "one pattern, not our customers"`,
	},
	{path: "review withdraw", short: "Withdraw what another person proposed (four eyes)", call: "POST /v1/reviews/{txn}/withdraw", fields: []field{{name: "reviewedBy", help: "who withdraws: name or employee id"}}},
	{
		path: "proposal list", group: "compliance", short: "List acts that wait for a second person", call: "GET /v1/proposals", columns: "proposalId proposedAt act disposition twoPersons txnId proposedBy expiresAt mayConfirm",
		example: "  railguard proposal list",
	},
	{path: "proposal show", short: "Show what is proposed, by whom, and whether you may confirm it", call: "GET /v1/proposals/{proposal}"},
	{
		path: "proposal confirm", short: "Do what another person proposed", call: "POST /v1/proposals/{proposal}/confirm", fields: []field{{flag: "reason", help: "why"}},
		example: "  railguard proposal confirm prp_fs5wtzwmmu4e",
	},
	{path: "proposal withdraw", short: "Withdraw a proposal", call: "POST /v1/proposals/{proposal}/withdraw", fields: []field{{flag: "reason", help: "why"}}},
	{
		path: "alerts list", group: "compliance", short: "List alerts: what is no review and wants a person", call: "GET /v1/alerts", columns: "alertId openedAt kind state txnId operatorLegalName amount acknowledgedBy",
		example: "  railguard alerts list --state open",
	},
	{path: "alerts show", short: "Show an alert", call: "GET /v1/alerts/{alert}", example: "  railguard alerts show alr_fs5wtzwmmu4e"},
	{
		path: "alerts ack", short: "Acknowledge an alert: you have looked at it, and say why it needs nothing more", call: "POST /v1/alerts/{alert}/acknowledge",
		example: `  railguard alerts ack alr_fs5wtzwmmu4e --by carla --reason "the rail settles late on Sundays"`,
	},
	{
		path: "sar list", group: "compliance", short: "List suspicious activity reports", call: "GET /v1/sar", columns: "txnId state openedAt dueAt overdue openedBy",
		query:   []field{{name: "overdue", help: "only those whose 30 days are over and that are not filed"}},
		example: "  railguard sar list --order asc   # in the order in which they fall due",
	},
	{
		path: "sar show", short: "Show all that a report needs, gathered from the records", call: "GET /v1/sar/{txn}", form: "format",
		query: []field{{flag: "format", help: "json, html (a page to print), csv (the payments) or xml (a draft in the shape of FinCEN's batch file)"}},
		example: `  railguard sar show txn_ntpya6px
  railguard sar show txn_ntpya6px -o json > packet.json
  railguard sar show txn_ntpya6px --format xml > draft.xml`,
	},
	{
		path: "sar open", short: "Open a report of any record", call: "POST /v1/sar",
		fields:  []field{{name: "txnId", required: true, help: "the transaction"}, {name: "reason", required: true, help: "why"}},
		example: `  railguard sar open --txn-id txn_ntpya6px --by carla --reason "paid in parts below the limit"`,
	},
	{
		path: "sar write", short: "Write the narrative of a report", call: "PUT /v1/sar/{txn}/narrative",
		fields:  []field{{name: "narrative", required: true, help: "the text"}, {name: "replaces", help: "the narrativeSha256 of the narrative that was read; left out where nobody had written one"}},
		example: `  railguard sar write txn_ntpya6px --by carla --narrative "From May to July three agents paid …"`,
	},
	{path: "sar ready", short: "Say that a report is ready to be filed", call: "POST /v1/sar/{txn}/move", omit: "bsaId", preset: map[string]string{"to": "READY"}, fields: []field{{flag: "reason", help: "why"}}, example: "  railguard sar ready txn_ntpya6px --by carla"},
	{path: "sar redraft", short: "Make a report a draft again", call: "POST /v1/sar/{txn}/move", omit: "bsaId", preset: map[string]string{"to": "DRAFT"}, fields: []field{{flag: "reason", help: "why"}}, example: "  railguard sar redraft txn_ntpya6px --by carla"},
	{
		path: "sar filed", short: "Say that a report was filed", call: "POST /v1/sar/{txn}/move", preset: map[string]string{"to": "FILED"},
		fields:  []field{{name: "bsaId", required: true, help: "the id of the filing"}, {flag: "reason", help: "why"}},
		example: "  railguard sar filed txn_ntpya6px --by carla --bsa-id 31000012345678",
	},
	{path: "sar close", short: "Close a report", call: "POST /v1/sar/{txn}/move", omit: "bsaId", preset: map[string]string{"to": "CLOSED"}, fields: []field{{flag: "reason", help: "why; required where it was not filed"}}, example: `  railguard sar close txn_ntpya6px --by carla --reason "a known caterer: nothing suspicious"`},
	{
		path: "sanctions list", group: "compliance", short: "List sanctions cases", call: "GET /v1/sanctions/cases", columns: "caseId state kind listedName place operatorLegalName count amountUSDC dueAt overdue reference",
		query:   []field{{name: "overdue", help: "only those whose ten business days are over and that are not reported"}},
		example: "  railguard sanctions list --order asc   # in the order in which they fall due",
	},
	{
		path: "sanctions open", short: "Open a case of a payment that went ahead", call: "POST /v1/sanctions/cases",
		fields:  []field{{name: "txnId", required: true, help: "the transaction"}, {name: "reason", required: true, help: "how you know that it is the listed party or place"}, {name: "uid", help: "the number of the listed party"}, {name: "place", help: "instead of uid: an ISO 3166 code"}},
		example: `  railguard sanctions open --txn-id txn_ntpya6px --by carla --uid 27307 --reason "the same date of birth as the entry of today"`,
	},
	{path: "sanctions show", short: "Show a case: the comparison with the listed party, its payments, its history", call: "GET /v1/sanctions/cases/{case}", example: "  railguard sanctions show case_fs5wtzwmmu4e"},
	{
		path: "sanctions report", short: "Draft the report of a case (31 CFR 501.603, 501.604)", call: "GET /v1/sanctions/cases/{case}/report", form: "format",
		query:   []field{{flag: "format", help: "json, html (a page to print) or csv (a table of the members)"}},
		example: "  railguard sanctions report case_fs5wtzwmmu4e --format html > report.html",
	},
	{
		path: "sanctions true-match", short: "Say that it is the listed party or place, and whether a transaction was rejected or property is blocked", call: "POST /v1/sanctions/cases/{case}/move", omit: "reference reason",
		preset: map[string]string{"to": "TRUE_MATCH"},
		fields: []field{{name: "kind", required: true, help: "rejected_transaction or blocked_property"}, {name: "property", help: "of blocked_property: party, description, location, authority, action, valueUSD"}},
		example: `  railguard sanctions true-match case_fs5wtzwmmu4e --kind rejected_transaction --by carla
  railguard sanctions true-match case_fs5wtzwmmu4e --kind blocked_property --by carla --property '{"party":"LAZARUS GROUP","description":"50 USDC","location":"custody wallet 7","authority":"E.O. 13722","action":"kept in a blocked wallet","valueUSD":50}'`,
	},
	{
		path: "sanctions not-the-party", short: "Say that it is somebody else; the next payment is blocked all the same", call: "POST /v1/sanctions/cases/{case}/move", omit: "reference kind property",
		preset: map[string]string{"to": "NOT_THE_PARTY"}, fields: []field{{flag: "reason", required: true, help: "why"}},
		example: `  railguard sanctions not-the-party case_fs5wtzwmmu4e --by carla --reason "born in 1990, not in 1962"`,
	},
	{path: "sanctions reopen", short: "Look at a case again that was found to be somebody else", call: "POST /v1/sanctions/cases/{case}/move", omit: "reference kind property", preset: map[string]string{"to": "OPEN"}, fields: []field{{flag: "reason", required: true, help: "why"}}},
	{
		path: "sanctions reported", short: "Say that a case was reported to OFAC", call: "POST /v1/sanctions/cases/{case}/move", omit: "kind property", preset: map[string]string{"to": "REPORTED"},
		fields:  []field{{name: "reference", required: true, help: "what OFAC's system gave"}, {flag: "reason", help: "why"}},
		example: "  railguard sanctions reported case_fs5wtzwmmu4e --by carla --reference ORS-2026-000123",
	},
	{path: "sanctions close", short: "Close a case: reported, or its property is blocked no more", call: "POST /v1/sanctions/cases/{case}/move", omit: "reference kind property", preset: map[string]string{"to": "CLOSED"}, fields: []field{{flag: "reason", required: true, help: "why"}}},
	{
		path: "sanctions property", short: "Show the register of blocked property; as of 30 June it is the annual report", call: "GET /v1/sanctions/blocked-property", form: "format", columns: "caseId blockedAt party uid place description location authority action valueUSD valueAsOf reference releasedAt",
		query:   []field{{flag: "format", help: "json, html (a page to print) or csv"}},
		example: "  railguard sanctions property --as-of 2026-06-30 --format csv > annual.csv",
	},
	{path: "audit get", group: "compliance", short: "Show an audit record", call: "GET /v1/audit/{txn}", person: showRecord, beside: []string{"_policy /v1/policy"}},
	{path: "audit list", short: "Search the audit log", call: "GET /v1/audit", columns: "txnId screenedAt verdict rule agentId operatorLegalName", query: []field{{flag: "from", help: "from this time on (default: the last 24 hours)"}, {flag: "to", help: "before this time"}}},
	{path: "audit explain", short: "Show every rule of a record and why each passed or fired", call: "GET /v1/audit/{txn}/explain", person: showRecord, beside: []string{"/v1/audit/{txn}", "_policy /v1/policy"}},
	{path: "audit replay", short: "Judge a record again from its own evidence", call: "POST /v1/audit/{txn}/replay"},
	{
		path: "match", group: "compliance", short: "Show what a name or wallet matches on the active list", call: "POST /v1/match", loose: "name", person: showMatches,
		fields: partyFields,
		example: `  railguard match "Nicolas Maduro Moros" --type individual --explain
  railguard match "Nicola Maduro" --birth-date 1962-11-23 --country Venezuela --explain`,
	},
	{path: "match name", short: "The same", call: "POST /v1/match", loose: "name", person: showMatches, fields: partyFields},
	{
		path: "clear add", group: "compliance", short: "Clear a pair: this name is not that listed entry (quietens R21 only)", call: "POST /v1/cleared",
		fields: []field{
			{name: "uid", help: "the listed entry"}, {flag: "txn", name: "txnId"},
			{name: "grounds.dateOfBirth", flag: "birth-date", help: "what the clearing rests on: the date of birth"}, {name: "grounds.country", flag: "country", help: "the same: the country"},
			{name: "grounds.address", flag: "address", help: "the same: the postal address"},
			{name: "grounds.identifiers", flag: "identifiers", kind: description.JSONField, help: `the same: identifiers, [{"type":"passport","value":"…"}]`},
			{name: "grounds.operatorId", flag: "operator", help: "the operator whose payments the clearing is about"}, {name: "grounds.agentId", flag: "agent", help: "the agent whose payments it is about"},
		},
		example: `  railguard clear add --txn txn_ntpya6px --name "Lazarus Groupe" --uid 27307 --expires-at 2027-01-01 --by carla --reason "a bakery in Lyon: passport seen"
  railguard clear add --name "Lazarus Groupe" --uid 27307 --expires-at 2027-01-01 --by carla --country FR --reason "a bakery in Lyon"`,
	},
	{path: "clear list", short: "List cleared pairs", call: "GET /v1/cleared", columns: "clearedId name uid entryName expiresAt inForce void reason clearedBy"},
	{path: "clear remove", short: "Remove a cleared pair", call: "DELETE /v1/cleared/{cleared}"},
	{path: "policy get", group: "compliance", short: "Show the institution's policy", call: "GET /v1/policy"},
	{path: "policy versions", short: "List the policy's versions", call: "GET /v1/policy/versions", columns: "policyVersion activatedAt reason"},
	{path: "whitelist get", group: "compliance", short: "Show the institution's whitelist", call: "GET /v1/whitelist"},
	{path: "whitelist put", short: "Replace the institution's whitelist", call: "PUT /v1/whitelist", fields: []field{{flag: "reason", help: "why; required for a widening"}}, example: `  railguard whitelist put --mode enforce --entries '[{"name":"Acme Ltd"}]' --by carla`},
	{path: "whitelist add", short: "Add an entry to the institution's whitelist", call: "POST /v1/whitelist/entries", omit: "actor", fields: entryFields, example: `  railguard whitelist add --name "Acme Ltd" --by carla`},
	{path: "whitelist remove", short: "Remove an entry from the institution's whitelist", call: "DELETE /v1/whitelist/entries/{entry}"},
	{path: "operator suspend", group: "compliance", short: "Suspend all agents of an operator", call: "POST /v1/operators/suspend", fields: []field{{name: "actor", required: true}}},
	{path: "operator limit", short: "Set one daily limit over all agents of an operator (widening needs the role policy)", call: "POST /v1/operators/limit"},
	{path: "operator reinstate", short: "Lift an operator's suspension", call: "POST /v1/operators/reinstate", fields: []field{{name: "actor", required: true}}},
}

// webhookVerbs are about webhooks, to which events are sent.
var webhookVerbs = []verb{
	{path: "webhook create", group: "compliance", short: "Have events sent to a URL; prints the secret, once", call: "POST /v1/webhooks", fields: hookFields, example: "  railguard webhook create --endpoint https://hooks.example.com/railguard --types 'screen.block,review.*,hold.*'"},
	{path: "webhook list", short: "List webhooks", call: "GET /v1/webhooks", columns: "webhookId name url state owner types"},
	{path: "webhook show", short: "Show a webhook and how far it is", call: "GET /v1/webhooks/{webhook}"},
	{path: "webhook set", short: "Change a webhook; it is your key's from then on", call: "PATCH /v1/webhooks/{webhook}", fields: hookFields},
	{path: "webhook delete", short: "Delete a webhook", call: "DELETE /v1/webhooks/{webhook}"},
	{path: "webhook rotate", short: "Replace a webhook's secret and key; prints the new secret, once", call: "POST /v1/webhooks/{webhook}/rotate-secret", fields: []field{{name: "overlapSeconds", help: "seconds for which the older ones sign as well (default a day; 0: they are known to others)"}}},
	{path: "webhook test", short: "Send one message of the type webhook.test now", call: "POST /v1/webhooks/{webhook}/test"},
	{path: "webhook deliveries", short: "List what was given up, and what is to be sent again", call: "GET /v1/webhooks/{webhook}/deliveries", columns: "eventId state attempts status time"},
	{
		path: "webhook redeliver", short: "Send one event again, or all that were given up", call: "POST /v1/webhooks/{webhook}/redeliver",
		example: `  railguard webhook redeliver whk_1 --event evt_4711_0
  railguard webhook redeliver whk_1 --all`,
	},
}

// foresightVerbs show what another policy or list would have decided.
var foresightVerbs = []verb{
	{
		path: "backtest run", group: "compliance", short: "Judge recorded calls again under another policy or list, beside what is served", call: "POST /v1/backtests",
		fields: []field{{name: "policy", kind: documentField, help: "file with the candidate policy, JSON (default: what was in force)"}, {name: "listSnapshotId", help: "snapshot id of the candidate list (default: what was active)"}, {name: "from", help: "calls from this time on"}, {name: "to", help: "up to this time (default: now)"}},
		example: `  railguard backtest run --policy candidate.json --from 2026-03-01T00:00:00Z
  railguard backtest show bt_1f2e3d4c5b6a_n1`,
	},
	{path: "backtest show", short: "Show how far a backtest is and what came of it", call: "GET /v1/backtests/{backtest}"},
	{path: "backtest list", short: "List the backtests that the nodes remember", call: "GET /v1/backtests", columns: "id state createdAt from to records changed"},
	{
		path: "shadow start", group: "compliance", short: "Judge calls as they come under another policy or list, beside the verdicts", call: "POST /v1/policy/shadow",
		fields:  []field{{name: "policy", kind: documentField, help: "file with the candidate policy, JSON"}, {name: "listSnapshotId", help: "snapshot id of a candidate list, in place of a policy"}},
		example: "  railguard shadow start --policy candidate.json --days 7",
	},
	{path: "shadow show", short: "Show what came of a shadow so far", call: "GET /v1/policy/shadow/{shadow}"},
	{path: "shadow list", short: "List the shadows that the nodes remember", call: "GET /v1/policy/shadow", columns: "id state createdAt from to records changed"},
	{path: "shadow stop", short: "End a shadow", call: "POST /v1/policy/shadow/{shadow}/stop"},
	{path: "shadow promote", short: "Put the candidate of a shadow into force", call: "POST /v1/policy/shadow/{shadow}/promote", fields: []field{{flag: "reason", help: "why; required where it is wider"}, {name: "actor", help: "who decides"}}},
	{path: "retro list", group: "compliance", short: "List the screenings of the past against lists", call: "GET /v1/ofac/retro", columns: "retroId state listSnapshotId against startedAt hits known"},
	{path: "retro show", short: "Show whom a screening of the past found", call: "GET /v1/ofac/retro/{retro}"},
	{
		path: "retro run", short: "Screen the past against a list", call: "POST /v1/ofac/retro",
		example: `  railguard retro run --days 30
  railguard retro list`,
	},
	{path: "backtest cancel", short: "End a backtest", call: "POST /v1/backtests/{backtest}/cancel"},
}
