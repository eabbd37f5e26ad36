package fsm

import (
	"github.com/transparency-dev/merkle/compact"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Machine is the replicated state and its one writer. Everything the cluster agrees on is
// in its tables and in its core; everything else follows from these. It hands each record
// to the part that owns what the record changes, and does itself only what concerns all
// parts: the entry, the tick, expiry, genesis, epochs, freezing.
type Machine struct {
	core
	tables tables

	calendar *calendar
	registry *registry
	ledger   *ledger
	desk     *desk
	rulebook *rulebook
	keys     *keys
}

var ranges = compact.RangeFactory{Hash: hashChildren}

func hashChildren(left, right []byte) []byte {
	node := merkle.Node(left, right)
	return node[:]
}

const matcherFirst = 1

// New returns the empty state, which accepts only a genesis.
func New() *Machine {
	m := &Machine{core: core{
		format:    engine.Format1,
		limits:    engine.LimitsOf(engine.Format1),
		settings:  &Settings{Format: engine.Format1, Policy: engine.DefaultPolicy(), Matcher: matcherFirst},
		idemByKey: map[[16]byte]uint64{},
		frontier:  ranges.NewEmptyRange(0),
		identity:  new(identity),
	}}
	c, t := &m.core, &m.tables
	c.coreTables = &t.coreTables
	m.calendar = newCalendar(c, &t.calendarTables)
	m.registry = newRegistry(c, &t.registryTables, m.calendar)
	m.ledger = newLedger(c, &t.ledgerTables, m.registry)
	m.desk = newDesk(c, &t.deskTables, m.registry, m.ledger, m.calendar)
	m.ledger.officers = m.desk
	m.rulebook = &rulebook{core: c, rulebookTables: &t.rulebookTables, calendar: m.calendar, registry: m.registry, desk: m.desk}
	m.keys = newKeys(c, &t.keyTables, m.calendar, m.registry, m.rulebook)
	for _, table := range planned.tables {
		table.beginTable(t)
	}
	for _, table := range planned.derived {
		table.beginTable(t)
	}
	return m
}

// Apply applies one log entry and overwrites out with its effects. It never fails: each
// record is applied or refused. If no correct leader of this format can have written the
// bytes, Effects.Stop tells the node to stop.
func (m *Machine) Apply(index, term uint64, entry []byte, out *Effects) {
	out.beginEntry(index, term, m.size)
	batch, err := wire.Decode(entry)
	if err != nil {
		out.Stop = err.Error()
		return
	}
	if batch.Header.Format > m.format {
		out.Stop = "entry of a newer format than this state: upgrade this node"
		return
	}
	m.enterEntry(index, term, out)
	if batch.Header.Term != term {
		m.fenceEntry(&batch)
	} else {
		before := m.now
		m.moveTime(batch.Header.Time)
		m.applyRecords(&batch)
		m.expireRows()
		m.turnMinute(before)
	}
	out.EndedFrom, out.UsedFrom = m.ledger.endedFrom, m.ledger.usedFrom
	m.leaveEntry()
}

// Rows returns the number of rows in all tables, which determines the cost of a digest or
// snapshot.
func (m *Machine) Rows() (rows int) {
	for _, table := range planned.tables {
		rows += table.countRows(&m.tables, m.settings)
	}
	return rows
}

// fenceEntry answers an entry whose header names another term than raft's: its sequencer no
// longer led when raft took the entry, so none of its records is applied.
func (m *Machine) fenceEntry(batch *wire.Batch) {
	for record, ok := batch.Next(); ok; record, ok = batch.Next() {
		m.out.Results = append(m.out.Results, wire.Result{
			Code: wire.Fenced, Origin: record.Origin, Seq: record.Seq, Index: m.index, Term: m.term,
		})
	}
}

func (m *Machine) applyRecords(batch *wire.Batch) {
	for record, ok := batch.Next(); ok; record, ok = batch.Next() {
		if record.Version != wire.RecordVersion {
			m.out.Stop = "record version that this binary does not know: upgrade this node"
			return
		}
		m.out.Results = append(m.out.Results, wire.Result{Origin: record.Origin, Seq: record.Seq, Index: m.index, Term: m.term, Time: m.now})
		last := len(m.out.Results) - 1
		m.applyRecord(record, &m.out.Results[last])
		if m.out.Stop != "" {
			m.out.Results = m.out.Results[:last]
			return
		}
	}
}

func (m *Machine) applyRecord(record wire.Record, r *wire.Result) {
	if m.settings.Genesis == nil && record.Kind != wire.KindGenesis && record.Kind != wire.KindTick {
		r.Code, r.Refusal = wire.Refused, wire.RefusedGenesis
		return
	}
	switch record.Kind {
	case wire.KindScreen:
		m.ledger.applyScreen(record.Body, r)
	case wire.KindTick:
		m.applyTick(record.Body, r)
	case wire.KindGenesis:
		applyBody(m, record.Body, r, m.applyGenesis)
	case wire.KindRegister:
		applyBody(m, record.Body, r, m.registry.applyRegister)
	case wire.KindReissue:
		applyBody(m, record.Body, r, m.registry.applyReissue)
	case wire.KindUser:
		applyBody(m, record.Body, r, m.registry.applyUser)
	case wire.KindUserReissue:
		applyBody(m, record.Body, r, m.registry.applyUserReissue)
	case wire.KindFleet:
		applyBody(m, record.Body, r, m.registry.applyFleet)
	case wire.KindFleetUpdate:
		applyBody(m, record.Body, r, m.registry.applyFleetUpdate)
	case wire.KindAssign:
		applyBody(m, record.Body, r, m.registry.applyAssign)
	case wire.KindSettings:
		applyBody(m, record.Body, r, m.registry.applySettings)
	case wire.KindAttest:
		applyBody(m, record.Body, r, m.registry.applyAttest)
	case wire.KindStatus:
		applyBody(m, record.Body, r, m.registry.applyStatus)
	case wire.KindOwnership:
		applyBody(m, record.Body, r, m.registry.applyOwnership)
	case wire.KindDisposition:
		applyBody(m, record.Body, r, m.desk.applyDisposition)
	case wire.KindQueue:
		applyBody(m, record.Body, r, m.desk.applyQueue)
	default:
		m.applyAdministration(record, r)
	}
}

func (m *Machine) applyAdministration(record wire.Record, r *wire.Result) {
	switch record.Kind {
	case wire.KindListChunk:
		applyBody(m, record.Body, r, m.rulebook.applyListChunk)
	case wire.KindListActivate:
		applyBody(m, record.Body, r, m.rulebook.applyListActivate)
	case wire.KindPolicy:
		applyBody(m, record.Body, r, m.rulebook.applyPolicy)
	case wire.KindWhitelist:
		applyBody(m, record.Body, r, m.rulebook.applyWhitelist)
	case wire.KindAPIKey:
		applyBody(m, record.Body, r, m.keys.applyAPIKey)
	case wire.KindSigningKey:
		applyBody(m, record.Body, r, m.keys.applySigningKey)
	case wire.KindCleared:
		applyBody(m, record.Body, r, m.rulebook.applyCleared)
	case wire.KindClock:
		applyBody(m, record.Body, r, m.applyClock)
	case wire.KindFormat:
		applyBody(m, record.Body, r, m.applyFormat)
	case wire.KindNote:
		applyBody(m, record.Body, r, m.applyNote)
	case wire.KindMember:
		applyBody(m, record.Body, r, m.applyMember)
	case wire.KindLogKey:
		applyBody(m, record.Body, r, m.keys.applyLogKey)
	case wire.KindMatcher:
		applyBody(m, record.Body, r, m.rulebook.applyMatcher)
	case wire.KindHold:
		applyBody(m, record.Body, r, m.ledger.applyHold)
	case wire.KindPay:
		applyBody(m, record.Body, r, m.ledger.applyPay)
	case wire.KindRestored:
		applyBody(m, record.Body, r, m.applyRestored)
	case wire.KindWebhook:
		applyBody(m, record.Body, r, m.keys.applyWebhook)
	case wire.KindDelivery:
		applyBody(m, record.Body, r, m.keys.applyDelivery)
	case wire.KindRetro:
		applyBody(m, record.Body, r, m.rulebook.applyRetro)
	case wire.KindOperatorLimit:
		applyBody(m, record.Body, r, m.registry.applyOperatorLimit)
	case wire.KindRetire:
		applyBody(m, record.Body, r, m.registry.applyRetire)
	case wire.KindTime:
		applyBody(m, record.Body, r, m.applyTime)
	default:
		m.applyPeople(record, r)
	}
}

// applyPeople applies a record about who acts here, or about what is copied from here.
func (m *Machine) applyPeople(record wire.Record, r *wire.Result) {
	switch record.Kind {
	case wire.KindReseal:
		applyBody(m, record.Body, r, m.keys.applyReseal)
	case wire.KindLooks:
		applyBody(m, record.Body, r, m.keys.applyLooks)
	case wire.KindSignIn:
		applyBody(m, record.Body, r, m.keys.applySignIn)
	case wire.KindPasskey:
		applyBody(m, record.Body, r, m.keys.applyPasskey)
	case wire.KindBackups:
		applyBody(m, record.Body, r, m.core.applyBackups)
	case wire.KindPersonEnd:
		applyBody(m, record.Body, r, m.keys.applyPersonEnd)
	default:
		m.applyOfficersWork(record, r)
	}
}

// applyOfficersWork applies what officers do at their desk, and stops at any other kind.
func (m *Machine) applyOfficersWork(record wire.Record, r *wire.Result) {
	switch record.Kind {
	case wire.KindWithdraw:
		applyBody(m, record.Body, r, m.desk.applyWithdraw)
	case wire.KindAlert:
		applyBody(m, record.Body, r, m.desk.applyAlert)
	case wire.KindSAR:
		applyBody(m, record.Body, r, m.desk.applySAR)
	case wire.KindSanctions:
		applyBody(m, record.Body, r, m.desk.applySanctions)
	case wire.KindWork:
		applyBody(m, record.Body, r, m.desk.applyWork)
	case wire.KindDraft:
		applyBody(m, record.Body, r, m.desk.applyDraft)
	case wire.KindSecondLook:
		applyBody(m, record.Body, r, m.desk.applySecondLook)
	case wire.KindConfirm:
		applyBody(m, record.Body, r, m.applyConfirm)
	default:
		m.out.Stop = "record kind that this binary does not know: upgrade this node"
	}
}

// applyBody decodes a body and calls do with it. It refuses malformed bytes, as every node
// does. The bound on a body makes each row of a snapshot fit into a block, because a row is
// made from one body.
func applyBody[B any](m *Machine, body []byte, r *wire.Result, do func(*B, *wire.Result)) {
	var b B
	if len(body) > m.limits.RecordBytes || wire.DecodeBody(body, &b) != nil {
		r.Code, r.Refusal = wire.Refused, wire.RefusedMalformed
		return
	}
	do(&b, r)
}

func refuse(r *wire.Result, why wire.Refusal) {
	r.Code, r.Refusal = wire.Refused, why
}

// beginEntry empties out for a new entry, keeping its slices' memory.
func (out *Effects) beginEntry(index, term, firstLeaf uint64) {
	*out = Effects{
		Index: index, Term: term, FirstLeaf: firstLeaf,
		Results: out.Results[:0], Leaves: out.Leaves[:0],
		Agents: out.Agents[:0], Users: out.Users[:0], UsersGone: out.UsersGone[:0], AgentsGone: out.AgentsGone[:0], FleetsGone: out.FleetsGone[:0], Fleets: out.Fleets[:0], Operators: out.Operators[:0],
		Dispositions: out.Dispositions[:0], Comments: out.Comments[:0], Outcomes: out.Outcomes[:0], Proposals: out.Proposals[:0],
	}
}
