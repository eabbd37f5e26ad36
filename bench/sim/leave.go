package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Clients confirm and redeem recorded payments (decision 136), with and without a key, at all nodes at
// once, and too late.

// leave is what a client asks of a recorded payment.
type leave struct {
	of    *Op   // The screening call.
	op    uint8 // Of wire.
	name  string
	idem  *wire.Idem
	until engine.Time // The end of the permit that is redeemed; 0: there is none.

	listed bool // Its payee is on the list by now.
}

// said is the verdict of a payment.
func (op *Op) said() engine.Verdict {
	if op.Verdict == "REVIEW" {
		return engine.Review
	}
	return engine.Proceed
}

// seen are the rules that an officer saw who approved a payment.
func (op *Op) seen() uint32 {
	var s leaf.Screen
	if op.said() != engine.Review || leaf.DecodeScreen(op.Data, &s) != nil {
		return 0
	}
	return s.Triggered
}

// leaveRecord makes the record of a leave as an edge would make it, from its node's state; nil: the
// node is down.
func (h *History) leaveRecord(host *Host, l *leave) []byte {
	node := host.Node()
	if node == nil || node.Agent(l.of.Agent) == nil || l.of.User != 0 && node.User(l.of.User) == nil {
		return nil
	}
	p := payment{agent: l.of.Agent, amount: engine.Dollar, user: l.of.User}
	if l.listed {
		p.causes, p.rule = []wire.Cause{wire.PartyCause(9)}, engine.RulePartyWallet
	}
	s, _ := judge(node, &p)
	s.Fragment = inRecord([]byte(`"again":"yes"`))
	b := wire.Pay{
		Common: wire.Common{Idem: h.lookForKey(node, l.idem), Fragment: fmt.Appendf(nil, `"name":"%s"`, l.name)},
		Op:     l.op, Leaf: l.of.Leaf, Agent: l.of.Agent, Fleet: l.of.Fleet, Verdict: l.of.said(), ScreenedAt: l.of.At, Amount: engine.Dollar,
		Seen: l.of.seen(), Past: h.lookForEnding(node, l.of.Leaf), Until: l.until, Now: wire.AppendScreen(nil, &s),
	}
	if l.until != 0 {
		b.Fragment = fmt.Appendf(b.Fragment, `,"permitEnds":"%s"`, l.until)
	}
	return wire.Encode(&b)
}

// Leave asks once, at one node.
func (h *History) Leave(ctx context.Context, host *Host, l *leave) *Op {
	body := h.leaveRecord(host, l)
	if body == nil {
		return nil
	}
	return h.once(ctx, host, h.beginLeave(host, l), body)
}

// InsistOnLeave asks until it is answered, or stop is closed.
func (h *History) InsistOnLeave(ctx context.Context, at func(try int) *Host, l *leave, stop <-chan struct{}) *Op {
	return h.insist(ctx, at, h.beginLeave(at(0), l), stop, func(host *Host) []byte { return h.leaveRecord(host, l) })
}

func (h *History) beginLeave(host *Host, l *leave) *Op {
	op := h.begin(host, wire.KindPay, l.name)
	op.Agent, op.Pays = l.of.Agent, l.of.Leaf
	return op
}

// repeatLeave asks once more with the key of an acknowledged call, under its name. Whoever gets an
// answer gets the first one: the comparison of calls and leaves knows both under one name, and to
// none of them the state may say that the payment is used. The first answer stands even if the agent
// was revoked meanwhile, so that an answer which is replayed counts from the beginning of the first call.
func (h *History) repeatLeave(ctx context.Context, host *Host, l *leave, first *Op) {
	op := h.beginLeave(host, l)
	if body := h.leaveRecord(host, l); body != nil {
		err := op.try(ctx, host, body)
		if err == nil && op.Data == nil {
			op.Start = first.Start
		}
		if err == nil || errors.Is(err, errRefusedByState) {
			h.finish(op, err)
		}
	}
}

// latest is among how many of the newest payments a client chooses in most turns, so that several
// clients choose the same one.
const latest = 12

// drawLeave chooses what a client asks; nil: there is no payment yet.
func (h *History) drawLeave(random *rand.Rand, name string) *leave {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := [][]*Op{h.paid, h.paid, h.paid, h.approved, h.approved, h.held}[random.IntN(6)]
	if len(from) == 0 {
		return nil
	}
	among := min(len(from), latest)
	if random.IntN(4) == 0 { // The hold of the first ones may be over.
		among = len(from)
	}
	l := &leave{of: from[len(from)-1-random.IntN(among)], op: uint8(1 + random.IntN(3)), name: name}
	l.listed = random.IntN(15) == 0
	if l.op == wire.PayRedeem && random.IntN(3) == 0 {
		l.until = l.of.At - l.of.At%engine.Millisecond + engine.Time(random.IntN(8000))*engine.Millisecond
	}
	return l
}

// takeLeave is one turn of a client: it asks once, or until it is answered, or at all nodes at once.
func (l *load) takeLeave(ctx context.Context, at func(try int) *Host, random *rand.Rand, name string) {
	asked := l.history.drawLeave(random, name)
	if asked == nil {
		return
	}
	switch random.IntN(4) {
	case 0:
		l.history.Leave(ctx, at(0), asked)
	case 1:
		l.rush(ctx, asked)
	default:
		asked.idem = keyOf(name)
		if op := l.history.InsistOnLeave(ctx, at, asked, l.stop); op.Err == nil {
			l.history.repeatLeave(ctx, at(random.IntN(4)), asked, op)
		}
	}
}

// rush asks the same at all nodes at once, each time under a name of its own.
func (l *load) rush(ctx context.Context, asked *leave) {
	var all sync.WaitGroup
	for i, host := range l.world.hosts {
		one := *asked
		one.name = fmt.Sprintf("%s-%d", asked.name, i)
		if i%2 == 1 {
			one.idem = keyOf(one.name)
		}
		all.Go(func() { l.history.Leave(ctx, host, &one) })
	}
	all.Wait()
}

// checkRefused checks that whoever was told that a payment is used was told of the leaf that used it,
// and that nobody was told that a payment waits for an officer after its decision was acknowledged.
func (h *History) checkRefused(leaves [][]byte) (found problems) {
	h.mu.Lock()
	defer h.mu.Unlock()
	decided := map[uint64]time.Time{} // When the first decision on a review was acknowledged that is no escalation.
	for _, op := range h.ops {
		if op.Kind == wire.KindDisposition && op.Err == nil && member(leaves[op.Leaf], "disposition") != leaf.WordEscalateSAR {
			decided[op.Reviews] = op.End
		}
	}
	for _, op := range h.ops {
		if op.Kind != wire.KindPay || op.Err == nil {
			continue
		}
		at, known := decided[op.Pays]
		if op.Refused == wire.RefusedWaiting && known && at.Before(op.Start) {
			found.add("%q was told that leaf %d waits for an officer, who had decided", op.Name, op.Pays)
		}
		if op.Refused != wire.RefusedUsed {
			continue
		}
		if op.Told >= uint64(len(leaves)) || uint64(number(leaves[op.Told], "screenedLeaf")) != op.Pays || !usedBy(leaves[op.Told]) {
			found.add("%q was told that leaf %d used leaf %d", op.Name, op.Told, op.Pays)
		}
	}
	return found
}

// usedBy tells whether a leaf uses the leave of its payment.
func usedBy(data []byte) bool {
	return slices.Contains([]string{leaf.KindPaymentConfirmed, leaf.KindPaymentRedeemed}, member(data, "kind")) && member(data, "state") == "redeemed" ||
		member(data, "kind") == leaf.KindHoldSettled
}
