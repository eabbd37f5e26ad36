package httpapi

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"time"

	"railguard/cluster/timing"
	"railguard/httpapi/lanes"
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

// A kind of call is what calls have in common in what they cost a node. A flood of the
// dearest must not be worth more than a flood of the cheapest, and must not keep others
// waiting: so each kind has a cost, and a lane.
type kind uint8

const (
	kindNone kind = iota // Not in the table: as dear as the dearest, and a test names it.
	kindScreening
	kindRead       // Reads a row and its profile, or one leaf.
	kindWrite      // One record in the log.
	kindCredential // Signs a credential that stands.
	kindIssue      // Screens a party and signs a credential.
	kindNames      // Looks names up, or judges without a record.
	kindPolicy     // Compiles a policy.
	kindPage       // Walks rows of the state: a page of a list.
	kindSearch     // Walks leaves.
	kindQueue      // Walks open cases, and their leaves for a text.
	kindEvidence   // Proves, explains or replays one record.
	kindBundle     // 256 leaves as they are.
	kindEvents     // Walks leaves, and waits for more.
	kindExport     // Streams history with its proofs.
	kindDiff       // Compares two lists.
	kindWhole      // Reads or writes a list or the whole state.
	kindVerb       // What operators do: the cluster, keys.
	kindOpen       // Without a key: documents, checkpoints, tiles, health.
	kindProbe      // Whether this node lives: nothing may stand in its way.
	kindDebug      // Metrics and profiles, on the admin listener.
	kinds
)

// lane says what bounds how many calls of a kind run at once.
type lane uint8

const (
	laneOrdinary lane = iota // inFlightMax of them.
	laneReserved             // Not counted: an officer and an operator get through a flood.
	laneScan                 // In turns: see scanPlaces.
	laneWatch                // So many at once, each with little to do; each step in turns.
	laneStream               // So many at once for as long as they last; each step in turns.
)

// text is the lane as docs/ROUTES.md tells it.
func (l lane) text() string {
	return [...]string{"ordinary", "reserved", "scans", "watches", "streams"}[l]
}

// charge is what a call of a kind counts in screening calls, by what it was measured
// to cost beside one (testdata/costs.tsv, shown in docs/ROUTES.md).
type charge struct {
	name string
	cost int // Against its key's rate at once; where no key is, its address'.
	lane lane
	each int // Tenths more for each leaf, row or case it looked at, once they are known.
}

var charges = [kinds]charge{
	kindNone:       {"not in the table", 1000, laneScan, 0},
	kindScreening:  {"screening", 1, laneOrdinary, 0},
	kindRead:       {"read", 1, laneOrdinary, 0},
	kindWrite:      {"write", 1, laneOrdinary, 0},
	kindCredential: {"credential", 4, laneOrdinary, 0},
	kindIssue:      {"issue", 6, laneOrdinary, 0},
	kindNames:      {"names", 5, laneOrdinary, 0},
	kindPolicy:     {"policy", 5, laneOrdinary, 0},
	kindPage:       {"page", 50, laneScan, 0},
	kindSearch:     {"search", 10, laneScan, 4},
	kindQueue:      {"queue", 10, laneScan, 7},
	kindEvidence:   {"evidence", 5, laneScan, 0},
	kindBundle:     {"bundle", 5, laneScan, 0},
	kindEvents:     {"events", 10, laneWatch, 4},
	kindExport:     {"export", 10, laneStream, 50},
	kindDiff:       {"diff", 100, laneScan, 0},
	kindWhole:      {"whole", 100, laneStream, 0},
	kindVerb:       {"verb", 1, laneReserved, 0},
	kindOpen:       {"open", 1, laneOrdinary, 0},
	kindProbe:      {"probe", 0, laneReserved, 0},
	kindDebug:      {"debug", 0, laneReserved, 0},
}

// routesOf is every route by its kind.
var routesOf = [kinds][]string{
	kindScreening: {
		"POST /v1/screen", "POST /v1/screen/batch",
	},
	kindRead: {
		"GET /v1/agents/{id}/attestations", "GET /v1/agents/{id}/limits", "GET /v1/agents/{id}/whitelist", "GET /v1/audit/{txnId}",
		"GET /v1/fleets/{id}", "GET /v1/fleets/{id}/whitelist", "GET /v1/key", "GET /v1/alerts/{id}", "GET /v1/ofac", "GET /v1/policy", "GET /v1/transactions", "GET /v1/whitelist",
		"GET /v1/backtests", "GET /v1/backtests/{id}", "GET /v1/ofac/retro", "GET /v1/policy/shadow", "GET /v1/policy/shadow/{id}",
		"GET /v1/webhooks/{id}",
	},
	kindWrite: {
		"PATCH /v1/agents/{id}", "POST /v1/agents/{id}/attest", "POST /v1/agents/{id}/model", "DELETE /v1/agents/{id}/ownership-transfer",
		"POST /v1/agents/{id}/ownership-transfer", "POST /v1/agents/{id}/reinstate", "POST /v1/agents/{id}/revoke", "POST /v1/agents/{id}/suspend",
		"PUT /v1/agents/{id}/whitelist", "POST /v1/agents/{id}/whitelist/entries", "DELETE /v1/agents/{id}/whitelist/entries/{entry}", "POST /v1/cleared",
		"DELETE /v1/cleared/{id}", "PATCH /v1/fleets/{id}", "POST /v1/fleets/{id}/agents", "DELETE /v1/fleets/{id}/agents/{agentId}",
		"PUT /v1/fleets/{id}/whitelist", "POST /v1/fleets/{id}/whitelist/entries", "DELETE /v1/fleets/{id}/whitelist/entries/{entry}",
		"POST /v1/operators/reinstate", "POST /v1/operators/suspend", "POST /v1/queue/{txnId}/assign", "POST /v1/queue/{txnId}/claim",
		"POST /v1/queue/{txnId}/comment", "POST /v1/queue/{txnId}/release", "POST /v1/test/clock", "POST /v1/users/{id}/reinstate",
		"POST /v1/users/{id}/revoke", "POST /v1/users/{id}/suspend", "PUT /v1/whitelist", "POST /v1/whitelist/entries",
		"DELETE /v1/whitelist/entries/{entry}", "POST /v1/transactions/{txnId}/settle", "POST /v1/transactions/{txnId}/release",
		"POST /v1/reviews/{txnId}/withdraw", "POST /v1/alerts/{id}/acknowledge", "POST /v1/alerts/acknowledge", "POST /v1/sar/{txnId}/move",
		"POST /v1/backtests/{id}/cancel", "POST /v1/policy/shadow/{id}/stop",
		"POST /v1/webhooks", "PATCH /v1/webhooks/{id}", "DELETE /v1/webhooks/{id}", "POST /v1/webhooks/{id}/rotate-secret", "POST /v1/webhooks/{id}/redeliver",
		"POST /v1/ofac/retro",
	},
	kindCredential: {"GET /v1/agents/{id}", "GET /v1/users/{id}"},
	kindIssue: {
		"POST /v1/agents/register", "POST /v1/agents/{id}/reissue", "POST /v1/delegates/create", "POST /v1/fleets/create", "POST /v1/users/register",
		"POST /v1/users/{id}/reissue",
	},
	kindNames: {
		"GET /v1/match", "POST /v1/reviews/{txnId}", "POST /v1/queue/bulk", "POST /v1/screen/dry-run",
	},
	kindPolicy: {
		"PUT /v1/policy", "POST /v1/policy/validate",
		"POST /v1/policy/shadow/{id}/promote",
	},
	kindPage: {
		"GET /v1/agents", "GET /v1/cleared", "GET /v1/fleets", "GET /v1/users", "GET /v1/policy/versions", "GET /admin/keys", "GET /v1/webhooks", "GET /v1/webhooks/{id}/deliveries",
	},
	kindSearch: {
		"GET /v1/activity", "GET /v1/audit", "GET /v1/sar/{txnId}",
		"GET /v1/ofac/retro/{id}",
	},
	kindQueue: {
		"GET /v1/queue", "POST /v1/queue/next", "GET /v1/alerts", "GET /v1/sar",
	},
	kindEvidence: {
		"GET /v1/audit/{txnId}/explain", "GET /v1/audit/{txnId}/proof", "POST /v1/audit/{txnId}/replay",
	},
	kindBundle: {
		"GET /log/tile/entries/{index...}",
	},
	kindEvents: {
		"GET /v1/events", "POST /v1/webhooks/{id}/test",
	},
	kindExport: {
		"GET /v1/audit/export",
	},
	kindDiff: {
		"GET /v1/ofac/{id}/diff", "POST /v1/backtests", "POST /v1/policy/shadow",
	},
	kindWhole: {
		"GET /v1/cluster/backup", "GET /v1/ofac/{id}/entities", "GET /v1/cluster/snapshot", "POST /v1/cluster/snapshot", "POST /v1/ofac/rollback", "POST /v1/ofac/sync", "POST /v1/ofac/{id}/activate",
		"POST /v1/ofac/{id}/rollback", "POST /v1/ofac/snapshots",
	},
	kindVerb: {
		"POST /v1/cluster/demote", "POST /v1/cluster/drain", "POST /v1/cluster/join", "GET /v1/cluster/leader", "GET /v1/cluster/peers",
		"POST /v1/cluster/promote", "POST /v1/cluster/remove", "GET /v1/cluster/status", "POST /v1/cluster/matcher", "POST /v1/cluster/format", "POST /v1/cluster/transfer-leader", "POST /admin/keys",
		"DELETE /admin/keys/{id}", "POST /admin/keys/{id}/rotate", "POST /admin/log-key/rotate", "GET /admin/log-level", "POST /admin/log-level", "POST /admin/signing-key/rotate",
		"GET /admin/cluster-secret", "POST /admin/cluster-secret/reseal", "GET /admin/signing-keys", "POST /admin/signing-keys/{kid}/revoke",
	},
	kindOpen: {
		"GET /contexts/kya/v1", "GET /docs/errors", "GET /docs/rules", "GET /openapi.json", "GET /docs", "GET /docs/explorer.js",
		"GET /docs/swagger-ui-bundle.js", "GET /docs/swagger-ui.css", "GET /docs/changelog.json", "GET /log/checkpoint", "GET /log/cosigned", "GET /log/keys", "GET /log/consistency/{from}/{to}", "GET /log/tile", "GET /log/tile/entries",
		"GET /log/tile/{level}", "GET /log/tile/{level}/{index...}", "GET /v1/.well-known/jwks.json", "GET /v1/health", "GET /status-lists/{list}",
	},
	kindProbe: {
		"GET /livez", "GET /readyz",
	},
	kindDebug: {
		"GET /debug/pprof/allocs", "GET /debug/pprof/block", "GET /debug/pprof/cmdline", "GET /debug/pprof/goroutine", "GET /debug/pprof/heap",
		"GET /debug/pprof/mutex", "GET /debug/pprof/profile", "GET /debug/pprof/symbol", "GET /debug/pprof/threadcreate", "GET /debug/pprof/trace",
		"GET /metrics",
	},
}

var kindOf = func() map[string]kind {
	known := make(map[string]kind)
	for k, routes := range routesOf {
		for _, route := range routes {
			known[route] = kind(k)
		}
	}
	return known
}()

const (
	costForged = 10       // A token whose signature had to be tried and was no good.
	bodyBlock  = 16 << 10 // Each further one of a body counts one more.
)

// chargeOf is what a call of a route counts, its body aside, and its lane.
func chargeOf(r *route) charge {
	is := charges[kindOf[r.method+" "+r.path]]
	if r.reserved && is.lane == laneOrdinary {
		is.lane = laneReserved
	}
	return is
}

// costOfBody is what a body costs beyond its first block. One of unknown length is
// charged as one of the largest that calls of its kind usually have.
func costOfBody(size int64) int {
	if size < 0 {
		size = 4 * bodyBlock
	}
	return int(min(size, 256<<20) / bodyBlock)
}

// charge counts more against the key once it is known that the call cost more. It
// refuses nothing: what follows waits for it. A debt is never more than a burst, or a
// long export would shut its key out for an hour.
func (k *apiKey) charge(more int) {
	if k.calls == nil || more <= 0 {
		return
	}
	k.use.asked.Add(int64(more))
	if k.calls.Tokens() < 0 {
		return
	}
	k.calls.ReserveN(time.Now(), min(more, k.calls.Burst()))
}

// looked charges what a walk looked at.
func looked(c *call, at int) {
	c.key.charge(at * c.route.charge.each / 10)
}

// scans are the turns of dear calls, and the pace of whoever has one.
type scans struct {
	*lanes.Lane
	pace *timing.Pace
}

// scanPlaces is how many scans compute at once on this node: half its processors, since
// a verdict must not wait for somebody's search. A scan passes its turn on between its
// steps, so that keys go in turns however long a walk is.
func scanPlaces() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// enterLane waits for the call's place in its lane. The error says that there is none;
// without one the call must leaveLane.
func enterLane(c *call) error {
	a := c.api
	switch c.route.charge.lane {
	case laneReserved:
		return nil
	case laneScan:
		if err := a.scans.Enter(c.ctx, caller(c)); err != nil {
			return noTurn(err)
		}
		paced(c)
	case laneWatch:
		if err := enterWithin(c, a.watchers); err != nil {
			return err
		}
	case laneStream:
		if err := enterWithin(c, a.streams); err != nil {
			return err
		}
	}
	if a.running.Add(1) > inFlightMax {
		leaveLane(c)
		return unavailable("overloaded", "too many calls at once on this node")
	}
	return nil
}

// enterWithin waits for a place no longer than a call may take.
func enterWithin(c *call, in *lanes.Lane) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.api.deadline)
	defer cancel()
	if err := in.Enter(ctx, caller(c)); err != nil {
		return noTurn(err)
	}
	return nil
}

func leaveLane(c *call) {
	switch c.route.charge.lane {
	case laneReserved:
		return
	case laneScan:
		if !c.lost {
			c.api.scans.Leave(caller(c))
		}
	case laneWatch:
		c.api.watchers.Leave(caller(c))
	case laneStream:
		c.api.streams.Leave(caller(c))
	}
	c.api.running.Add(-1)
}

// step lets other scans take their turn between two steps of this one.
func step(c *call) error {
	if c.route.charge.lane != laneScan {
		return nil
	}
	if err := c.api.scans.Pass(c.ctx, caller(c)); err != nil {
		c.lost = true
		return noTurn(err)
	}
	c.work = c.api.scans.pace.Begin()
	return nil
}

// paced begins what a call computes in its turn: from here on it rests between slices
// while the node is busy, before each leaf that it opens and wherever it calls rest.
func paced(c *call) {
	c.work = c.api.scans.pace.Begin()
	c.judge.Between = c.work.Between
}

// rest lets verdicts have the processor, between two steps of a call that is paced.
func rest(c *call) { c.work.Between() }

// turn runs one step of a stream in the lane of scans.
func turn(c *call, step func() error) error {
	if err := c.api.scans.Enter(c.ctx, caller(c)); err != nil {
		return noTurn(err)
	}
	defer c.api.scans.Leave(caller(c))
	paced(c)
	defer func() { c.work, c.judge.Between = timing.Work{}, nil }()
	return step()
}

// caller is whose calls take turns with others'.
func caller(c *call) string {
	if c.key != nil {
		return c.key.ID
	}
	return c.api.clientAddress(c.r).String()
}

func noTurn(err error) error {
	if errors.Is(err, lanes.ErrFull) {
		return unavailable("overloaded", "too many searches, exports or other long calls wait already, on this node or of this key")
	}
	return unavailable("overloaded", "no turn among the searches, exports and other long calls of this node came in time")
}
