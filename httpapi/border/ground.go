package border

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"railguard/cluster/report"
)

// A node is current or silent. The state here may be older than the group's: while a node reads
// its log, when it is cut off, and for a moment at any time. So each route says on what its
// answers rest, in this file and nowhere else, and one gate stands before all of them.

// Ground is what a route's answers rest on.
type Ground uint8

const (
	// GroundState: the replicated state, as this node has it. The node is current, and it has
	// applied what the leader had committed when the call came: a key that was revoked reads
	// nothing, and nothing acknowledged is missing. A route that is not in the tables has this.
	GroundState Ground = iota
	// GroundLog: the call is a record, and where it is applied the log judges key, list and
	// policy again. It waits for nothing but the end of the node's start. An answer without a
	// record is confirmed like those of GroundState.
	GroundLog
	// GroundPublished: a public statement about the state of this moment, the same for all.
	// The node is current.
	GroundPublished
	// GroundNode: the node itself, its own documents, and what whoever reads it can check
	// without asking anybody (keys, signed tree heads, tiles). It is answered at any time. Here
	// are also the verbs with which operators mend a group that has no leader.
	GroundNode
)

// Text returns the ground as docs/ROUTES.md shows it.
func (g Ground) Text() string { return [...]string{"state", "log", "published", "node"}[g] }

// groundOfKind is the ground of most routes of a kind; groundOfRoute has the others.
var groundOfKind = [Kinds]Ground{
	KindScreening: GroundLog, KindDuplex: GroundLog, KindWrite: GroundLog, KindIssue: GroundLog,
	KindOpen: GroundNode, KindProbe: GroundNode, KindDebug: GroundNode,
}

var groundOfRoute = map[string]Ground{
	"GET /status-lists/{list}": GroundPublished,

	"POST /v1/reviews/{txnId}": GroundLog, "POST /v1/queue/bulk": GroundLog, "POST /v1/queue/next": GroundLog,
	"PUT /v1/policy": GroundLog, "POST /v1/policy/shadow/{id}/promote": GroundLog,
	"POST /v1/ofac/snapshots": GroundLog, "POST /v1/ofac/{id}/activate": GroundLog,
	"POST /v1/lists/{id}/entries": GroundLog,
	"POST /v1/ofac/{id}/rollback": GroundLog, "POST /v1/ofac/rollback": GroundLog,
	"POST /admin/keys": GroundLog, "DELETE /admin/keys/{id}": GroundLog, "POST /admin/keys/{id}/rotate": GroundLog, "POST /admin/keys/{id}/end-sessions": GroundLog,
	"POST /admin/log-key/rotate": GroundLog, "POST /admin/signing-key/rotate": GroundLog, "POST /admin/signing-keys/{kid}/revoke": GroundLog,
	"POST /admin/cluster-secret/reseal": GroundLog, "POST /v1/cluster/matcher": GroundLog, "POST /v1/cluster/backups": GroundLog, "POST /v1/cluster/format": GroundLog,

	"GET /v1/cluster/status": GroundNode, "GET /v1/cluster/peers": GroundNode, "GET /v1/cluster/leader": GroundNode,
	"POST /v1/cluster/admit": GroundNode, "POST /v1/cluster/confirm-time": GroundNode, "POST /v1/cluster/demote": GroundNode,
	"POST /v1/cluster/drain": GroundNode, "POST /v1/cluster/promote": GroundNode, "POST /v1/cluster/remove": GroundNode,
	"POST /v1/cluster/transfer-leader": GroundNode, "POST /v1/cluster/snapshot": GroundNode,
	"GET /admin/debug": GroundNode, "GET /admin/log-level": GroundNode, "POST /admin/log-level": GroundNode,
}

// GroundOf returns the ground of a route.
func GroundOf(method, path string) Ground {
	key := method + " " + path
	if ground, told := groundOfRoute[key]; told {
		return ground
	}
	return groundOfKind[KindOf[key]]
}

// passGate refuses a call that this node cannot answer now: while it drains, before the cluster
// is formed, while it reads its log, and when it is cut off. A verdict needs no current node: the
// record of a node that is cut off comes to no log.
func (c *Request) passGate() error {
	b := c.border
	if !c.route.Always {
		if b.draining.Load() {
			return Unavailable("shutting_down", "this node is draining")
		}
		if c.Judge.Terms.Settings.Genesis == nil && c.route.Roles != 0 {
			return NotBootstrapped()
		}
	}
	if c.route.ground == GroundNode {
		return nil
	}
	switch b.deps.Records.Currentness() {
	case report.Starting:
		silentTotal.Inc()
		return Unavailable("no_leader", "this node has just started, and does not know yet what the group has committed")
	case report.CutOff:
		if c.route.ground != GroundLog {
			silentTotal.Inc()
			return Unavailable("no_leader", "this node has no contact with its group, so what it knows may be out of date")
		}
	}
	return nil
}

// longCall is how long a call may last before its key is confirmed again at its end.
const longCall = 250 * time.Millisecond

// confirmKey makes sure that the key is good by what the leader has committed, after the call
// began. It asks the leader together with all other callers of these milliseconds. Where
// operators mend a group, it does not insist on an answer.
func (c *Request) confirmKey() error {
	switch c.route.ground {
	case GroundState:
		if err := c.Judge.CatchUp(); err != nil {
			return unconfirmed(err)
		}
	case GroundNode:
		c.Judge.ConfirmBriefly()
	default:
		return nil
	}
	c.confirmed = time.Now()
	return c.renewKey()
}

// confirmAnswer is confirmKey at the end of a call: for an answer without a record, which the log
// did not judge, and for one that took long, as one that waited for events.
func (c *Request) confirmAnswer() error {
	state := c.route.ground == GroundState
	switch {
	case c.Key == nil, !state && c.route.ground != GroundLog:
		return nil
	case state && time.Since(c.confirmed) > longCall, !state && !c.logged && !c.Happened:
		ctx, cancel := context.WithTimeout(c.r.Context(), c.border.Deadline) // A call that took long has no time of its own left.
		defer cancel()
		if err := c.Judge.ConfirmWithin(ctx); err != nil && state && c.r.Method == http.MethodPost {
			return afterTheFact() // What it began, it began with a good key.
		} else if err != nil {
			return unconfirmed(err)
		}
	case !state:
		return nil
	}
	if err := c.renewKey(); err != nil || c.Happened {
		return err
	}
	return c.refuseLooker()
}

// renewKey looks the key up again if any key has changed since.
func (c *Request) renewKey() error {
	if c.Key.ID == AdminTokenID || c.keys == c.border.KeysNow() {
		return nil
	}
	return c.AuthenticateAgain()
}

// unconfirmed is the answer to a call that nobody could confirm.
func unconfirmed(err error) error {
	var end *Error
	if errors.As(endError(err), &end) && end.Code == "shutting_down" {
		return end
	}
	return fmt.Errorf("%w (%w)", Unavailable("no_leader", "the leader could not be asked whether this node is up to date"), err)
}
