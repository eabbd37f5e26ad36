package desk

import (
	"crypto/sha256"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReportMove is one step of a suspicious activity report.
type ReportMove struct {
	to                           uint8 // wire.SARDraft or another state.
	by, reason, bsaID, narrative string
}

// narrativeMax leaves room for the other parts of the leaf.
const narrativeMax = 32 * engine.KiB

// ReadReportMove reads the body of a step.
func ReadReportMove(f *strictjson.Fields) (ReportMove, error) {
	move := ReportMove{by: f.RequiredName("by"), reason: f.Text("reason", engine.TextMax), bsaID: f.Text("bsaId", engine.FieldMax), narrative: f.Text("narrative", narrativeMax)}
	word := f.OneOf("to", "DRAFT", "READY", "FILED", "CLOSED")
	if f.Get("to") == nil {
		f.Missing("to")
	}
	var known bool
	move.to, known = fsm.ParseSARState(word)
	if known && move.to == wire.SARFiled && strings.TrimSpace(move.bsaID) == "" {
		f.Missing("bsaId")
	}
	if move.to != wire.SARFiled && move.bsaID != "" {
		f.Invalid("bsaId", "belongs to FILED alone")
	}
	return move, f.Err()
}

// NeedsNarrative tells whether the step says that the narrative is written. One that is not possible
// from the state is refused for that.
func (s *ReportMove) NeedsNarrative(from uint8) bool {
	return s.to == wire.SARReady && from == wire.SARDraft || s.to == wire.SARFiled && from == wire.SARReady
}

// Narrative is the text that comes with the step; "": the report keeps the one it has.
func (s *ReportMove) Narrative() string { return s.narrative }

// Record builds the record of the step. It moves the report on the record l from a state. A
// report that is closed without having been filed needs a reason.
func (s *ReportMove) Record(j *edge.Judge, leaf uint64, from uint8) (*wire.SAR, error) {
	if s.to == wire.SARClosed && from != wire.SARFiled && strings.TrimSpace(s.reason) == "" {
		return nil, edge.MissingField("reason", "reason is required to close a report that was not filed")
	}
	var fragment strictjson.Members
	fragment.Text("by", s.by)
	fragment.Optional("reason", s.reason)
	fragment.Optional("bsaId", s.bsaID)
	fragment.Optional("narrative", s.narrative)
	var said strictjson.Members
	said.Uint("reviewedLeaf", leaf)
	said.Text("to", fsm.SARState(s.to))
	common, err := j.RecordedSigned(fragment, edge.Statement{Act: "sar.moved", Said: said})
	if err != nil {
		return nil, err
	}
	record := &wire.SAR{Common: common, Leaf: leaf, From: from, To: s.to}
	if s.bsaID != "" || s.narrative != "" {
		record.Filing = sha256.Sum256([]byte(s.bsaID + "\x00" + s.narrative))
	}
	return record, nil
}
