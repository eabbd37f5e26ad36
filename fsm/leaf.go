package fsm

import (
	"crypto/sha256"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// The structs of fsm/leaf define what Apply writes of an event: fixed text, ids, times and
// integers. Text from an edge is copied to the end as it is.

// head begins the leaf of an event other than a screening call.
func (m *core) head(kind string) []byte {
	return leaf.AppendHead(make([]byte, 0, 512), &leaf.Head{
		Kind: kind, EventID: m.ids.EventID(m.size, 0), Time: m.now, Index: m.index, Leaf: m.size, Salt: m.nextSalt(),
	})
}

// keysBlock is how many filters are allocated at once.
const keysBlock = 1024

// filters returns an empty slice for at most n filters of a leaf. No memory is used twice, so
// a leaf may be kept.
func (m *core) filters(n int) []uint64 {
	if len(m.filterBlock) < n {
		m.filterBlock = make([]uint64, max(n, keysBlock))
	}
	room := m.filterBlock[:0:n]
	m.filterBlock = m.filterBlock[n:]
	return room
}

// write ends a leaf that head began: it appends the edge's fragment, closes the object, adds
// the leaf to the log and remembers the call's key.
func (m *core) write(head []byte, common *wire.Common, kind string, r *wire.Result, filters ...uint64) {
	if len(common.Fragment) > 0 {
		head = append(head, ',')
		head = append(head, common.Fragment...)
	}
	filters = appendKeyed(append(filters, common.Filters...), common.Idem)
	filters = append(filters, engine.FilterKey(engine.FilterKind, kind))
	m.endRecord(append(head, '}'), filters, r)
	m.rememberCall(common.Idem, r.Leaf)
}

// appendKeyed appends the filter by which the leaf of a keyed call is found when the state has
// forgotten the key.
func appendKeyed(filters []uint64, idem *wire.Idem) []uint64 {
	if idem == nil {
		return filters
	}
	return append(filters, engine.KeyedFilter(idem.Key))
}

func (m *core) treeHead() (root [32]byte) {
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

func (m *core) nextSalt() [leaf.SaltSize]byte {
	m.ratchet.Turn(m.now.Day())
	return m.ratchet.Salt(m.size)
}

// endRecord appends the leaf of an applied record and fills in the result.
func (m *core) endRecord(data []byte, filters []uint64, r *wire.Result) {
	r.Code, r.Leaf, r.Data = wire.Applied, m.size, data
	m.appendLeaf(data, filters)
}

// appendLeaf adds a leaf's hash to the frontier and the leaf to the effects.
func (m *core) appendLeaf(data []byte, filters []uint64) [32]byte {
	hash := m.hash.Leaf(data)
	if err := m.frontier.Append(hash[:], nil); err != nil {
		panic("BUG: merkle frontier: " + err.Error())
	}
	if day := m.now.Day(); m.days.Len() == 0 || m.days.At(m.days.Next()-1).Day != day {
		m.days.Append(dayRow{Day: day, First: m.size, Ends: m.lived + day.Start() + engine.DayLength - m.now})
	}
	m.size++
	m.out.Leaves = append(m.out.Leaves, Leaf{Time: m.now, Data: data, Filters: filters, Hash: hash})
	return hash
}

// writeEvent writes the leaf of an event from its struct and the edge's part.
func (m *core) writeEvent(kind string, event any, common *wire.Common, r *wire.Result, filters ...uint64) {
	m.write(leaf.AppendEvent(m.head(kind), kind, event), common, kind, r, filters...)
}

// writeNamed writes the leaf of an event whose kind the edge named.
func (m *core) writeNamed(kind string, event any, common *wire.Common, r *wire.Result, filters ...uint64) {
	m.write(leaf.AppendMembers(m.head(kind), event), common, kind, r, filters...)
}

// writeDueEvent writes the leaf of an event that log time alone brought about.
func (m *core) writeDueEvent(due leaf.Due, event any, keys ...uint64) {
	filters := append(m.filters(len(keys)+1), engine.FilterKey(engine.FilterKind, leaf.KindDue))
	m.appendLeaf(append(leaf.AppendDue(m.head(leaf.KindDue), due, event), '}'), append(filters, keys...))
}
