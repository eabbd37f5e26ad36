package fsm

import (
	"encoding/binary"

	"railguard/engine"
	"railguard/fsm/wire"
)

// keys is the part that knows who calls and who is called: API keys, signing keys, log keys
// and webhooks, with how far each webhook is.
type keys struct {
	*core
	*keyTables
	calendar *calendar
	registry *registry
	rulebook *rulebook

	// Rebuilt by Restore, never iterated.
	cursorAt map[uint32]uint64     // By webhook.
	deadAt   map[sendingKey]uint64 // Dead letters and what is to be sent again.
	deadOf   map[uint32]int        // How many of these each webhook has.
}

func newKeys(c *core, t *keyTables, calendar *calendar, registry *registry, rulebook *rulebook) *keys {
	return &keys{
		core: c, keyTables: t, calendar: calendar, registry: registry, rulebook: rulebook,
		cursorAt: map[uint32]uint64{}, deadAt: map[sendingKey]uint64{}, deadOf: map[uint32]int{},
	}
}

// keyTables are the tables of those who call and are called: how far each webhook is, and
// its dead letters. The keys themselves stand in the settings.
type keyTables struct {
	cursors     Table[cursorRow, cursorPage] // From position 1 on, in no order.
	deadLetters Table[deadLetterRow, deadLetterPage]
}

var keyDeclarations = []declaration{
	&settingsList[wire.APIKey]{
		section: sectionAPIKeys, of: func(s *Settings) *[]*wire.APIKey { return &s.Keys },
		most: func(l *engine.Limits) int { return l.APIKeys }, shownAs: "api_keys",
	},
	&settingsList[wire.SigningKey]{
		section: sectionSigningKeys, of: func(s *Settings) *[]*wire.SigningKey { return &s.SigningKeys },
		most: func(l *engine.Limits) int { return l.SigningKeys }, shownAs: "signing_keys",
	},
	&settingsList[wire.Webhook]{
		section: sectionWebhooks, of: func(s *Settings) *[]*wire.Webhook { return &s.Webhooks },
		most: func(l *engine.Limits) int { return l.Webhooks },
	},
	&tableOf[cursorRow, cursorPage]{
		section: sectionCursors, of: func(t *tables) *Table[cursorRow, cursorPage] { return &t.cursors },
		codec: codec[cursorRow]{appendCursorRow, readCursorRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Webhooks },
	},
	&tableOf[deadLetterRow, deadLetterPage]{
		section: sectionDeadLetters, of: func(t *tables) *Table[deadLetterRow, deadLetterPage] { return &t.deadLetters },
		codec: codec[deadLetterRow]{appendDeadLetterRow, readDeadLetterRow}, queue: 10,
		most: func(l *engine.Limits) int { return l.DeadLetters * buriedFactor },
	},
}

// sendingKey is one event that is, or was, to be sent to one webhook.
type sendingKey struct {
	webhook uint32
	seq     uint64
	n       uint8
}

// cursorRow is how far a webhook is: everything before was received, or is a dead letter.
type cursorRow struct {
	Webhook uint32
	Seq     uint64
	N       uint8
	At      engine.Time
}

// deadLetterRow is an event that a receiver did not take, in the order of giving up.
type deadLetterRow struct {
	Webhook  uint32 // 0: it was sent again.
	Seq      uint64
	N        uint8
	Attempts uint8 // 0: it is to be sent again.
	Status   uint16
	At       engine.Time
}

func appendCursorRow(dst []byte, row *cursorRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Webhook)), row.Seq)
	return binary.AppendVarint(append(dst, row.N), int64(row.At))
}

func readCursorRow(r *rowReader) cursorRow {
	return cursorRow{Webhook: uint32(r.unsigned()), Seq: r.unsigned(), N: r.byte(), At: r.time()}
}

func appendDeadLetterRow(dst []byte, row *deadLetterRow) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Webhook)), row.Seq)
	dst = append(dst, row.N, row.Attempts)
	return binary.AppendVarint(binary.AppendUvarint(dst, uint64(row.Status)), int64(row.At))
}

func readDeadLetterRow(r *rowReader) deadLetterRow {
	return deadLetterRow{
		Webhook: uint32(r.unsigned()), Seq: r.unsigned(), N: r.byte(), Attempts: r.byte(), Status: uint16(r.unsigned()), At: r.time(),
	}
}
