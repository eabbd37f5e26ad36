package httpapi

import (
	"errors"
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
)

// proposal is one record on its way to the log.
type proposal struct {
	kind wire.Kind

	// record judges and builds the record's body. It is called again when the
	// log had moved on (a stale basis), after this node has caught up.
	record func() (any, error)

	// refused answers a refused record; nil, or a nil error from it, leaves it
	// to refusal.
	refused func(wire.Result) error
}

// propose puts a record into the log. The result is Applied, Unchanged or
// Replayed; everything else is an error.
func (c *call) propose(p proposal) (wire.Result, error) {
	for try := 0; ; try++ {
		record, err := p.record()
		if err != nil {
			return wire.Result{}, err
		}
		result, err := c.api.deps.Proposer.Propose(c.ctx, p.kind, wire.Encode(record))
		if err != nil {
			return wire.Result{}, proposalError(err)
		}
		c.judge.Index = result.Index
		switch result.Code {
		case wire.Applied, wire.Replayed:
			c.happened = true
			return result, nil
		case wire.Unchanged:
			return result, nil
		case wire.Conflict:
			return result, failure(http.StatusUnprocessableEntity, "idempotency_conflict",
				"this Idempotency-Key was used for another body")
		case wire.Stale:
			if err := c.judge.Again(try, result.Index); err != nil {
				return result, err
			}
		case wire.KeyMoved:
			if err := c.judge.Again(try, result.Index); err != nil {
				return result, err
			}
			if err := c.authenticateAgain(); err != nil {
				return result, err
			}
		case wire.Refused:
			return result, c.refused(p, result)
		default:
			return result, errors.New("BUG: result code of a proposal")
		}
	}
}

func (c *call) refused(p proposal, result wire.Result) error {
	if p.refused != nil {
		if err := p.refused(result); err != nil {
			return err
		}
	}
	return refusal(result)
}

// answer proposes and answers with the record's leaf, rendered by its kind:
// now, on an idempotent replay, on any node, the same bytes. unchanged answers
// a record that had nothing to change; nil where that cannot be.
func (c *call) answer(p proposal, unchanged func(wire.Result) error) error {
	result, err := c.propose(p)
	if err != nil {
		return err
	}
	if result.Code == wire.Unchanged {
		if unchanged == nil {
			return errors.New("BUG: record changed nothing")
		}
		return unchanged(result)
	}
	l, err := c.resultLeaf(result)
	if err != nil {
		return err
	}
	return c.renderLeaf(&l)
}

// resultLeaf is the leaf of an applied or replayed record.
func (c *call) resultLeaf(result wire.Result) (edge.Leaf, error) {
	c.happened = true
	data := result.Data
	if result.Code == wire.Replayed {
		replayedTotal.Inc()
		c.replayed = true
		var err error
		if data, err = c.replayedLeaf(result); err != nil {
			return edge.Leaf{}, err
		}
	}
	return c.judge.OpenLeaf(result.Leaf, data)
}

// replayedLeaf reads the first call's leaf. What fails here fails after the fact:
// the caller is told that the outcome is unknown, and retries with its key.
func (c *call) replayedLeaf(result wire.Result) ([]byte, error) {
	if err := c.api.deps.Records.WaitApplied(c.ctx, result.Index); err != nil {
		return nil, unreadable(err)
	}
	data, err := c.api.deps.Records.Leaf(c.ctx, result.Leaf)
	if err != nil {
		return nil, edge.LeafError(err)
	}
	return data, nil
}

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
