package fsm

import "railguard/engine"

// R25's pairs of a root agent and a counterparty stand in a dense table, linked in the order
// of their newest calls. When the table is full, the pair whose newest call is the oldest is
// dropped, so a pair that goes on paying stays.

// countBand counts one call of a pair and returns how many calls are in the window.
func (m *ledger) countBand(key structuringKey) uint8 {
	at, known := m.structuringBy[key]
	switch {
	case !known:
		if m.structuring.Len() >= m.limits.Structuring {
			m.displaceBand()
		}
		at = m.structuring.Append(structuringRow{Key: key})
		m.structuringBy[key] = at
		m.linkNewest(at)
	case at != m.bandEnds.newest:
		m.unlinkBand(at)
		m.linkNewest(at)
	}
	return m.structuring.Edit(at).Band.Add(m.now, m.settings.Policy.StructuringWindow)
}

// displaceBand drops the oldest pair to make room, and counts it in Effects if its newest
// call is still in the window.
func (m *ledger) displaceBand() {
	if !m.bandOver(m.structuring.At(m.bandEnds.oldest)) {
		m.out.PairsDisplaced++
	}
	m.dropOldestBand()
}

// bandOver tells whether the newest call of a pair is older than the window.
func (m *ledger) bandOver(row *structuringRow) bool {
	return row.Band.Newest()+m.settings.Policy.StructuringWindow <= m.now
}

func (m *ledger) dropOldestBand() { m.dropBand(m.bandEnds.oldest) }

// dropBand forgets a pair; the last row of the table takes its place.
func (m *ledger) dropBand(at uint64) {
	m.unlinkBand(at)
	delete(m.structuringBy, m.structuring.At(at).Key)
	if last := m.structuring.Next() - 1; at != last {
		moved := *m.structuring.At(last)
		*m.structuring.Edit(at) = moved
		m.structuringBy[moved.Key] = at
		m.joinBands(uint64(moved.Older), at)
		m.joinBands(at, uint64(moved.Newer))
	}
	m.structuring.DropBack()
}

func (m *ledger) linkNewest(at uint64) {
	m.joinBands(m.bandEnds.newest, at)
	m.joinBands(at, 0)
}

func (m *ledger) unlinkBand(at uint64) {
	row := m.structuring.At(at)
	m.joinBands(uint64(row.Older), uint64(row.Newer))
}

// joinBands links two rows, so that newer follows older; 0 is the end of the chain.
func (m *ledger) joinBands(older, newer uint64) {
	if older != 0 {
		m.structuring.Edit(older).Newer = uint32(newer)
	} else {
		m.bandEnds.oldest = newer
	}
	if newer != 0 {
		m.structuring.Edit(newer).Older = uint32(older)
	} else {
		m.bandEnds.newest = older
	}
}

// Each agent that was screened lately has a row in a dense table. The rows are in no order, and
// the agent's own row has the position of this one. A row is dropped when all its buckets are
// empty by now, because no row means the same. The table's last row then moves into its place.

// activityOf returns the row of an agent that is being screened, for editing.
func (m *ledger) activityOf(slot engine.AgentSlot) *activityRow {
	at := m.registry.agents.At(uint64(slot)).Activity
	if at == 0 {
		at = uint32(m.activity.Append(activityRow{Agent: slot}))
		m.registry.placeActivity(slot, at)
	}
	return m.activity.Edit(uint64(at))
}

func (m *ledger) countPace(slot engine.AgentSlot, now engine.Time) engine.Pace {
	from := m.registry.countedFrom(slot, now)
	return m.activityOf(slot).Velocity.Add(now, from)
}

// sweepActivity drops rows that have run out. Each tick looks at a bounded number of rows and
// goes on where the last one stopped.
func (m *ledger) sweepActivity() {
	for range min(m.limits.ForgottenAtOneTime, m.activity.Len()) {
		if m.activitySweep >= m.activity.Next() {
			m.activitySweep = m.activity.First()
		}
		at := m.activitySweep
		row := m.activity.At(at)
		if !row.Velocity.Idle(m.now) || !row.Near.Idle(m.now) {
			m.activitySweep++
			continue
		}
		m.registry.placeActivity(row.Agent, 0)
		if last := m.activity.Next() - 1; at != last {
			moved := *m.activity.At(last)
			*m.activity.Edit(at) = moved
			m.registry.placeActivity(moved.Agent, uint32(at))
		}
		m.activity.DropBack()
	}
}
