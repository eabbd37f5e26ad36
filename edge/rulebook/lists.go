package rulebook

import (
	"slices"

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
	ChosenAt        uint64 // List version at which "the one before" was chosen; 0: the list was named by its id.
}

// Record builds the record. uploadProblems returns the findings of the list's upload. Record
// calls it only if the list is not the active one already.
func (a *Activation) Record(j *edge.Judge, info *wire.ListInfo, uploadProblems func() ([]string, error)) (*wire.ListActivate, error) {
	settings := j.Terms.Settings
	if a.ChosenAt != 0 && a.ChosenAt != settings.ListVersion {
		return nil, edge.MarkChangeable(RejectList("another list was activated meanwhile: look which one, and name the one to go back to"))
	}
	active, problems := settings.List, []string{}
	if active == nil || active.Digest != info.Digest {
		found, err := uploadProblems()
		if err != nil {
			return nil, err
		}
		problems = judge.Replacement(active, info, found)
	}
	if len(problems) > 0 && !a.Force {
		return nil, edge.MarkChangeable(RejectList(problems...))
	}
	var m strictjson.Members
	m.Text("snapshotId", edge.SnapshotID(info.Digest))
	m.Text("source", info.Source)
	m.Bool("rollback", a.Rollback)
	m.Texts("problems", problems)
	a.Grounds.Write(&m)
	common, err := j.Recorded(m)
	return &wire.ListActivate{
		Common: common, Digest: info.Digest, Force: a.Force, Base: wire.ListBase(settings.ListVersion),
		// The files of the active list were imported once more. That changes nothing, but shows
		// that the list is current.
		Refresh: active != nil && active.Digest == info.Digest && slices.ContainsFunc(settings.Staged, func(staged *wire.ListInfo) bool { return staged.Digest == info.Digest }),
	}, err
}

// StagedList completes the description of an uploaded list of size bytes, and returns it with
// the common part of its record. show writes the description as answers show it. There is no
// Idempotency-Key, because the key's scope does not include the body of an upload.
func StagedList(j *edge.Judge, info wire.ListInfo, size int, show func(*wire.ListInfo) strictjson.Members, problems []string, origin string) (wire.ListInfo, wire.Common, error) {
	info.Size = uint32(size)
	var m strictjson.Members
	m.Object("list", show(&info))
	m.Texts("problems", problems)
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
