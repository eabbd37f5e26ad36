package fsm

import (
	"hash"
	"slices"

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

// rulebookTables holds the bytes of the active sanctions list, and of the staged ones.
type rulebookTables struct {
	listData   []byte   // The active list's entities.
	stagedData [][]byte // The staged lists' entities, in the order of Settings.Staged.
	staged     staging
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
	&stagedBytes{
		section: section{number: sectionStagedWhole, most: func(l *engine.Limits) int { return (l.ListsStaged + 1) * l.ListBytes }},
		of:      func(t *tables) *[][]byte { return &t.stagedData },
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

// staging is the list being replicated in chunks, one at a time. Once it is whole it is one of
// stagedData.
type staging struct {
	digest [32]byte
	total  uint32
	data   []byte
	sum    hash.Hash // Running SHA-256 of data.
}

// stagedBytes declares the bytes of the staged lists. A snapshot has them as one run; the sizes
// in the settings divide it.
type stagedBytes struct {
	section
	of func(*tables) *[][]byte
}

func (d *stagedBytes) freezeRows(from, to *tables) { *d.of(to) = slices.Clone(*d.of(from)) }

func (d *stagedBytes) countRows(*tables, *Settings) int { return 0 }

func (d *stagedBytes) writeRows(b *blockWriter, t *tables, _ *Settings) {
	for _, data := range *d.of(t) {
		writeRun(b, data)
	}
}

func (d *stagedBytes) readRows(s *restorer, c *coder, _ int) error {
	run, staged := d.of(&s.m.tables), s.m.settings.Staged
	for data := c.data; len(data) > 0; {
		at := len(*run) - 1
		if at < 0 || len((*run)[at]) == cap((*run)[at]) {
			if at++; at >= len(staged) {
				return errRow
			}
			*run = append(*run, make([]byte, 0, min(int(staged[at].Size), s.m.limits.ListBytes)))
		}
		list := &(*run)[at]
		n := min(len(data), cap(*list)-len(*list))
		if n == 0 {
			return errRow
		}
		*list, data = append(*list, data[:n]...), data[n:]
	}
	return nil
}

func (d *stagedBytes) checkRows(*Machine) error { return nil }
