package fsm

import (
	"errors"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applySecondLook takes a look in hand, gives it back or answers it. Nothing of it moves the payment.
func (m *desk) applySecondLook(b *wire.SecondLook, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if len(b.Who) > m.limits.FieldBytes || b.Disposition > wire.EscalateSAR || (b.Op == wire.LookAnswer) != (b.Disposition != 0) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.loosenHands()
	at, found := m.secondLookOf(b.Decision)
	if !found {
		refuse(r, wire.RefusedNotFound)
		return
	}
	if row := m.secondLooks.At(at); row.State != SecondLookOpen || m.now >= secondLookEnds(row.At, m.limits) {
		refuse(r, wire.RefusedNotOpen)
		return
	}
	switch b.Op {
	case wire.LookTake:
		m.takeLook(at, b, r)
	case wire.LookGiveBack, wire.LookAnswer:
		held := m.settings.HeldBy(m.callerKey(&b.Common), m.now)
		switch {
		case held == nil || held.Decision != b.Decision:
			refuse(r, wire.RefusedClaimed)
		case b.Op == wire.LookAnswer:
			m.answerLook(at, b, r)
		default:
			m.giveBackLook(b, r)
		}
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

// takeLook puts a look into the caller's hands. From then on he is shown nothing else.
func (m *desk) takeLook(at uint64, b *wire.SecondLook, r *wire.Result) {
	row, key := m.secondLooks.At(at), m.callerKey(&b.Common)
	if m.settings.HolderOf(b.Decision, m.now) != nil || m.settings.HeldBy(key, m.now) != nil {
		refuse(r, wire.RefusedClaimed)
		return
	}
	if why := m.mayLook(m.settings, m.now, row, key); why != 0 {
		refuse(r, why)
		return
	}
	if len(row.Known.Keys) >= m.limits.SecondLookKnown || len(m.settings.InHand) >= m.limits.SecondLooksHeld {
		refuse(r, wire.RefusedFull)
		return
	}
	held := &wire.InHand{Decision: b.Decision, Key: keyRow(&b.Common), Subject: key.Subject().String(), Who: b.Who, Until: m.now + m.limits.SecondLookLease}
	s := m.editSettings()
	s.InHand = append(slices.Clone(s.InHand), held)
	m.writeLookWork("claimed", held, b, r)
}

// giveBackLook takes it out of his hands. He has seen the case, so it is not given to him again.
func (m *desk) giveBackLook(b *wire.SecondLook, r *wire.Result) {
	m.dropInHand(b.Decision)
	m.writeLookWork("released", &wire.InHand{}, b, r)
}

// writeLookWork writes who has a look in hand. The leaf does not name the record.
func (m *desk) writeLookWork(op string, held *wire.InHand, b *wire.SecondLook, r *wire.Result) {
	m.writeEvent(leaf.KindWorked, leaf.Worked{Op: op, LookID: m.ids.LookID(b.Decision), Assignee: &held.Who, LeaseUntil: held.Until}, &b.Common, r)
}

// answerLook ends a look. Where the two officers do not agree, an alert tells of it.
func (m *desk) answerLook(at uint64, b *wire.SecondLook, r *wire.Result) {
	row := m.endLook(at, SecondLookAnswered, b.Disposition)
	m.dropInHand(b.Decision)
	event := leaf.LookAnswered{
		Reviewed: m.describeReviewed(row.Leaf), LookID: m.ids.LookID(row.Decision), DecisionLeaf: row.Decision,
		First: dispositionNames[row.First], Second: dispositionNames[row.Second], Agrees: row.First == row.Second,
	}
	filters := filtersOf(&event.Reviewed)
	m.writeEvent(leaf.KindLookAnswered, event, &b.Common, r, filters...)
	if event.Agrees {
		return
	}
	m.openAlert(&alarm{
		kind: wire.AlertSecondLook, subject: wire.AlertSubject(0, row.Leaf), filters: filters,
		event: leaf.AlertOpened{LookID: event.LookID, First: event.First, Second: event.Second, AnswerLeaf: r.Leaf},
	}, &wire.Common{})
}

// endLook ends a look with the leaf that is written next.
func (m *desk) endLook(at uint64, state SecondLookState, second uint8) *SecondLookRow {
	row := m.secondLooks.Edit(at)
	row.State, row.Second, row.Ended = state, second, m.nextLeaf()
	return row
}

// dropInHand takes a look out of whoever's hands it is in, and notes that he knows the case.
func (m *desk) dropInHand(decision uint64) {
	at := slices.IndexFunc(m.settings.InHand, func(held *wire.InHand) bool { return held.Decision == decision })
	if at < 0 {
		return
	}
	held := m.settings.InHand[at]
	s := m.editSettings()
	s.InHand = slices.Delete(slices.Clone(s.InHand), at, at+1)
	if at, found := m.secondLookOf(decision); found {
		row := m.secondLooks.Edit(at)
		row.Known = row.Known.with(held.Key, held.Subject)
	}
}

// loosenHands ends what was in hand for too long.
func (m *desk) loosenHands() {
	for i := 0; i < len(m.settings.InHand); {
		if held := m.settings.InHand[i]; m.now >= held.Until {
			m.dropInHand(held.Decision)
			continue
		}
		i++
	}
}

// lapseLooks ends the looks that nobody answered in time, oldest first, a bounded number in each tick.
func (m *desk) lapseLooks() {
	m.loosenHands()
	at := max(m.looksOver, m.secondLooks.First())
	for n := 0; n < m.limits.ExpiredAtOneTick && at < m.secondLooks.Next(); n++ {
		if row := m.secondLooks.At(at); m.now < secondLookEnds(row.At, m.limits) {
			break
		}
		if m.secondLooks.At(at).State == SecondLookOpen {
			m.lapseLook(at)
		}
		at++
	}
	m.looksOver = at
}

func (m *desk) lapseLook(at uint64) {
	row := m.endLook(at, SecondLookLapsed, 0)
	m.dropInHand(row.Decision)
	event := leaf.LookLapsed{Reviewed: m.describeReviewed(row.Leaf), LookID: m.ids.LookID(row.Decision), DecisionLeaf: row.Decision}
	filters := append(filtersOf(&event.Reviewed), engine.FilterKey(engine.FilterKind, leaf.KindLookLapsed)) // Leaves of time are many; these few are counted.
	m.writeDueEvent(leaf.DueLook, event, filters...)
}

// checkInHand checks that everybody has one open look in hand.
func (m *desk) checkInHand() error {
	looks, hands := map[uint64]uint64{}, map[string]uint64{}
	for i, held := range m.settings.InHand {
		if held == nil || held.Subject == "" || m.keyAt(held.Key) == nil || !enterOnce(looks, held.Decision, uint64(i)) || !enterOnce(hands, held.Subject, uint64(i)) {
			return errors.New("second looks in hand that cannot be")
		}
		if at, found := m.secondLookOf(held.Decision); !found || m.secondLooks.At(at).State != SecondLookOpen {
			return errors.New("a second look in hand that is not open")
		}
	}
	if len(m.settings.InHand) > m.limits.SecondLooksHeld {
		return errors.New("too many second looks in hand")
	}
	return nil
}
