package main

import "net/http"

var spendFields = []field{
	{flag: "max-single", name: "spendPolicy.maxSingleTxUSDC", kind: "number", help: "largest single payment, USD"},
	{flag: "daily-limit", name: "spendPolicy.dailyLimitUSDC", kind: "number", help: "most a UTC day may sum up to, USD"},
	{flag: "chains", name: "spendPolicy.allowedChains", kind: "list", help: "allowed chains, e.g. ETH,BASE"},
	{flag: "rails", name: "spendPolicy.allowedRails", kind: "list", help: "allowed rails, e.g. USDC,ACH"},
	{flag: "screening", name: "spendPolicy.counterpartyScreening", help: "OFAC or OFAC+CONS"},
	{flag: "no-mixers", name: "spendPolicy.noMixerProtocols", kind: "bool", help: "true widens the mixer rule to counterparty names"},
}

// settingFields are what agents and fleets share of settings that no credential carries.
var settingFields = []field{
	{flag: "hours", name: "operatingHours", kind: "json", help: "JSON object; null takes it away"},
	{flag: "velocity", kind: "json", help: "JSON object; null takes it away"},
	{flag: "reason", help: "why"},
	{flag: "by", name: "actor", help: "who decides"},
}

var screenFields = []field{
	{flag: "token", help: "the agent's credential"},
	{flag: "amount", kind: "number", required: true, help: "USD"},
	{flag: "chain", help: "ETH, BASE, SOL, ACH, WIRE or SWIFT"},
	{flag: "rail", help: "USDC, ACH, WIRE, SWIFT or IBAN"},
	{flag: "cp-wallet", help: "counterparty wallet"},
	{flag: "cp-name", help: "counterparty legal name"},
	{flag: "cp-type", help: "individual, business or exchange"},
	{flag: "protocol", help: "protocol or platform"},
	{flag: "model", name: "underlyingModel", help: "the agent's language model now"},
	{flag: "user-token", help: "credential of the user, for supervised agents"},
}

func statusVerbs(what, id, path string) []verb {
	reason := []field{{flag: "reason", required: true, help: "why, for the audit record"}, {flag: "by", name: "actor", required: true, help: "who decides"}}
	revoke := append(reason[:2:2], field{flag: "reason-code", help: "KEY_COMPROMISE, AFFILIATION_CHANGED, SUPERSEDED, CESSATION, SANCTIONS or OTHER"})
	base := path + "/{" + id + "}/"
	return []verb{
		{path: what + " suspend", short: "Suspend; every next screening call is BLOCK R2", method: http.MethodPost, url: base + "suspend", args: []string{id}, fields: reason, keyed: true},
		{path: what + " reinstate", short: "Lift a suspension", method: http.MethodPost, url: base + "reinstate", args: []string{id}, fields: reason, keyed: true},
		{path: what + " revoke", short: "Revoke for good", method: http.MethodPost, url: base + "revoke", args: []string{id}, fields: revoke, keyed: true},
	}
}

var paymentVerbs = append(append([]verb{
	{
		path: "agent register", group: "payments", short: "Register an agent and print its credential", method: http.MethodPost, url: "/v1/agents/register", keyed: true,
		example: `  railguard agent register --agent-name buyer-1 --agent-type supervised --operator-legal-name "Acme Robotics Inc" --purpose "pay invoices" --max-single 5000 --daily-limit 20000`,
		fields: append([]field{
			{flag: "agent-name", required: true, help: "the agent's name"},
			{flag: "agent-type", required: true, help: "autonomous or supervised"},
			{flag: "operator-legal-name", required: true, help: "the operator's legal name"},
			{flag: "purpose", required: true, help: "what it pays for"},
			{flag: "agent-framework", help: "framework that drives it"},
			{flag: "model", name: "underlyingModel", help: "its language model"},
			{flag: "operator-wallet", help: "the operator's wallet"},
			{flag: "operator-ein", name: "operatorEIN", help: "the operator's EIN"},
			{flag: "fleet", name: "fleetId", help: "fleet to join"},
		}, spendFields...),
	},
	{path: "agent get", short: "Show an agent", method: http.MethodGet, url: "/v1/agents/{agent}", args: []string{"agent"}},
	{
		path: "agent list", short: "List agents", method: http.MethodGet, url: "/v1/agents",
		query:   []field{{flag: "operator", help: "only of this legal name"}, {flag: "status", help: "ACTIVE, SUSPENDED, REVOKED or EXPIRED"}, {flag: "type", help: "autonomous or supervised"}, {flag: "fleet", name: "fleetId", help: "fleet id"}},
		columns: []string{"agentId", "agentName", "agentType", "operatorLegalName", "credentialStatus", "expiresAt"},
	},
	{path: "agent limits", short: "Show what an agent may still spend today", method: http.MethodGet, url: "/v1/agents/{agent}/limits", args: []string{"agent"}},
	{
		path: "agent attest", short: "Record a human attestation of an autonomous agent", method: http.MethodPost, url: "/v1/agents/{agent}/attest", args: []string{"agent"}, keyed: true,
		fields: []field{{flag: "by", name: "attestedBy", required: true, help: "who attests"}, {flag: "note", help: "free text"}},
	},
	{path: "agent attestations", short: "Show an agent's attestations of the last 25 hours", method: http.MethodGet, url: "/v1/agents/{agent}/attestations", args: []string{"agent"}, columns: []string{"attestationId", "attestedBy", "attestedAt", "validUntil", "note"}},
	{
		path: "agent reissue", short: "Issue a new credential", method: http.MethodPost, url: "/v1/agents/{agent}/reissue", args: []string{"agent"}, keyed: true,
		fields: append([]field{
			{flag: "operator-legal-name", help: "new operator"}, {flag: "operator-wallet", help: "new wallet"},
			{flag: "model", name: "underlyingModel", help: "new baseline model"}, {flag: "overlap-hours", kind: "number", help: "how long older tokens stay good (plain renewals; 0 to 168)"},
		}, spendFields...),
	},
	{
		path: "agent transfer", short: "Flag an ownership transfer (BLOCK R8 until re-issue)", method: http.MethodPost, url: "/v1/agents/{agent}/ownership-transfer", args: []string{"agent"}, keyed: true,
		fields: []field{{flag: "new-operator-legal-name", required: true, help: "the new operator"}, {flag: "effective-at", help: "from when (2026-03-22T00:00:00Z); now if left out"}, {flag: "note", help: "free text"}, {flag: "by", name: "actor", help: "who decides"}},
	},
	{path: "agent cancel-transfer", short: "Cancel an ownership transfer before any re-issue", method: http.MethodDelete, url: "/v1/agents/{agent}/ownership-transfer", args: []string{"agent"}},
	{
		path: "agent set", short: "Change an agent's registry settings (widening needs the role policy)", method: http.MethodPatch, url: "/v1/agents/{agent}", args: []string{"agent"},
		example: `  railguard agent set agt_... --velocity '{"maxPerMinute":5}' --reason "pilot"`,
		fields:  append(append([]field(nil), settingFields...), field{flag: "party-types", name: "allowedCounterpartyTypes", kind: "json", help: "JSON list; null takes it away"}),
	},
	{path: "agent model", short: "Report the agent's current language model", method: http.MethodPost, url: "/v1/agents/{agent}/model", args: []string{"agent"}, fields: []field{{flag: "model", name: "underlyingModel", required: true, help: "the model"}}, keyed: true},
}, statusVerbs("agent", "agent", "/v1/agents")...), append([]verb{
	{
		path: "fleet create", group: "payments", short: "Create a fleet with one daily limit", method: http.MethodPost, url: "/v1/fleets/create", keyed: true,
		fields: []field{{flag: "fleet-name", required: true, help: "its name"}, {flag: "operator-legal-name", required: true, help: "the operator"}, {flag: "daily-limit", name: "dailyLimitUSDC", kind: "number", required: true, help: "USD a UTC day"}},
	},
	{path: "fleet get", short: "Show a fleet", method: http.MethodGet, url: "/v1/fleets/{fleet}", args: []string{"fleet"}},
	{
		path: "fleet set", short: "Change a fleet's settings (widening needs the role policy)", method: http.MethodPatch, url: "/v1/fleets/{fleet}", args: []string{"fleet"},
		fields: append([]field{{flag: "fleet-name", help: "its name"}, {flag: "daily-limit", name: "dailyLimitUSDC", kind: "number", help: "USD a UTC day"}}, settingFields...),
	},
	{path: "fleet list", short: "List fleets", method: http.MethodGet, url: "/v1/fleets", query: []field{{flag: "operator", help: "only of this legal name"}}, columns: []string{"fleetId", "fleetName", "operatorLegalName", "dailyLimitUSDC", "spentTodayUSDC", "agentCount"}},
	{path: "fleet add", short: "Put agents into a fleet", method: http.MethodPost, url: "/v1/fleets/{fleet}/agents", args: []string{"fleet"}, fields: []field{{flag: "agents", name: "agentIds", kind: "list", required: true, help: "agent ids, comma-separated"}}, keyed: true},
	{path: "fleet remove", short: "Take an agent out of a fleet", method: http.MethodDelete, url: "/v1/fleets/{fleet}/agents/{agent}", args: []string{"fleet", "agent"}},
	{
		path: "delegate create", group: "payments", short: "Mint a child credential that can only narrow its parent", method: http.MethodPost, url: "/v1/delegates/create", keyed: true,
		fields: append([]field{
			{flag: "parent", name: "parentAgentId", required: true, help: "the parent's agent id"}, {flag: "agent-name", required: true, help: "the child's name"},
			{flag: "agent-type", help: "autonomous or supervised"}, {flag: "purpose", help: "what it pays for"}, {flag: "expires-at", help: "earlier than the parent's expiry"},
		}, spendFields...),
	},
	{
		path: "user register", group: "payments", short: "Issue a user credential (30 days, supervised agents only)", method: http.MethodPost, url: "/v1/users/register", keyed: true,
		fields: []field{{flag: "legal-name", required: true, help: "the person's legal name"}, {flag: "email", help: "e-mail"}, {flag: "agents", name: "agentIds", kind: "list", help: "supervised agents it is bound to"}, {flag: "operator-legal-name", help: "the operator"}},
	},
	{path: "user reissue", short: "Issue a new user credential", method: http.MethodPost, url: "/v1/users/{user}/reissue", args: []string{"user"}, keyed: true, fields: []field{{flag: "overlap-hours", kind: "number", help: "how long older tokens stay good (0 to 168)"}, {flag: "reason", help: "why"}, {flag: "by", name: "actor", help: "who decides"}}},
	{path: "user list", short: "List users", method: http.MethodGet, url: "/v1/users", query: []field{{flag: "status", help: "ACTIVE, SUSPENDED, REVOKED or EXPIRED"}}, columns: []string{"userId", "legalName", "operatorLegalName", "credentialStatus", "expiresAt", "kid"}},
	{path: "user get", short: "Show a user", method: http.MethodGet, url: "/v1/users/{user}", args: []string{"user"}},
	{
		path: "screen", group: "payments", short: "Screen a payment", method: http.MethodPost, url: "/v1/screen", fields: screenFields, keyed: true, token: true, file: true,
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
	{path: "dry-run", group: "payments", short: "Show what a payment would get, without record or debit", method: http.MethodPost, url: "/v1/screen/dry-run", fields: screenFields, token: true, example: `  railguard dry-run --token-file agent.jwt --amount 12.5 --cp-name "Acme Ltd"`},
}, statusVerbs("user", "user", "/v1/users")...)...)
