package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// keys is the part that keeps API keys, signing keys, log keys and webhooks, with the cursor
// of each webhook.
type keys struct {
	*core
	*keyTables
	calendar *calendar
	registry *registry
	rulebook *rulebook

	// Rebuilt by Restore, never iterated.
	cursorAt map[uint32]uint64     // By webhook.
	deadAt   map[sendingKey]uint64 // Rows of deadLetters that are not empty.
	deadOf   map[uint32]int        // How many of these each webhook has.
}

func newKeys(c *core, t *keyTables, calendar *calendar, registry *registry, rulebook *rulebook) *keys {
	return &keys{
		core: c, keyTables: t, calendar: calendar, registry: registry, rulebook: rulebook,
		cursorAt: map[uint32]uint64{}, deadAt: map[sendingKey]uint64{}, deadOf: map[uint32]int{},
	}
}

// keyTables holds the webhooks' cursors and dead letters. The keys themselves are in the
// settings.
type keyTables struct {
	cursors     Table[cursorRow, cursorPage] // From position 1 on, in no order.
	deadLetters Table[deadLetterRow, deadLetterPage]
}

var webhookList = &settingsList[wire.Webhook]{
	section: section{
		number: sectionWebhooks, most: func(l *engine.Limits) int { return l.Webhooks },
		sound: func(m *Machine) error { return m.keys.checkSendings() },
	},
	of: func(s *Settings) *[]*wire.Webhook { return &s.Webhooks },
	share: &shareOf[wire.Webhook]{
		most:  func(l *engine.Limits) int { return l.WebhooksOfOperator },
		owner: func(hook *wire.Webhook) string { return hook.Owner },
	},
	fits: func(m *Machine) func(hook, before *wire.Webhook) bool { return m.keys.fitsWebhook },
}

var keyDeclarations = []declaration{
	&settingsList[wire.APIKey]{
		section: section{number: sectionAPIKeys, most: func(l *engine.Limits) int { return l.APIKeys }, shownAs: "api_keys"},
		of:      func(s *Settings) *[]*wire.APIKey { return &s.Keys },
		fits:    func(m *Machine) func(key, before *wire.APIKey) bool { return m.keys.fitsAPIKey },
	},
	&settingsList[wire.SigningKey]{
		section: section{number: sectionSigningKeys, most: func(l *engine.Limits) int { return l.SigningKeys }, shownAs: "signing_keys"},
		of:      func(s *Settings) *[]*wire.SigningKey { return &s.SigningKeys },
		fits:    func(m *Machine) func(key, before *wire.SigningKey) bool { return m.keys.fitsSigningKey },
	},
	&settingsList[wire.Passkey]{
		section: section{number: sectionPasskeys, most: func(l *engine.Limits) int { return l.Passkeys }, shownAs: "passkeys"},
		of:      func(s *Settings) *[]*wire.Passkey { return &s.Passkeys },
		fits:    func(m *Machine) func(p, before *wire.Passkey) bool { return m.keys.fitsPasskey },
	},
	webhookList,
	&tableOf[cursorRow, cursorPage]{
		section: section{number: sectionCursors, most: func(l *engine.Limits) int { return l.Webhooks }},
		of:      func(t *tables) *Table[cursorRow, cursorPage] { return &t.cursors }, code: codeCursorRow, from: 1,
		fits: func(m *Machine) fitting[cursorRow] { return m.keys.fitsCursor },
	},
	&tableOf[deadLetterRow, deadLetterPage]{
		section: section{number: sectionDeadLetters, most: func(l *engine.Limits) int { return l.DeadLetters * buriedFactor }},
		of:      func(t *tables) *Table[deadLetterRow, deadLetterPage] { return &t.deadLetters }, code: codeDeadLetterRow, queue: true,
		fits: func(m *Machine) fitting[deadLetterRow] { return m.keys.fitsDeadLetter },
	},
}

// sendingKey is one event that is, or was, to be sent to one webhook.
type sendingKey struct {
	webhook uint32
	seq     uint64
	n       uint8
}

// cursorRow is a webhook's cursor: every event before it was received or is a dead letter.
type cursorRow struct {
	Webhook uint32
	Seq     uint64
	N       uint8
	At      engine.Time
}

// deadLetterRow is an event that a receiver did not take, or one that is to be sent again.
// Rows are in the order of adding.
type deadLetterRow struct {
	Webhook  uint32 // 0: the row is empty.
	Seq      uint64
	N        uint8
	Attempts uint8 // 0: it is to be sent again.
	Status   uint16
	At       engine.Time
}

func codeCursorRow(c *coder, row *cursorRow) {
	codeUnsigned(c, &row.Webhook)
	codeUnsigned(c, &row.Seq)
	codeByte(c, &row.N)
	codeSigned(c, &row.At)
}

func codeDeadLetterRow(c *coder, row *deadLetterRow) {
	codeUnsigned(c, &row.Webhook)
	codeUnsigned(c, &row.Seq)
	codeByte(c, &row.N)
	codeByte(c, &row.Attempts)
	codeUnsigned(c, &row.Status)
	codeSigned(c, &row.At)
}
