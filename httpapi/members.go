package httpapi

import (
	"net/http"

	"railguard/engine"
	"railguard/httpapi/description"
	"railguard/strictjson"
)

// What each route takes, the members of its body and the parameters of its query,
// stands in httpapi/description for the public API, and here for the admin listener. A
// body's member that is not named there is refused, since a limit misspelt would be no
// limit; an open object has a reader of its own (edge/request.go, engine.ParsePolicy).
// A route that is missing in both is not served: New says so.

var (
	whySaid   = strictjson.Names("reason", "actor")
	profiling = []string{"debug?", "seconds?", "gc?"}
)

// adminBodies are the members of every JSON body of the admin listener and of
// development nodes, by method and path.
var adminBodies = map[string]strictjson.Shape{
	"POST /admin/keys":                      strictjson.Names("name", "roles", "operator", "networks", "ips", "expires", "expiresAt", "rate", "strict"),
	"POST /admin/keys/{id}/rotate":          whySaid,
	"POST /admin/log-key/rotate":            whySaid,
	"POST /admin/cluster-secret/reseal":     whySaid.With("from"),
	"POST /admin/log-level":                 strictjson.Names("level"),
	"POST /admin/signing-key/rotate":        strictjson.Names("emergency", "revoke", "reason"),
	"POST /admin/signing-keys/{kid}/revoke": whySaid,
}

// adminQueries are the parameters of the admin listener's routes.
var adminQueries = map[string][]string{
	"POST /v1/ofac/snapshots":       {"name"},
	"GET /admin/keys":               {"limit", "cursor", "order"},
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

// declare gives a route what its description says of it; false when there should be
// one and is not.
func (r *route) declare() bool {
	key := r.method + " " + r.path
	r.late = key == http.MethodPost+" /v1/reviews/{txnId}"
	if operation := description.FindOperation(r.method, r.path); operation != nil {
		r.parameters, r.shape = operation.QueryNames(), shapeOf(operation.BodyMembers())
		return true
	}
	shape, told := adminBodies[key]
	r.parameters, r.shape = adminQueries[key], shape
	return told || r.body != bodyObject && r.body != bodyOptional
}

// shapeOf is what the reader of bodies holds a body against.
func shapeOf(members description.Members) strictjson.Shape {
	if members == nil {
		return nil
	}
	shape := make(strictjson.Shape, len(members))
	for name, inner := range members {
		shape[name] = shapeOf(inner)
	}
	return shape
}
