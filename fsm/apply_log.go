package fsm

import "railguard/fsm/wire"

// applyLogKey has a new seed sign the log's checkpoints from the next leaf on.
func (m *Machine) applyLogKey(b *wire.LogKeyPut, r *wire.Result) {
	if m.settled(&b.Common, r) {
		return
	}
	if len(b.Seed) == 0 || len(b.Seed) > m.limits.FieldBytes {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.beginLine(m.settings.Lineage, b.Seed)
	m.write(number(m.head("log.key_rotated"), "fromTreeSize", int64(m.size+1)), &b.Common, "log.key_rotated", r)
}

// logSeed is the sealed seed that signs checkpoints now.
func (m *Machine) logSeed() []byte {
	if lines := m.settings.LogLines; len(lines) > 0 {
		return lines[len(lines)-1].Seed
	}
	return m.settings.Genesis.LogSeed
}

// beginLine has the leaf that is about to be written be the first one of a new line
// of the log. The oldest lines make room.
func (m *Machine) beginLine(lineage string, seed []byte) {
	lines := append([]*wire.LogLine(nil), m.settings.LogLines...)
	if len(lines) >= m.limits.LogLines {
		lines = lines[1:]
	}
	m.edit().LogLines = append(lines, &wire.LogLine{From: m.size + 1, At: m.now, Lineage: lineage, Seed: seed})
}
