package desk

import (
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReadReviewer returns who acts: as the body says under the first of the names that says
// something, else the name of the caller's key. All names are read, so that what is wrong with
// one is told whichever counts.
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

// NextClaim builds the record that leases to a person the first of these reviews that nobody
// else holds by then. There must be one at least.
func NextClaim(j *edge.Judge, who string, leaves []uint64) *wire.Queue {
	var fragment strictjson.Members
	fragment.Text("by", who)
	j.Actor(&fragment)
	return &wire.Queue{Common: j.Common(fragment), Op: wire.QueueClaim, Leaves: leaves, Who: who}
}

// QueueStep claims, releases, assigns or comments one review.
type QueueStep struct {
	op               uint8 // wire.QueueClaim and its like.
	who, by, comment string
	force            bool // Whoever else holds the claim.
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
