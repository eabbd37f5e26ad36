package fsm

import (
	"strconv"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Retro-screening (decision 51): the leader screens recorded payments and registered parties
// against an activated list, and reports its progress in records. Apply takes each report
// once and in order. So the next leader continues where this one stopped, and no hit is told
// twice.

// applyRetro begins a run, advances it with hits, or ends it. One run is active at a time.
func (m *rulebook) applyRetro(b *wire.Retro, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch b.Op {
	case wire.RetroBegin:
		m.beginRetro(b, r)
	case wire.RetroAdvance, wire.RetroEnd:
		m.moveRetro(b, r)
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

func (m *rulebook) beginRetro(b *wire.Retro, r *wire.Result) {
	s := m.settings
	switch {
	case s.Retro != nil && s.Retro.EndedAt == 0:
		r.Value = s.Retro.Begun
		refuse(r, wire.RefusedTransition)
		return
	case s.List == nil || b.Run.List == 0 || b.Run.List > s.ListVersion || b.Run.Against >= b.Run.List || b.Run.Leaf > m.size:
		refuse(r, wire.RefusedMalformed)
		return
	case !b.Run.Asked && s.Retro != nil && s.Retro.Covered >= b.Run.List:
		r.Code = wire.Unchanged // Another leader has begun it.
		return
	}
	run := &wire.RetroRun{
		List: b.Run.List, Against: b.Run.Against, From: b.Run.From, Leaf: b.Run.Leaf, Until: m.size, Operator: 1, Agent: 1, User: 1,
		StartedAt: m.now, Begun: m.size, Asked: b.Run.Asked,
	}
	if s.Retro != nil {
		run.Covered = s.Retro.Covered
	}
	if !run.Asked {
		run.Covered = run.List
	}
	m.editSettings().Retro = run
	m.writeEvent(leaf.KindRetroBegun, leaf.RetroBegun{Run: m.runOf(run), Asked: run.Asked, From: run.From}, &b.Common, r, m.runFilter(run))
}

// runOf returns the members of a leaf that name its run.
func (m *rulebook) runOf(run *wire.RetroRun) leaf.Run {
	return leaf.Run{RetroID: m.ids.EventID(run.Begun, 0), List: run.List, Against: run.Against}
}

// runFilter returns the filter key for the leaves of a run.
func (m *rulebook) runFilter(run *wire.RetroRun) uint64 {
	return engine.FilterKey(engine.FilterTxn, m.ids.EventID(run.Begun, 0))
}

// moveRetro takes the hits up to a cursor that is ahead of the stored one.
func (m *rulebook) moveRetro(b *wire.Retro, r *wire.Result) {
	run := m.settings.Retro
	switch {
	case run == nil || b.Run.Begun != run.Begun || len(b.Hits) > wire.RetroHitsMost || b.Run.Leaf > m.size:
		refuse(r, wire.RefusedMalformed)
		return
	case run.EndedAt != 0 || !isFurther(run, &b.Run, b.Op == wire.RetroEnd):
		r.Code = wire.Unchanged // It was reported already.
		return
	}
	for i := range b.Hits {
		if !m.soundHit(&b.Hits[i]) {
			refuse(r, wire.RefusedMalformed)
			return
		}
	}
	next := *run
	next.Operator, next.Agent, next.User, next.Leaf = b.Run.Operator, b.Run.Agent, b.Run.User, b.Run.Leaf
	for i := range b.Hits {
		m.retroHit(&next, &b.Hits[i])
	}
	if b.Op == wire.RetroEnd {
		next.EndedAt = m.now
	}
	m.editSettings().Retro = &next
	if r.Code = wire.Unchanged; b.Op == wire.RetroEnd { // Only the end has a leaf of its own.
		m.writeEvent(leaf.KindRetroEnded, leaf.RetroEnded{Run: m.runOf(&next), Hits: next.Hits, Known: next.Known}, &b.Common, r, m.runFilter(&next))
	}
}

// isFurther tells whether the cursor to is ahead of the cursor from in some part and behind
// it in none. At the end of a run no part has to be ahead.
func isFurther(from, to *wire.RetroRun, end bool) bool {
	if to.Operator < from.Operator || to.Agent < from.Agent || to.User < from.User || to.Leaf < from.Leaf {
		return false
	}
	return end || to.Operator > from.Operator || to.Agent > from.Agent || to.User > from.User || to.Leaf > from.Leaf
}

// soundHit tells whether a hit is about something that exists.
func (m *rulebook) soundHit(hit *wire.RetroHit) bool {
	if len(hit.Entries) == 0 || len(hit.Entries) > wire.RetroEntriesMost || hit.Amount < 0 || hit.Verdict > engine.Unknown {
		return false
	}
	if hit.Tax && hit.Target != wire.TargetAgent {
		return false
	}
	switch hit.Target {
	case 0:
		return m.hasLeaf(hit.Leaf)
	case wire.TargetAgent:
		return m.registry.agents.Has(uint64(hit.Slot)) // retroHit skips an agent that was retired meanwhile,
	case wire.TargetUser:
		return true // and a user that was erased.
	case wire.TargetOperator:
		return m.registry.operators.Has(uint64(hit.Slot))
	}
	return false
}

// retroHit writes the leaf and the alert of a hit, and suspends the party if the policy says
// so. A hit that already has an alert for this list is only counted.
func (m *rulebook) retroHit(run *wire.RetroRun, hit *wire.RetroHit) {
	at := uint64(hit.Slot)
	if hit.Target == wire.TargetUser && !m.registry.users.Has(at) || hit.Target == wire.TargetAgent && !m.registry.hasAgent(engine.AgentSlot(hit.Slot)) {
		return
	}
	if hit.Target == 0 {
		at = hit.Leaf
	}
	if hit.Tax {
		m.registry.taxListed(engine.AgentSlot(hit.Slot))
	}
	a := alarm{kind: wire.AlertRetroHit, list: run.List, subject: wire.AlertSubject(hit.Target, at)}
	if a.owner = m.desk.ownerOfSubject(a.subject); hit.Target == 0 {
		a.owner = m.ownerAt(hit.Screener)
	}
	if m.desk.hasAlert(&a) {
		run.Known++
		return
	}
	run.Hits++
	event := leaf.RetroHit{Run: m.runOf(run), Entries: hit.Entries, Wallet: hit.Wallet, Listed: hit.Listed, Tax: hit.Tax}
	m.desk.nameSubject(&event.Subject, &a)
	if hit.Target == 0 {
		event.Verdict, event.ScreenedAt, event.Amount = hit.Verdict.String(), &hit.At, &hit.Amount
		a.event.Amount = &hit.Amount
	}
	filters := append(m.filters(3), engine.FilterKey(engine.FilterKind, leaf.KindRetroHit), m.runFilter(run))
	if hit.Target == 0 {
		filters = append(filters, engine.FilterKey(engine.FilterTxn, m.ids.TxnID(hit.Leaf)))
	}
	a.event.HitLeaf = m.size
	m.appendLeaf(append(leaf.AppendEvent(m.head(leaf.KindRetroHit), leaf.KindRetroHit, event), '}'), filters)
	m.desk.openAlert(&a, &wire.Common{})
	if m.settings.Policy.RetroSuspend && hit.Listed && hit.Target != 0 {
		m.retroSuspend(run, hit)
	}
}

// retroSuspend suspends a party that is listed by name or wallet. A party that is not active
// keeps its status.
func (m *rulebook) retroSuspend(run *wire.RetroRun, hit *wire.RetroHit) {
	var ignored wire.Result
	said := leaf.RetroSuspension{Reason: "retro.suspend: listed in version " + strconv.FormatUint(run.List, 10)}
	status := &wire.Status{Target: hit.Target, Slot: hit.Slot, To: engine.Suspended}
	if hit.Target == wire.TargetOperator {
		operator := *m.registry.operatorProfiles.At(uint64(hit.Slot))
		said.OperatorLegalName = operator.LegalName
	}
	status.Fragment = leaf.AppendMembers(nil, said)[1:]
	m.registry.applyStatus(status, &ignored)
}
