package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Alerts (decision 48) tell a person about something that is no REVIEW. Apply opens an alert
// when it sees the reason; a person acknowledges each alert once, with a reason. While the
// row of an alert is kept, no other alert of the same kind, subject and list is opened.

// AlertCounts holds the number of open alerts of each kind.
type AlertCounts [wire.AlertKinds + 1]int

// All returns the number of open alerts of all kinds.
func (c *AlertCounts) All() (all int) {
	for _, n := range c {
		all += n
	}
	return all
}

// alertRowsMax is how many rows of alerts are held, open ones and acknowledged ones.
func alertRowsMax(limits *engine.Limits) int { return 2 * (limits.Alerts + limits.SanctionsAlerts) }

// alertTable returns the table in which an alert of a kind has room. What is about the sanctions
// list has a table of its own, so that nothing else takes its room (decision 116).
func alertTable(kind uint8) wire.SharedTable {
	if kind == wire.AlertRetroHit || kind == wire.AlertOperator || kind == wire.AlertReport || isAboutList(kind) {
		return wire.TableSanctions
	}
	return wire.TableAlerts
}

// alarm describes an alert that is about to be opened.
type alarm struct {
	kind    uint8
	list    uint64 // The list version that is the reason; 0: none.
	subject uint64 // A value of wire.AlertSubject.
	filters []uint64
	owner   Owner // Whose doing is the reason.

	// event is the rest of the alert's leaf; openAlert fills in the common members.
	event leaf.AlertOpened
}

// key returns the kind, list and subject. Alarms with equal keys are the same alert.
func (a *alarm) key() alertKey { return alertKey{a.list, a.subject, a.kind} }

func (m *desk) hasAlert(a *alarm) bool {
	_, known := m.alertAt[a.key()]
	return known
}

// openAlert writes the leaf of an alert and its row. If an alert of the same kind, list and
// subject exists, it returns that alert's leaf and false. If its owner has no room for
// another open alert, it writes the leaf without a row.
func (m *desk) openAlert(a *alarm, common *wire.Common) (at uint64, opened bool) {
	key := a.key()
	if known, found := m.alertAt[key]; found {
		return m.alerts.At(known).Leaf, false
	}
	at = m.size
	a.event.Alert, a.event.AlertID, a.event.ListVersion = leaf.AlertName(a.kind), m.ids.AlertID(at), a.list
	m.nameSubject(&a.event.Subject, a)
	head := leaf.AppendEvent(m.head(leaf.KindAlertOpened), leaf.KindAlertOpened, a.event)
	filters := append(append(m.filters(len(a.filters)+len(common.Filters)+1), a.filters...), common.Filters...)
	if len(common.Fragment) > 0 {
		head = append(append(head, ','), common.Fragment...)
	}
	m.appendLeaf(append(head, '}'), append(filters, engine.FilterKey(engine.FilterKind, leaf.KindAlertOpened)))
	if !m.hasRoom(alertTable(a.kind), a.owner, oneRow) {
		m.out.AlertsUnlisted++
		return at, true
	}
	if m.alerts.Len() >= alertRowsMax(m.limits) {
		m.packAlerts()
	}
	m.alertAt[key] = m.alerts.Append(AlertRow{Leaf: at, At: m.now, Subject: a.subject, List: a.list, Kind: a.kind, Owner: a.owner})
	m.countAlert(m.alerts.At(m.alertAt[key]), 1)
	return at, true
}

func (m *desk) nameSubject(s *leaf.Subject, a *alarm) {
	target, at := wire.SplitSubject(a.subject)
	switch {
	case target == wire.TargetAgent:
		s.AgentID = m.ids.AgentID(uint32(at))
	case target == wire.TargetUser:
		s.UserID = m.ids.UserID(uint32(at))
	case target == wire.TargetOperator:
		s.OperatorID = m.ids.OperatorID(uint32(at))
	case !isAboutList(a.kind) && !isAboutLook(a.kind) && a.kind != wire.AlertAlone && a.kind != wire.AlertReport && a.kind != wire.AlertReconciled:
		s.TxnID, s.ScreenedLeaf = m.ids.TxnID(at), &at
	}
}

// countAlert counts an open alert for its owner, or, with -1, one that is open no more.
func (m *desk) countAlert(row *AlertRow, change int) {
	m.alertsOpen[row.Kind] += change
	m.take(alertTable(row.Kind), row.Owner, oneRow.times(int64(change)))
}

// packAlerts drops the older half of the acknowledged rows. At most half of all rows are open, so
// this makes room, and only after many alerts again. The rows keep their order.
func (m *desk) packAlerts() {
	drop := (m.alerts.Len()-m.alertsOpen.All())/2 + 1
	to := m.alerts.First()
	for i := to; i < m.alerts.Next(); i++ {
		row := *m.alerts.At(i)
		if row.Later != 0 && drop > 0 {
			delete(m.alertAt, row.key())
			drop--
			continue
		}
		if to != i {
			*m.alerts.Edit(to) = row
			m.alertAt[row.key()] = to
		}
		to++
	}
	for m.alerts.Next() > to {
		m.alerts.DropBack()
	}
}

func (r *AlertRow) key() alertKey { return alertKey{r.List, r.Subject, r.Kind} }

func (m *desk) forgetAlert() {
	row := m.alerts.At(m.alerts.First())
	delete(m.alertAt, row.key())
	if row.Later == 0 {
		m.countAlert(row, -1)
	}
	m.alerts.DropFront()
}

// applyAlert opens an alert that a node found, or acknowledges one.
func (m *desk) applyAlert(b *wire.Alert, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch b.Op {
	case wire.AlertOpen:
		m.openFound(b, r)
	case wire.AlertAcknowledge:
		m.acknowledgeAlert(b, r)
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

func (m *desk) openFound(b *wire.Alert, r *wire.Result) {
	if leaf.AlertName(b.Kind) == "" || isAboutLook(b.Kind) || b.Kind == wire.AlertReport || b.Kind == wire.AlertSecondLook || !m.soundSubject(b) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, opened := m.openAlert(&alarm{kind: b.Kind, list: b.List, subject: b.Subject, owner: m.ownerOfSubject(b.Subject)}, &b.Common)
	if r.Code, r.Leaf = wire.Applied, at; !opened {
		r.Code = wire.Unchanged
		return
	}
	r.Data = m.out.Leaves[len(m.out.Leaves)-1].Data
	m.rememberCall(b.Idem, at)
}

// ownerOfSubject returns whose room an alert about a party uses: its operator's.
func (m *desk) ownerOfSubject(subject uint64) Owner {
	switch target, at := wire.SplitSubject(subject); target {
	case wire.TargetAgent:
		if _, profile := m.registry.agentAt(engine.AgentSlot(at)); profile != nil {
			return agentOwner(profile)
		}
	case wire.TargetUser:
		if _, profile := m.registry.userAt(engine.UserSlot(at)); profile != nil {
			return Owner(profile.Operator)
		}
	case wire.TargetOperator:
		return Owner(at)
	}
	return 0
}

// soundSubject tells whether an alert is about something that exists.
func (m *desk) soundSubject(b *wire.Alert) bool {
	target, at := wire.SplitSubject(b.Subject)
	if b.List > m.settings.ListVersion {
		return false
	}
	if b.Kind == wire.AlertReconciled { // Its subject is a hash, for which every number is sound but none.
		return target == 0 && at != 0 && b.List == 0
	}
	switch target {
	case 0:
		return isAboutList(b.Kind) && at <= m.settings.ListVersion || !isAboutList(b.Kind) && m.hasLeaf(at)
	case wire.TargetAgent:
		return m.registry.hasAgent(engine.AgentSlot(at))
	case wire.TargetUser:
		return m.registry.users.Has(at)
	case wire.TargetOperator:
		return m.registry.operators.Has(at)
	}
	return false
}

func (m *desk) acknowledgeAlert(b *wire.Alert, r *wire.Result) {
	at, found := m.alertOf(b.Leaf)
	if !found {
		refuse(r, wire.RefusedNotFound)
		return
	}
	if row := m.alerts.At(at); row.Later != 0 {
		r.Value = row.Later
		refuse(r, wire.RefusedTransition)
		return
	}
	row := m.alerts.Edit(at)
	row.Later = m.size
	m.countAlert(row, -1)
	m.writeEvent(leaf.KindAcknowledged, leaf.Acknowledged{
		Alert: leaf.AlertName(row.Kind), AlertID: m.ids.AlertID(row.Leaf), AlertLeaf: row.Leaf,
	}, &b.Common, r)
}

func (m *desk) alertOf(opened uint64) (at uint64, found bool) {
	return searchReviews(m.alerts.First(), m.alerts.Next(), opened, func(i uint64) uint64 { return m.alerts.At(i).Leaf })
}

// alertPayment opens an alert about a settle: it was late, above a limit or not allowed.
func (m *desk) alertPayment(kind uint8, b *wire.Hold, settled uint64) {
	a := alarm{kind: kind, subject: wire.AlertSubject(0, b.Leaf), filters: []uint64{engine.FilterKey(engine.FilterTxn, m.ids.TxnID(b.Leaf))}}
	if b.Agent != 0 {
		a.filters = append(a.filters, engine.FilterKey(engine.FilterAgent, m.ids.AgentID(uint32(b.Agent))))
	}
	a.event.SettledLeaf, a.event.Amount, a.owner = settled, &b.Amount, m.ownerAt(b.Screener)
	m.openAlert(&a, &wire.Common{})
}

// alertUnresolved opens an alert that an agent's unresolved payments have reached a number or a
// sum. Its subject is the payment that made them reach it.
func (m *desk) alertUnresolved(row *holdRow, of UnresolvedTotal) {
	a := alarm{kind: wire.AlertUnresolved, subject: wire.AlertSubject(0, row.Leaf), filters: []uint64{engine.FilterKey(engine.FilterTxn, m.ids.TxnID(row.Leaf))}}
	if row.Agent != 0 {
		a.event.AgentID = m.ids.AgentID(uint32(row.Agent))
		a.filters = append(a.filters, engine.FilterKey(engine.FilterAgent, a.event.AgentID))
	}
	sum := of.Sum()
	a.event.PaymentsSum, a.event.Payments, a.owner = &sum, of.Count, m.ownerAt(row.Screener)
	m.openAlert(&a, &wire.Common{})
}

// alertQuarantine opens an alert about the malformed entities that the newly active list left
// out.
func (m *desk) alertQuarantine(info *wire.ListInfo) {
	m.openAlert(&alarm{
		kind: wire.AlertQuarantine, list: info.Version, subject: wire.AlertSubject(0, info.Version),
		event: leaf.AlertOpened{Entries: info.Quarantined},
	}, &wire.Common{})
}

// alertLeft opens an alert about parties, names and wallets that are no longer on the newly
// active list.
func (m *desk) alertLeft(info *wire.ListInfo, left *wire.ListLeft) {
	m.openAlert(&alarm{
		kind: wire.AlertLeft, list: info.Version, subject: wire.AlertSubject(0, info.Version),
		event: leaf.AlertOpened{LeftParties: left.Parties, LeftNames: left.Names, LeftWallets: left.Wallets, Left: left.First},
	}, &wire.Common{})
}

// isAboutList reports whether alerts of a kind are about a version of the list.
func isAboutList(kind uint8) bool { return kind == wire.AlertQuarantine || kind == wire.AlertLeft }

// operatorListed tells whether a call was blocked because of its operator, who was not
// listed when the credential was issued.
func (m *ledger) operatorListed(hits *engine.Hits) bool {
	const ofUser = 3 // R5's sub-reasons from this one on are about the user, or the tax number, of which the registry knew.
	byWallet, byName := hits.Has(engine.RuleOperatorWallet), hits.Has(engine.RuleOperatorName) && hits.Subs[engine.RuleOperatorName] < ofUser
	for i := range m.moment.LevelCount {
		byWallet = byWallet && !m.moment.Levels[i].Profile.WalletMatched
	}
	if m.moment.LevelCount > 0 && m.moment.Levels[0].Profile.NameMatched {
		byName = false
	}
	return m.moment.LevelCount > 0 && (byWallet || byName)
}

// alertOperator opens an alert that an operator is on the active list.
func (m *desk) alertOperator(slot engine.AgentSlot) {
	m.openAlert(m.listedAlarm(slot), &wire.Common{})
}

// listedRoom tells whether there is room for the alert that the operator of an agent is on the
// active list, or there is that alert already.
func (m *desk) listedRoom(slot engine.AgentSlot) bool {
	a := m.listedAlarm(slot)
	return m.hasAlert(a) || m.hasRoom(alertTable(a.kind), a.owner, oneRow)
}

func (m *desk) listedAlarm(slot engine.AgentSlot) *alarm {
	operator := agentOwner(*m.registry.profiles.At(uint64(slot)))
	return &alarm{
		kind: wire.AlertOperator, list: m.settings.ListVersion, subject: wire.AlertSubject(wire.TargetOperator, uint64(operator)), owner: operator,
		event: leaf.AlertOpened{Subject: leaf.Subject{AgentID: m.ids.AgentID(uint32(slot))}},
	}
}

// AlertsOpen returns how many alerts are open, by kind.
func (v *View) AlertsOpen() AlertCounts { return v.alertsOpen }

// Alert returns the row of the alert that a leaf opened.
func (v *View) Alert(opened uint64) (AlertRow, bool) {
	at, found := searchReviews(v.alerts.First(), v.alerts.Next(), opened, func(i uint64) uint64 { return v.alerts.At(i).Leaf })
	if !found {
		return AlertRow{}, false
	}
	return *v.alerts.At(at), true
}

// Alerts calls fn with alerts until fn returns false: those before a leaf, newest first, or,
// if ascending, those after it, oldest first.
func (v *View) Alerts(leaf uint64, ascending bool, fn func(AlertRow) bool) {
	first, next := v.alerts.First(), v.alerts.Next()
	at, found := searchReviews(first, next, leaf, func(i uint64) uint64 { return v.alerts.At(i).Leaf })
	if ascending {
		if found {
			at++
		}
		for ; at < next; at++ {
			if !fn(*v.alerts.At(at)) {
				return
			}
		}
		return
	}
	for ; at > first; at-- {
		if !fn(*v.alerts.At(at - 1)) {
			return
		}
	}
}
