package fsm

import (
	"crypto/sha256"

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

// matcherFirst is the version of the name matcher that a new cluster begins with.
const matcherFirst = 1

// New returns the empty state: no genesis yet, nothing but that is accepted.
func New() *Machine {
	m := &Machine{core: core{
		format:    engine.Format1,
		limits:    engine.LimitsOf(engine.Format1),
		settings:  &Settings{Format: engine.Format1, Policy: engine.DefaultPolicy(), Matcher: matcherFirst},
		idemByKey: map[[16]byte]uint64{},
		frontier:  ranges.NewEmptyRange(0),
		birth:     new(birth),
	}}
	c, t := &m.core, &m.tables
	c.coreTables = &t.coreTables
	m.calendar = newCalendar(c, &t.calendarTables)
	m.registry = newRegistry(c, &t.registryTables, m.calendar)
	m.ledger = newLedger(c, &t.ledgerTables, m.registry)
	m.desk = newDesk(c, &t.deskTables, m.registry, m.ledger)
	m.ledger.desk = m.desk
	m.rulebook = &rulebook{core: c, rulebookTables: &t.rulebookTables, calendar: m.calendar, registry: m.registry, desk: m.desk}
	m.keys = newKeys(c, &t.keyTables, m.calendar, m.registry, m.rulebook)
	for _, table := range declaredTables {
		table.begin(t)
	}
	t.userSweep, t.activitySweep = 1, 1
	return m
}

// Apply applies one log entry and says in out what came of it. It never fails:
// a record is applied or refused, and bytes that no correct leader of this
// format can have written stop the node (Effects.Stop). out's former contents
// are overwritten.
func (m *Machine) Apply(index, term uint64, entry []byte, out *Effects) {
	out.begin(index, term, m.size)
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
		m.fence(&batch)
	} else {
		before := m.now
		m.moveTime(batch.Header.Time)
		m.applyRecords(&batch)
		m.expire()
		m.turnMinute(before)
	}
	m.leaveEntry()
}

// Rows returns how many rows the tables hold: what a digest or a snapshot costs.
func (m *Machine) Rows() (rows int) {
	for _, table := range declaredTables {
		rows += table.count(&m.tables)
	}
	return rows
}

// fence answers an entry whose header names another term than raft's own: the
// proposer believed in a leader that was gone, and nothing of it happens.
func (m *Machine) fence(batch *wire.Batch) {
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
		apply(m, record.Body, r, m.applyGenesis)
	case wire.KindRegister:
		apply(m, record.Body, r, m.registry.applyRegister)
	case wire.KindReissue:
		apply(m, record.Body, r, m.registry.applyReissue)
	case wire.KindUser:
		apply(m, record.Body, r, m.registry.applyUser)
	case wire.KindUserReissue:
		apply(m, record.Body, r, m.registry.applyUserReissue)
	case wire.KindFleet:
		apply(m, record.Body, r, m.registry.applyFleet)
	case wire.KindFleetUpdate:
		apply(m, record.Body, r, m.registry.applyFleetUpdate)
	case wire.KindAssign:
		apply(m, record.Body, r, m.registry.applyAssign)
	case wire.KindSettings:
		apply(m, record.Body, r, m.registry.applySettings)
	case wire.KindAttest:
		apply(m, record.Body, r, m.registry.applyAttest)
	case wire.KindStatus:
		apply(m, record.Body, r, m.registry.applyStatus)
	case wire.KindOwnership:
		apply(m, record.Body, r, m.registry.applyOwnership)
	case wire.KindDisposition:
		apply(m, record.Body, r, m.desk.applyDisposition)
	case wire.KindQueue:
		apply(m, record.Body, r, m.desk.applyQueue)
	default:
		m.applyAdministration(record, r)
	}
}

func (m *Machine) applyAdministration(record wire.Record, r *wire.Result) {
	switch record.Kind {
	case wire.KindListChunk:
		apply(m, record.Body, r, m.rulebook.applyListChunk)
	case wire.KindListActivate:
		apply(m, record.Body, r, m.rulebook.applyListActivate)
	case wire.KindPolicy:
		apply(m, record.Body, r, m.rulebook.applyPolicy)
	case wire.KindWhitelist:
		apply(m, record.Body, r, m.rulebook.applyWhitelist)
	case wire.KindAPIKey:
		apply(m, record.Body, r, m.keys.applyAPIKey)
	case wire.KindSigningKey:
		apply(m, record.Body, r, m.keys.applySigningKey)
	case wire.KindCleared:
		apply(m, record.Body, r, m.rulebook.applyCleared)
	case wire.KindClock:
		apply(m, record.Body, r, m.applyClock)
	case wire.KindFormat:
		apply(m, record.Body, r, m.applyFormat)
	case wire.KindNote:
		apply(m, record.Body, r, m.applyNote)
	case wire.KindMember:
		apply(m, record.Body, r, m.applyMember)
	case wire.KindLogKey:
		apply(m, record.Body, r, m.keys.applyLogKey)
	case wire.KindMatcher:
		apply(m, record.Body, r, m.rulebook.applyMatcher)
	case wire.KindHold:
		apply(m, record.Body, r, m.ledger.applyHold)
	case wire.KindRestored:
		apply(m, record.Body, r, m.applyRestored)
	case wire.KindWithdraw:
		apply(m, record.Body, r, m.desk.applyWithdraw)
	case wire.KindAlert:
		apply(m, record.Body, r, m.desk.applyAlert)
	case wire.KindWebhook:
		apply(m, record.Body, r, m.keys.applyWebhook)
	case wire.KindDelivery:
		apply(m, record.Body, r, m.keys.applyDelivery)
	case wire.KindSAR:
		apply(m, record.Body, r, m.desk.applySAR)
	case wire.KindRetro:
		apply(m, record.Body, r, m.rulebook.applyRetro)
	case wire.KindReseal:
		apply(m, record.Body, r, m.keys.applyReseal)
	default:
		m.out.Stop = "record kind that this binary does not know: upgrade this node"
	}
}

// apply decodes a body and hands it to its function. Bytes that are no such body
// are refused: every node refuses them alike. The bound keeps every row of the
// snapshot, which is made of one body, within a block.
func apply[B any](m *Machine, body []byte, r *wire.Result, do func(*B, *wire.Result)) {
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

// enterEntry begins an entry; out takes its effects.
func (m *core) enterEntry(index, term uint64, out *Effects) {
	m.index, m.term, m.out = index, term, out
}

// moveTime moves log time on to an entry's stamp; log time never goes back.
func (m *core) moveTime(stamp engine.Time) { m.now = max(m.now, stamp+m.settings.ClockOffset) }

// leaveEntry ends the entry and publishes the settings that it changed.
func (m *core) leaveEntry() {
	m.out.Time, m.out.Oldest = m.now, m.oldest
	if m.edited {
		m.edited, m.out.Settings = false, m.settings
	}
	m.out = nil
}

// edit returns settings that this entry may change.
func (m *core) edit() *Settings {
	if !m.edited {
		clone := *m.settings
		clone.Index = m.index
		m.settings, m.edited = &clone, true
	}
	return m.settings
}

// begin empties out for a new entry, keeping its slices' memory.
func (out *Effects) begin(index, term, firstLeaf uint64) {
	*out = Effects{
		Index: index, Term: term, FirstLeaf: firstLeaf,
		Results: out.Results[:0], Leaves: out.Leaves[:0],
		Agents: out.Agents[:0], Users: out.Users[:0], UsersGone: out.UsersGone[:0], Fleets: out.Fleets[:0],
		Dispositions: out.Dispositions[:0], Comments: out.Comments[:0], Outcomes: out.Outcomes[:0], Proposals: out.Proposals[:0],
	}
}

// keyMoved tells whether an API key is not what it was when a record was admitted
// with it: changed, revoked, or expired by log time.
func (m *core) keyMoved(ref wire.KeyRef) bool {
	if ref == (wire.KeyRef{}) {
		return false // The node itself.
	}
	if ref.Row == 0 || uint64(ref.Row) > uint64(len(m.settings.Keys)) {
		return true
	}
	key := m.settings.Keys[ref.Row-1]
	return key.Rev != ref.Rev || key.RevokedAt != 0 || key.ExpiresAt != 0 && m.now >= key.ExpiresAt
}

// settled decides what needs no judging; true means r is decided: a record of a
// key that has moved, one whose part of the leaf is too long for one, and a keyed
// call that was made before.
func (m *core) settled(common *wire.Common, r *wire.Result) bool {
	if common.Key != nil && m.keyMoved(*common.Key) {
		r.Code = wire.KeyMoved
		return true
	}
	if !m.fitsLeaf(common.Fragment, common.Filters) {
		refuse(r, wire.RefusedMalformed)
		return true
	}
	return m.replay(common.Idem, r)
}

// replay answers a keyed call that was made before; true means r is decided.
func (m *core) replay(idem *wire.Idem, r *wire.Result) bool {
	if idem == nil {
		return false
	}
	at, known := m.idemByKey[idem.Key]
	if known {
		row := m.idem.At(at)
		r.Leaf, r.Time = row.Leaf, row.At
		r.Code = wire.Replayed
		if row.Body != idem.Body {
			r.Code = wire.Conflict
		}
		return true
	}
	if m.idem.Len() >= m.limits.Idempotency && m.idem.At(m.idem.First()).At+m.limits.IdempotencyYoung > m.now {
		refuse(r, wire.RefusedKeyTable)
		return true
	}
	return false
}

// remember keeps an idempotency key with the leaf its call wrote.
func (m *core) remember(idem *wire.Idem, leaf uint64) {
	if idem == nil {
		return
	}
	if m.idem.Len() >= m.limits.Idempotency {
		m.forgetOldestKey()
	}
	m.idemByKey[idem.Key] = m.idem.Append(idemRow{Key: idem.Key, Body: idem.Body, Leaf: leaf, At: m.now})
}

func (m *core) forgetOldestKey() {
	delete(m.idemByKey, m.idem.At(m.idem.First()).Key)
	m.idem.DropFront()
}

// keysBlock is how many filters are allocated at once.
const keysBlock = 1024

// filters returns room for a leaf's filters, at most n. A block is never used
// again, so a leaf may be kept.
func (m *core) filters(n int) []uint64 {
	if len(m.filterBlock) < n {
		m.filterBlock = make([]uint64, max(n, keysBlock))
	}
	room := m.filterBlock[:0:n]
	m.filterBlock = m.filterBlock[n:]
	return room
}

// write ends a leaf that begin-ned with head: it appends the edge's fragment,
// closes the object, hashes it into the frontier and reports it.
func (m *core) write(head []byte, common *wire.Common, kind string, r *wire.Result, filters ...uint64) {
	if len(common.Fragment) > 0 {
		head = append(head, ',')
		head = append(head, common.Fragment...)
	}
	filters = append(filters, common.Filters...)
	filters = append(filters, engine.FilterKey(engine.FilterKind, kind))
	m.settle(append(head, '}'), filters, r)
	m.remember(common.Idem, r.Leaf)
}

// root returns the tree head over all leaves.
func (m *core) root() (root [32]byte) {
	if m.size == 0 {
		return sha256.Sum256(nil)
	}
	hash, err := m.frontier.GetRootHash(nil)
	if err != nil {
		panic("BUG: merkle root: " + err.Error())
	}
	copy(root[:], hash)
	return root
}
