package fsm

import "railguard/engine"

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
		if m.sweep.activity >= m.activity.Next() {
			m.sweep.activity = m.activity.First()
		}
		at := m.sweep.activity
		row := m.activity.At(at)
		if !row.Velocity.Idle(m.now) {
			m.sweep.activity++
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
