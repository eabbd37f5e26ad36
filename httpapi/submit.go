package httpapi

import (
	"errors"
	"net/http"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// fragmentMax is how long a fragment may be: a leaf less room for its head, with
// the longest chain and the ids of the agents of one assignment.
const fragmentMax = engine.LeafMax - 14*engine.KiB

// judged is a refusal by this edge that rests on something that can change: a
// parent's policy, a list, a status. Had the call been made before with the same
// Idempotency-Key, its first answer stands, whatever has changed since.
type judged struct{ cause error }

func (j judged) Error() string { return j.cause.Error() }

// submit is answer for records whose making rests on changeable facts.
func (c *call) submit(p proposal, unchanged func(wire.Result) error) error {
	err := c.answer(p, unchanged)
	var refused judged
	if errors.As(err, &refused) {
		return c.orReplay(refused.cause)
	}
	return err
}

// orReplay answers a keyed call that was made before, else with cause. It asks
// the log with a record that can do nothing: its basis fits no state, and the
// key is looked at before the basis.
func (c *call) orReplay(cause error) error {
	if c.idem == nil {
		return cause
	}
	probe := &wire.Register{Basis: engine.Basis{List: ^uint64(0)}}
	probe.Idem = c.idem
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
		if err := c.again(try, wire.Result{Index: moved}); err != nil {
			return err
		}
	}
}

// recorded makes the part common to all records, or refuses a fragment that no
// leaf would hold.
func (c *call) recorded(fragment strictjson.Members, filters ...uint64) (wire.Common, error) {
	c.actor(&fragment)
	if len(fragment) > fragmentMax {
		return wire.Common{}, failure(http.StatusRequestEntityTooLarge, "payload_too_large", "the audit record of this call would be larger than 64 KiB")
	}
	return c.common(fragment, filters...), nil
}

// freshView is the whole state at what this node has applied now.
func (c *call) freshView() (*fsm.View, error) {
	view, err := c.api.deps.Records.View(c.ctx, c.api.deps.Published.Applied())
	if err != nil {
		return nil, readError(err)
	}
	c.index = view.Index
	return view, nil
}

// knownAgent returns the profile of an agent id within the key's scope. An id of
// another tenant is as unknown as one that never was (decisions 5.3).
func (c *call) knownAgent(id string) (*engine.AgentProfile, error) {
	missing := notFound("no such agent")
	slot, ok := c.edge.parseAgent(id)
	if !ok {
		return nil, missing
	}
	profile, err := c.agentProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || !c.key.covers(profile.OperatorLegalName) {
		return nil, missing
	}
	return profile, nil
}

// pathAgent is knownAgent of the path's id.
func (c *call) pathAgent() (*engine.AgentProfile, error) { return c.knownAgent(c.r.PathValue("id")) }

// knownFleet returns the profile of a fleet id within the key's scope.
func (c *call) knownFleet(id string) (*engine.FleetProfile, error) {
	missing := notFound("no such fleet")
	slot, ok := c.edge.parseFleet(id)
	if !ok {
		return nil, missing
	}
	profile := c.api.deps.Published.Fleet(slot)
	if profile == nil {
		if err := c.catchUp(); err != nil {
			return nil, err
		}
		profile = c.api.deps.Published.Fleet(slot)
	}
	if profile == nil || !c.key.covers(profile.OperatorLegalName) {
		return nil, missing
	}
	return profile, nil
}

// pathFleet is knownFleet of the path's id.
func (c *call) pathFleet() (*engine.FleetProfile, error) { return c.knownFleet(c.r.PathValue("id")) }

// chainOf returns an agent's profile and its ancestors', own first.
func (c *call) chainOf(profile *engine.AgentProfile) ([]*engine.AgentProfile, error) {
	chain := make([]*engine.AgentProfile, 0, engine.DepthMax+1)
	for profile != nil && len(chain) <= engine.DepthMax {
		chain = append(chain, profile)
		if profile.Parent == 0 {
			return chain, nil
		}
		var err error
		if profile, err = c.agentProfile(profile.Parent); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("BUG: delegation chain is broken")
}

// foldChain adds a chain's revisions to a basis in the order of Apply: own
// first, then the ancestors, then the root's fleet.
func (c *call) foldChain(basis *engine.Basis, chain []*engine.AgentProfile) {
	for _, profile := range chain {
		basis.Fold(engine.RevAgent, uint32(profile.Slot), profile.Rev)
	}
	fleet := chain[len(chain)-1].Fleet
	if fleet == 0 {
		return
	}
	if profile := c.api.deps.Published.Fleet(fleet); profile != nil {
		basis.Fold(engine.RevFleet, uint32(fleet), profile.Rev)
	}
}
