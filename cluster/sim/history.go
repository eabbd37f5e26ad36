package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Op is one call of a client, with all its retries, and what it was told.
type Op struct {
	Name    string
	Node    string
	Kind    wire.Kind
	Agent   engine.AgentSlot
	Start   time.Time
	End     time.Time
	Err     error  // nil: acknowledged. wire.ErrUnknown: may have happened. Else it certainly did not.
	Leaf    uint64 // Of an acknowledged call.
	Index   uint64
	Data    []byte // The leaf; nil when a retry was answered with the first try's.
	Verdict string
	Reviews uint64 // The leaf a disposition is on.
}

// History is what clients did and were told.
type History struct {
	mu    sync.Mutex
	ops   []*Op
	acked uint64 // Highest index acknowledged to anyone.
	reads int
	stale []string // Reads that missed what was acknowledged before them.
	held  []*Op    // Acknowledged REVIEWs, for reviewers.
}

// Read asks a node for a read index: it must not be below anything that was
// acknowledged, by any node, before the call.
func (h *History) Read(ctx context.Context, host *Host) {
	node := host.Node()
	if node == nil {
		return
	}
	h.mu.Lock()
	before := h.acked
	h.mu.Unlock()
	index, err := node.ReadIndex(ctx)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	if index < before || node.Applied() < before {
		h.stale = append(h.stale, fmt.Sprintf("%s read at %d, applied %d, after %d was acknowledged", host.ID, index, node.Applied(), before))
	}
}

// CheckReads holds the reads to what was acknowledged before them.
func (h *History) CheckReads(t testing.TB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Empty(t, h.stale)
}

// begin makes an Op; finish notes it.
func (h *History) begin(host *Host, kind wire.Kind, name string) *Op {
	return &Op{Name: name, Node: host.ID, Kind: kind, Start: time.Now()}
}

// try proposes once and reports what came of it; an answer that says nothing
// happened is an error other than wire.ErrUnknown.
func (op *Op) try(ctx context.Context, host *Host, body []byte) error {
	node := host.Node()
	if node == nil {
		return errDown
	}
	result, err := node.Propose(ctx, op.Kind, body)
	switch {
	case host.Node() != node: // The answer never left a machine without power.
		return wire.ErrUnknown
	case err != nil:
		return err
	case result.Code == wire.Applied, result.Code == wire.Replayed:
		op.Leaf, op.Index, op.Data = result.Leaf, result.Index, result.Data
		op.Verdict = member(result.Data, "verdict")
		return nil
	}
	return fmt.Errorf("code %d refusal %d", result.Code, result.Refusal)
}

var errDown = errors.New("sim: the node is down")

func (h *History) finish(op *Op, err error) *Op {
	op.End, op.Err = time.Now(), err
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
	if err == nil {
		h.acked = max(h.acked, op.Index)
		if op.Verdict == "REVIEW" {
			h.held = append(h.held, op)
		}
	}
	return op
}

// once makes a call that is not tried again.
func (h *History) once(ctx context.Context, host *Host, op *Op, body []byte) *Op {
	return h.finish(op, op.try(ctx, host, body))
}

// Register has a node register an agent under a name nobody else uses.
func (h *History) Register(ctx context.Context, host *Host, name string) *Op {
	return h.register(ctx, host, name, engine.NoLimit)
}

func (h *History) register(ctx context.Context, host *Host, name string, limit engine.USD) *Op {
	return h.once(ctx, host, h.begin(host, wire.KindRegister, name), wire.Encode(&wire.Register{
		Common:      wire.Common{Fragment: []byte(`"name":"` + name + `"`)},
		OperatorKey: "acme",
		Profile: engine.AgentProfile{
			AgentName: name, OperatorLegalName: "Acme", Type: engine.Supervised,
			Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: limit},
		},
	}))
}

// payment is one screening call to be.
type payment struct {
	name   string
	agent  engine.AgentSlot
	amount engine.USD
	idem   *wire.Idem
}

// screen makes the record of a payment as an edge would, from what its node knows.
func (p *payment) screen(host *Host) []byte {
	node := host.Node()
	if node == nil || node.Agent(p.agent) == nil {
		return nil
	}
	settings, agent := node.Settings(), node.Agent(p.agent)
	basis := engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version}
	basis.Fold(engine.RevAgent, uint32(p.agent), agent.Rev)
	return wire.Encode(&wire.Screen{
		Idem: p.idem, Agent: p.agent, Version: agent.CredentialVersion, Expires: agent.ExpiresAt, Amount: p.amount, Basis: basis,
		Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d","amount":"%d"`, p.name, p.agent, p.amount),
	})
}

// Screen has a node screen a payment under a name nobody else uses, once.
func (h *History) Screen(ctx context.Context, host *Host, p payment) *Op {
	body := p.screen(host)
	if body == nil {
		return nil
	}
	op := h.begin(host, wire.KindScreen, p.name)
	op.Agent = p.agent
	return h.once(ctx, host, op, body)
}

// Pay is a client that wants an answer: it tries again, at any node, until it gets
// one or stop is closed. With a key that is one payment; without one each try whose
// outcome is unknown may be a payment of its own.
func (h *History) Pay(ctx context.Context, at func(try int) *Host, p payment, stop <-chan struct{}) *Op {
	op := h.begin(at(0), wire.KindScreen, p.name)
	op.Agent = p.agent
	certain := errDown // What it ends with when nobody ever took it.
	for try := 0; ; try++ {
		host := at(try)
		var err error
		if body := p.screen(host); body == nil {
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
		select {
		case <-stop:
			return h.finish(op, certain)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// keyOf is an idempotency key made of a name.
func keyOf(name string) *wire.Idem {
	var idem wire.Idem
	copy(idem.Key[:], name)
	copy(idem.Body[:], name)
	return &idem
}

// Revoke has a node revoke an agent.
func (h *History) Revoke(ctx context.Context, host *Host, agent engine.AgentSlot, name string) *Op {
	op := h.begin(host, wire.KindStatus, name)
	op.Agent = agent
	return h.once(ctx, host, op, wire.Encode(&wire.Status{
		Common: wire.Common{Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d"`, name, agent)},
		Target: wire.TargetAgent, Slot: uint32(agent), To: engine.Revoked,
	}))
}

// Dispose has a node record a decision on one of the reviews that someone was told
// of; several reviewers may decide on one.
func (h *History) Dispose(ctx context.Context, host *Host, pick func(count int) int, name string) *Op {
	h.mu.Lock()
	var held *Op
	if len(h.held) > 0 {
		held = h.held[pick(len(h.held))]
	}
	h.mu.Unlock()
	if held == nil {
		return nil
	}
	op := h.begin(host, wire.KindDisposition, name)
	op.Agent, op.Reviews = held.Agent, held.Leaf
	return h.once(ctx, host, op, wire.Encode(&wire.Disposition{
		Common:      wire.Common{Fragment: fmt.Appendf(nil, `"name":"%s","agent":"%d","amount":"%d"`, name, held.Agent, engine.Dollar)},
		Leaf:        held.Leaf,
		Disposition: []uint8{wire.Approved, wire.Rejected, wire.EscalateSAR}[pick(3)],
		Agent:       held.Agent, Amount: engine.Dollar,
	}))
}

// Count returns how many calls ended well, unknown, and certainly not.
func (h *History) Count() (good, unknown, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		switch {
		case op.Err == nil:
			good++
		case errors.Is(op.Err, wire.ErrUnknown):
			unknown++
		default:
			refused++
		}
	}
	return good, unknown, refused
}

// member returns a text member of a leaf, "" when it is not there.
func member(leaf []byte, name string) string {
	_, rest, found := bytes.Cut(leaf, []byte(`"`+name+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// number returns an integer member of a leaf, -1 when it is not there.
func number(leaf []byte, name string) int64 {
	_, rest, found := bytes.Cut(leaf, []byte(`"`+name+`":`))
	if !found {
		return -1
	}
	n := int64(0)
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
