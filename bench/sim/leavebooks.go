package sim

import (
	"fmt"
	"strings"
	"time"

	"railguard/engine"
)

// The books of leaves to pay (decision 136). A payment that went through or was approved may be
// confirmed and redeemed until the end of its hold, of its approval, and of the permit. A confirmation
// goes through only if no party is stopped and what counts, the payment with it, is under the limits
// of the day; it is a REVIEW for a limit only if that is not so. A BLOCK gives back in the same step what
// cannot have been made; what had leave goes on counting. It is redeemed once. Then nobody confirms it, it does not return by itself, and one alert
// tells of its end. A settle says whether it had to be redeemed before.

// leave books a judgement of a recorded payment.
func (b *books) leave(i int, at string, leaf []byte) {
	record, verdict, state := number(leaf, "screenedLeaf"), member(leaf, "verdict"), member(leaf, "state")
	p := b.paid[record]
	if p == nil {
		b.found.add("leaf %d: %s, and leaf %d had no leave", i, verdict, record)
		return
	}
	until, wasHeld := p.until, !p.until.IsZero()
	if !wasHeld { // It has no hold, and gets one now, which never returns.
		until = instant(p.date + "T00:00:00Z").Add(48 * time.Hour)
		p.until, p.spent = until, true
	}
	ends := member(leaf, "permitEnds")
	switch {
	case p.redeemed || p.ended != "" || p.unresolved:
		b.found.add("leaf %d: %s, and leaf %d was redeemed (%v), %q or unresolved (%v)", i, verdict, record, p.redeemed, p.ended, p.unresolved)
	case instant(at).After(until):
		b.found.add("leaf %d: %s, and the leave of leaf %d ended at %v", i, verdict, record, until)
	case ends != "" && at >= ends:
		b.found.add("leaf %d: %s, and the permit ended at %s", i, verdict, ends)
	case number(leaf, "listVersion") != b.list:
		b.found.add("leaf %d: judged with list %d, active is %d", i, number(leaf, "listVersion"), b.list)
	case verdict == "PROCEED" && !instant(member(leaf, "expiresAt")).Equal(p.until):
		b.found.add("leaf %d: it may be made until %s, and the leave of leaf %d ends at %v", i, member(leaf, "expiresAt"), record, p.until)
	}
	want := "held"
	if verdict == "BLOCK" && wasHeld && (p.approved && !p.given || b.limits.Need == engine.PermitOfAll) {
		want, b.blocked = "released", record
	}
	p.given = p.given || verdict == "PROCEED"
	if verdict == "PROCEED" && state == "redeemed" {
		want, p.redeemed = "redeemed", true
	}
	if state != want {
		b.found.add("leaf %d: %s leaves leaf %d %s", i, verdict, record, state)
	}
	b.counts["again "+verdict+" "+state]++
	if verdict == "PROCEED" {
		b.proceed(i, p.agent, p.user)
	}
	b.judgedLimits(i, at[:len("2000-01-01")], member(leaf, "rule"), number(leaf, "leftOut"), p)
}

// judgedLimits holds a judgement against the sums of the day. Its payment is among them.
func (b *books) judgedLimits(i int, date, rule string, leftOut int64, p *paid) {
	over := func(rule engine.RuleID) string {
		if date != p.date || leftOut&(1<<rule) != 0 {
			return ""
		}
		if rule == engine.RuleFleetLimit {
			fleet := b.fleetOf(p.agent)
			if limit, known := b.limits.Fleets[fleet]; known && b.spent[fmt.Sprintf("fleet %d on %s", fleet, date)] > limit {
				return fmt.Sprintf("fleet %d", fleet)
			}
			return ""
		}
		for _, slot := range b.limits.chain(p.agent) {
			if account, known := b.limits.Agents[slot]; known && b.spent[fmt.Sprintf("agent %d on %s", slot, date)] > account.Daily {
				return fmt.Sprintf("agent %d", slot)
			}
		}
		return ""
	}
	for code, id := range map[string]engine.RuleID{"R11": engine.RuleDailyLimit, "R12": engine.RuleFleetLimit} {
		decided := strings.HasPrefix(rule, code+"_")
		if decided && over(id) == "" {
			b.found.add("leaf %d: %s again, and all that counts has room", i, rule)
		}
		if who := over(id); rule == "" && who != "" {
			b.found.add("leaf %d: goes through again, and %s is over its limit", i, who)
		}
	}
}

// withdrawn requires that what was judged a BLOCK is given back by the next leaf.
func (b *books) withdrawn(i int, leaf []byte) {
	if b.blocked >= 0 && (member(leaf, "kind") != "hold.released" || number(leaf, "screenedLeaf") != b.blocked) {
		b.found.add("leaf %d: leaf %d was judged a BLOCK, and still counts", i, b.blocked)
	}
	b.blocked = -1
}

// checkOver holds the end of a payment against what was redeemed and had to be.
func (b *books) checkOver(i int, record int64, p *paid, how string, leaf []byte) {
	if p == nil {
		return
	}
	returns := b.limits.Need == engine.PermitOfAll && !p.redeemed && !p.spent
	switch {
	case how == "expired" && !returns:
		b.found.add("leaf %d: leaf %d returns by itself, redeemed: %v", i, record, p.redeemed)
	case how == "unresolved" && returns:
		b.found.add("leaf %d: leaf %d is unresolved, and nobody redeemed it", i, record)
	case how == "unresolved" && p.redeemed:
		b.silent[record] = 0
		b.counts["redeemed and silent"]++
	case how == "settled" && p.ended == "":
		must := b.limits.Need == engine.PermitOfAll || b.limits.Need == engine.PermitOfReview && p.approved
		if marked := strings.Contains(string(leaf), `"unpermitted":true`); marked != (must && !p.redeemed) {
			b.found.add("leaf %d: leaf %d is settled, redeemed: %v, unpermitted: %v", i, record, p.redeemed, marked)
		}
	}
}

// alert counts the alerts about payments that were redeemed and of which nobody said more.
func (b *books) alert(leaf []byte) {
	record := number(leaf, "screenedLeaf")
	if _, silent := b.silent[record]; silent && member(leaf, "alert") == "unresolved_payment" {
		b.silent[record]++
	}
}

// endLeaves checks that each of those payments has its alert.
func (b *books) endLeaves() {
	if b.blocked >= 0 {
		b.found.add("leaf %d was judged a BLOCK, and still counts at the end", b.blocked)
	}
	for record, told := range b.silent {
		if told != 1 {
			b.found.add("leaf %d was redeemed and is unresolved, and %d alerts tell of it", record, told)
		}
	}
}
