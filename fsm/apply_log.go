package fsm

import (
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyLogKey has a new seed sign the log's checkpoints from the next leaf on.
func (m *keys) applyLogKey(b *wire.LogKeyPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if len(b.Seed) == 0 || len(b.Seed) > m.limits.FieldBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.beginStretch(m.settings.Lineage, b.Seed)
	m.writeEvent("log.key_rotated", leaf.LogKeyRotated{FromTreeSize: m.size + 1}, &b.Common, r)
}

// logSeed is the sealed seed that signs checkpoints now.
func (m *keys) logSeed() []byte {
	if stretches := m.settings.LogLines; len(stretches) > 0 {
		return stretches[len(stretches)-1].Seed
	}
	return m.settings.Genesis.LogSeed
}

// beginStretch begins a new stretch of the log with the leaf that is written next. In a full list
// the oldest stretch is dropped.
func (m *keys) beginStretch(lineage string, seed []byte) {
	stretches := append([]*wire.LogStretch(nil), m.settings.LogLines...)
	if len(stretches) >= m.limits.LogLines {
		stretches = stretches[1:]
	}
	m.editSettings().LogLines = append(stretches, &wire.LogStretch{From: m.size + 1, At: m.now, Lineage: lineage, Seed: seed})
}

// applyRestored begins the lineage of a restored backup: a new line of the log, and an epoch
// of ids whose first leaf is this record's. The restore command applies the record once, to
// the backup's state.
func (m *Machine) applyRestored(b *wire.Restored, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if m.settings.Genesis == nil {
		refuse(r, wire.RefusedGenesis)
		return
	}
	epoch := b.Number
	if epoch == 0 {
		epoch = m.epochNumber() + 1
	}
	switch {
	case b.Lineage == "" || len(b.Lineage) > m.limits.KeyIDBytes || len(b.Backup) > m.limits.FieldBytes,
		epoch <= m.epochNumber() || epoch > epochMax:
		refuse(r, wire.RefusedMalformed)
		return
	case m.epochsFull():
		refuse(r, wire.RefusedFull)
		return
	}
	m.liveThrough(b.Passed)
	m.beginEpoch(epoch, b.Lineage)
	m.writeEvent(leaf.KindClusterLineage, leaf.Restored{Lineage: b.Lineage, Backup: b.Backup, Epoch: uint64(epoch)}, &b.Common, r)
}

// applyRecovered begins the lineage of a group whose majority was lost. The lost machines may
// have given out ids, credential versions and status list entries that this state does not
// know. As after a restore, a new epoch makes sure that none of them is given out again, and
// that their tokens are not accepted. If no epoch is left, the group goes on without one: a
// recovery is never refused.
func (m *Machine) applyRecovered(b *wire.Note, r *wire.Result) {
	if len(b.Lineage) > m.limits.KeyIDBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if epoch := m.epochNumber() + 1; m.settings.Genesis != nil && epoch <= epochMax && !m.epochsFull() {
		m.beginEpoch(epoch, b.Lineage)
	} else {
		m.keys.beginStretch(b.Lineage, m.keys.logSeed())
		m.nameLineage(b.Lineage)
	}
	m.writeEvent(b.Event, leaf.Recovered{Lineage: b.Lineage, Epoch: uint64(m.epochNumber())}, &b.Common, r)
}

func (m *Machine) epochsFull() bool {
	return len(m.settings.Epochs) >= m.limits.Epochs || m.size >= 1<<epochShift || m.registry.statusesFull()
}

// beginEpoch begins a line of the log and an epoch of ids; the next leaf is its first.
func (m *Machine) beginEpoch(epoch uint16, lineage string) {
	m.keys.beginStretch(lineage, m.keys.logSeed())
	m.nameLineage(lineage)
	m.enterEpoch(m.epochBegun(epoch, lineage))
}

// epochNumber returns the number of the epoch in which ids are given out now.
func (m *core) epochNumber() uint16 {
	if epochs := m.settings.Epochs; len(epochs) > 0 {
		return epochs[len(epochs)-1].Number
	}
	return 0
}

// epochBegun returns the epoch that begins at this state.
func (m *Machine) epochBegun(number uint16, lineage string) *wire.Epoch {
	return &wire.Epoch{
		Number: number, At: m.now, Lineage: lineage, Leaf: m.size,
		Agents: uint32(m.registry.agents.Next()), Users: uint32(m.registry.users.Next()), Fleets: uint32(m.registry.fleets.Next()), Operators: uint32(m.registry.operators.Next()),
		Statuses: m.registry.beginStatuses(),
	}
}
