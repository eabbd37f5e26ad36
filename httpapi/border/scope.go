package border

import (
	"context"
	"errors"
	"net/http"
	"runtime"

	"railguard/cluster/timing"
	"railguard/fsm"
	"railguard/httpapi/lanes"
)

// Scope says what a key with an operator's scope may do on a route. Every route declares
// one; Border.Open refuses a route without.
type Scope uint8

const (
	ScopeNone        Scope = iota // Not declared: Open refuses the route.
	ScopePublic                   // No key is needed. The answer holds no operator's data.
	ScopeReference                // Any key with the role may read: published knowledge, nobody's data.
	ScopeOwner                    // Operators' data: a key with a scope sees and changes only its own operator's.
	ScopeInstitution              // Concerns all operators: closed to keys with a scope, whatever their roles.
)

// Text returns the scope as docs/ROUTES.md shows it.
func (s Scope) Text() string {
	return [...]string{"", "public", "reference", "owner", "institution"}[s]
}

// admitScope refuses a key with an operator's scope on ScopeInstitution routes. On
// ScopeOwner routes the handlers judge row by row.
func (c *Request) admitScope() error {
	if c.route.Scope == ScopeInstitution && !c.Key.Institution() {
		return NewError(http.StatusForbidden, "forbidden", "this is the whole institution's: a key with an operator's scope may not do it")
	}
	return nil
}

// Kind groups calls by what they cost a node. Each kind has a cost and a lane: a flood of
// the most expensive calls must do no more harm than a flood of the cheapest, and must not
// keep others waiting.
type Kind uint8

const (
	KindNone Kind = iota // Not in the table: charged as the most expensive kind, and a test reports it.
	KindScreening
	KindRead       // Reads a row and its profile, or one leaf.
	KindWrite      // Writes one record into the log.
	KindCredential // Signs an existing credential.
	KindIssue      // Screens a party and signs a credential.
	KindNames      // Looks up names, or judges without a record.
	KindPolicy     // Compiles a policy.
	KindPage       // Walks rows of the state: one page of a list.
	KindSearch     // Walks leaves.
	KindQueue      // Walks open cases, and their leaves when it searches for a text.
	KindEvidence   // Proves, explains or replays one record.
	KindBundle     // Reads 256 leaves unchanged.
	KindEvents     // Walks leaves, and waits for new ones.
	KindDuplex     // Streams of payments: each of their parts is a call, and pays for its lines.
	KindExport     // Streams history with its proofs.
	KindDiff       // Compares two lists.
	KindWhole      // Reads or writes a list or the whole state.
	KindVerb       // Verbs of the node's operators: the cluster, keys.
	KindOpen       // Needs no key: documents, checkpoints, tiles, health.
	KindProbe      // Liveness: nothing may delay it.
	KindDebug      // Reads metrics and profiles, on the admin listener.
	Kinds
)

// bound says which bound limits how many calls of a kind run at once.
type bound uint8

const (
	boundOrdinary bound = iota // At most InFlightMax.
	boundReserved              // Not counted: officers and node operators get through a flood.
	boundScan                  // Calls take turns: see ScanPlaces.
	boundWatch                 // Places for calls that mostly wait; each step takes a turn.
	boundStream                // Places for long streams; each step takes a turn.
	boundDuplex                // Places for streams of payments; each of their parts is an ordinary call.
)

// Text returns the bound as docs/ROUTES.md shows it.
func (l bound) Text() string {
	return [...]string{"ordinary", "reserved", "scans", "watches", "streams", "duplexes"}[l]
}

// charge is the cost of a kind's calls, measured in screening calls (testdata/costs.tsv,
// shown in docs/ROUTES.md).
type charge struct {
	Name  string
	Cost  int // Charged at once to the key's rate; without a key, to the address'.
	Bound bound
	Each  int // Tenths charged later for each leaf, row or case that the call examined.
}

var Charges = [Kinds]charge{
	KindNone:       {"not in the table", 1000, boundScan, 0},
	KindScreening:  {"screening", 1, boundOrdinary, 0},
	KindRead:       {"read", 1, boundOrdinary, 0},
	KindWrite:      {"write", 1, boundOrdinary, 0},
	KindCredential: {"credential", 4, boundOrdinary, 0},
	KindIssue:      {"issue", 6, boundOrdinary, 0},
	KindNames:      {"names", 5, boundOrdinary, 0},
	KindPolicy:     {"policy", 5, boundOrdinary, 0},
	KindPage:       {"page", 50, boundScan, 0},
	KindSearch:     {"search", 10, boundScan, 4},
	KindQueue:      {"queue", 10, boundScan, 7},
	KindEvidence:   {"evidence", 5, boundScan, 0},
	KindBundle:     {"bundle", 5, boundScan, 0},
	KindEvents:     {"events", 10, boundWatch, 4},
	KindDuplex:     {"lines", 1, boundDuplex, 0},
	KindExport:     {"export", 10, boundStream, 50},
	KindDiff:       {"diff", 100, boundScan, 0},
	KindWhole:      {"whole", 100, boundStream, 0},
	KindVerb:       {"verb", 1, boundReserved, 0},
	KindOpen:       {"open", 1, boundOrdinary, 0},
	KindProbe:      {"probe", 0, boundReserved, 0},
	KindDebug:      {"debug", 0, boundReserved, 0},
}

// RoutesOf lists every route by its kind.
var RoutesOf = [Kinds][]string{
	KindScreening: {
		"POST /v1/screen", "POST /v1/screen/batch", "POST /v1/transactions/{txnId}/confirm", "POST /v1/permits/redeem",
	},
	KindRead: {
		"GET /v1/agents/{id}/attestations", "GET /v1/agents/{id}/limits", "GET /v1/agents/{id}/whitelist", "GET /v1/audit/{txnId}",
		"GET /v1/fleets/{id}", "GET /v1/fleets/{id}/whitelist", "GET /v1/key", "GET /v1/alerts/{id}", "GET /v1/inbox/{itemId}/comments", "GET /v1/learning/second-looks/{lookId}", "GET /v1/drafts", "GET /v1/drafts/{name}", "GET /v1/proposals/{id}", "GET /v1/lists", "GET /v1/ofac", "GET /v1/policy", "GET /v1/transactions", "GET /v1/whitelist",
		"GET /v1/backtests", "GET /v1/backtests/{id}", "GET /v1/ofac/retro", "GET /v1/policy/shadow", "GET /v1/policy/shadow/{id}",
		"GET /v1/webhooks/{id}",
	},
	KindWrite: {
		"PATCH /v1/agents/{id}", "POST /v1/agents/{id}/attest", "POST /v1/agents/{id}/model", "DELETE /v1/agents/{id}/ownership-transfer",
		"POST /v1/agents/{id}/ownership-transfer", "POST /v1/agents/{id}/reinstate", "POST /v1/agents/{id}/revoke", "POST /v1/agents/{id}/suspend",
		"PUT /v1/agents/{id}/whitelist", "POST /v1/agents/{id}/whitelist/entries", "DELETE /v1/agents/{id}/whitelist/entries/{entry}", "POST /v1/cleared",
		"DELETE /v1/cleared/{id}", "PATCH /v1/fleets/{id}", "DELETE /v1/fleets/{id}", "DELETE /v1/agents/{id}", "POST /v1/fleets/{id}/agents", "DELETE /v1/fleets/{id}/agents/{agentId}",
		"PUT /v1/fleets/{id}/whitelist", "POST /v1/fleets/{id}/whitelist/entries", "DELETE /v1/fleets/{id}/whitelist/entries/{entry}",
		"POST /v1/operators/limit", "POST /v1/operators/reinstate", "POST /v1/operators/suspend", "POST /v1/queue/{txnId}/assign", "POST /v1/queue/{txnId}/claim",
		"POST /v1/queue/{txnId}/comment", "POST /v1/queue/{txnId}/release", "POST /v1/inbox/{itemId}/claim", "POST /v1/inbox/{itemId}/release", "POST /v1/inbox/{itemId}/assign", "POST /v1/inbox/{itemId}/comment", "POST /v1/learning/second-looks/{lookId}", "PUT /v1/drafts/{name}", "DELETE /v1/drafts/{name}", "POST /v1/test/clock", "POST /v1/users/{id}/reinstate",
		"POST /v1/users/{id}/revoke", "POST /v1/users/{id}/suspend", "PUT /v1/whitelist", "POST /v1/whitelist/entries",
		"DELETE /v1/whitelist/entries/{entry}", "POST /v1/transactions/{txnId}/settle", "POST /v1/transactions/{txnId}/release",
		"POST /v1/reviews/{txnId}/withdraw", "POST /v1/proposals/{id}/confirm", "POST /v1/proposals/{id}/withdraw", "POST /v1/alerts/{id}/acknowledge", "POST /v1/alerts/acknowledge", "POST /v1/sar", "POST /v1/sar/{txnId}/move", "POST /v1/sanctions/cases", "POST /v1/sanctions/cases/{id}/move",
		"POST /v1/backtests/{id}/cancel", "POST /v1/policy/shadow/{id}/stop",
		"POST /v1/key/end-sessions", "POST /v1/webhooks", "PATCH /v1/webhooks/{id}", "DELETE /v1/webhooks/{id}", "POST /v1/webhooks/{id}/rotate-secret", "POST /v1/webhooks/{id}/redeliver",
		"POST /v1/ofac/retro",
	},
	KindCredential: {"GET /v1/agents/{id}", "GET /v1/users/{id}"},
	KindIssue: {
		"POST /v1/agents/register", "POST /v1/agents/{id}/reissue", "POST /v1/delegates/create", "POST /v1/fleets/create", "POST /v1/users/register",
		"POST /v1/users/{id}/reissue",
	},
	KindNames: {
		"GET /v1/match", "POST /v1/match", "POST /v1/reviews/{txnId}", "POST /v1/queue/bulk", "POST /v1/parties/{partyId}/decide", "POST /v1/screen/dry-run",
	},
	KindPolicy: {
		"PUT /v1/policy", "POST /v1/policy/validate",
		"POST /v1/policy/shadow/{id}/promote",
	},
	KindPage: {
		"GET /v1/agents", "GET /v1/cleared", "GET /v1/fleets", "GET /v1/users", "GET /v1/policy/versions", "GET /admin/keys", "GET /admin/passkeys", "GET /v1/webhooks", "GET /v1/webhooks/{id}/deliveries",
	},
	KindSearch: {
		"GET /v1/activity", "GET /v1/audit", "POST /v1/audit/search", "GET /v1/sar/{txnId}", "PUT /v1/sar/{txnId}/narrative", "GET /v1/sanctions/cases/{id}", "GET /v1/sanctions/cases/{id}/report",
		"GET /v1/ofac/retro/{id}", "GET /v1/parties", "GET /v1/parties/{partyId}", "GET /v1/search", "POST /v1/search",
	},
	KindQueue: {
		"GET /v1/inbox", "GET /v1/learning/second-looks", "GET /v1/queue", "POST /v1/queue/next", "GET /v1/alerts", "GET /v1/proposals", "GET /v1/transactions/unresolved", "GET /v1/sar", "GET /v1/sanctions/cases",
	},
	KindEvidence: {
		"GET /v1/audit/{txnId}/explain", "GET /v1/audit/{txnId}/proof", "POST /v1/audit/{txnId}/replay",
	},
	KindBundle: {
		"GET /log/tile/entries/{index...}",
	},
	KindEvents: {
		"GET /v1/events", "POST /v1/webhooks/{id}/test",
	},
	KindDuplex: {
		"POST /v1/screen/stream",
	},
	KindExport: {
		"GET /v1/audit/export", "GET /v1/learning", "GET /v1/sanctions/blocked-property", "GET /v1/reconciliations/{id}/findings",
	},
	KindDiff: {
		"GET /v1/ofac/{id}", "GET /v1/ofac/{id}/diff", "POST /v1/backtests", "POST /v1/policy/shadow",
	},
	KindWhole: {
		"GET /v1/cluster/backup", "GET /v1/ofac/{id}/entities", "GET /v1/cluster/snapshot", "POST /v1/cluster/snapshot", "POST /v1/lists/{id}/entries", "POST /v1/ofac/rollback", "POST /v1/ofac/sync", "POST /v1/ofac/{id}/activate",
		"POST /v1/ofac/{id}/rollback", "POST /v1/ofac/snapshots", "POST /v1/reconciliations",
	},
	KindVerb: {
		"POST /v1/cluster/demote", "POST /v1/cluster/drain", "POST /v1/cluster/admit", "GET /v1/cluster/leader", "GET /v1/cluster/peers",
		"POST /v1/cluster/promote", "POST /v1/cluster/remove", "GET /v1/cluster/status", "POST /v1/cluster/matcher", "POST /v1/cluster/format", "POST /v1/cluster/confirm-time", "GET /v1/cluster/backups", "POST /v1/cluster/backups", "POST /v1/cluster/transfer-leader", "POST /admin/keys",
		"DELETE /admin/keys/{id}", "POST /admin/keys/{id}/rotate", "POST /admin/keys/{id}/end-sessions", "POST /admin/keys/{id}/reinstate", "POST /admin/keys/{id}/end-person", "POST /admin/passkeys", "DELETE /admin/passkeys/{id}", "POST /admin/log-key/rotate", "GET /admin/debug", "GET /admin/log-level", "POST /admin/log-level", "POST /admin/signing-key/rotate",
		"GET /v1/reconciliations", "GET /v1/reconciliations/{id}", "GET /admin/cluster-secret", "POST /admin/cluster-secret/reseal", "GET /admin/signing-keys", "POST /admin/signing-keys/{kid}/revoke",
	},
	KindOpen: {
		"GET /contexts/kya/v1", "GET /docs/errors", "GET /docs/rules", "GET /openapi.json", "GET /docs", "GET /docs/explorer.js",
		"GET /docs/swagger-ui-bundle.js", "GET /docs/swagger-ui.css", "GET /docs/changelog.json", "GET /log/checkpoint", "GET /log/cosigned", "GET /log/keys", "GET /log/policy", "GET /log/consistency/{from}/{to}", "GET /log/tile", "GET /log/tile/entries",
		"GET /log/tile/{level}", "GET /log/tile/{level}/{index...}", "GET /v1/.well-known/jwks.json", "GET /v1/health", "GET /status-lists/{list}",
	},
	KindProbe: {
		"GET /livez", "GET /readyz",
	},
	KindDebug: {
		"GET /debug/pprof/allocs", "GET /debug/pprof/block", "GET /debug/pprof/cmdline", "GET /debug/pprof/goroutine", "GET /debug/pprof/heap",
		"GET /debug/pprof/mutex", "GET /debug/pprof/profile", "GET /debug/pprof/symbol", "GET /debug/pprof/threadcreate", "GET /debug/pprof/trace",
		"GET /metrics",
	},
}

var KindOf = func() map[string]Kind {
	known := make(map[string]Kind)
	for k, routes := range RoutesOf {
		for _, route := range routes {
			known[route] = Kind(k)
		}
	}
	return known
}()

const (
	CostForged = 10       // Cost of a token whose signature was checked and found invalid.
	BodyBlock  = 16 << 10 // Each further block of a body costs one more.
)

// ChargeOf returns the cost of a route's call, without its body, and its lane.
func ChargeOf(r *Route) charge {
	is := Charges[KindOf[r.Method+" "+r.Path]]
	if r.Reserved && is.Bound == boundOrdinary {
		is.Bound = boundReserved
	}
	return is
}

// costOfBody returns the cost of a body beyond its first block. A body of unknown length is
// charged as one of the largest usual bodies of its kind.
func costOfBody(size int64) int {
	if size < 0 {
		size = 4 * BodyBlock
	}
	return int(min(size, 256<<20) / BodyBlock)
}

// Charge charges the key when a call turns out to cost more. It refuses nothing; later calls wait
// for it.
func (k *Key) Charge(more int) {
	if k.Calls == nil || more <= 0 {
		return
	}
	k.Use.asked.Add(int64(more))
	chargeLater(k.Calls, more, k.Calls.Burst()) // A debt of one burst at most.
}

// ScreeningCost is the cost of one payment of a batch.
func ScreeningCost(size int) int { return Charges[KindScreening].Cost + costOfBody(int64(size)) }

// ChargeWhole charges the difference between the call's whole cost and what it was charged
// at its start.
func ChargeWhole(c *Request, cost int) error {
	more := cost - c.route.charge.Cost - costOfBody(c.r.ContentLength)
	if more <= 0 || c.Key.Use == nil {
		return nil
	}
	c.Key.Use.asked.Add(int64(more))
	return c.takeTokens(c.Key.Calls, c.Key.Limit, more)
}

// ChargeCalls charges for that many more calls of the route's kind.
func ChargeCalls(c *Request, more int) { c.chargeMore(more * c.route.charge.Cost) }

// ChargeLooked charges for what a walk examined.
func ChargeLooked(c *Request, at int) {
	c.chargeMore(at * c.route.charge.Each / 10)
}

func (c *Request) chargeMore(calls int) { c.Key.Charge(calls) }

// scans holds the turns of expensive calls, and the pace of the running ones.
type scans struct {
	*lanes.Lane
	Pace *timing.Pace
}

// ScanPlaces is how many scans compute at once on this node: half its processors, since a
// verdict must not wait for a search. A scan gives up its turn between steps, so that keys
// take turns however long a walk is.
func ScanPlaces() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// enterLane waits for the call's place in its lane. Without an error the call must
// leaveLane later.
func enterLane(c *Request) error {
	b := c.border
	switch c.route.charge.Bound {
	case boundReserved:
		return nil
	case boundScan:
		if err := b.Scans.Enter(c.ctx, callerKey(c)); err != nil {
			return noTurn(err)
		}
		beginPace(c)
	case boundWatch:
		if err := enterWithin(c, b.Watchers); err != nil {
			return err
		}
	case boundStream:
		if err := enterWithin(c, b.Streams); err != nil {
			return err
		}
	case boundDuplex:
		if err := enterWithin(c, b.Duplexes); err != nil {
			return err
		}
	}
	if b.InFlight.Add(1) > InFlightMax {
		leaveLane(c)
		return Unavailable("overloaded", "too many calls at once on this node")
	}
	if c.route.charge.Bound == boundDuplex {
		return nil // Its parts wait for verdicts, each by itself.
	}
	if err := b.joinQueue(c); err != nil {
		leaveLane(c)
		return err
	}
	return nil
}

// enterWithin waits for a place, but no longer than an ordinary call may last.
func enterWithin(c *Request, in *lanes.Lane) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.border.Deadline)
	defer cancel()
	if err := in.Enter(ctx, callerKey(c)); err != nil {
		return noTurn(err)
	}
	return nil
}

// EnterWatch waits for a place among the calls that wait for events; LeaveWatch gives it
// back.
func EnterWatch(c *Request) error { return enterWithin(c, c.border.Watchers) }

func LeaveWatch(c *Request) { c.border.Watchers.Leave(callerKey(c)) }

func leaveLane(c *Request) {
	switch c.route.charge.Bound {
	case boundReserved:
		return
	case boundScan:
		if !c.lost {
			c.border.Scans.Leave(callerKey(c))
		}
	case boundWatch:
		c.border.Watchers.Leave(callerKey(c))
	case boundStream:
		c.border.Streams.Leave(callerKey(c))
	case boundDuplex:
		c.border.Duplexes.Leave(callerKey(c))
	}
	c.border.leaveQueue(c)
	c.border.InFlight.Add(-1)
}

// PassTurn lets other scans run between two steps of this one.
func PassTurn(c *Request) error {
	if c.route.charge.Bound != boundScan {
		return nil
	}
	if err := c.border.Scans.Pass(c.ctx, callerKey(c)); err != nil {
		c.lost = true
		return noTurn(err)
	}
	c.pacing.work = c.border.Scans.Pace.Begin(c.Start, callsMakeWay)
	return nil
}

// beginPace paces the call's work in its turn. From then on, while the node is busy, the
// call rests between time slices: before each leaf that it opens, and at each RestBetween.
func beginPace(c *Request) {
	c.pacing.work = c.border.Scans.Pace.Begin(c.Start, callsMakeWay)
	c.Judge.Between = c.pacing.work.Between
}

// RestBetween lets verdicts use the processor between two steps of a paced call.
func RestBetween(c *Request) { c.pacing.work.Between() }

// TakeTurn runs one step of a stream as a turn in the lane of scans.
func TakeTurn(c *Request, step func() error) error {
	if err := c.border.Scans.Enter(c.ctx, callerKey(c)); err != nil {
		return noTurn(err)
	}
	defer c.border.Scans.Leave(callerKey(c))
	beginPace(c)
	defer func() { c.pacing.work, c.Judge.Between = timing.Work{}, nil }()
	return step()
}

// Settings are those on which the call is judged: an immutable value.
func (c *Request) Settings() *fsm.Settings { return c.Judge.Terms.Settings }

// KeyID is the id of the caller's key; "" without one.
func (c *Request) KeyID() string {
	if c.Key == nil {
		return ""
	}
	return c.Key.ID
}

// callerKey identifies the caller whose calls take turns with others'.
func callerKey(c *Request) string {
	if id := c.KeyID(); id != "" {
		return id
	}
	return c.border.ClientAddress(c.r).String()
}

func noTurn(err error) error {
	if errors.Is(err, lanes.ErrFull) {
		return Unavailable("overloaded", "too many searches, exports or other long calls wait already, on this node or of this key")
	}
	return Unavailable("overloaded", "no turn among the searches, exports and other long calls of this node came in time")
}
