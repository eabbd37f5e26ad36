package fsm

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// bookkeeping computes the meaning of a log and its results a second time, in a plain way:
// who may spend how much, who is suspended, what was decided. It takes only the results'
// codes and verdicts from the Machine, and compares everything else, including the evidence
// in the leaves, with its own sums. It collects differences in found.
type bookkeeping struct {
	now     engine.Time // Log time.
	offset  engine.Time // How far the test clock was moved.
	leaves  uint64
	list    uint64
	policy  uint64
	cleared uint64 // Changes of the cleared pairs.

	agents    map[engine.AgentSlot]*account
	fleets    map[engine.FleetSlot]*account
	users     map[engine.UserSlot]*account
	suspended map[string]bool // Operators, by name.
	operators []*operatorBook // By slot.
	spent     map[purse]engine.USD
	keyed     map[[16]byte]keyedCall
	disposed  map[uint64]engine.Time

	held  map[purse]engine.USD
	holds map[uint64]heldAmount // Open holds, by the leaf of their record.
	ended map[uint64]string     // How payments ended.
	stood map[uint64]engine.Day // The day on which a payment without a hold counts.
	used  map[engine.ReferenceKey]uint64

	profiles        map[uint64]*leaf.Profile // By leaf.
	redeemed, given map[uint64]bool          // By the leaf of the record.
	returned        map[uint64]bool          // Leaves that give back a payment that was a BLOCK when it was judged again.
	over            map[uint64]holdOver      // Holds whose time is over, by the leaf that says so.
	rules           engine.Policy            // The policy in force.
	payBy           map[uint64]engine.Time   // Ends of approvals, by the leaf of the record.
	apiKeys         []wire.APIKey            // By row.

	deskLedger

	found  []string
	counts map[string]int // How often each case occurred, so that no check passes for lack of cases.
}

// account is an agent, a fleet or a user.
type account struct {
	limit    engine.USD
	parent   engine.AgentSlot
	fleet    engine.FleetSlot
	operator string
	status   engine.Status
	rev      uint32
	ein      string      // Sealed.
	wallet   string      // Its operator's, as registered.
	until    engine.Time // A user's record is stored until then.
}

// purse is one counter: an agent's, a fleet's or an operator's on one UTC day.
type purse struct {
	agent    engine.AgentSlot
	fleet    engine.FleetSlot
	operator engine.OperatorSlot
	day      engine.Day
}

type heldAmount struct {
	by        payer
	amount    engine.USD
	day       engine.Day
	until     engine.Time
	reference engine.ReferenceKey
	screener  uint32

	unresolved, spent bool
}

// holdOver is a hold whose time is over, and its state.
type holdOver struct {
	record uint64
	state  string
}

type keyedCall struct {
	leaf uint64
	at   engine.Time
}

func newBookkeeping() *bookkeeping {
	return &bookkeeping{
		agents: map[engine.AgentSlot]*account{}, fleets: map[engine.FleetSlot]*account{}, users: map[engine.UserSlot]*account{},
		suspended: map[string]bool{}, spent: map[purse]engine.USD{}, keyed: map[[16]byte]keyedCall{},
		disposed: map[uint64]engine.Time{}, profiles: map[uint64]*leaf.Profile{},
		held: map[purse]engine.USD{}, holds: map[uint64]heldAmount{}, ended: map[uint64]string{}, stood: map[uint64]engine.Day{},
		used: map[engine.ReferenceKey]uint64{}, redeemed: map[uint64]bool{}, given: map[uint64]bool{}, returned: map[uint64]bool{}, over: map[uint64]holdOver{}, payBy: map[uint64]engine.Time{}, rules: *engine.DefaultPolicy(), counts: map[string]int{}, deskLedger: newDeskLedger(),
	}
}

func (l *bookkeeping) add(format string, args ...any) {
	l.found = append(l.found, fmt.Sprintf(format, args...))
}

func (l *bookkeeping) entry(t testing.TB, term uint64, entry []byte, out *Effects) {
	batch, err := wire.Decode(entry)
	require.NoError(t, err)
	require.Len(t, out.Results, batch.Count)
	if fenced := batch.Header.Term != term; fenced {
		l.counts["fenced"]++
		for _, r := range out.Results {
			if r.Code != wire.Fenced {
				l.add("entry %d is of another term and was not fenced", out.Index)
			}
		}
		if len(out.Leaves) > 0 {
			l.add("entry %d is of another term and wrote history", out.Index)
		}
		return
	}
	if stamp := batch.Header.Time + l.offset; stamp >= l.now {
		l.now = stamp
	} else {
		l.counts["older stamp"]++
	}
	for i := range out.Leaves {
		if leaf.FormOf(out.Leaves[i].Data) == leaf.FormProfile {
			p, err := leaf.DecodeProfile(out.Leaves[i].Data)
			require.NoError(t, err)
			l.profiles[out.FirstLeaf+uint64(i)] = p
		}
		l.deskLeaf(out, out.FirstLeaf+uint64(i), out.Leaves[i].Data)
		l.noteReturned(out, uint64(i))
		if data := out.Leaves[i].Data; tellsOfHold(data) {
			record, err := strconv.ParseUint(between(data, `"screenedLeaf":`, `,`), 10, 64)
			require.NoError(t, err)
			l.over[out.FirstLeaf+uint64(i)] = holdOver{record, between(data, `"state":"`, `"`)}
		}
	}
	for n := range out.Results {
		record, _ := batch.Next()
		l.record(record, &out.Results[n])
	}
	l.between()
	if out.Time != l.now {
		l.add("entry %d: log time is %d and should be %d", out.Index, out.Time, l.now)
	}
}

func (l *bookkeeping) record(record wire.Record, r *wire.Result) {
	l.between()
	l.key(record, r)
	if r.Code != wire.Applied {
		return
	}
	if r.Leaf != l.leaves {
		l.add("leaf %d where %d was next", r.Leaf, l.leaves)
	}
	l.leaves++
	switch record.Kind {
	case wire.KindPolicy:
		l.policy++
		l.rules = body[wire.PolicyPut](record).Policy
		l.two = l.rules.FourEyes
	case wire.KindGenesis, wire.KindWhitelist:
		l.policy++
	case wire.KindCleared:
		l.cleared++
	case wire.KindSigningKey:
		if b := body[wire.SigningKeyPut](record); b.Op == wire.SigningRevoke || b.Now {
			l.policy++
		}
	case wire.KindListActivate:
		if !body[wire.ListActivate](record).Refresh {
			l.list++
		}
	case wire.KindClock:
		advance := body[wire.Clock](record).Advance
		l.now, l.offset = l.now+advance, l.offset+advance
	case wire.KindScreen:
		var s wire.Screen
		if wire.DecodeScreen(record.Body, &s) == nil {
			l.screened(&s, r)
		}
	case wire.KindHold:
		l.outcome(body[wire.Hold](record), r)
	case wire.KindPay:
		l.judgedAgain(body[wire.Pay](record), r)
	case wire.KindDisposition:
		if b := body[wire.Disposition](record); l.decided(b, r) {
			l.disposition(b, r)
		}
	case wire.KindAPIKey:
		switch b := body[wire.APIKeyPut](record); b.Op {
		case wire.KeyCreate:
			l.apiKeys = append(l.apiKeys, b.Key)
		case wire.KeyRevoke:
			for i := range l.apiKeys {
				if key := &l.apiKeys[i]; key.ID == b.Key.ID && key.RevokedAt == 0 {
					key.RevokedAt = l.now
				}
			}
		}
	case wire.KindWithdraw:
		l.withdrawn(body[wire.Withdraw](record), r)
	default:
		l.registry(record)
	}
}

func body[B any](record wire.Record) (b *B) {
	b = new(B)
	if err := wire.DecodeBody(record.Body, b); err != nil {
		panic(err)
	}
	return b
}

// key checks that a keyed call happens once and that a repetition names the same leaf.
func (l *bookkeeping) key(record wire.Record, r *wire.Result) {
	if record.Kind == wire.KindTick || record.Kind == wire.KindGenesis {
		return
	}
	var members map[int]cbor.RawMessage
	var idem wire.Idem
	var screen wire.Screen
	if record.Kind == wire.KindScreen {
		if wire.DecodeScreen(record.Body, &screen) != nil || screen.Idem == nil {
			return
		}
		idem = *screen.Idem
	} else if record.Kind == wire.KindListChunk {
		if b := body[wire.ListChunk](record); b.Common.Idem == nil {
			return
		} else {
			idem = *b.Common.Idem
		}
	} else if cbor.Unmarshal(record.Body, &members) != nil || members[1] == nil || cbor.Unmarshal(members[1], &idem) != nil || idem.Key == [16]byte{} {
		return
	}
	before, known := l.keyed[idem.Key]
	known = known && l.now < before.at+engine.IdempotencyKept
	switch {
	case r.Code == wire.Applied && known:
		l.add("leaf %d: its key stands at leaf %d already", r.Leaf, before.leaf)
	case r.Code == wire.Applied:
		l.keyed[idem.Key] = keyedCall{r.Leaf, l.now}
	case r.Code == wire.Replayed || r.Code == wire.Conflict:
		l.counts["replayed"]++
		if r.Leaf != before.leaf {
			l.add("a repetition is answered with leaf %d and was made at %d", r.Leaf, before.leaf)
		}
	}
}

// registry books parties and their changes.
func (l *bookkeeping) registry(record wire.Record) {
	switch record.Kind {
	case wire.KindRegister:
		b := body[wire.Register](record)
		one := &account{limit: b.Profile.Policy.DailyLimit, parent: b.Profile.Parent, operator: l.operator(&b.Operator), rev: 1, ein: string(b.Profile.EINSealed), wallet: b.Profile.OperatorWallet}
		l.bookOf(one.operator).count(one.wallet, 1, b.Profile.WalletMatched)
		if one.parent == 0 {
			one.fleet = b.Profile.Fleet
		}
		l.agents[engine.AgentSlot(len(l.agents)+1)] = one
	case wire.KindReissue:
		b := body[wire.Reissue](record)
		one := l.agents[b.Agent]
		operator, wallet, before := l.operator(&b.Operator), b.Profile.OperatorWallet, one.wallet
		switch {
		case one.operator != operator:
			one.operator, one.fleet = operator, 0
			l.bookOf(operator).count(wallet, 1, b.Profile.WalletMatched)
		case wallet != before:
			l.bookOf(operator).count(wallet, 1, b.Profile.WalletMatched)
			l.bookOf(operator).drop(before)
		default:
			l.bookOf(operator).count(wallet, 0, b.Profile.WalletMatched)
		}
		one.wallet = wallet
		one.limit, one.status, one.ein = b.Profile.Policy.DailyLimit, engine.Active, string(b.Profile.EINSealed)
		one.rev++
	case wire.KindReseal:
		for _, value := range body[wire.Reseal](record).Values {
			if one := l.agents[value.Agent]; one != nil && one.ein == string(value.Old) {
				one.ein = string(value.New)
				one.rev++
			}
		}
	case wire.KindSettings:
		l.agents[body[wire.Settings](record).Agent].rev++
	case wire.KindOwnership:
		l.agents[body[wire.Ownership](record).Agent].rev++
	case wire.KindFleet:
		b := body[wire.Fleet](record)
		l.operator(&b.Operator)
		l.fleets[engine.FleetSlot(len(l.fleets)+1)] = &account{limit: b.Profile.DailyLimit, rev: 1}
	case wire.KindOperatorLimit:
		b := body[wire.OperatorLimit](record)
		l.operators[b.Operator-1].limit = b.Limit
		l.operators[b.Operator-1].rev++
	case wire.KindFleetUpdate:
		b := body[wire.FleetUpdate](record)
		one := l.fleets[b.Fleet]
		one.limit = b.Profile.DailyLimit
		one.rev++
	case wire.KindAssign:
		l.assigned(body[wire.Assign](record))
	case wire.KindUser:
		l.users[engine.UserSlot(len(l.users)+1)] = &account{rev: 1, until: l.now + engine.UserStored}
	case wire.KindUserReissue:
		one := l.users[body[wire.UserReissue](record).User]
		one.status, one.until = engine.Active, l.now+engine.UserStored
		one.rev++
	case wire.KindStatus:
		l.status(body[wire.Status](record))
	}
}

func (l *bookkeeping) assigned(b *wire.Assign) {
	target := b.Fleet
	if b.Remove {
		target = 0
	}
	for _, slot := range b.Agents {
		if one := l.agents[slot]; one.fleet != target {
			one.fleet = target
			one.rev++
		}
	}
}

func (l *bookkeeping) status(b *wire.Status) {
	switch b.Target {
	case wire.TargetAgent:
		l.agents[engine.AgentSlot(b.Slot)].status = b.To
	case wire.TargetUser:
		l.users[engine.UserSlot(b.Slot)].status = b.To
	case wire.TargetOperator:
		l.suspended[l.operators[b.Slot-1].name] = b.To == engine.Suspended
	}
}

// chain returns an agent and its ancestors, nearest first, and the root's fleet.
func (l *bookkeeping) chain(slot engine.AgentSlot) (slots []engine.AgentSlot, fleet engine.FleetSlot) {
	for slot != 0 {
		slots, fleet = append(slots, slot), l.agents[slot].fleet
		slot = l.agents[slot].parent
	}
	return slots, fleet
}

func (l *bookkeeping) book(sums map[purse]engine.USD, by payer, day engine.Day, amount engine.USD) {
	if l.agents[by.agent] == nil {
		return
	}
	slots, _ := l.chain(by.agent)
	for _, one := range slots {
		sums[purse{agent: one, day: day}] += amount
	}
	if l.fleets[by.fleet] != nil {
		sums[purse{fleet: by.fleet, day: day}] += amount
	}
	if by.operator != 0 {
		sums[purse{operator: by.operator, day: day}] += amount
	}
}

// screened compares one decided call with what is known so far.
func (l *bookkeeping) screened(s *wire.Screen, r *wire.Result) {
	var hits engine.Hits
	if wire.UnpackHits(s, &hits); hits.Has(1) || s.Agent == 0 {
		return
	}
	l.basis(s, r)
	slots, fleet := l.chain(s.Agent)
	l.evidence(s, slots, fleet, r)
	l.reference(s, r)
	if between(shown(r.Data), `"verdict":"`, `"`) != "PROCEED" {
		if triggered := between(shown(r.Data), `"triggered":[`, `]`); len(triggered) > 0 {
			l.counts["held up"]++
		}
		return
	}
	l.counts["proceed"]++
	if len(slots) > 1 {
		l.counts["proceed of a delegate"]++
	}
	for _, one := range slots {
		a := l.agents[one]
		if total := l.counted(purse{agent: one, day: l.now.Day()}) + s.Amount; a.limit != engine.NoLimit && total > a.limit {
			l.add("leaf %d: agent %d, level of %d, spent %d of %d", r.Leaf, one, s.Agent, total, a.limit)
		}
		if a.status != engine.Active || l.suspended[a.operator] {
			l.add("leaf %d: agent %d goes through; agent %d has status %d, its operator suspended: %v", r.Leaf, s.Agent, one, a.status, l.suspended[a.operator])
		}
	}
	if fleet != 0 {
		l.counts["proceed in a fleet"]++
		if total := l.counted(purse{fleet: fleet, day: l.now.Day()}) + s.Amount; total > l.fleets[fleet].limit {
			l.add("leaf %d: fleet %d spent %d of %d", r.Leaf, fleet, total, l.fleets[fleet].limit)
		}
	}
	owner := l.ownerOf(s.Agent)
	limit := l.rules.LimitOf(l.operators[owner-1].limit)
	if total := l.counted(purse{operator: owner, day: l.now.Day()}) + s.Amount; limit != engine.NoLimit && total > limit {
		l.add("leaf %d: operator %d spent %d of %d", r.Leaf, owner, total, limit)
	}
	if limit != engine.NoLimit {
		l.counts["proceed below an operator's limit"]++
	}
	if s.User != 0 && l.users[s.User].status != engine.Active {
		l.add("leaf %d: user %d goes through with status %d", r.Leaf, s.User, l.users[s.User].status)
	}
	l.proceeds(s, fleet, r)
}

// basis checks that the edge judged with what is in force.
func (l *bookkeeping) basis(s *wire.Screen, r *wire.Result) {
	if s.Basis.List != l.list || s.Basis.Policy != l.policy {
		l.add("leaf %d: judged with list %d and policy %d; in force are %d and %d", r.Leaf, s.Basis.List, s.Basis.Policy, l.list, l.policy)
	}
	if s.Basis.Cleared != 0 && s.Basis.Cleared != l.cleared+1 {
		l.add("leaf %d: judged with cleared pairs of version %d, after %d changes", r.Leaf, s.Basis.Cleared, l.cleared)
	}
	if s.ValidUntil != 0 && l.now >= s.ValidUntil {
		l.add("leaf %d: judged with what was good until %d, at %d", r.Leaf, s.ValidUntil, l.now)
	}
	var own engine.Basis
	slots, fleet := l.chain(s.Agent)
	for _, one := range slots {
		own.Fold(engine.RevAgent, uint32(one), l.agents[one].rev)
	}
	if fleet != 0 {
		own.Fold(engine.RevFleet, uint32(fleet), l.fleets[fleet].rev)
	}
	if len(slots) > 0 {
		name := l.agents[slots[0]].operator
		own.Fold(engine.RevOperator, l.slotOf(name), l.bookOf(name).rev)
	}
	if user := l.users[s.User]; user != nil {
		if l.now >= user.until {
			return // One of the next ticks erases the user, whose revision is then 0.
		}
		own.Fold(engine.RevUser, uint32(s.User), user.rev)
	}
	if own.Revs != s.Basis.Revs {
		l.add("leaf %d: judged with other revisions than those in force", r.Leaf)
	}
}

// disposition checks that a leaf has at most one disposition within retention, and books an
// approval.
func (l *bookkeeping) disposition(b *wire.Disposition, r *wire.Result) {
	if at, done := l.disposed[b.Leaf]; done && l.now < at+engine.Retention {
		l.add("leaf %d: another disposition of leaf %d", r.Leaf, b.Leaf)
	}
	l.disposed[b.Leaf] = l.now
	if b.Disposition == wire.Approved {
		if l.payBy[b.Leaf] = l.now + l.rules.ApprovalLapse; b.Hold != 0 {
			l.payBy[b.Leaf] = min(l.payBy[b.Leaf], l.now+engine.Time(b.Hold)*engine.Second)
		}
	}
	if b.Disposition == wire.Approved && l.agents[b.Agent] != nil {
		l.counts["approved"]++
		if l.ended[b.Leaf] == "" {
			l.count(b.Leaf, heldAmount{by: payer{b.Agent, b.Fleet, b.Operator}, amount: b.Amount, reference: b.Reference, screener: b.Screener}, l.payBy[b.Leaf])
		}
	}
}

// follow books a whole log, on a Machine that is restored from its snapshot now and then.
func (l *bookkeeping) follow(t testing.TB, w *world) {
	m := New()
	var out Effects
	for i, entry := range w.entries {
		m.Apply(uint64(i+1), w.terms[i], entry, &out)
		require.Empty(t, out.Stop)
		if l.entry(t, w.terms[i], entry, &out); len(l.found) > 0 {
			return
		}
		if i%60 == 59 {
			m = restoredFrom(t, m)
		}
	}
}
