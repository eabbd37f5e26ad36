package border

import (
	"errors"
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/engine/passkey"
	"railguard/fsm/wire"
)

// Proposal is one record on its way to the log.
type Proposal struct {
	Kind wire.Kind

	// Record judges the call and builds the record's body. It is called again after the log
	// reported a stale basis and this node has caught up.
	Record func() (any, error)

	// Refused answers a refused record. When it is nil or returns nil, RefusalOf answers.
	Refused func(wire.Result) error
}

// Propose puts a record into the log. The result is Applied, Unchanged or
// Replayed; everything else is an error.
func (c *Request) Propose(p Proposal) (wire.Result, error) {
	var none wire.Result
	for try := 0; ; try++ {
		record, err := c.JudgeFresh(p.Record)
		if err != nil {
			return none, err
		}
		body := wire.Encode(record)
		result, err := c.border.deps.Proposer.Propose(c.proposalContext(), p.Kind, body)
		c.walk.Logged()
		if err != nil {
			return none, ProposalError(err)
		}
		c.Judge.Index, c.logged = result.Index, true
		switch result.Code {
		case wire.Applied, wire.Replayed:
			c.Happened = true
			return result, c.AwaitApplied(p.Kind, result)
		case wire.Unchanged:
			return result, c.AwaitApplied(p.Kind, result)
		case wire.Conflict:
			return result, KeyConflict()
		case wire.Stale:
			if err := c.Judge.Again(try, result.Index); err != nil {
				return result, err
			}
		case wire.KeyMoved:
			if err := c.Judge.Again(try, result.Index); err != nil {
				return result, err
			}
			if err := c.AuthenticateAgain(); err != nil {
				return result, err
			}
		case wire.Refused:
			return result, c.refuseProposal(p, result)
		default:
			return result, errors.New("BUG: result code of a proposal")
		}
	}
}

// JudgeFresh builds a record. This node's state may be older than the cluster's, so a
// refusal that rests on state is given only after the node has caught up with the leader
// once.
func (c *Request) JudgeFresh(build func() (any, error)) (any, error) {
	record, err := build()
	if err == nil || !RestsOnState(err) {
		return record, err
	}
	if err := c.Judge.CatchUp(); err != nil {
		return nil, err
	}
	return build()
}

// RestsOnState distinguishes refusals that a newer state could undo from those that the
// call itself causes.
func RestsOnState(err error) bool {
	var here ChangeableRefusal
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
		status = StatusOf(refused.Code)
	}
	return status == http.StatusNotFound || status == http.StatusConflict || status == http.StatusPreconditionFailed
}

// AwaitApplied waits until this node has applied what the call wrote, so that its next
// answers and judgements include it. Screening calls do not wait: nothing that they change
// is used to judge another call at the edge.
func (c *Request) AwaitApplied(kind wire.Kind, result wire.Result) error {
	if kind == wire.KindScreen {
		return nil
	}
	return c.AwaitIndex(result.Index)
}

// AwaitIndex waits until this node has applied the log up to an index, then renews the
// judge's state.
func (c *Request) AwaitIndex(index uint64) error {
	if index > c.border.deps.Published.Applied() {
		if err := c.border.deps.Records.WaitApplied(c.ctx, index); err != nil {
			return UnreadableError(err) // If the call took effect, visibleError replaces this error.
		}
	}
	c.Judge.Renew()
	return nil
}

func KeyConflict() *Error {
	return NewError(http.StatusUnprocessableEntity, "idempotency_conflict", "this Idempotency-Key was used for another body")
}

func (c *Request) refuseProposal(p Proposal, result wire.Result) error {
	if err := c.Unsigned(result); err != nil {
		return err
	}
	if p.Refused != nil {
		if err := p.Refused(result); err != nil {
			return err
		}
	}
	return RefusalOf(c.Key, result)
}

// AnswerProposal proposes and answers with the record's leaf, rendered by its kind. An
// idempotent replay, on any node, gives the same bytes. unchanged answers a record that
// changes nothing; it is nil where that cannot occur.
func (c *Request) AnswerProposal(p Proposal, unchanged func(wire.Result) (Answer, error)) (Answer, error) {
	result, err := c.Propose(p)
	if err != nil {
		return Answer{}, err
	}
	if result.Code == wire.Unchanged {
		if unchanged == nil {
			return Answer{}, errors.New("BUG: record changed nothing")
		}
		return unchanged(result)
	}
	l, err := c.OpenResult(result)
	if err != nil {
		return Answer{}, err
	}
	return c.AnswerLeaf(&l)
}

// OpenResult returns the leaf of an applied or replayed record.
func (c *Request) OpenResult(result wire.Result) (edge.Leaf, error) {
	c.Happened = true
	data := result.Data
	if result.Code == wire.Replayed {
		replayedTotal.Inc()
		c.Replayed = true
		var err error
		if data, err = c.replayedLeaf(result); err != nil {
			return edge.Leaf{}, err
		}
	}
	return c.Judge.OpenLeaf(result.Leaf, data)
}

// replayedLeaf reads the first call's leaf. An error here comes after the fact: the caller
// gets outcome unknown, and retries with its key.
func (c *Request) replayedLeaf(result wire.Result) ([]byte, error) {
	if err := c.border.deps.Records.WaitApplied(c.ctx, result.Index); err != nil {
		return nil, UnreadableError(err)
	}
	data, err := c.border.deps.Records.Leaf(c.ctx, result.Leaf)
	if err != nil {
		return nil, edge.LeafError(err)
	}
	return data, nil
}

// ChangeableRefusal is a refusal by this edge that rests on changeable facts: a parent's
// policy, a list, a status. If the same call with the same Idempotency-Key was made before,
// its first answer is repeated, whatever has changed since.
type ChangeableRefusal struct{ Cause error }

func (j ChangeableRefusal) Error() string { return j.Cause.Error() }

// AnswerChangeable is AnswerProposal for records that depend on changeable facts.
func (c *Request) AnswerChangeable(p Proposal, unchanged func(wire.Result) (Answer, error)) (Answer, error) {
	answer, err := c.AnswerProposal(p, unchanged)
	var here ChangeableRefusal
	if errors.As(err, &here) {
		return c.AnswerReplay(here.Cause)
	}
	var refused *edge.Refusal
	if !errors.As(err, &refused) {
		return answer, err
	}
	if refused.Note != nil {
		registrationsRefused.Inc()
		if _, err := c.border.deps.Proposer.Propose(c.ctx, wire.KindNote, wire.Encode(refused.Note)); err != nil {
			return Answer{}, ProposalError(err)
		}
	}
	if refused.Changeable {
		return c.AnswerReplay(err)
	}
	return Answer{}, err
}

// AnswerReplay repeats the answer of an earlier call with the same key; if there was none,
// it returns cause.
func (c *Request) AnswerReplay(cause error) (Answer, error) {
	if c.Asked.Idem == nil {
		return Answer{}, cause
	}
	result, err := c.probeReplay()
	if err != nil {
		return Answer{}, err
	}
	switch result.Code {
	case wire.Replayed:
		l, err := c.OpenResult(result)
		if err != nil {
			return Answer{}, err
		}
		return c.AnswerLeaf(&l)
	case wire.Conflict:
		return Answer{}, KeyConflict()
	}
	return Answer{}, cause
}

// probeReplay asks the log for the result of an earlier call with the same key. A probe is always
// stale if there was none, and also if the log has forgotten keys since its edge looked for it.
func (c *Request) probeReplay() (wire.Result, error) {
	for try := 0; ; try++ {
		probe := c.Judge.ReplayProbe()
		result, err := c.border.deps.Proposer.Propose(c.ctx, wire.KindRegister, wire.Encode(probe))
		if err != nil {
			return result, ProposalError(err)
		}
		if result.Code != wire.Stale || result.Value <= probe.Idem.Looked {
			return result, nil
		}
		if err := c.Judge.Again(try, result.Index); err != nil {
			return result, err
		}
	}
}

// ErrMoved says that a change was based on an outdated revision.
var ErrMoved = errors.New("revision moved")

// AnswerRevision submits a change that is based on a revision. When another change came
// first, it builds the change again from the newer revision. build checks the caller's
// If-Match each time.
func (c *Request) AnswerRevision(kind wire.Kind, build func(*edge.Judge) (any, error)) (Answer, error) {
	for try := 0; ; try++ {
		var moved uint64
		answer, err := c.AnswerChangeable(Proposal{Kind: kind, Record: func() (any, error) { return build(&c.Judge) }, Refused: func(r wire.Result) error {
			if r.Refusal == wire.RefusedVersion {
				moved = r.Index
				return ErrMoved
			}
			return nil
		}}, nil)
		if !errors.Is(err, ErrMoved) {
			return answer, err
		}
		if err := c.Judge.Again(try, moved); err != nil {
			return Answer{}, err
		}
	}
}

// PathAgent returns the known agent of the path's id.
func (c *Request) PathAgent() (*engine.AgentProfile, error) {
	return c.Judge.KnownAgent(c.r.PathValue("id"))
}

// PathFleet returns the known fleet of the path's id.
func (c *Request) PathFleet() (*engine.FleetProfile, error) {
	return c.Judge.KnownFleet(c.r.PathValue("id"))
}

// Unsigned answers a record that the caller has to sign first, with the statement to sign; nil: the
// record was refused for another reason. The answer says what a browser asks its authenticator for.
func (c *Request) Unsigned(result wire.Result) error {
	offer := c.Asked.Offered
	if result.Refusal != wire.RefusedUnsigned || offer == nil {
		return nil
	}
	message := "the policy demands that you sign this with a passkey: sign the challenge, and send the assertion as " + PasskeyHeader
	if len(offer.Passkeys) == 0 {
		message = "the policy demands that you sign this with a passkey, and you have none that counts"
		if offer.Waits {
			message += " yet: a new one counts after 24 hours"
		}
	}
	e := NewError(http.StatusForbidden, "passkey_required", message)
	challenge := passkey.Challenge(offer.Statement)
	e.Extra.Text("statement", string(offer.Statement))
	e.Extra.Text("challenge", passkey.Encode(challenge[:]))
	e.Extra.Texts("passkeys", append([]string{}, offer.Passkeys...))
	return e
}

// PasskeyHeader is the header of an assertion: base64url of a JSON object.
const PasskeyHeader = "X-Railguard-Passkey"
