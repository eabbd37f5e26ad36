package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Sanctions cases (decision 131): a BLOCK by R3 to R7 or R24 opens a case of the agent's root and
// the listed party or place, in the entry of the verdict. Later BLOCKs of the pair join it until it
// is reported or closed. What an officer finds lifts no BLOCK. A payment that went ahead has a case if
// an officer opens one.

// sanctionsSoon is how long before a report is overdue a leaf tells of it.
const sanctionsSoon = 2 * engine.DayLength

var sanctionsStates = [...]string{
	wire.SanctionsOpen: "OPEN", wire.SanctionsTrueMatch: "TRUE_MATCH", wire.SanctionsNotTheParty: "NOT_THE_PARTY",
	wire.SanctionsReported: "REPORTED", wire.SanctionsClosed: "CLOSED",
}

var sanctionsKinds = [...]string{
	wire.SanctionsRejected: "rejected_transaction", wire.SanctionsProperty: "blocked_property", wire.SanctionsProcessed: "processed_transaction",
}

// SanctionsState is a case's state as leaves and answers name it, "" for an unknown number.
func SanctionsState(state uint8) string {
	if int(state) >= len(sanctionsStates) {
		return ""
	}
	return sanctionsStates[state]
}

// SanctionsStates lists the names of the states, in their order.
func SanctionsStates() []string { return sanctionsStates[1:] }

// ParseSanctionsState returns the number of a named state, and false for an unknown name.
func ParseSanctionsState(name string) (uint8, bool) {
	at := slices.Index(sanctionsStates[:], name)
	return uint8(max(at, 0)), at > 0
}

// SanctionsKind is a case's kind as leaves and answers name it; "": no officer told it.
func SanctionsKind(kind uint8) string {
	if int(kind) >= len(sanctionsKinds) {
		return ""
	}
	return sanctionsKinds[kind]
}

// SanctionsKinds lists the names of the kinds, in their order.
func SanctionsKinds() []string { return sanctionsKinds[1:] }

// ParseSanctionsKind returns the number of a named kind, and false for an unknown name.
func ParseSanctionsKind(name string) (uint8, bool) {
	at := slices.Index(sanctionsKinds[:], name)
	return uint8(max(at, 0)), at > 0
}

// sanctionsMoves has for each state those that a case may go to. A finding may be taken back until
// the report is made; nothing goes on from CLOSED.
var sanctionsMoves = [...][]uint8{
	wire.SanctionsOpen:        {wire.SanctionsTrueMatch, wire.SanctionsNotTheParty},
	wire.SanctionsTrueMatch:   {wire.SanctionsReported, wire.SanctionsNotTheParty, wire.SanctionsClosed},
	wire.SanctionsNotTheParty: {wire.SanctionsOpen},
	wire.SanctionsReported:    {wire.SanctionsClosed},
	wire.SanctionsClosed:      nil,
}

// SanctionsNext lists the states that a case may go to from one.
func SanctionsNext(state uint8) []uint8 {
	if int(state) >= len(sanctionsMoves) {
		return nil
	}
	return sanctionsMoves[state]
}

// noCause stands for what the edge could not name.
var noCause = []wire.Cause{0}

func causesOf(s *wire.Screen) []wire.Cause {
	if len(s.Causes) == 0 {
		return noCause
	}
	return s.Causes
}

// soundCauses tells whether an edge can have written these causes.
func soundCauses(causes []wire.Cause) bool {
	for i, cause := range causes {
		if i >= wire.CausesMost || !cause.Sound() || slices.Contains(causes[:i], cause) {
			return false
		}
	}
	return true
}

// rootOf returns whose payment a call asks for, as a case has it, and whose room the case uses.
func (m *desk) rootOf(s *wire.Screen) (root uint64, owner Owner) {
	if _, profile := m.registry.agentAt(s.Agent); profile != nil {
		return wire.AlertSubject(wire.TargetAgent, uint64(profile.Root)), agentOwner(profile)
	}
	if _, profile := m.registry.userAt(s.User); profile != nil {
		return wire.AlertSubject(wire.TargetUser, uint64(s.User)), Owner(profile.Operator)
	}
	return 0, m.ownerAt(s.Key.Row)
}

// joined finds the case that takes the payments of a pair.
func (m *desk) joined(key caseKey) (at uint64, found bool) {
	at, found = m.caseAt[key]
	return at, found && m.cases.At(at).joins()
}

// casesRoom tells whether there is room for the cases that a BLOCK opens.
func (m *desk) casesRoom(s *wire.Screen) bool {
	root, owner := m.rootOf(s)
	opens := int64(0)
	for _, cause := range causesOf(s) {
		if _, found := m.joined(caseKey{root, cause, 0}); !found {
			opens++
		}
	}
	return m.hasRoom(wire.TableCases, owner, oneRow.times(opens))
}

// enterCases enters a BLOCK into the cases of its pairs: the payment of a record that the leaf blocked
// tells of. The call was refused if there is no room.
func (m *desk) enterCases(s *wire.Screen, record, blocked uint64, now engine.Time) {
	root, owner := m.rootOf(s)
	for _, cause := range causesOf(s) {
		key := caseKey{root, cause, 0}
		if at, found := m.joined(key); found {
			m.joinCase(at, s.Amount, record, blocked)
			continue
		}
		row := SanctionsRow{
			Leaf: m.nextLeaf(), At: now, DueAt: engine.ReportDue(now), Root: root, Cause: cause, First: record, Last: blocked, Count: 1, Amount: s.Amount,
			Later: m.nextLeaf(), State: wire.SanctionsOpen, Owner: owner,
		}
		m.writeCase(leaf.KindSanctionsOpened, m.addCase(row), row.Leaf, row.First)
	}
}

// addCase adds the case that the leaf opens that is written next.
func (m *desk) addCase(row SanctionsRow) leaf.SanctionsOpened {
	before := ""
	if at, known := m.caseAt[row.key()]; known {
		row.Before = m.cases.At(at).Leaf
		before = m.describeCaseOf(m.cases.At(at), 0).CaseID
	}
	if m.cases.Len() >= sanctionsRowsMax(m.limits) {
		m.packCases()
	}
	m.caseAt[row.key()] = m.cases.Append(row)
	m.take(wire.TableCases, row.Owner, oneRow)
	m.remindOfCase(&row, row.At)
	return leaf.SanctionsOpened{
		SanctionsCase: m.describeCaseOf(&row, 0), TxnID: m.txnOf(row.First), ScreenedLeaf: row.First, Amount: row.Amount, DueAt: row.DueAt, CaseBefore: before,
		WentAhead: row.Paid,
	}
}

// openPaidCase opens a case of a payment that went ahead, as an officer found. Whether it did, the edge
// saw in the leaves about the record; if there is a newer one, it looks again.
func (m *desk) openPaidCase(b *wire.SanctionsCase, now engine.Time, r *wire.Result) {
	paid := b.Opens
	if b.Leaf >= m.size || paid.Newest >= m.size || paid.Amount < 0 || !paid.Cause.Sound() || b.From != 0 || b.To != 0 || b.Kind != 0 || b.Reference != "" || b.Property != nil {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.newestAbout(b.Leaf) > paid.Newest {
		goStale(r, 0)
		return
	}
	root, _ := m.rootOf(&wire.Screen{Agent: paid.Agent, User: paid.User})
	owner := m.ownerAt(keyRow(&b.Common)) // The payment took no room when it was screened, and its operator must not lack it now.
	row := SanctionsRow{
		Leaf: m.nextLeaf(), At: now, DueAt: engine.ReportDue(now), Root: root, Cause: paid.Cause, First: b.Leaf, Last: b.Leaf, Count: 1, Amount: paid.Amount,
		Later: m.nextLeaf(), State: wire.SanctionsOpen, Paid: true, Owner: owner,
	}
	if at, found := m.joined(row.key()); found {
		r.Value = m.cases.At(at).Leaf
		refuse(r, wire.RefusedExists)
		return
	}
	if m.refuseShare(wire.TableCases, owner, oneRow, r) {
		return
	}
	m.writeEvent(leaf.KindSanctionsOpened, m.addCase(row), &b.Common, r, m.caseFilter(row.Leaf), engine.FilterKey(engine.FilterTxn, m.txnOf(row.First)))
}

// joinCase adds a payment to a case. The first one after NOT_THE_PARTY has a leaf, so that officers
// see once that the same pair is blocked on.
func (m *desk) joinCase(at uint64, amount engine.USD, record, blocked uint64) {
	row := m.cases.Edit(at)
	row.Last, row.Count, row.Amount = blocked, row.Count+1, row.Amount.Plus(amount)
	if row.State != wire.SanctionsNotTheParty || row.Told {
		return
	}
	event := leaf.SanctionsAgain{SanctionsCase: m.describeCaseOf(row, row.Later), TxnID: m.txnOf(record), ScreenedLeaf: record, Amount: amount, Count: row.Count}
	row.Told, row.Later = true, m.nextLeaf()
	m.writeCase(leaf.KindSanctionsAgain, event, row.Leaf, record)
}

// writeCase writes a leaf about a case that no record asked for. It is not found by its agent.
func (m *desk) writeCase(kind string, event any, opened, record uint64) {
	filters := append(m.filters(3), engine.FilterKey(engine.FilterKind, kind), m.caseFilter(opened), engine.FilterKey(engine.FilterTxn, m.txnOf(record)))
	m.appendLeaf(append(leaf.AppendEvent(m.head(kind), kind, event), '}'), filters)
}

// txnOf names the transaction of a case's record.
func (m *desk) txnOf(record uint64) string { return m.ids.TxnID(record) }

func (m *desk) caseFilter(opened uint64) uint64 {
	return engine.FilterKey(engine.FilterCase, m.ids.CaseID(opened))
}

// describeCaseOf returns the members that name a case in the leaf that is written next. previous is
// the case's leaf before it; 0: there is none.
func (m *desk) describeCaseOf(row *SanctionsRow, previous uint64) leaf.SanctionsCase {
	of := leaf.SanctionsCase{CaseID: m.ids.CaseID(row.Leaf), CaseLeaf: row.Leaf, CasePrevious: previous}
	switch target, at := wire.SplitSubject(row.Root); target {
	case wire.TargetAgent:
		of.AgentID = m.ids.AgentID(uint32(at))
	case wire.TargetUser:
		of.UserID = m.ids.UserID(uint32(at))
	}
	if uid, is := row.Cause.UID(); is {
		of.UID = uid
	}
	of.Place, _ = row.Cause.Place()
	return of
}

// caseFilters appends the keys by which the record of a BLOCK is found for its cases.
func (m *desk) caseFilters(filters []uint64, s *wire.Screen) []uint64 {
	root, _ := m.rootOf(s)
	for _, cause := range causesOf(s) {
		filters = append(filters, engine.FilterKey(engine.FilterCase, CasePair(m.ids, root, cause)))
	}
	return filters
}

// CasePair is the text by which the records of a pair are found: its agent or user and its cause.
func CasePair(ids *IDs, root uint64, cause wire.Cause) string {
	who := ""
	switch target, at := wire.SplitSubject(root); target {
	case wire.TargetAgent:
		who = ids.AgentID(uint32(at))
	case wire.TargetUser:
		who = ids.UserID(uint32(at))
	}
	return who + " " + cause.String()
}

// remindOfCase adds the next reminder of a case's report.
func (m *desk) remindOfCase(row *SanctionsRow, now engine.Time) {
	if soon := row.DueAt - sanctionsSoon; soon > now {
		m.calendar.addReminder(soon, leaf.DueSanctionsSoon, row.Leaf, 0)
		return
	}
	m.calendar.addReminder(row.DueAt, leaf.DueSanctionsLate, row.Leaf, 0)
}

// sanctionsDue tells that the report of a case is due soon, or overdue, if it is still to be made.
func (m *desk) sanctionsDue(due *dueRow) {
	at, found := m.caseOf(due.Subject)
	if !found || !m.cases.At(at).isUnreported() {
		return
	}
	row, kind := m.cases.Edit(at), leaf.Due(due.Kind)
	event := leaf.SanctionsDue{SanctionsCase: m.describeCaseOf(row, row.Later), DueAt: row.DueAt, Count: row.Count, Amount: row.Amount}
	row.Later = m.nextLeaf()
	m.writeDueEvent(kind, event, m.caseFilter(row.Leaf))
	if kind == leaf.DueSanctionsSoon {
		m.calendar.addReminderNow(row.DueAt, leaf.DueSanctionsLate, row.Leaf, 0)
		return
	}
	first := row.First
	m.openAlert(&alarm{
		kind: wire.AlertReport, subject: wire.AlertSubject(0, row.Leaf), owner: row.Owner,
		event: leaf.AlertOpened{
			CaseID: event.CaseID, PaymentsSum: &event.Amount, Payments: uint32(min(row.Count, 1<<32-1)), UID: event.UID,
			Subject: leaf.Subject{TxnID: m.txnOf(first), ScreenedLeaf: &first, AgentID: event.AgentID, UserID: event.UserID},
		},
	}, &wire.Common{})
}

// applySanctions opens a case, or moves one to its next state. The caller names the state that it saw,
// and a case in another state is not moved.
func (m *desk) applySanctions(b *wire.SanctionsCase, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Opens != nil {
		m.openPaidCase(b, m.now, r)
		return
	}
	if !m.soundMove(b) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	at, found := m.caseOf(b.Leaf)
	if !found {
		refuse(r, wire.RefusedNotFound)
		return
	}
	row := m.cases.At(at)
	if row.State != b.From || !slices.Contains(SanctionsNext(b.From), b.To) {
		r.Value = uint64(row.State)
		refuse(r, wire.RefusedTransition)
		return
	}
	if b.To == wire.SanctionsTrueMatch && !row.suits(b.Kind) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	moved := movedCase(row, b, m.now)
	if moved.isHeld() && !row.isHeld() && m.refuseShare(wire.TableCases, row.Owner, oneRow, r) {
		return
	}
	who, counts := m.settlePersons(sanctionsAct(b, m.describeCaseOf(row, 0).CaseID), &b.Common, r)
	if !counts {
		return
	}
	event := leaf.SanctionsMoved{
		SanctionsCase: m.describeCaseOf(row, row.Later), From: SanctionsState(b.From), To: SanctionsState(b.To), CaseKind: SanctionsKind(moved.Kind),
		DueAt: row.DueAt, Reference: b.Reference, Persons: who,
	}
	switch moved.Later = m.nextLeaf(); {
	case moved.isHeld() && !row.isHeld():
		m.take(wire.TableCases, row.Owner, oneRow)
	case row.isHeld() && !moved.isHeld():
		m.giveBack(wire.TableCases, row.Owner, oneRow)
	}
	if *m.cases.Edit(at) = moved; b.To == wire.SanctionsOpen {
		m.remindOfCase(&moved, m.now)
	}
	m.writeAct(leaf.KindSanctionsMoved, event, &who, &b.Common, r, m.caseFilter(moved.Leaf), engine.FilterKey(engine.FilterTxn, m.txnOf(moved.First)))
}

// movedCase returns a case after a step.
func movedCase(row *SanctionsRow, b *wire.SanctionsCase, now engine.Time) SanctionsRow {
	moved := *row
	moved.State, moved.Told = b.To, false
	switch b.To {
	case wire.SanctionsTrueMatch:
		moved.Kind, moved.Facts = b.Kind, &SanctionsFacts{Property: b.Property}
	case wire.SanctionsNotTheParty, wire.SanctionsOpen:
		moved.Kind, moved.Facts = 0, nil
	case wire.SanctionsReported:
		facts := *row.Facts
		facts.Reference = b.Reference
		moved.Facts = &facts
	case wire.SanctionsClosed:
		moved.Ended = now
	}
	return moved
}

// soundMove tells whether a step has what its state needs, and no more.
func (m *desk) soundMove(b *wire.SanctionsCase) bool {
	if b.To != wire.SanctionsTrueMatch && (b.Kind != 0 || b.Property != nil) || b.To != wire.SanctionsReported && b.Reference != "" {
		return false
	}
	switch b.To {
	case wire.SanctionsReported:
		return b.Reference != "" && len(b.Reference) <= m.limits.FieldBytes
	case wire.SanctionsTrueMatch:
		return SanctionsKind(b.Kind) != "" && (b.Property != nil) == (b.Kind == wire.SanctionsProperty) && (b.Property == nil || m.soundProperty(b.Property))
	}
	return SanctionsState(b.To) != ""
}

func (m *desk) soundProperty(p *wire.BlockedProperty) bool {
	if p == nil || p.Value < 0 || p.Party == "" || p.Description == "" || p.Location == "" {
		return false
	}
	for _, text := range [...]string{p.Party, p.Description, p.Location, p.Authority, p.Action} {
		if len(text) > m.limits.FieldBytes {
			return false
		}
	}
	return true
}

// sanctionsAct is what a step of a case does. Whatever ends the duty to report is what the policy
// calls sanctions.close. The proposal names no record, because a record's leaves show to an operator.
func sanctionsAct(b *wire.SanctionsCase, id string) *act {
	said := *b
	said.Common = wire.Common{}
	a := &act{
		kind: wire.KindSanctions, topic: b.Leaf, said: &said, record: &said,
		event: leaf.ActProposed{Kind: leaf.KindSanctionsMoved, CaseID: id, From: SanctionsState(b.From), To: SanctionsState(b.To)},
	}
	switch b.To {
	case wire.SanctionsNotTheParty, wire.SanctionsReported, wire.SanctionsClosed:
		a.names = engine.ActSanctionsClose
	}
	return a
}
