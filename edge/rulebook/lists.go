package rulebook

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

// Activation makes a list the active one.
type Activation struct {
	Grounds         edge.Grounds
	Force, Rollback bool
	EntryIDs        []string // Those entries.
	EntryByEntry    bool     // Persons change single entries of a list beside OFAC's.
	ChosenAt        uint64   // List version at which "the one before" was chosen; 0: the list was named by its id.
}

// Problems says what speaks against making a list the active one now: staging says it, the list's
// page, activation and rollback. left is who would leave the active list by it.
func Problems(j *edge.Judge, info *wire.ListInfo, left *wire.ListLeft, now engine.Time) []string {
	settings := j.Terms.Settings
	if settings.List != nil && settings.List.Digest == info.Digest {
		return []string{}
	}
	return append([]string{}, judge.Replacement(judge.Precedents{Active: settings.List, History: settings.History, Now: now, Left: left}, info, info.Found)...)
}

// Record builds the record. left says who would leave the active list; Record calls it only if
// the list is not the active one already.
func (a *Activation) Record(j *edge.Judge, info *wire.ListInfo, now engine.Time, left func() (*wire.ListLeft, error)) (*wire.ListActivate, error) {
	settings := j.Terms.Settings
	if a.ChosenAt != 0 && a.ChosenAt != settings.ListVersion {
		return nil, edge.MarkChangeable(RejectList("another list was activated meanwhile: look which one, and name the one to go back to"))
	}
	active, problems := settings.List, []string{}
	record := &wire.ListActivate{Digest: info.Digest, Rollback: a.Rollback, Base: wire.ListBase(settings.ListVersion)}
	if active == nil || active.Digest != info.Digest {
		var err error
		if record.Left, err = left(); err != nil {
			return nil, err
		}
		problems = Problems(j, info, record.Left, now)
		if a.EntryByEntry {
			problems = judge.EntryByEntry(problems)
		}
	} else {
		// The files of the active list were imported once more. That changes nothing, but shows
		// that the list is current.
		at := slices.IndexFunc(settings.Staged, func(staged *wire.ListInfo) bool { return staged.Digest == info.Digest })
		if record.Refresh = at >= 0; record.Refresh {
			record.List = settings.Staged[at].Brings
		}
	}
	record.Force = a.forces(problems)
	if judge.Final(problems) || record.Force && !a.Force {
		return nil, edge.MarkChangeable(RejectList(problems...))
	}
	var m strictjson.Members
	m.Text("snapshotId", edge.SnapshotID(info.Digest))
	m.Text("source", info.Source)
	m.Bool("rollback", a.Rollback)
	m.Texts("problems", problems)
	if record.Left.Any() {
		m.Object("left", LeftMembers(record.Left))
	}
	if len(a.EntryIDs) > 0 {
		m.Texts("entryIds", a.EntryIDs)
	}
	a.Grounds.Write(&m)
	var said strictjson.Members
	said.Text("snapshotId", edge.SnapshotID(info.Digest))
	said.Bool("rollback", a.Rollback)
	said.Texts("problems", problems)
	var err error
	record.Common, err = j.RecordedSigned(m, edge.Statement{Act: "list.activated", Said: said})
	return record, err
}

// forces reports whether the switch goes against problems. A list that is rolled back to is older
// than the one before, as it should be.
func (a *Activation) forces(problems []string) bool {
	return slices.ContainsFunc(problems, func(problem string) bool {
		return !a.Rollback || !strings.HasPrefix(problem, string(judge.ProblemOlder)+": ")
	})
}

// RollbackTo returns the description with which an earlier list is staged again. It is no upload:
// it gives way to the next rollback or fetch.
func RollbackTo(info *wire.ListInfo) wire.ListInfo {
	back := *info
	back.Uploaded, back.Brings = false, ""
	return back
}

// LeftMembers writes who leaves a list.
func LeftMembers(left *wire.ListLeft) (m strictjson.Members) {
	if left == nil {
		left = &wire.ListLeft{}
	}
	m.Uint("parties", uint64(left.Parties))
	m.Uint("names", uint64(left.Names))
	m.Uint("wallets", uint64(left.Wallets))
	m.Texts("first", append([]string{}, left.First...))
	return m
}

// StagedList completes the description of an uploaded list of size bytes, and returns it with
// the common part of its record. show writes the description as answers show it. There is no
// Idempotency-Key, because the key's scope does not include the body of an upload.
func StagedList(j *edge.Judge, info wire.ListInfo, size int, show func(*wire.ListInfo, engine.Time) strictjson.Members, left *wire.ListLeft, problems []string, origin string) (wire.ListInfo, wire.Common, error) {
	info.Size = uint32(size)
	var m strictjson.Members
	m.Object("list", show(&info, 0))
	m.Texts("problems", problems)
	m.Object("left", LeftMembers(left))
	m.Text("origin", origin)
	common, err := j.Recorded(m)
	common.Idem = nil
	return info, common, err
}

// RejectList returns the refusal of a list because of problems. There must be at least one.
func RejectList(problems ...string) *edge.Refusal {
	refused := edge.Refuse("list_rejected", "the list is refused: "+problems[0])
	for _, problem := range problems {
		refused.Details = append(refused.Details, strictjson.Finding{Message: problem})
	}
	return refused
}

// RetroRun builds the record that begins screening the past against a list. The past begins at
// the log time from, with the given leaf. Matches that the list before had already are left
// out; nil: none is left out.
func RetroRun(j *edge.Judge, list, before *wire.ListInfo, from engine.Time, leaf uint64) (*wire.Retro, error) {
	run := wire.RetroRun{List: list.Version, From: from, Leaf: leaf, Asked: true}
	if before != nil {
		if run.Against = before.Version; run.Against >= run.List {
			return nil, edge.InvalidField("against", "names a list that was not active before the other")
		}
	}
	var m strictjson.Members
	j.Actor(&m)
	return &wire.Retro{Common: j.Common(m), Op: wire.RetroBegin, Run: run}, nil
}
