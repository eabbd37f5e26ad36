package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"railguard/cluster"
	"railguard/engine"
	"railguard/fsm/wire"
)

// acme is the operator of agents that name none.
const acme = "acme"

// Register has a node register an agent under a name nobody else uses.
func (h *History) Register(ctx context.Context, host *Host, name string) *Op {
	return h.register(ctx, host, name, Account{Daily: engine.NoLimit})
}

func (h *History) register(ctx context.Context, host *Host, name string, a Account) *Op {
	node := host.Node()
	if node == nil {
		return nil
	}
	if a.Operator == "" {
		a.Operator = acme
	}
	body := wire.Register{
		Common:   wire.Common{Fragment: []byte(`"name":"` + name + `"`)},
		Operator: wire.OperatorRef{Name: a.Operator},
		Profile: engine.AgentProfile{
			AgentName: name, OperatorLegalName: a.Operator, Type: engine.Supervised, Parent: a.Parent, Fleet: a.Fleet,
			Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: a.Daily},
		},
	}
	body.Basis.List = node.Settings().ListVersion
	foldAgent(node, &body.Basis, a.Parent)
	return h.once(ctx, host, h.begin(host, wire.KindRegister, name), wire.Encode(&body))
}

// foldAgent folds what a node knows of an agent, its ancestors, its fleet and its operator, and
// returns the fleet.
func foldAgent(node *cluster.Node, b *engine.Basis, slot engine.AgentSlot) (fleet engine.FleetSlot) {
	var operator engine.OperatorSlot
	for slot != 0 {
		profile := node.Agent(slot)
		if profile == nil {
			b.Fold(engine.RevAgent, uint32(slot), 0)
			break
		}
		b.Fold(engine.RevAgent, uint32(slot), profile.Rev)
		slot, fleet = profile.Parent, profile.Fleet
		if operator == 0 {
			operator = profile.Operator
		}
	}
	if fleet != 0 {
		b.Fold(engine.RevFleet, uint32(fleet), node.Fleet(fleet).Rev)
	}
	if operator != 0 {
		b.Fold(engine.RevOperator, uint32(operator), node.Operator(operator).Rev)
	}
	return fleet
}

// payment is a screening call that will be made.
type payment struct {
	name   string
	agent  engine.AgentSlot
	amount engine.USD
	user   engine.UserSlot // The user who pays; 0: there is none.
	hold   uint32          // How many seconds the payment is held; 0: it is not held.
	idem   *wire.Idem
	causes []wire.Cause // What the list has of its counterparty: the payment is blocked.
	rule   engine.RuleID
}

// screen makes the record of a payment as an edge would make it, from its node's state. It also
// returns the fleet in which it saw the agent.
func (h *History) screen(host *Host, p *payment) (body []byte, fleet engine.FleetSlot) {
	node := host.Node()
	if node == nil || node.Agent(p.agent) == nil || p.user != 0 && node.User(p.user) == nil {
		return nil, 0
	}
	s, fleet := judge(node, p)
	s.Idem, s.Hold = h.lookForKey(node, p.idem), p.hold
	s.Fragment = fmt.Appendf(nil, `"name":"%s","agent":"%d","amount":"%d","fleet":"%d","list":"%d"`, p.name, p.agent, p.amount, fleet, s.Basis.List)
	if p.user != 0 {
		s.Fragment = fmt.Appendf(s.Fragment, `,"user":"%d"`, p.user)
	}
	if p.hold != 0 {
		s.Fragment = fmt.Appendf(s.Fragment, `,"hold":"%d"`, p.hold)
	}
	s.Fragment = inRecord(s.Fragment)
	return wire.Encode(&s), fleet
}

// judge judges a payment as an edge does, from its node's state. It also returns the fleet in which it
// saw the agent.
func judge(node *cluster.Node, p *payment) (s wire.Screen, fleet engine.FleetSlot) {
	settings, agent := node.Settings(), node.Agent(p.agent)
	s = wire.Screen{
		Agent: p.agent, Version: agent.CredentialVersion, Expires: agent.ExpiresAt, Amount: p.amount,
		Basis: engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version, Matcher: settings.Matcher, Rules: settings.Rules().Number},
	}
	fleet = foldAgent(node, &s.Basis, p.agent)
	if p.user != 0 {
		user := node.User(p.user)
		s.User, s.UserVersion, s.UserExpires = p.user, user.CredentialVersion, user.ExpiresAt
		s.Basis.Fold(engine.RevUser, uint32(p.user), user.Rev)
	}
	if len(p.causes) > 0 {
		s.Mask, s.Subs, s.Causes = 1<<p.rule, []byte{1}, p.causes
	}
	return s, fleet
}

// Screen has a node screen a payment under a name nobody else uses, once.
func (h *History) Screen(ctx context.Context, host *Host, p payment) *Op {
	body, fleet := h.screen(host, &p)
	if body == nil {
		return nil
	}
	op := h.begin(host, wire.KindScreen, p.name)
	op.Agent, op.Fleet, op.User = p.agent, fleet, p.user
	return h.once(ctx, host, op, body)
}

// Pay is a client that wants an answer: it tries again, at any node, until it gets one or stop is
// closed. With a key all tries are one payment. Without a key each try whose outcome is unknown
// may be another payment.
func (h *History) Pay(ctx context.Context, at func(try int) *Host, p payment, stop <-chan struct{}) *Op {
	op := h.begin(at(0), wire.KindScreen, p.name)
	op.Agent, op.User = p.agent, p.user
	return h.insist(ctx, at, op, stop, func(host *Host) (body []byte) {
		body, op.Fleet = h.screen(host, &p)
		return body
	})
}

// repeat makes a payment with a key once more, which must not be another payment: its name stands in
// one leaf.
func (h *History) repeat(ctx context.Context, host *Host, p payment) {
	if body, _ := h.screen(host, &p); body != nil {
		op := &Op{Kind: wire.KindScreen}
		_ = op.try(ctx, host, body)
	}
}

// insist tries a call until it is answered or refused by the state, or until stop is closed.
func (h *History) insist(ctx context.Context, at func(try int) *Host, op *Op, stop <-chan struct{}, make func(host *Host) []byte) *Op {
	certain := errDown // The error to return if no node ever accepted the call.
	for try := 0; ; try++ {
		host := at(try)
		var err error
		if body := make(host); body == nil {
			err = errDown
		} else {
			err = op.try(ctx, host, body)
		}
		if err == nil {
			op.Node = host.ID
			return h.finish(op, nil)
		}
		if errors.Is(err, wire.ErrUnknown) {
			certain = wire.ErrUnknown
		}
		if errors.Is(err, errRefusedByState) {
			if certain == errDown {
				certain = err
			}
			return h.finish(op, certain)
		}
		select {
		case <-stop:
			return h.finish(op, certain)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// subject is the party whose status changes.
type subject struct {
	target   wire.Target
	slot     uint32
	operator string
}

// Turn has a node change a status.
func (h *History) Turn(ctx context.Context, host *Host, whose subject, to engine.Status, name string) *Op {
	op := h.begin(host, wire.KindStatus, name)
	op.To = to
	fragment := fmt.Appendf(nil, `"name":"%s"`, name)
	switch whose.target {
	case wire.TargetAgent:
		op.Agent = engine.AgentSlot(whose.slot)
		fragment = fmt.Appendf(fragment, `,"agent":"%d"`, whose.slot)
	case wire.TargetUser:
		fragment = fmt.Appendf(fragment, `,"user":"%d"`, whose.slot)
	case wire.TargetOperator:
		fragment = fmt.Appendf(fragment, `,"operator":"%s"`, whose.operator)
	}
	if node := host.Node(); node != nil && whose.target == wire.TargetOperator {
		slot, _ := node.OperatorsNamed(whose.operator)
		whose.slot = uint32(slot)
	}
	return h.once(ctx, host, op, wire.Encode(&wire.Status{
		Common: wire.Common{Fragment: fragment}, Target: whose.target, Slot: whose.slot, To: to,
	}))
}

// Revoke has a node revoke an agent.
func (h *History) Revoke(ctx context.Context, host *Host, agent engine.AgentSlot, name string) *Op {
	return h.Turn(ctx, host, subject{target: wire.TargetAgent, slot: uint32(agent)}, engine.Revoked, name)
}

// Move has a node put an agent into a fleet or take it out.
func (h *History) Move(ctx context.Context, host *Host, agent engine.AgentSlot, fleet engine.FleetSlot, remove bool, name string) *Op {
	return h.once(ctx, host, h.begin(host, wire.KindAssign, name), wire.Encode(&wire.Assign{
		Common: wire.Common{Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d","fleet":"%d"`, name, agent, fleet)},
		Fleet:  fleet, Agents: []engine.AgentSlot{agent}, Remove: remove,
	}))
}

// Dispose records a decision on one of the reviews that clients got as an answer. Several
// reviewers may decide on the same review. With a key it tries until it gets an answer.
func (h *History) Dispose(ctx context.Context, at func(try int) *Host, pick func(count int) int, name string, idem *wire.Idem, stop <-chan struct{}) *Op {
	h.mu.Lock()
	var held *Op
	if len(h.held) > 0 {
		held = h.held[pick(len(h.held))]
	}
	h.mu.Unlock()
	if held == nil {
		return nil
	}
	op := h.begin(at(0), wire.KindDisposition, name)
	op.Agent, op.Reviews = held.Agent, held.Leaf
	disposition := wire.Disposition{
		Common: wire.Common{Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d","amount":"%d","fleet":"%d"`,
			name, held.Agent, engine.Dollar, held.Fleet)},
		Leaf:        held.Leaf,
		Disposition: []uint8{wire.Approved, wire.Rejected, wire.EscalateSAR}[pick(3)],
		Agent:       held.Agent, Fleet: held.Fleet, Amount: engine.Dollar,
	}
	if idem == nil {
		h.once(ctx, at(0), op, wire.Encode(&disposition))
	} else {
		h.insist(ctx, at, op, stop, func(host *Host) []byte {
			node := host.Node()
			if node == nil {
				return nil
			}
			disposition.Idem = h.lookForKey(node, idem)
			return wire.Encode(&disposition)
		})
	}
	if op.Err == nil && disposition.Disposition == wire.Approved {
		h.mu.Lock()
		h.approved = append(h.approved, held)
		h.mu.Unlock()
	}
	return op
}

// Finish settles or releases one of the payments that clients got as an answer, or that an officer approved. Several clients
// may finish the same payment, and some do it too late. With a key it tries until it gets an
// answer.
func (h *History) Finish(ctx context.Context, at func(try int) *Host, pick func(count int) int, name string, idem *wire.Idem, stop <-chan struct{}) *Op {
	h.mu.Lock()
	var paid *Op
	from := h.paid
	if len(h.approved) > 0 && pick(5) == 0 {
		from = h.approved
	}
	if len(from) > 0 {
		paid = from[pick(len(from))]
	}
	h.mu.Unlock()
	if paid == nil {
		return nil
	}
	op := h.begin(at(0), wire.KindHold, name)
	op.Agent = paid.Agent
	outcome := wire.Hold{
		Op: wire.HoldRelease, Leaf: paid.Leaf, Agent: paid.Agent, Fleet: paid.Fleet, Verdict: paid.said(),
		ScreenedAt: paid.At, Recorded: engine.Dollar, Forwarded: true, // There are no keys, so that no settler could end it.
	}
	if pick(2) == 0 {
		outcome.Op, outcome.Amount = wire.HoldSettle, engine.USD(pick(5))*engine.Dollar/2
	}
	outcome.Common = wire.Common{Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d","amount":"%d"`, name, paid.Agent, outcome.Amount)}
	record := func(host *Host) []byte {
		node := host.Node()
		if node == nil {
			return nil
		}
		outcome.Idem, outcome.Past = h.lookForKey(node, idem), h.lookForEnding(node, paid.Leaf)
		return wire.Encode(&outcome)
	}
	if idem != nil {
		return h.insist(ctx, at, op, stop, record)
	}
	if body := record(at(0)); body != nil {
		return h.once(ctx, at(0), op, body)
	}
	return nil
}
