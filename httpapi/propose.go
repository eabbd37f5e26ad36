package httpapi

import (
	"errors"
	"net/http"

	"railguard/edge"
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
