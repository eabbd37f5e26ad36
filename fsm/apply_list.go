package fsm

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyListChunk assembles a list of entities, whose bytes it never decodes. One list is
// replicated at a time, and offset 0 begins a new one. The last chunk carries the list's
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
	whole := *s
	*s = staging{}
	if [32]byte(whole.sum.Sum(nil)) != b.Digest || b.Info == nil || b.Info.Digest != b.Digest {
		refuse(r, wire.RefusedList)
		return
	}
	info := *b.Info
	info.Size, info.StagedAt, info.ActivatedAt, info.Version, info.ActivatedLeaf, info.RolledBackAt, info.Forced = whole.total, m.now, 0, 0, 0, 0, false
	if !m.addStaged(&info, whole.data, b.Replace) {
		refuse(r, wire.RefusedFull)
		return
	}
	m.writeEvent("list.staged", leaf.ListStaged{Digest: b.Digest, Entries: info.Entries}, &b.Common, r)
}

// addStaged stages a list. A list that was fetched or rolled back to gives way to the next such
// one; an uploaded list stays, and there may be ListsStaged of them. Those that another list has
// overtaken, so that they cannot come in force any more, give way first; with replace then the oldest.
func (m *rulebook) addStaged(info *wire.ListInfo, data []byte, replace bool) bool {
	m.dropStaged(func(staged *wire.ListInfo) bool {
		return staged.Digest == info.Digest || !staged.Uploaded && !info.Uploaded
	})
	if info.Uploaded && countUploads(m.settings.Staged) >= m.limits.ListsStaged {
		m.dropStaged(func(staged *wire.ListInfo) bool { return staged.Uploaded && !isJoined(staged, m.settings.List) })
	}
	if info.Uploaded && countUploads(m.settings.Staged) >= m.limits.ListsStaged {
		if !replace {
			return false
		}
		oldest := slices.IndexFunc(m.settings.Staged, func(staged *wire.ListInfo) bool { return staged.Uploaded })
		m.dropStaged(func(staged *wire.ListInfo) bool { return staged == m.settings.Staged[oldest] })
	}
	settings := m.editSettings()
	settings.Staged = append(slices.Clip(settings.Staged), info)
	m.stagedData = append(slices.Clip(m.stagedData), data)
	return true
}

func countUploads(all []*wire.ListInfo) (uploads int) {
	for _, staged := range all {
		if staged.Uploaded {
			uploads++
		}
	}
	return uploads
}

// dropStaged drops the staged lists that a function names.
func (m *rulebook) dropStaged(drops func(*wire.ListInfo) bool) {
	var staged []*wire.ListInfo
	var data [][]byte
	for i, info := range m.settings.Staged {
		if !drops(info) {
			staged, data = append(staged, info), append(data, m.stagedData[i])
		}
	}
	if len(staged) < len(m.settings.Staged) {
		m.editSettings().Staged, m.stagedData = staged, data
	}
}

// applyListActivate makes a staged list the active one at this log index, or notes that the
// active list was found current (Refresh). The sample may be active only in a cluster that
// was bootstrapped in dev mode. A list that is dated in the future never becomes active: it
// would keep every true list out.
func (m *rulebook) applyListActivate(b *wire.ListActivate, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Base != 0 && b.Base != wire.ListBase(m.settings.ListVersion) {
		goStale(r, m.settings.ListVersion)
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
	at := slices.IndexFunc(m.settings.Staged, func(staged *wire.ListInfo) bool { return staged.Digest == b.Digest })
	if at < 0 || b.Left != nil && len(b.Left.First) > m.limits.ListLeft || isAfter(m.settings.Staged[at], m.now+m.limits.ListAhead) {
		refuse(r, wire.RefusedList)
		return
	}
	info := *m.settings.Staged[at]
	if !b.Rollback && !isJoined(&info, m.settings.List) {
		refuse(r, wire.RefusedList)
		return
	}
	if info.Sample && !m.settings.Genesis.Dev {
		refuse(r, wire.RefusedNotDev)
		return
	}
	m.activateList(&info, m.stagedData[at], b, r)
}

// isAfter reports whether a source of a published list is dated after a time.
func isAfter(info *wire.ListInfo, latest engine.Time) bool {
	if info.Sample {
		return false
	}
	newest := max(info.PublishedAt, info.SDNAsOf, info.CONSAsOf)
	for _, source := range info.Others {
		newest = max(newest, source.AsOf)
	}
	return newest > latest
}

// isJoined reports whether a list has the lists beside OFAC's as they are in force: it was joined
// with the active list, or neither has such a list. Otherwise its activation would take back what
// came in force since it was made.
func isJoined(info, active *wire.ListInfo) bool {
	if active == nil {
		return len(info.Over) == 0
	}
	if len(info.Over) == 0 {
		return !active.HasFurther()
	}
	return bytes.Equal(info.Over, active.Digest[:])
}

// noteSynced sets since when each list beside OFAC's is current: now for the one that the snapshot
// brings, for the others what it was.
func noteSynced(info, active *wire.ListInfo, now engine.Time) {
	info.Others = slices.Clone(info.Others)
	for i := range info.Others {
		other := &info.Others[i]
		if other.Further == nil {
			continue
		}
		other.SyncedAt = now
		if active != nil && other.Name != info.Brings {
			if held := active.OfSource(other.Name); held.SyncedAt != 0 {
				other.SyncedAt = held.SyncedAt
			}
		}
	}
}

// listAct is what the activation of a list does. A rollback is always forced, and has a name
// of its own.
func listAct(info *wire.ListInfo, b *wire.ListActivate) *act {
	said := wire.ListActivate{Digest: b.Digest, Force: b.Force, Rollback: b.Rollback}
	kept := *b // With who leaves the list, for the alert, and the version that this was found against.
	kept.Common = wire.Common{}
	a := &act{kind: wire.KindListActivate, whole: true, said: &said, record: &kept, event: leaf.ActProposed{Kind: "list.activated"}}
	switch {
	case b.Rollback:
		a.names = engine.ActListRollback
	case b.Force:
		a.names = engine.ActListForce
	}
	if info.Uploaded {
		a.names |= engine.ActListActivate
	}
	return a
}

func (m *rulebook) activateList(info *wire.ListInfo, data []byte, b *wire.ListActivate, r *wire.Result) {
	who, counts := m.desk.settlePersons(listAct(info, b), &b.Common, r)
	if !counts {
		return
	}
	m.desk.dropTopic(wire.KindListActivate)
	m.dropStaged(func(staged *wire.ListInfo) bool { return staged.Digest == info.Digest })
	s := m.editSettings()
	event := leaf.ListActivated{
		Digest: info.Digest, Version: s.ListVersion + 1, Entries: info.Entries, SyncedAt: m.now, Sample: info.Sample, Forced: b.Force,
		Uploaded: info.Uploaded, List: info.Brings, Persons: who,
	}
	history := slices.Clone(s.History)
	if s.List != nil {
		event.Previous = &s.List.Digest
		if b.Rollback && len(history) > 0 {
			withdrawn := *history[len(history)-1]
			withdrawn.RolledBackAt = m.now
			history[len(history)-1] = &withdrawn
		}
	}
	s.ListVersion++
	info.Version, info.ActivatedAt, info.ActivatedLeaf, info.Forced = s.ListVersion, m.now, m.size, b.Force
	noteSynced(info, s.List, m.now)
	if info.Brings == "" || s.List == nil { // An institution's own list says nothing of how old OFAC's is.
		s.ListSynced = m.now
	}
	s.List = info
	m.remindOfList()
	s.History = trimHistory(append(history, info), m.limits.ListHistory, m.now-m.limits.ListPeak)
	m.listData, m.out.ListData = data, data
	m.desk.writeAct("list.activated", event, &who, &b.Common, r)
	if info.Quarantined > 0 {
		m.desk.alertQuarantine(info)
	}
	if b.Left.Any() {
		m.desk.alertLeft(info, b.Left)
	}
}

// trimHistory drops the oldest lists beyond a number, but not the largest that came in force
// after a time: the next lists are compared with it, and many small lists must not make it
// forgotten.
func trimHistory(history []*wire.ListInfo, most int, after engine.Time) []*wire.ListInfo {
	for len(history) > most {
		largest := -1
		for i, info := range history {
			if info.ActivatedAt > after && (largest < 0 || info.Entries > history[largest].Entries) {
				largest = i
			}
		}
		drop := 0
		if largest == 0 && len(history) > 1 {
			drop = 1
		}
		history = slices.Delete(history, drop, drop+1)
	}
	return history
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
	if b.List != "" && m.settings.List.OfSource(b.List).Further == nil {
		refuse(r, wire.RefusedList)
		return
	}
	m.dropStaged(func(staged *wire.ListInfo) bool { return staged.Digest == b.Digest })
	if b.List == "" {
		m.editSettings().ListSynced = m.now
		m.remindOfList()
	} else {
		renewed := m.renewFurther(m.settings.List, b.List)
		m.editSettings().List = renewed
	}
	m.writeEvent("list.synced", leaf.ListSynced{Digest: b.Digest, Version: m.settings.ListVersion, SyncedAt: m.now, List: b.List}, &b.Common, r)
}

// renewFurther returns the list in force with the note that a list beside OFAC's was found current.
func (m *rulebook) renewFurther(active *wire.ListInfo, id string) *wire.ListInfo {
	info := *active
	info.Others = slices.Clone(info.Others)
	for i := range info.Others {
		if info.Others[i].Name == id {
			info.Others[i].SyncedAt = m.now
		}
	}
	s := m.editSettings()
	if last := len(s.History) - 1; last >= 0 && s.History[last].Digest == info.Digest { // The list in force is the last of the history.
		s.History = slices.Clone(s.History)
		s.History[last] = &info
	}
	return &info
}
