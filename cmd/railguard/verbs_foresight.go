package main

import "net/http"

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
	{path: "backtest cancel", short: "End a backtest", method: http.MethodPost, url: "/v1/backtests/{backtest}/cancel", args: []string{"backtest"}},
}
