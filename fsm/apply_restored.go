package fsm

import (
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyRestored begins the lineage of a restored backup: a new line of the log, and an
// epoch of ids that this leaf is the first of. Its record is applied once, by the
// restoring, to the state out of the backup.
func (m *Machine) applyRestored(b *wire.Restored, r *wire.Result) {
	if m.settled(&b.Common, r) {
		return
	}
	if m.settings.Genesis == nil {
		refuse(r, wire.RefusedGenesis)
		return
	}
	epoch := b.Number
	if epoch == 0 {
		epoch = m.epoch() + 1
	}
	switch {
	case b.Lineage == "" || len(b.Lineage) > m.limits.KeyIDBytes || len(b.Backup) > m.limits.FieldBytes,
		epoch <= m.epoch() || epoch > epochMax:
		refuse(r, wire.RefusedMalformed)
		return
	case len(m.settings.Epochs) >= m.limits.Epochs || m.size >= 1<<epochShift || m.statusesFull():
		refuse(r, wire.RefusedFull)
		return
	}
	m.beginLine(b.Lineage, m.logSeed())
	s := m.edit()
	s.Lineage = b.Lineage
	s.Epochs = append(append([]*wire.Epoch(nil), s.Epochs...), m.epochBegun(epoch, b.Lineage))
	m.ids = NewIDs(s.Genesis.IDKey, s.Epochs...)
	head := quoted(m.head(leaf.KindClusterLineage), "lineage", b.Lineage)
	head = quoted(head, "backup", b.Backup)
	head = number(head, "epoch", int64(epoch))
	m.write(head, &b.Common, leaf.KindClusterLineage, r)
}

// epoch is the number of the epoch that ids are given out in.
func (m *Machine) epoch() uint16 {
	if epochs := m.settings.Epochs; len(epochs) > 0 {
		return epochs[len(epochs)-1].Number
	}
	return 0
}
