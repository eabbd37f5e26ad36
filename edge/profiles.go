package edge

import (
	"errors"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// View returns the whole state as this node has applied it now.
func (j *Judge) View() (*fsm.View, error) {
	view, err := j.shared.deps.Records.View(j.ctx, j.shared.deps.Published.Applied())
	if err != nil {
		return nil, &ReadError{err}
	}
	j.Index = view.Index
	return view, nil
}

// KnownAgent returns the profile of an agent id within the key's scope. An id of another tenant
// gives the same error as one that never was (decision 33, "Tenants").
func (j *Judge) KnownAgent(id string) (*engine.AgentProfile, error) {
	missing := NotFound("no such agent")
	slot, ok := j.Terms.ParseAgent(id)
	if !ok {
		return nil, missing
	}
	profile, err := j.agentProfile(slot)
	if err != nil {
		return nil, err
	}
	if profile == nil || !j.Covers(profile.Operator) {
		return nil, missing
	}
	return profile, nil
}

// KnownFleet returns the profile of a fleet id within the key's scope.
func (j *Judge) KnownFleet(id string) (*engine.FleetProfile, error) {
	missing := NotFound("no such fleet")
	slot, ok := j.Terms.ParseFleet(id)
	if !ok {
		return nil, missing
	}
	profile := j.shared.deps.Published.Fleet(slot)
	if profile == nil {
		if err := j.CatchUp(); err != nil {
			return nil, err
		}
		profile = j.shared.deps.Published.Fleet(slot)
	}
	if profile == nil || !j.Covers(profile.Operator) {
		return nil, missing
	}
	return profile, nil
}

// chainOf returns an agent's profile followed by those of its ancestors.
func (j *Judge) chainOf(profile *engine.AgentProfile) ([]*engine.AgentProfile, error) {
	chain := make([]*engine.AgentProfile, 0, engine.DepthMax+1)
	for profile != nil && len(chain) <= engine.DepthMax {
		chain = append(chain, profile)
		if profile.Parent == 0 {
			return chain, nil
		}
		var err error
		if profile, err = j.agentProfile(profile.Parent); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("BUG: delegation chain is broken")
}

// foldChain adds a chain's revisions to a basis in the order of Apply: the agent first, then
// its ancestors, then the root's fleet and the agent's operator.
func (j *Judge) foldChain(basis *engine.Basis, chain []*engine.AgentProfile) {
	for _, profile := range chain {
		basis.Fold(engine.RevAgent, uint32(profile.Slot), profile.Rev)
	}
	if fleet := chain[len(chain)-1].Fleet; fleet != 0 {
		if profile := j.shared.deps.Published.Fleet(fleet); profile != nil {
			basis.Fold(engine.RevFleet, uint32(fleet), profile.Rev)
		}
	}
	if profile := j.shared.deps.Published.Operator(chain[0].Operator); profile != nil {
		basis.Fold(engine.RevOperator, uint32(profile.Slot), profile.Rev)
	}
}

// fragmentMax bounds a fragment: a leaf less room for its head, the longest chain and the agent
// ids of one assignment.
const fragmentMax = engine.LeafMax - 14*engine.KiB

// Recorded makes the part that all records have. It refuses a fragment that no leaf could hold.
func (j *Judge) Recorded(fragment strictjson.Members, filters ...uint64) (wire.Common, error) {
	j.Actor(&fragment)
	if len(fragment) > fragmentMax {
		return wire.Common{}, Refuse("payload_too_large", "the audit record of this call would be larger than 64 KiB")
	}
	return j.Common(fragment, filters...), nil
}

// Common returns the part that all records made for callers have: the fragment that is copied
// into the leaf, the filter keys that find it, the caller's Idempotency-Key.
func (j *Judge) Common(fragment strictjson.Members, filters ...uint64) wire.Common {
	return wire.Common{Idem: j.keyed(), Key: j.keyOf(), Fragment: fragment, Filters: filters}
}

// keyOf returns the API key that the log checks a record against, nil for the node itself.
func (j *Judge) keyOf() *wire.KeyRef {
	if j.call.Caller == nil || j.call.Caller.Key == (wire.KeyRef{}) {
		return nil
	}
	key := j.call.Caller.Key
	return &key
}

// Actor writes who made a change and on which node. Every leaf's fragment ends with it.
func (j *Judge) Actor(m *strictjson.Members) {
	if j.call.Caller != nil {
		m.Text("actorKeyId", j.call.Caller.ID)
	}
	m.Text("node", j.shared.deps.Node)
	if j.call.Idem != nil { // By these two the leaf is found when the call is made again (decision 125).
		m.Hex("idempotencyKeyHash", j.call.Idem.Key[:])
		m.Hex("requestHash", j.requestHash())
	}
}
