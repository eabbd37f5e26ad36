package desk

import (
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// WorkRecord builds the record of a step for what is no open review.
func (s *QueueStep) WorkRecord(j *edge.Judge, subject uint64) *wire.Work {
	var fragment strictjson.Members
	fragment.Optional("comment", s.comment)
	fragment.Text("by", s.by)
	j.Actor(&fragment)
	return &wire.Work{Common: j.Common(fragment), Op: s.op, Subject: subject, Who: s.who, Force: s.force}
}

// ReadDraft reads the body of a draft: its text, and the values of a form's fields.
func ReadDraft(name string, f *strictjson.Fields) (*wire.DraftText, error) {
	if !fsm.SoundDraftName(name) {
		return nil, edge.InvalidField("name", "must have 1 to 128 of the characters A-Z a-z 0-9 _ . : -")
	}
	said := &wire.DraftText{Text: f.Text("text", draftBytes)}
	if inner, given := f.Nested("fields"); given {
		size := 0
		for _, field := range inner.Names() {
			value := inner.Text(field, draftBytes)
			size += len(field) + len(value)
			said.Fields = append(said.Fields, wire.DraftField{Name: field, Value: value})
		}
		if len(said.Fields) > draftFields || size > draftBytes {
			f.Invalid("fields", "must have at most 64 members and 16384 bytes")
		}
		if err := inner.Err(); err != nil {
			return nil, err
		}
		slices.SortFunc(said.Fields, func(a, b wire.DraftField) int { return strings.Compare(a.Name, b.Name) })
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return said, nil
}

// DraftRecord builds the record that keeps a draft, or drops it if nothing is said.
func DraftRecord(j *edge.Judge, name string, said *wire.DraftText) *wire.Draft {
	return &wire.Draft{Common: j.Common(nil), Name: name, Said: said}
}

// Bounds of a draft, those of the log.
const (
	draftBytes  = 16 * engine.KiB
	draftFields = 64
)
