package operations

import (
	"railguard/strictjson"
)

// Members and parameters that several routes on the admin listener take.
var (
	whySaid   = strictjson.Names("reason", "actor")
	profiling = []string{"debug?", "seconds?", "gc?"}
)

// operationsBodies are the members of every JSON body of the room on the admin listener, by method and path.
var operationsBodies = map[string]strictjson.Shape{
	"POST /admin/keys":                      strictjson.Names("name", "roles", "operator", "caller", "person", "networks", "ips", "expires", "expiresAt", "rate", "strict"),
	"POST /admin/keys/{id}/rotate":          whySaid.With("overlap"),
	"POST /admin/keys/{id}/end-person":      strictjson.Names("reason"),
	"POST /admin/passkeys":                  strictjson.Names("name", "passkeyId", "publicKey", "proof").With("proof"),
	"POST /admin/cluster-secret/reseal":     whySaid.With("from"),
	"POST /admin/log-level":                 strictjson.Names("level"),
	"POST /admin/signing-key/rotate":        strictjson.Names("for", "emergency", "revoke", "reason"),
	"POST /admin/signing-keys/{kid}/revoke": whySaid,
}

// operationsQueries are the query parameters of the room's routes on the admin listener.
var operationsQueries = map[string][]string{
	"GET /admin/keys":               {"limit", "cursor", "order"},
	"GET /admin/passkeys":           {"limit", "cursor", "order"},
	"GET /admin/debug":              {"node", "cpu"},
	"GET /debug/pprof/profile":      profiling,
	"GET /debug/pprof/trace":        profiling,
	"GET /debug/pprof/symbol":       profiling,
	"GET /debug/pprof/cmdline":      profiling,
	"GET /debug/pprof/heap":         profiling,
	"GET /debug/pprof/allocs":       profiling,
	"GET /debug/pprof/block":        profiling,
	"GET /debug/pprof/mutex":        profiling,
	"GET /debug/pprof/goroutine":    profiling,
	"GET /debug/pprof/threadcreate": profiling,
}
