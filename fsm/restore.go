package fsm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// restorer builds a Machine from a snapshot's blocks.
type restorer struct {
	m    *Machine
	meta *snapshotMeta
	last uint16
	rows int // The rows of section last so far.

	settled bool // The settings were read.
}

func (s *restorer) readBlock(section uint16, rows uint32, payload []byte) error {
	if section < s.last || (s.meta == nil) != (section == sectionMeta) || section == sectionSettings && s.settled ||
		section > sectionSettings && !s.settled {
		return errors.New("out of order")
	}
	if section != s.last {
		s.last, s.rows = section, 0
	}
	c := &coder{data: payload, reading: true}
	switch section {
	case sectionMeta:
		s.meta = &snapshotMeta{}
		return s.readMeta(c, rows)
	case sectionSettings:
		return s.readSettings(c, rows)
	}
	one := findDeclaration(section, s.meta.Format)
	if one == nil {
		return errSection
	}
	return one.readRows(s, c, int(rows))
}

// hasRoom adds a number of rows to a section, and reports whether its bound allows them.
func (s *restorer) hasRoom(of *section, rows int) bool {
	s.rows += rows
	return s.rows <= of.most(s.m.limits)
}

// ErrNewer says that a state is of a format that this binary does not know.
var ErrNewer = errors.New("it is of a newer release: upgrade this node")

// errSection means a section that the state's format does not have.
var errSection = errors.New("unknown section: upgrade this node")

func (s *restorer) readMeta(c *coder, rows uint32) error {
	if c.decodeValue(s.meta); c.bad || rows != 1 {
		return errRow
	}
	meta, m := s.meta, s.m
	if meta.Format > engine.FormatNewest {
		return fmt.Errorf("format %d: %w", meta.Format, ErrNewer)
	}
	if meta.Format < engine.Format1 {
		return errRow
	}
	m.limits = engine.LimitsOf(meta.Format)
	m.format, m.index, m.term, m.now, m.lived = meta.Format, meta.Index, meta.Term, meta.Time, meta.Lived
	m.size, m.oldest, m.keysFrom, m.tables.endedFrom, m.tables.usedFrom = meta.Size, meta.Oldest, meta.KeysFrom, meta.EndedFrom, meta.UsedFrom
	m.ratchet = leaf.Ratchet{Key: meta.SaltKey, Day: meta.SaltDay}
	if meta.Size > txnCount || meta.Oldest > meta.Size || max(meta.KeysFrom, meta.EndedFrom, meta.UsedFrom) > meta.Size || meta.Lived < 0 || meta.UserNext == 0 || meta.UserNext > userSlots+1 ||
		meta.AgentFirst != 1 || meta.AgentNext > userSlots+1 || meta.FleetFirst != 1 || meta.FleetNext > userSlots+1 {
		return errRow
	}
	for _, hash := range meta.Frontier {
		if len(hash) != sha256.Size {
			return errRow
		}
	}
	frontier, err := frontierRange(meta.Size, meta.Frontier)
	if err != nil {
		return err
	}
	m.frontier = frontier
	if err := s.startTables(); err != nil {
		return err
	}
	if err := m.registry.startStatuses(&meta.Statuses); err != nil {
		return err
	}
	if meta.Staged != nil {
		m.rulebook.staged = staging{digest: meta.Staged.Digest, total: meta.Staged.Total}
	}
	return nil
}

// startTables makes each table begin where the snapshot's first row says.
func (s *restorer) startTables() error {
	for _, table := range planned.tables {
		if table.said().since > s.meta.Format {
			continue
		}
		if err := table.startTable(&s.m.tables, s.meta); err != nil {
			return err
		}
	}
	for _, table := range planned.derived {
		table.beginTable(&s.m.tables)
	}
	if len(s.meta.Firsts) > 0 {
		return errRow
	}
	return nil
}

func (s *restorer) readSettings(c *coder, rows uint32) error {
	v := &Settings{Format: s.m.format}
	if c.decodeValue(v); c.bad || rows != 1 {
		return errRow
	}
	if v.Policy == nil {
		return errors.New("no policy")
	}
	for _, info := range v.Staged {
		if info == nil {
			return errRow
		}
	}
	if slices.Contains(v.Removed, nil) || slices.Contains(v.LogLines, nil) || slices.Contains(v.Epochs, nil) {
		return errRow
	}
	if v.Retro != nil && (v.Retro.List > v.ListVersion || v.Retro.Against >= v.ListVersion || v.Retro.Covered > v.ListVersion) {
		return errRow
	}
	s.settled, s.m.settings = true, v
	return nil
}

// finishRestore makes the checks that need all blocks, and rebuilds the private maps.
func (s *restorer) finishRestore() (*Machine, error) {
	m := s.m
	switch {
	case s.meta == nil:
		return nil, fmt.Errorf("%w: empty", ErrSnapshot)
	case m.treeHead() != s.meta.Root:
		return nil, fmt.Errorf("%w: tree head does not match its frontier", ErrSnapshot)
	case !s.settled:
		return nil, fmt.Errorf("%w: no settings", ErrSnapshot)
	}
	for _, table := range planned.tables {
		if err := table.endTable(&m.tables, s.meta); err != nil {
			return nil, fmt.Errorf("%w: section %d ends after the state: %w", ErrSnapshot, table.said().number, err)
		}
	}
	if err := m.checkEpochs(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	m.beginIDs() // The rows are counted for their owners, whose keys name them by their ids.
	for _, one := range planned.all {
		if err := checkRows(one, m); err != nil {
			return nil, fmt.Errorf("%w: section %d: %w", ErrSnapshot, one.said().number, err)
		}
	}
	return m, nil
}

func checkRows(one declaration, m *Machine) error {
	if err := one.checkRows(m); err != nil {
		return err
	}
	if sound := one.said().sound; sound != nil {
		return sound(m)
	}
	return nil
}

// misfit names a row that Apply cannot rely on.
func misfit(row uint64) error { return fmt.Errorf("row %d does not fit", row) }
