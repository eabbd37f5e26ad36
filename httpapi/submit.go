package httpapi

import (
	"errors"
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
)

// judged is a refusal by this edge that rests on something that can change: a
// parent's policy, a list, a status. Had the call been made before with the same
// Idempotency-Key, its first answer stands, whatever has changed since.
type judged struct{ cause error }

func (j judged) Error() string { return j.cause.Error() }

// submit is answer for records whose making rests on changeable facts.
func (c *call) submit(p proposal, unchanged func(wire.Result) error) error {
	err := c.answer(p, unchanged)
	var here judged
	if errors.As(err, &here) {
		return c.orReplay(here.cause)
	}
	var refused *edge.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Note != nil {
		registrationsRefused.Inc()
		if _, err := c.api.deps.Proposer.Propose(c.ctx, wire.KindNote, wire.Encode(refused.Note)); err != nil {
			return proposalError(err)
		}
	}
	if refused.Changeable {
		return c.orReplay(err)
	}
	return err
}

// orReplay answers a keyed call that was made before, else with cause. It asks
// the log with a record that can do nothing: its basis fits no state, and the
// key is looked at before the basis.
func (c *call) orReplay(cause error) error {
	if c.asked.Idem == nil {
		return cause
	}
	probe := &wire.Register{Basis: engine.Basis{List: ^uint64(0)}}
	probe.Idem = c.asked.Idem
	result, err := c.api.deps.Proposer.Propose(c.ctx, wire.KindRegister, wire.Encode(probe))
	if err != nil {
		return proposalError(err)
	}
	switch result.Code {
	case wire.Replayed:
		l, err := c.resultLeaf(result)
		if err != nil {
			return err
		}
		return c.renderLeaf(&l)
	case wire.Conflict:
		return failure(http.StatusUnprocessableEntity, "idempotency_conflict", "this Idempotency-Key was used for another body")
	}
	return cause
}

// errMoved says that a change was made from a revision the log had left behind.
var errMoved = errors.New("revision moved")

// revise submits a change made from a revision, and makes it again from the
// newer one when another change came between. A caller's own If-Match is judged
// by build each time.
func (c *call) revise(kind wire.Kind, build func() (any, error)) error {
	for try := 0; ; try++ {
		var moved uint64
		err := c.submit(proposal{kind: kind, record: build, refused: func(r wire.Result) error {
			if r.Refusal == wire.RefusedVersion {
				moved = r.Index
				return errMoved
			}
			return nil
		}}, nil)
		if !errors.Is(err, errMoved) {
			return err
		}
		if err := c.judge.Again(try, moved); err != nil {
			return err
		}
	}
}

// pathAgent is knownAgent of the path's id.
func (c *call) pathAgent() (*engine.AgentProfile, error) {
	return c.judge.KnownAgent(c.r.PathValue("id"))
}

// pathFleet is knownFleet of the path's id.
func (c *call) pathFleet() (*engine.FleetProfile, error) {
	return c.judge.KnownFleet(c.r.PathValue("id"))
}
