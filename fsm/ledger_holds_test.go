package fsm

import (
	"slices"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// The methods in this file check holds and payment references.

func (l *bookkeeping) counted(p purse) engine.USD { return l.spent[p] + l.held[p] }

// between skips the leaves that are not a record's own: profiles, which stand before the
// first record that names them, holds whose time is over, and leaves of the desk.
func (l *bookkeeping) between() {
	for {
		over, is := l.over[l.leaves]
		if l.profiles[l.leaves] == nil && !is && !l.returned[l.leaves] && !l.deskPasses() {
			return
		}
		l.leaves++
		if !is {
			continue
		}
		record := over.record
		h, open := l.holds[record]
		if !open || l.now < h.until || h.unresolved {
			l.add("leaf %d: the time of leaf %d's hold is over; open: %v, until %v, at %v", l.leaves-1, record, open, h.until, l.now)
		}
		if want := map[bool]string{true: "expired", false: "unresolved"}[!l.redeemed[record] && !h.spent && (l.rules.HoldsReturn || l.rules.PermitNeed == engine.PermitOfAll)]; over.state != want {
			l.add("leaf %d: the hold of leaf %d is %s, the policy says %s", l.leaves-1, record, over.state, want)
		}
		l.counts["hold "+over.state]++
		if over.state == "unresolved" { // It goes on counting, and keeps its reference.
			h.unresolved = true
			l.holds[record] = h
			continue
		}
		l.endHold(record, "expired")
		l.free(h.reference, record)
	}
}

// tellsOfHold reports whether a leaf says that the time of a hold is over.
func tellsOfHold(data []byte) bool {
	return strings.HasPrefix(string(data), `{"kind":"due"`) &&
		slices.Contains([]string{leaf.DueHold.String(), leaf.DueUnresolved.String(), leaf.DueApproval.String()}, between(data, `"type":"`, `"`))
}

// isSettler tells whether the key of a settle or release may give back what another one screened.
func (l *bookkeeping) isSettler(b *wire.Hold) bool {
	screener, giver := b.Screener, wire.APIKey{}
	if h, open := l.holds[b.Leaf]; open {
		screener = h.screener
	}
	if row := keyRow(&b.Common); row > 0 {
		giver = l.apiKeys[row-1]
	}
	owner := giver.Owner == ""
	if screener == 0 || int(screener) <= len(l.apiKeys) {
		owner = giver.Owner == ownerOf(l.apiKeys, screener)
	}
	settles, screens := giver.Roles&wire.RoleSettler != 0, giver.Roles&wire.RoleScreener != 0
	return settles && (owner && !screens || !owner && giver.Owner == "")
}

func ownerOf(keys []wire.APIKey, row uint32) string {
	if row == 0 || int(row) > len(keys) {
		return ""
	}
	return keys[row-1].Owner
}

// givesBack checks what only a settler may do: no owner gives back what it screened itself with
// a key that can screen.
func (l *bookkeeping) givesBack(b *wire.Hold, r *wire.Result, allowed engine.USD) {
	spender := !l.isSettler(b) && !l.rules.SettlementSelf
	until, approved := l.payBy[b.Leaf]
	switch {
	case !spender:
		l.counts["by a settler"]++
	case b.Op == wire.HoldRelease || b.Amount < allowed:
		l.add("leaf %d: no settler gives back %d of %d", r.Leaf, b.Amount, allowed)
	case approved && l.now >= until:
		l.add("leaf %d: settled by no settler after its approval had lapsed", r.Leaf)
	default:
		l.counts["by the spender"]++
	}
}

func (l *bookkeeping) endHold(record uint64, how string) {
	h := l.holds[record]
	l.book(l.held, h.by, h.day, -h.amount)
	delete(l.holds, record)
	l.ended[record] = how
}

func (l *bookkeeping) free(key engine.ReferenceKey, record uint64) {
	if by, known := l.used[key]; known && by == record {
		delete(l.used, key)
	}
}

// reference checks that a used reference, and no other, is recorded as used and triggers R25.
func (l *bookkeeping) reference(s *wire.Screen, r *wire.Result) {
	var record leaf.Screen
	if err := leaf.DecodeScreen(r.Data, &record); err != nil {
		l.add("leaf %d: %v", r.Leaf, err)
		return
	}
	by, used := l.used[s.Reference]
	if record.Used != used || record.UsedBy != by || used && record.Triggered&(1<<25) == 0 {
		l.add("leaf %d: its reference is used: %v, by leaf %d; the record says %v, %d", r.Leaf, used, by, record.Used, record.UsedBy)
	}
	if used {
		l.counts["duplicate"]++
	}
}

// proceeds counts a PROCEED, as spent or as held, and its reference.
func (l *bookkeeping) proceeds(s *wire.Screen, fleet engine.FleetSlot, r *wire.Result) {
	if _, used := l.used[s.Reference]; used {
		l.add("leaf %d: a second payment of one reference goes through", r.Leaf)
	}
	until := engine.Time(0)
	if s.Hold != 0 {
		until = l.now + engine.Time(s.Hold)*engine.Second
	}
	l.count(r.Leaf, heldAmount{by: payer{s.Agent, fleet, l.ownerOf(s.Agent)}, amount: s.Amount, reference: s.Reference, screener: s.Key.Row}, until)
}

// count books a payment as held until then, or as spent if there is no hold.
func (l *bookkeeping) count(record uint64, h heldAmount, until engine.Time) {
	if h.day = l.now.Day(); until == 0 {
		l.book(l.spent, h.by, h.day, h.amount)
		l.stood[record] = h.day
	} else {
		l.counts["held"]++
		h.until = until
		l.book(l.held, h.by, h.day, h.amount)
		l.holds[record] = h
	}
	l.use(h.reference, record)
}

func (l *bookkeeping) use(key engine.ReferenceKey, record uint64) {
	if _, used := l.used[key]; !used && key != (engine.ReferenceKey{}) {
		l.used[key] = record
	}
}

// outcome books an applied settle or release.
func (l *bookkeeping) outcome(b *wire.Hold, r *wire.Result) {
	marks := func(name string) bool { return strings.Contains(string(r.Data), `"`+name+`":true`) }
	h, open := l.holds[b.Leaf]
	if open && l.now >= h.until && !h.unresolved {
		l.add("leaf %d: a hold whose time is over is ended by a call", r.Leaf)
	}
	before := l.ended[b.Leaf]
	day, stood := l.stood[b.Leaf]
	allowed := engine.USD(0)
	if before == "" && (open || stood) {
		allowed = b.Recorded
	}
	if l.givesBack(b, r, allowed); h.unresolved {
		l.counts["resolved"]++
	}
	if b.Op == wire.HoldRelease {
		if before != "" || !open && !stood {
			l.add("leaf %d: nothing is there to release: %q", r.Leaf, before)
		}
		l.counts["hold released"]++
		if open {
			l.endHold(b.Leaf, "released")
			l.free(h.reference, b.Leaf)
			return
		}
		l.book(l.spent, payerIn(b), day, -b.Recorded)
		l.ended[b.Leaf] = "released"
		l.free(b.Reference, b.Leaf)
		return
	}
	more := b.Amount
	switch {
	case before == "released" || before == "expired":
		l.counts["settled late"]++
		l.ended[b.Leaf] = "settled late"
	case before != "":
		l.add("leaf %d: settled again after %q", r.Leaf, before)
	case open:
		l.counts["hold settled"]++
		l.endHold(b.Leaf, "settled")
		l.book(l.spent, h.by, h.day, min(b.Amount, h.amount))
		more = b.Amount - h.amount
	case stood:
		l.counts["without a hold"]++
		l.ended[b.Leaf] = "settled"
		l.book(l.spent, payerIn(b), day, -max(b.Recorded-b.Amount, 0))
		more = b.Amount - b.Recorded
	default:
		l.counts["not allowed"]++
		l.ended[b.Leaf] = "settled"
	}
	if marks("late") != (l.ended[b.Leaf] == "settled late") || marks("notAllowed") != (before == "" && !open && !stood) {
		l.add("leaf %d: marked otherwise than it should be: %s", r.Leaf, r.Data)
	}
	if more > 0 {
		l.counts["over the hold"]++
		l.book(l.spent, payerIn(b), l.now.Day(), more)
	}
	l.use(b.Reference, b.Leaf)
}

// judgedAgain checks a payment that was confirmed or redeemed, and books what that changed.
func (l *bookkeeping) judgedAgain(b *wire.Pay, r *wire.Result) {
	state, h := between(r.Data, `"state":"`, `"`), l.holds[b.Leaf]
	_, open := l.holds[b.Leaf]
	day, stood := l.stood[b.Leaf]
	until, approved := l.payBy[b.Leaf]
	switch {
	case l.redeemed[b.Leaf], l.ended[b.Leaf] != "", h.unresolved, !open && !stood:
		l.add("leaf %d: it has no leave: redeemed %v, ended %q, unresolved %v, counts %v", r.Leaf, l.redeemed[b.Leaf], l.ended[b.Leaf], h.unresolved, open || stood)
	case b.Verdict == engine.Review && (!approved || l.now >= until):
		l.add("leaf %d: judged again without an approval that is good", r.Leaf)
	case open && l.now >= h.until:
		l.add("leaf %d: judged again when its hold was over", r.Leaf)
	}
	slots, _ := l.chain(b.Agent)
	good := !slices.ContainsFunc(slots, func(one engine.AgentSlot) bool {
		return l.agents[one].status != engine.Active || l.suspended[l.agents[one].operator]
	})
	proceeds := between(r.Data, `"verdict":"`, `"`) == "PROCEED"
	if proceeds && !good {
		l.add("leaf %d: whoever is suspended has leave", r.Leaf)
	}
	if state == "released" && l.rules.PermitNeed != engine.PermitOfAll && (b.Verdict == engine.Proceed || l.given[b.Leaf]) {
		l.add("leaf %d: a payment that may have been made returns", r.Leaf)
	}
	l.given[b.Leaf] = l.given[b.Leaf] || proceeds
	l.counts["judged again "+state]++
	switch {
	case state == "released" && open:
		l.endHold(b.Leaf, "released")
		l.free(h.reference, b.Leaf)
	case state == "released":
		l.add("leaf %d: what was not held returns", r.Leaf)
	case !open:
		by := payer{b.Agent, b.Fleet, b.Operator}
		l.book(l.spent, by, day, -b.Amount)
		l.book(l.held, by, day, b.Amount)
		if b.Verdict == engine.Proceed {
			until = (b.ScreenedAt.Day() + 2).Start()
		}
		h = heldAmount{by: by, amount: b.Amount, day: day, until: until, screener: b.Screener, spent: true}
		if used, known := l.used[b.Reference]; known && used == b.Leaf {
			h.reference = b.Reference
		}
		l.holds[b.Leaf] = h
	}
	if state == "redeemed" {
		l.redeemed[b.Leaf] = true
	}
}

// noteReturned notes a leaf of an entry that gives back a payment and is no record's own.
func (l *bookkeeping) noteReturned(out *Effects, i uint64) {
	own := func(r wire.Result) bool { return r.Code == wire.Applied && r.Leaf == out.FirstLeaf+i }
	if strings.HasPrefix(string(out.Leaves[i].Data), `{"kind":"`+leaf.KindHoldReleased+`"`) && !slices.ContainsFunc(out.Results, own) {
		l.returned[out.FirstLeaf+i] = true
	}
}
