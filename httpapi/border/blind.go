package border

import (
	"net/http"

	"railguard/fsm"
	"railguard/fsm/wire"
)

// Whoever has a second look in hand must not learn what was decided (decision 156). So his other calls
// are refused, on every node: all of them, but those of this table and those whose answers do not rest
// on the state. A new route is refused, too, until it is put here.
var blindRoutes = map[string]bool{
	"GET /v1/learning/second-looks/{lookId}": true, "POST /v1/learning/second-looks/{lookId}": true, "POST /v1/inbox/{itemId}/release": true,
	"GET /v1/key": true, "POST /v1/key/end-sessions": true,
	"GET /v1/drafts": true, "GET /v1/drafts/{name}": true, "PUT /v1/drafts/{name}": true, "DELETE /v1/drafts/{name}": true,
}

// isBlind tells whether a route's answers tell nothing of any case but the one in hand.
func (r *Route) isBlind() bool {
	return r.ground == GroundNode || blindRoutes[r.Method+" "+r.Path]
}

// admitLooker refuses the call of a person who has a second look in hand. A call that the log judges
// waits for nothing else; an officer's asks the leader first, since its answer may tell what was decided.
func (c *Request) admitLooker() error {
	policy := c.Published().Settings().Policy
	if c.Key != nil && c.route.ground == GroundLog && policy != nil && policy.SecondLook != nil && c.Key.Institution() && c.Key.May(wire.RoleReviewer|wire.RoleAuditor) && !c.route.isBlind() {
		if err := c.Judge.CatchUp(); err != nil {
			return unconfirmed(err)
		}
	}
	return c.refuseLooker()
}

// refuseLooker is admitLooker by what this node knows. It goes by the person: with another key of his he
// is refused, too.
func (c *Request) refuseLooker() error {
	settings := c.Published().Settings()
	if len(settings.InHand) == 0 || c.Key == nil || c.route.isBlind() {
		return nil
	}
	row := c.Key.Key.Row
	if row == 0 || uint64(row) > uint64(len(settings.Keys)) {
		return nil // The machine is no person, and has none in hand.
	}
	held := settings.HeldBy(settings.Keys[row-1], c.Published().LogTime())
	if held == nil {
		return nil
	}
	e := NewError(http.StatusForbidden, "second_look_in_hand", "you have a second look in hand, and must not learn what was decided: answer it or give it back first")
	e.Extra.Text("lookId", fsm.NewIDs(settings.Genesis.IDKey, settings.Epochs...).LookID(held.Decision))
	e.Extra.Time("leaseExpiresAt", held.Until)
	return e
}
