package description

// preface is the document's part before the paths.
var preface = Object{
	{"openapi", "3.1.0"},
	{"info", readObject(`{"title": "Railguard", "version": "1", "summary": "Decides whether an AI agent's payment may go ahead", "description": "The public API. Conventions, roles and limits stand in docs/API.md. x-scope says whose affair a call is, x-roles which roles may make it (one is enough; admin has all), x-guest that the call is there where its setting switches it on, x-codes which error codes are its own besides x-common-codes."}`)},
	{"servers", readObject(`{"v": [{"url": "/"}]}`).Get("v")},
	{"security", readObject(`{"v": [{"apiKey": []}]}`).Get("v")},
	{"tags", readObject(`{"v": [{"name": "screening"}, {"name": "audit"}, {"name": "events"}, {"name": "webhooks"}, {"name": "reviews"}, {"name": "alerts"}, {"name": "sanctions"}, {"name": "parties"}, {"name": "agents"}, {"name": "users"}, {"name": "operators"}, {"name": "fleets"}, {"name": "whitelists"}, {"name": "policy"}, {"name": "foresight"}, {"name": "lists"}, {"name": "health"}, {"name": "documents"}, {"name": "log"}, {"name": "cluster"}, {"name": "x402"}, {"name": "mcp"}]}`).Get("v")},
	{"x-common-codes", readObject(`{"400": ["bad_request", "invalid_json"], "401": ["unauthorized"], "403": ["forbidden", "passkey_required", "passkey_refused", "second_look_in_hand"], "405": ["method_not_allowed"], "413": ["payload_too_large"], "429": ["rate_limited", "share_used"], "431": ["headers_too_large"], "500": ["internal_error"], "503": ["no_quorum", "no_leader", "overloaded", "storage_low", "time_uncertain", "shutting_down", "outcome_unknown"], "422": ["invalid_field", "idempotency_conflict"], "409": ["idempotency_in_flight"]}`)},
}
