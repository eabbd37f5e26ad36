package main

// tokenFields are short help texts for the credentials of a payment.
var tokenFields = []field{{flag: "token", help: "the agent's credential"}, {flag: "user-token", help: "credential of the user, for supervised agents"}}

// paymentVerbs are about agents, fleets, users and payments.
var paymentVerbs = []verb{
	{
		path: "agent register", group: "payments", short: "Register an agent and print its credential", call: "POST /v1/agents/register",
		example: `  railguard agent register --agent-name buyer-1 --agent-type supervised --operator-legal-name "Acme Robotics Inc" --purpose "pay invoices" --max-single 5000 --daily-limit 20000`,
	},
	{path: "agent get", short: "Show an agent", call: "GET /v1/agents/{agent}"},
	{path: "agent list", short: "List agents", call: "GET /v1/agents", columns: "agentId agentName agentType operatorLegalName credentialStatus expiresAt", query: []field{{name: "type", help: "autonomous or supervised"}}},
	{path: "agent limits", short: "Show what an agent may still spend today", call: "GET /v1/agents/{agent}/limits"},
	{path: "agent attest", short: "Record a human attestation of an autonomous agent", call: "POST /v1/agents/{agent}/attest"},
	{path: "agent attestations", short: "Show an agent's attestations of the last 25 hours", call: "GET /v1/agents/{agent}/attestations", columns: "attestationId attestedBy attestedAt validUntil note"},
	{path: "agent reissue", short: "Issue a new credential", call: "POST /v1/agents/{agent}/reissue"},
	{path: "agent transfer", short: "Flag an ownership transfer (BLOCK R8 until re-issue)", call: "POST /v1/agents/{agent}/ownership-transfer"},
	{path: "agent cancel-transfer", short: "Cancel an ownership transfer before any re-issue", call: "DELETE /v1/agents/{agent}/ownership-transfer"},
	{path: "agent set", short: "Change an agent's registry settings (widening needs the role policy)", call: "PATCH /v1/agents/{agent}", example: `  railguard agent set agt_... --velocity '{"maxPerMinute":5}' --reason "pilot"`},
	{path: "agent model", short: "Report the agent's current language model", call: "POST /v1/agents/{agent}/model", omit: "model", fields: []field{{name: "underlyingModel", required: true}}},
	{path: "agent suspend", short: "Suspend; every next screening call is BLOCK R2", call: "POST /v1/agents/{agent}/suspend", fields: []field{{name: "actor", required: true}}},
	{path: "agent reinstate", short: "Lift a suspension", call: "POST /v1/agents/{agent}/reinstate", fields: []field{{name: "actor", required: true}}},
	{path: "agent revoke", short: "Revoke for good", call: "POST /v1/agents/{agent}/revoke", fields: []field{{name: "actor", required: true}}},
	{path: "agent retire", short: "Give back the row of an agent that was revoked 91 days ago", call: "DELETE /v1/agents/{agent}"},
	{path: "fleet create", group: "payments", short: "Create a fleet with one daily limit", call: "POST /v1/fleets/create"},
	{path: "fleet get", short: "Show a fleet", call: "GET /v1/fleets/{fleet}"},
	{path: "fleet set", short: "Change a fleet's settings (widening needs the role policy)", call: "PATCH /v1/fleets/{fleet}"},
	{path: "fleet list", short: "List fleets", call: "GET /v1/fleets", columns: "fleetId fleetName operatorLegalName dailyLimitUSDC spentTodayUSDC agentCount"},
	{path: "fleet add", short: "Put agents into a fleet", call: "POST /v1/fleets/{fleet}/agents", omit: "agentId", fields: []field{{name: "agentIds", required: true}}},
	{path: "fleet remove", short: "Take an agent out of a fleet", call: "DELETE /v1/fleets/{fleet}/agents/{agent}"},
	{path: "fleet retire", short: "Give back the row of a fleet without agents", call: "DELETE /v1/fleets/{fleet}"},
	{path: "delegate create", group: "payments", short: "Mint a child credential that can only narrow its parent", call: "POST /v1/delegates/create", omit: "parentToken", fields: []field{{name: "parentAgentId", required: true}}},
	{path: "user register", group: "payments", short: "Issue a user credential (30 days, supervised agents only)", call: "POST /v1/users/register", omit: "userName", fields: []field{{name: "legalName", required: true}}},
	{path: "user reissue", short: "Issue a new user credential", call: "POST /v1/users/{user}/reissue"},
	{path: "user list", short: "List users", call: "GET /v1/users", columns: "userId legalName operatorLegalName credentialStatus expiresAt kid"},
	{path: "user get", short: "Show a user", call: "GET /v1/users/{user}"},
	{
		path: "screen", group: "payments", short: "Screen a payment", call: "POST /v1/screen", omit: "model", fields: tokenFields, token: true, file: true,
		long: `Screen one payment, or with --file many: one JSON object a line, with the members
of POST /v1/screen (token may be left to --token-file). The results come one a
line, in order. Each payment is sent with an idempotency key made of its bytes:
a run that broke off is run again, and what was screened is not screened twice
(for 24 hours; --run names another run).

Exit codes with --file: 0 every payment has a verdict, 1 some were refused,
2 wrong flags, 3 some have no outcome yet: run it again.`,
		example: `  railguard screen --file payments.ndjson --out verdicts.ndjson
  railguard screen --token "$TOKEN" --amount 100 --chain ETH --cp-wallet 0x098B716B8Aaf21512996dC57EB0615e2383E2f96`,
	},
	{path: "dry-run", group: "payments", short: "Show what a payment would get, without record or debit", call: "POST /v1/screen/dry-run", omit: "model", fields: tokenFields, token: true, example: `  railguard dry-run --token-file agent.jwt --amount 12.5 --cp-name "Acme Ltd"`},
	{
		path: "payment unresolved", group: "payments", short: "List payments of which nobody has said what became of them; they count", call: "GET /v1/transactions/unresolved",
		columns: "txnId amount agentId operatorLegalName countsOn unresolvedSince approved redeemed paymentRef", example: "  railguard payment unresolved --order asc",
	},
	{
		path: "payment confirm", short: "Judge a recorded payment again before it is made; pay on PROCEED alone", call: "POST /v1/transactions/{txn}/confirm", token: true,
		fields:  []field{{flag: "token", help: "the agent's credential (default: the newest one of the registry is judged)"}},
		example: "  railguard payment confirm txn_ntpya6px --redeem",
	},
	{path: "payment settle", short: "Say that a payment was made", call: "POST /v1/transactions/{txn}/settle", example: "  railguard payment settle txn_ntpya6px --amount 15 --rail-ref 0xabc"},
	{path: "payment release", short: "Say that a payment was not made", call: "POST /v1/transactions/{txn}/release", example: `  railguard payment release txn_ntpya6px --reason "the rail refused it"`},
	{path: "user suspend", short: "Suspend; every next screening call is BLOCK R2", call: "POST /v1/users/{user}/suspend", fields: []field{{name: "actor", required: true}}},
	{path: "user reinstate", short: "Lift a suspension", call: "POST /v1/users/{user}/reinstate", fields: []field{{name: "actor", required: true}}},
	{path: "user revoke", short: "Revoke for good", call: "POST /v1/users/{user}/revoke", fields: []field{{name: "actor", required: true}}},
}
