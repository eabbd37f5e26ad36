package desk

import (
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReadReviewer returns the person who acts: the first non-empty member among names, else the
// name of the caller's key. It reads all of them, so that it reports every invalid one.
func ReadReviewer(j *edge.Judge, f *strictjson.Fields, names ...string) string {
	said := ""
	for _, name := range names {
		if text := strings.TrimSpace(f.Text(name, engine.FieldMax)); said == "" {
			said = text
		}
	}
	if said != "" {
		return said
	}
	if name := j.Caller().Name; name != "" {
		return cutText(name)
	}
	return j.Caller().ID
}

// NextClaim builds the record that gives a person the claim of the first of these reviews that
// nobody else holds by then. leaves must not be empty.
func NextClaim(j *edge.Judge, who string, leaves []uint64) *wire.Queue {
	var fragment strictjson.Members
	fragment.Text("by", who)
	j.Actor(&fragment)
	return &wire.Queue{Common: j.Common(fragment), Op: wire.QueueClaim, Leaves: leaves, Who: who}
}

// QueueStep claims, releases, assigns or comments one review.
type QueueStep struct {
	op               uint8 // The operation, such as wire.QueueClaim.
	who, by, comment string
	force            bool // The step is done even if somebody else holds the claim.
}

// ReadQueueStep reads the body of a step.
func ReadQueueStep(j *edge.Judge, f *strictjson.Fields, op uint8) (QueueStep, error) {
	step := QueueStep{op: op, who: ReadReviewer(j, f, "assignee", "reviewedBy", "by")}
	switch op {
	case wire.QueueAssign:
		step.who, step.force = f.RequiredText("assignee", engine.FieldMax), true
	case wire.QueueComment:
		step.comment = f.RequiredText("comment", engine.TextMax)
	case wire.QueueRelease:
		step.force, _ = f.Flag("force")
	}
	step.by = ReadReviewer(j, f, "by", "reviewedBy")
	return step, f.Err()
}

// Record builds the record of the step for the review l.
func (s *QueueStep) Record(j *edge.Judge, l *edge.Leaf) (*wire.Queue, error) {
	var fragment strictjson.Members
	fragment.Optional("comment", s.comment)
	fragment.Text("by", s.by)
	j.Actor(&fragment)
	return &wire.Queue{Common: j.Common(fragment), Op: s.op, Leaves: []uint64{l.Index}, Who: s.who, Force: s.force}, nil
}
