package httpapi

import (
	"net/http"
	"time"
)

// scope says whose affair a route is: what a key with an operator's scope may do
// with it. Every route declares one; New refuses a table with a route that does not.
type scope uint8

const (
	scopeNone        scope = iota // Not declared: no such route is served.
	scopePublic                   // No key. Nothing in it is any operator's.
	scopeReference                // Any key with the role. Published knowledge, nobody's data.
	scopeOwner                    // Operators' data: a key with a scope sees and changes its operator's alone.
	scopeInstitution              // Holds for all operators: closed to keys with a scope, whatever their roles.
)

// text is the scope as docs/ROUTES.md tells it.
func (s scope) text() string {
	return [...]string{"", "public", "reference", "owner", "institution"}[s]
}

// admitScope keeps a key with an operator's scope from what is the institution's.
// Within scopeOwner the handlers judge, row by row.
func (c *call) admitScope() error {
	if c.route.scope == scopeInstitution && c.key.Operator != "" {
		return failure(http.StatusForbidden, "forbidden", "this is the whole institution's: a key with an operator's scope may not do it")
	}
	return nil
}

// What a call counts against its key's rate, in screening calls: about what it
// costs a node beside one. A flood of the dearest call on one key must not be worth
// more than a flood of the cheapest.
const (
	costScan     = 10  // Walks rows or leaves: lists, the queue, evidence.
	costIssue    = 5   // Screens a party and signs a credential, or looks names up.
	costWhole    = 100 // Reads or writes a history, a list or the whole state.
	costForged   = 10  // A token whose signature had to be tried and was no good.
	costOfBlock  = 1   // Each further block of a body.
	bodyBlock    = 16 << 10
	costOrdinary = 1
)

// costs are the routes that cost more than an ordinary call.
var costs = map[string]int{
	"POST /v1/agents/register": costIssue, "POST /v1/delegates/create": costIssue, "POST /v1/agents/{id}/reissue": costIssue,
	"POST /v1/users/register": costIssue, "POST /v1/users/{id}/reissue": costIssue, "POST /v1/fleets/create": costIssue,
	"POST /v1/screen/dry-run": costIssue, "GET /v1/match": costIssue, "POST /v1/reviews/{txnId}": costIssue,

	"GET /v1/agents": costScan, "GET /v1/fleets": costScan, "GET /v1/audit": costScan, "GET /v1/cleared": costScan,
	"GET /v1/queue": costScan, "POST /v1/queue/next": costScan, "GET /v1/policy/versions": costScan,
	"GET /v1/audit/{txnId}/proof": costScan, "GET /v1/audit/{txnId}/explain": costScan, "POST /v1/audit/{txnId}/replay": costScan,
	"PUT /v1/policy": costScan, "POST /v1/policy/validate": costScan, "GET /log/tile/entries/{index...}": costScan,

	"GET /v1/audit/export": costWhole, "GET /v1/ofac/{id}/diff": costWhole, "POST /v1/ofac/sync": costWhole,
	"POST /v1/ofac/{id}/activate": costWhole, "POST /v1/ofac/{id}/rollback": costWhole, "POST /v1/ofac/rollback": costWhole,
	"GET /v1/cluster/snapshot": costWhole, "POST /v1/cluster/snapshot": costWhole, "POST /v1/ofac/snapshots": costWhole,
}

// costOf is what a route's call costs, its body aside; nothing where no key is.
func costOf(r *route) int {
	if r.roles == 0 {
		return 0
	}
	if cost, dear := costs[r.method+" "+r.path]; dear {
		return cost
	}
	return costOrdinary
}

// costOfBody is what a body costs beyond its first block. One of unknown length is
// charged as one of the largest that calls of its kind usually have.
func costOfBody(size int64) int {
	if size < 0 {
		size = 4 * bodyBlock
	}
	return int(min(size, 256<<20) / bodyBlock * costOfBlock)
}

// charge counts more against the key once it is known that the call cost more. It
// refuses nothing: what follows waits for it.
func (k *apiKey) charge(more int) {
	if k.calls == nil {
		return
	}
	k.use.asked.Add(int64(more))
	k.calls.ReserveN(time.Now(), min(more, k.calls.Burst()))
}
