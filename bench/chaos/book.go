package chaos

import (
	"fmt"
	"time"

	"railguard/engine"
)

// book replays a log leaf by leaf with the rules of the specification. It reports each record
// that contradicts the records before it. Its only source is the leaves: it keeps counters,
// statuses and limits of its own.
type book struct {
	accounts map[string]*ledger
	fleets   map[string]*pot
	screens  map[uint64]*leaf // REVIEW leaves by position, until disposed.
	disposed map[uint64]string
	last     time.Time
	list     uint64
	wrong    findings
}

// ledger is one agent's account.
type ledger struct {
	id, parent, fleet string
	daily, single     engine.USD
	autonomous        bool
	accountState
	day int64
}

// pot is one fleet's account.
type pot struct {
	limit, spent engine.USD
	day          int64
}

func newBook() *book {
	return &book{
		accounts: map[string]*ledger{}, fleets: map[string]*pot{}, screens: map[uint64]*leaf{}, disposed: map[uint64]string{},
	}
}

// readBook replays a whole log.
func readBook(leaves []leaf) *book {
	b := newBook()
	for i := range leaves {
		l := &leaves[i]
		if l.Leaf != uint64(i) {
			b.wrong.add("leaf %d stands at place %d of the export", l.Leaf, i)
			return b
		}
		b.enter(l)
	}
	return b
}

// enter books one leaf.
func (b *book) enter(l *leaf) {
	if at := l.when(); at.Before(b.last) {
		b.wrong.add("leaf %d: log time goes back from %v to %v", l.Leaf, b.last, at)
	} else {
		b.last = at
	}
	switch l.Kind {
	case "screen", "agent.registered", "delegate.created":
		if l.ListVersion != b.list {
			b.wrong.add("leaf %d (%s): judged with list version %d while %d was active", l.Leaf, l.Kind, l.ListVersion, b.list)
		}
	}
	switch l.Kind {
	case "list.activated":
		if l.ListVersion <= b.list {
			b.wrong.add("leaf %d: list version %d comes after %d", l.Leaf, l.ListVersion, b.list)
		}
		b.list = l.ListVersion
	case "agent.registered", "delegate.created":
		b.register(l)
	case "fleet.created":
		limit, err := engine.ParseUSD(l.DailyLimit)
		if err != nil {
			b.wrong.add("leaf %d: fleet without a limit: %v", l.Leaf, err)
		}
		b.fleets[l.FleetID] = &pot{limit: limit}
	case "fleet.updated":
		if limit, err := engine.ParseUSD(l.DailyLimit); err == nil && b.fleets[l.FleetID] != nil {
			b.fleets[l.FleetID].limit = limit
		}
	case "agent.suspended", "agent.reinstated", "agent.revoked":
		b.status(l)
	case "attestation.recorded":
		if a := b.account(l); a != nil {
			a.attested = l.AttestedAt.UnixNano()
		}
	case "screen":
		b.screen(l)
	case "review.dispositioned":
		b.dispose(l)
	}
}

func (b *book) account(l *leaf) *ledger {
	a := b.accounts[l.AgentID]
	if a == nil {
		b.wrong.add("leaf %d (%s) names agent %s, which no leaf registered", l.Leaf, l.Kind, l.AgentID)
	}
	return a
}

func (b *book) register(l *leaf) {
	daily, single, err := limits(l.SpendPolicy) // Limits of the child itself. It inherits those that its policy leaves out.
	if err != nil {
		b.wrong.add("leaf %d: policy: %v", l.Leaf, err)
	}
	if b.accounts[l.AgentID] != nil {
		b.wrong.add("leaf %d registers agent %s a second time", l.Leaf, l.AgentID)
	}
	if l.ParentID != "" {
		if parent := b.accounts[l.ParentID]; parent == nil {
			b.wrong.add("leaf %d: parent %s is not known", l.Leaf, l.ParentID)
		} else if b.worst(b.chain(l.ParentID)) != active {
			b.wrong.add("leaf %d: delegate of parent %s, which was not active", l.Leaf, l.ParentID)
		}
	}
	b.accounts[l.AgentID] = &ledger{
		id: l.AgentID, parent: l.ParentID, fleet: l.FleetID, daily: daily, single: single,
		autonomous: l.AgentType == "autonomous", accountState: accountState{exists: true},
	}
}

// chain returns an agent and its ancestors, the agent first.
func (b *book) chain(id string) []*ledger {
	var chain []*ledger
	for id != "" && len(chain) <= accountsMax {
		a := b.accounts[id]
		if a == nil {
			return chain
		}
		chain = append(chain, a)
		id = a.parent
	}
	return chain
}

func (b *book) worst(chain []*ledger) standing {
	worst := active
	for _, a := range chain {
		worst = max(worst, a.status)
	}
	return worst
}

func (b *book) status(l *leaf) {
	a := b.account(l)
	if a == nil {
		return
	}
	to := map[string]standing{"agent.suspended": suspended, "agent.reinstated": active, "agent.revoked": revoked}[l.Kind]
	if a.status == to || a.status == revoked {
		b.wrong.add("leaf %d: %s of an agent that was %s", l.Leaf, l.Kind, standingNames[a.status])
	}
	if l.PreviousStatus != standingNames[a.status] {
		b.wrong.add("leaf %d: previous status %s, the log says %s", l.Leaf, l.PreviousStatus, standingNames[a.status])
	}
	a.status = to
}

// turn begins the leaf's UTC date on every counter that the leaf changes.
func turn(chain []*ledger, fleet *pot, at time.Time) {
	day := at.Unix() / 86400
	for _, a := range chain {
		if day > a.day {
			a.day, a.spent = day, 0
		}
	}
	if fleet != nil && day > fleet.day {
		fleet.day, fleet.spent = day, 0
	}
}

// reachable has the rules that the book predicts. Every other rule depends on the list, or on
// settings that these tests do not change, and never gives PROCEED.
var reachable = map[string]bool{
	"": true, "R2_CREDENTIAL_STATUS": true, "R10_SINGLE_TX_LIMIT": true, "R11_DAILY_LIMIT": true,
	"R12_FLEET_DAILY_LIMIT": true, "R22_ATTESTATION": true,
}

func (b *book) screen(l *leaf) {
	if l.Verdict == "REVIEW" {
		b.screens[l.Leaf] = l
	}
	if !reachable[l.Rule] {
		if l.Verdict == "PROCEED" {
			b.wrong.add("leaf %d: PROCEED by rule %s", l.Leaf, l.Rule)
		}
		return
	}
	a := b.account(l)
	if a == nil {
		return
	}
	amount, err := l.amount()
	if err != nil {
		b.wrong.add("leaf %d: amount: %v", l.Leaf, err)
		return
	}
	chain := b.chain(l.AgentID)
	fleet := b.fleets[chain[len(chain)-1].fleet]
	now := time.Unix(0, l.Evidence.Now).UTC()
	turn(chain, fleet, now)
	levels := make([]level, len(chain))
	for i, c := range chain {
		levels[i] = level{c.accountState, c.daily, c.single}
	}
	var seen *envelope
	if fleet != nil {
		seen = &envelope{fleet.limit, fleet.spent}
	}
	verdict, rule := decide(levels, seen, a.autonomous, amount, l.Evidence.Now)
	if verdict != l.Verdict || rule != l.Rule {
		b.wrong.add("leaf %d (%s): the record says %s %s, the log before it demands %s %s (agent %s, amount %s, spent %s of %s)",
			l.Leaf, l.TxnID, l.Verdict, l.Rule, verdict, rule, l.AgentID, usd(amount), usd(chain[0].spent), limitText(chain[0].daily))
	}
	if l.Verdict != "PROCEED" {
		return
	}
	b.spend(l, chain, fleet, amount, true)
}

// spend books an amount, and reports a PROCEED that lifts a counter above its limit.
func (b *book) spend(l *leaf, chain []*ledger, fleet *pot, amount engine.USD, bound bool) {
	for _, a := range chain {
		a.spent = a.spent.Plus(amount)
		if bound && a.spent.Exceeds(a.daily) {
			b.wrong.add("leaf %d: OVERSPEND: %s PROCEEDs on %s lift %s to %s of %s",
				l.Leaf, l.TxnID, l.AgentID, a.id, usd(a.spent), limitText(a.daily))
		}
	}
	if fleet == nil {
		return
	}
	fleet.spent = fleet.spent.Plus(amount)
	if bound && fleet.spent.Exceeds(fleet.limit) {
		b.wrong.add("leaf %d: OVERSPEND: %s PROCEEDs on %s lift the fleet to %s of %s",
			l.Leaf, l.TxnID, l.AgentID, usd(fleet.spent), limitText(fleet.limit))
	}
}

func limitText(limit engine.USD) string {
	if limit == engine.NoLimit {
		return "no limit"
	}
	return string(usd(limit))
}

// dispose books a disposition. A REVIEW may have only one, and an approved amount counts, as held
// and then as spent.
func (b *book) dispose(l *leaf) {
	if before, done := b.disposed[l.ReviewedLeaf]; done {
		b.wrong.add("leaf %d: %s gets the disposition %s, and has %s already", l.Leaf, l.TxnID, l.Disposition, before)
		return
	}
	b.disposed[l.ReviewedLeaf] = l.Disposition
	screen := b.screens[l.ReviewedLeaf]
	if screen == nil {
		b.wrong.add("leaf %d: disposition of leaf %d, which is no REVIEW", l.Leaf, l.ReviewedLeaf)
		return
	}
	if l.Disposition != "APPROVED" || screen.AgentID == "" {
		return
	}
	amount, err := screen.amount()
	if err != nil {
		b.wrong.add("leaf %d: amount: %v", screen.Leaf, err)
		return
	}
	chain := b.chain(screen.AgentID)
	if len(chain) == 0 {
		return
	}
	fleet := b.fleets[screen.FleetID]
	turn(chain, fleet, l.ReviewedAt)
	b.spend(l, chain, fleet, amount, false)
}

// spentOn returns an agent's counter for a UTC date.
func (a *ledger) spentOn(day int64) engine.USD {
	if a.day != day {
		return 0
	}
	return a.spent
}

func (p *pot) spentOn(day int64) engine.USD {
	if p.day != day {
		return 0
	}
	return p.spent
}

// findings collects violations. Of many it keeps the first and counts the others.
type findings struct {
	list []string
	more int
}

func (f *findings) add(format string, args ...any) {
	if len(f.list) >= violationsKept {
		f.more++
		return
	}
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

func (f *findings) join(other []string) {
	for _, text := range other {
		f.add("%s", text)
	}
}

// all returns the violations and, at the end, how many were left out.
func (f *findings) all() []string {
	if f.more == 0 {
		return f.list
	}
	return append(f.list[:len(f.list):len(f.list)], fmt.Sprintf("and %d more", f.more))
}
