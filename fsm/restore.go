package fsm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// restorer builds a Machine from a snapshot's blocks.
type restorer struct {
	m    *Machine
	meta *snapshotMeta
	last uint16

	settled bool // The settings were read.
}

func (s *restorer) block(section uint16, rows uint32, payload []byte) error {
	if section < s.last || (s.meta == nil) != (section == sectionMeta) || section == sectionSettings && s.settled ||
		section > sectionSettings && !s.settled {
		return errors.New("out of order")
	}
	s.last = section
	r := &rowReader{data: payload}
	switch section {
	case sectionMeta:
		s.meta = &snapshotMeta{}
		return s.readMeta(r, rows)
	case sectionSettings:
		return s.readSettings(r, rows)
	}
	one := declared(section)
	if one == nil {
		return errSection
	}
	return one.read(s, r, rows)
}

// ErrNewer says that a state is of a format that this binary does not know.
var ErrNewer = errors.New("it is of a newer release: upgrade this node")

// errSection says that a section is not one of this release's, or is one that it does
// not fill.
var errSection = errors.New("unknown section: upgrade this node")

func (s *restorer) readMeta(r *rowReader, rows uint32) error {
	if err := wire.DecodeBody(r.bytes(), s.meta); err != nil || rows != 1 || r.bad {
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
	m.format, m.index, m.term, m.now = meta.Format, meta.Index, meta.Term, meta.Time
	m.size, m.oldest = meta.Size, meta.Oldest
	m.registry.userSweep, m.ledger.activitySweep, m.desk.overdueTold, m.desk.sarsTold = meta.UserSweep, meta.Sweep, meta.Overdue, meta.SARsTold
	m.ratchet = leaf.Ratchet{Key: meta.SaltKey, Day: meta.SaltDay}
	if meta.Size > txnCount || meta.Oldest > meta.Size || meta.UserNext == 0 || meta.UserNext > userSlots+1 {
		return errRow
	}
	for _, first := range meta.Firsts {
		if first > meta.Size { // Every row of these tables came with a leaf.
			return errRow
		}
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
	for _, table := range declaredTables {
		table.start(&m.tables, meta)
	}
	if err := m.registry.startStatuses(&meta.Statuses); err != nil {
		return err
	}
	if meta.Staged != nil {
		m.rulebook.staged = staging{digest: meta.Staged.Digest, total: meta.Staged.Total, whole: meta.Staged.Whole}
	}
	return nil
}

func (s *restorer) readSettings(r *rowReader, rows uint32) error {
	var v snapshotSettings
	if err := wire.DecodeBody(r.bytes(), &v); err != nil || rows != 1 || r.bad {
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
	s.settled = true
	s.m.settings = &Settings{
		Index: v.Index, Format: s.m.format, Genesis: v.Genesis, Policy: v.Policy,
		List: v.List, ListSynced: v.ListSynced, ListVersion: v.ListVersion, Staged: v.Staged, ClockOffset: v.ClockOffset,
		Matcher: v.Matcher, Lineage: v.Lineage, Removed: v.Removed, LogLines: v.LogLines, Epochs: v.Epochs, WebhookNext: v.WebhookNext, Retro: v.Retro,
	}
	return nil
}

// finish checks what blocks cannot check alone and rebuilds the private maps.
func (s *restorer) finish() (*Machine, error) {
	m := s.m
	if s.meta == nil {
		return nil, fmt.Errorf("%w: empty", ErrSnapshot)
	}
	if m.root() != s.meta.Root {
		return nil, fmt.Errorf("%w: tree head does not match its frontier", ErrSnapshot)
	}
	agents, fleets, operators := m.registry.agents.Len(), m.registry.fleets.Len(), m.registry.operators.Len()
	if m.registry.profiles.Len() != agents || m.registry.attestations.Len() != agents ||
		m.registry.fleetProfiles.Len() != fleets || m.registry.operatorProfiles.Len() != operators {
		return nil, fmt.Errorf("%w: tables of different lengths", ErrSnapshot)
	}
	if err := m.registry.finishUsers(s.meta.UserNext); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if !s.settled {
		return nil, fmt.Errorf("%w: no settings", ErrSnapshot)
	}
	statuses := func() error { return m.registry.checkStatuses(s.meta.Statuses.Next) }
	for _, check := range []func() error{
		m.registry.checkAgents, statuses, m.ledger.checkActivity, m.ledger.checkBands, m.registry.checkLinks, m.registry.rebuildOperators, m.rebuildIdempotency, m.checkDays,
		m.desk.rebuildReviews, m.desk.rebuildDispositions, m.keys.checkSettings, m.checkEpochs, m.rulebook.checkLists, m.desk.rebuildProposals, m.desk.rebuildAlerts, m.desk.checkSARs,
		m.ledger.rebuildPayments, m.calendar.checkDues, m.keys.checkWebhooks,
	} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
	}
	m.beginIDs()
	return m, nil
}
