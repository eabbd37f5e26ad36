package fsm

import "railguard/engine"

// R25's pairs of a root agent and a counterparty stand in a dense table, linked from
// the one whose newest call is the oldest to the one that was called last. When the
// table is full the oldest makes room: a pair that goes on paying stays.

// countBand counts one call of a pair and returns how many stand in the window.
func (m *Machine) countBand(key structuringKey) uint8 {
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

// displaceBand makes room for a pair, and tells when the one that goes still counts.
func (m *Machine) displaceBand() {
	if !m.bandOver(m.structuring.At(m.bandEnds.oldest)) {
		m.out.PairsDisplaced++
	}
	m.dropOldestBand()
}

// bandOver tells whether the newest call of a pair is older than the window.
func (m *Machine) bandOver(row *structuringRow) bool {
	return row.Band.Newest()+m.settings.Policy.StructuringWindow <= m.now
}

func (m *Machine) dropOldestBand() { m.dropBand(m.bandEnds.oldest) }

// dropBand forgets a pair; the last row of the table takes its place.
func (m *Machine) dropBand(at uint64) {
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

func (m *Machine) linkNewest(at uint64) {
	m.joinBands(m.bandEnds.newest, at)
	m.joinBands(at, 0)
}

func (m *Machine) unlinkBand(at uint64) {
	row := m.structuring.At(at)
	m.joinBands(uint64(row.Older), uint64(row.Newer))
}

// joinBands makes newer the one after older; 0 is the end of the chain.
func (m *Machine) joinBands(older, newer uint64) {
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

// Agents that were screened of late have a row in a dense table, in no order; the
// agent's own row says where. A row whose buckets have all run out says nothing that
// the agent's row does not: it goes, and the last one moves into its place.

// activityOf returns the row of an agent that is being screened, for changing.
func (m *Machine) activityOf(slot engine.AgentSlot) *activityRow {
	row := m.agents.At(uint64(slot))
	if row.Activity == 0 {
		row = m.agents.Edit(uint64(slot))
		row.Activity = uint32(m.activity.Append(activityRow{Agent: slot}))
	}
	return m.activity.Edit(uint64(row.Activity))
}

// pace counts one screened transaction of an agent and returns its pace.
func (m *Machine) pace(slot engine.AgentSlot, now engine.Time) engine.Pace {
	row := m.agents.At(uint64(slot))
	if row.CountedFrom == 0 {
		row = m.agents.Edit(uint64(slot))
		row.CountedFrom = engine.UnixSecond(now)
	}
	if row.Activity == 0 {
		return m.activityOf(slot).Velocity.Add(now, row.CountedFrom)
	}
	return m.activity.Edit(uint64(row.Activity)).Velocity.Add(now, row.CountedFrom)
}

// sweepActivity forgets rows that have run out, a bounded number a tick, round and
// round.
func (m *Machine) sweepActivity() {
	for range min(m.limits.ForgottenAtOneTime, m.activity.Len()) {
		if m.activitySweep >= m.activity.Next() {
			m.activitySweep = m.activity.First()
		}
		at := m.activitySweep
		row := m.activity.At(at)
		if !row.Velocity.Idle(m.now) {
			m.activitySweep++
			continue
		}
		m.agents.Edit(uint64(row.Agent)).Activity = 0
		if last := m.activity.Next() - 1; at != last {
			moved := *m.activity.At(last)
			*m.activity.Edit(at) = moved
			m.agents.Edit(uint64(moved.Agent)).Activity = uint32(at)
		}
		m.activity.DropBack()
	}
}
