package fsm

import (
	"crypto/sha256"

	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyListChunk assembles a list of entities, whose bytes it never decodes. One list is
// staged at a time, and offset 0 begins a new one. The last chunk carries the list's
// description, and its record writes the leaf.
func (m *rulebook) applyListChunk(b *wire.ListChunk, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	s := &m.staged
	if b.Total == 0 || int64(b.Total) > int64(m.limits.ListBytes) || len(b.Data) == 0 || len(b.Data) > m.limits.ListChunkBytes ||
		uint64(b.Offset)+uint64(len(b.Data)) > uint64(b.Total) {
		refuse(r, wire.RefusedList)
		return
	}
	if b.Offset == 0 {
		// Allocated in full at once: growing by megabytes with every chunk would delay Apply.
		*s = staging{digest: b.Digest, total: b.Total, sum: sha256.New(), data: make([]byte, 0, b.Total)}
		if len(m.settings.Staged) > 0 { // Its bytes were just replaced.
			m.editSettings().Staged = nil
		}
	}
	if s.sum == nil || s.digest != b.Digest || s.total != b.Total || uint32(len(s.data)) != b.Offset {
		refuse(r, wire.RefusedList)
		return
	}
	s.data = append(s.data, b.Data...)
	s.sum.Write(b.Data)
	if uint32(len(s.data)) < s.total {
		r.Code = wire.Unchanged
		return
	}
	if [32]byte(s.sum.Sum(nil)) != b.Digest || b.Info == nil || b.Info.Digest != b.Digest {
		*s = staging{}
		refuse(r, wire.RefusedList)
		return
	}
	s.whole = true
	info := *b.Info
	info.Size, info.StagedAt, info.ActivatedAt, info.Version = s.total, m.now, 0, 0
	m.editSettings().Staged = []*wire.ListInfo{&info}
	m.writeEvent("list.staged", leaf.ListStaged{Digest: b.Digest, Entries: info.Entries}, &b.Common, r)
}

// applyListActivate makes the staged list the active one at this log index, or notes that the
// active list was found current (Refresh). The sample may be active only in a cluster that
// was bootstrapped in dev mode.
func (m *rulebook) applyListActivate(b *wire.ListActivate, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Base != 0 && b.Base != wire.ListBase(m.settings.ListVersion) {
		r.Value = m.settings.ListVersion
		r.Code = wire.Stale
		return
	}
	if b.Refresh {
		m.refreshList(b, r)
		return
	}
	if active := m.settings.List; active != nil && active.Digest == b.Digest {
		r.Code, r.Time = wire.Unchanged, active.ActivatedAt
		return
	}
	if !m.staged.whole || m.staged.digest != b.Digest || len(m.settings.Staged) == 0 {
		refuse(r, wire.RefusedList)
		return
	}
	info := *m.settings.Staged[0]
	if info.Sample && !m.settings.Genesis.Dev {
		refuse(r, wire.RefusedNotDev)
		return
	}
	m.activateList(&info, b, r)
}

func (m *rulebook) activateList(info *wire.ListInfo, b *wire.ListActivate, r *wire.Result) {
	s := m.editSettings()
	event := leaf.ListActivated{Digest: info.Digest, Version: s.ListVersion + 1, Entries: info.Entries, SyncedAt: m.now, Sample: info.Sample, Forced: b.Force}
	if s.List != nil {
		event.Previous = &s.List.Digest
	}
	s.ListVersion++
	info.Version, info.ActivatedAt = s.ListVersion, m.now
	s.List, s.ListSynced, s.Staged = info, m.now, nil
	m.remindOfList()
	history := append(append([]*wire.ListInfo(nil), s.History...), info)
	if len(history) > m.limits.ListHistory {
		history = history[len(history)-m.limits.ListHistory:]
	}
	s.History = history
	m.listData, m.out.ListData = m.staged.data, m.staged.data
	m.staged = staging{}
	m.writeEvent("list.activated", event, &b.Common, r)
	if info.Quarantined > 0 {
		m.desk.alertQuarantine(info)
	}
}

// applyMatcher raises the version of the matcher by one. From this index on, what was judged
// with the version before is stale. Apply itself does not match; a node without the new
// matcher gives no verdicts until it is upgraded.
func (m *rulebook) applyMatcher(b *wire.Matcher, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch {
	case b.To == m.settings.Matcher:
		r.Code = wire.Unchanged
		return
	case uint32(b.To) != uint32(m.settings.Matcher)+1:
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.editSettings().Matcher = b.To
	m.writeEvent("matcher.raised", leaf.MatcherRaised{Version: b.To}, &b.Common, r)
}

func (m *rulebook) refreshList(b *wire.ListActivate, r *wire.Result) {
	if m.settings.List == nil || m.settings.List.Digest != b.Digest {
		refuse(r, wire.RefusedList)
		return
	}
	m.editSettings().ListSynced = m.now
	m.remindOfList()
	m.writeEvent("list.synced", leaf.ListSynced{Digest: b.Digest, Version: m.settings.ListVersion, SyncedAt: m.now}, &b.Common, r)
}
