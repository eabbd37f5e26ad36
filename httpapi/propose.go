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
		record, err := c.judgedFresh(p.record)
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
			return result, c.applied(p.kind, result)
		case wire.Unchanged:
			return result, c.applied(p.kind, result)
		case wire.Conflict:
			return result, keyConflict()
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

// judgedFresh builds a record. What this node knows may be older than what the group
// does: a refusal that rests on state is given only after the leader was asked, once.
func (c *call) judgedFresh(build func() (any, error)) (any, error) {
	record, err := build()
	if err == nil || !restsOnState(err) {
		return record, err
	}
	if err := c.judge.CatchUp(); err != nil {
		return nil, err
	}
	return build()
}

// restsOnState tells refusals that a newer state could undo from those that the call
// itself is the reason of.
func restsOnState(err error) bool {
	var here judged
	if errors.As(err, &here) {
		return true
	}
	status := 0
	var e *Error
	var refused *edge.Refusal
	switch {
	case errors.As(err, &e):
		status = e.Status
	case errors.As(err, &refused) && refused.Changeable:
		return true
	case errors.As(err, &refused):
		status = statusOf(refused.Code)
	}
	return status == http.StatusNotFound || status == http.StatusConflict || status == http.StatusPreconditionFailed
}

// applied waits until this node has applied what the call wrote, so that whatever it
// shows and judges next includes it. Screening calls are excepted: they change what no
// other call of the node is judged with at the edge.
func (c *call) applied(kind wire.Kind, result wire.Result) error {
	if kind == wire.KindScreen {
		return nil
	}
	if result.Index > c.api.deps.Published.Applied() {
		if err := c.api.deps.Records.WaitApplied(c.ctx, result.Index); err != nil {
			return unreadable(err) // Told as what it is where the call took effect: see fail.
		}
	}
	c.judge.Renew()
	return nil
}

// noVerdict is why the log gave a payment none.
func noVerdict(result wire.Result) error {
	switch result.Code {
	case wire.Conflict:
		return keyConflict()
	case wire.Refused:
		return refusal(result)
	}
	return errors.New("BUG: result code of a payment")
}

func keyConflict() *Error {
	return failure(http.StatusUnprocessableEntity, "idempotency_conflict", "this Idempotency-Key was used for another body")
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
func (c *call) answer(p proposal, unchanged func(wire.Result) (Answer, error)) (Answer, error) {
	result, err := c.propose(p)
	if err != nil {
		return Answer{}, err
	}
	if result.Code == wire.Unchanged {
		if unchanged == nil {
			return Answer{}, errors.New("BUG: record changed nothing")
		}
		return unchanged(result)
	}
	l, err := c.resultLeaf(result)
	if err != nil {
		return Answer{}, err
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
func (c *call) submit(p proposal, unchanged func(wire.Result) (Answer, error)) (Answer, error) {
	answer, err := c.answer(p, unchanged)
	var here judged
	if errors.As(err, &here) {
		return c.orReplay(here.cause)
	}
	var refused *edge.Refusal
	if !errors.As(err, &refused) {
		return answer, err
	}
	if refused.Note != nil {
		registrationsRefused.Inc()
		if _, err := c.api.deps.Proposer.Propose(c.ctx, wire.KindNote, wire.Encode(refused.Note)); err != nil {
			return Answer{}, proposalError(err)
		}
	}
	if refused.Changeable {
		return c.orReplay(err)
	}
	return Answer{}, err
}

// orReplay answers a keyed call that was made before, else with cause. It asks
// the log with a record that can do nothing: its basis fits no state, and the
// key is looked at before the basis.
func (c *call) orReplay(cause error) (Answer, error) {
	if c.asked.Idem == nil {
		return Answer{}, cause
	}
	probe := &wire.Register{Basis: engine.Basis{List: ^uint64(0)}}
	probe.Idem = c.asked.Idem
	result, err := c.api.deps.Proposer.Propose(c.ctx, wire.KindRegister, wire.Encode(probe))
	if err != nil {
		return Answer{}, proposalError(err)
	}
	switch result.Code {
	case wire.Replayed:
		l, err := c.resultLeaf(result)
		if err != nil {
			return Answer{}, err
		}
		return c.renderLeaf(&l)
	case wire.Conflict:
		return Answer{}, keyConflict()
	}
	return Answer{}, cause
}

// errMoved says that a change was made from a revision the log had left behind.
var errMoved = errors.New("revision moved")

// revise submits a change made from a revision, and makes it again from the
// newer one when another change came between. A caller's own If-Match is judged
// by build each time.
func (c *call) revise(kind wire.Kind, build func() (any, error)) (Answer, error) {
	for try := 0; ; try++ {
		var moved uint64
		answer, err := c.submit(proposal{kind: kind, record: build, refused: func(r wire.Result) error {
			if r.Refusal == wire.RefusedVersion {
				moved = r.Index
				return errMoved
			}
			return nil
		}}, nil)
		if !errors.Is(err, errMoved) {
			return answer, err
		}
		if err := c.judge.Again(try, moved); err != nil {
			return Answer{}, err
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
