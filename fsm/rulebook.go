package fsm

import (
	"hash"

	"railguard/engine"
	"railguard/fsm/wire"
)

// rulebook is the part that keeps what edges judge by: the policy, the sanctions list, its
// matcher, cleared pairs, and retro-screening. Each change makes stale what edges have judged
// before.
type rulebook struct {
	*core
	*rulebookTables
	calendar *calendar
	registry *registry
	desk     *desk
}

// rulebookTables holds the bytes of the active sanctions list, and of the staged one.
type rulebookTables struct {
	listData []byte // The active list's entities.
	staged   staging
}

var rulebookDeclarations = []declaration{
	&longBytes{
		section: section{number: sectionList, most: func(l *engine.Limits) int { return l.ListBytes }},
		of:      func(t *tables) *[]byte { return &t.listData },
	},
	&longBytes{
		section: section{
			number: sectionStaged, most: func(l *engine.Limits) int { return l.ListBytes },
			sound: func(m *Machine) error { return m.rulebook.checkLists() },
		},
		of: func(t *tables) *[]byte { return &t.staged.data },
	},
	&settingsList[wire.ClearedPair]{
		section: section{number: sectionCleared, most: func(l *engine.Limits) int { return l.Cleared }, shownAs: "cleared_pairs"},
		of:      func(s *Settings) *[]*wire.ClearedPair { return &s.Cleared },
	},
	&settingsList[wire.ListInfo]{
		section: section{number: sectionHistory, most: func(l *engine.Limits) int { return l.ListHistory }},
		of:      func(s *Settings) *[]*wire.ListInfo { return &s.History },
	},
}

// staging is the list being replicated in chunks, one at a time.
type staging struct {
	digest [32]byte
	total  uint32
	data   []byte
	sum    hash.Hash // Running SHA-256 of data.
	whole  bool      // All bytes are there and the digest was right.
}
