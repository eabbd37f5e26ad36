package desk

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// LookAnswer is what a second officer would have decided, who does not know what was.
type LookAnswer struct {
	disposition        uint8
	reviewedBy, reason string
}

// ReadLookAnswer reads the answer to a second look. It always gives a reason: nothing else tells why
// two officers do not agree.
func ReadLookAnswer(f *strictjson.Fields) (LookAnswer, error) {
	answer := LookAnswer{reviewedBy: f.RequiredName("reviewedBy"), reason: f.RequiredText("reason", engine.TextMax)}
	disposition, known := leaf.Dispositions[f.Text("disposition", engine.FieldMax)]
	if answer.disposition = disposition; !known {
		return answer, invalidDisposition()
	}
	return answer, f.Err()
}

// Record builds the record that answers the look at a disposition.
func (a *LookAnswer) Record(j *edge.Judge, decision uint64) (any, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", a.reviewedBy)
	fragment.Text("reason", a.reason)
	fragment.Text("reviewedByKey", j.Caller().ID)
	j.Actor(&fragment)
	return &wire.SecondLook{Common: j.Common(fragment), Op: wire.LookAnswer, Decision: decision, Disposition: a.disposition}, nil
}

// LookRecord builds the record that takes a second look in hand, or gives it back. Nothing else is done
// with one.
func (s *QueueStep) LookRecord(j *edge.Judge, decision uint64) (any, error) {
	record := &wire.SecondLook{Decision: decision}
	switch s.op {
	case wire.QueueClaim:
		record.Op, record.Who = wire.LookTake, s.who
	case wire.QueueRelease:
		record.Op = wire.LookGiveBack
	default:
		return nil, edge.Refuse("not_reviewable", "a second look is taken, given back or answered by one person, and nothing is written about it before it is answered")
	}
	var fragment strictjson.Members
	fragment.Text("by", s.by)
	j.Actor(&fragment)
	record.Common = j.Common(fragment)
	return record, nil
}

func invalidDisposition() *edge.Refusal {
	return &edge.Refusal{Code: "invalid_disposition", Message: "disposition must be APPROVED, REJECTED or ESCALATE_SAR", Param: "disposition"}
}
