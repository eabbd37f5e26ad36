package desk

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReportOpening opens a suspicious activity report.
type ReportOpening struct{ by, reason, txn string }

// ReadReportOpening reads of which record a report is opened, by whom and why.
func ReadReportOpening(f *strictjson.Fields) (ReportOpening, error) {
	return ReportOpening{txn: f.RequiredText("txnId", engine.FieldMax), by: f.RequiredName("by"), reason: f.RequiredText("reason", engine.TextMax)}, f.Err()
}

// TxnID is the transaction whose record the report is about.
func (o *ReportOpening) TxnID() string { return o.txn }

// Record builds the record that opens the report on the record of a leaf.
func (o *ReportOpening) Record(j *edge.Judge, leaf uint64) (*wire.SAR, error) {
	common, err := j.Recorded(openedBy(o.by, o.reason))
	return &wire.SAR{Common: common, Op: wire.SAROpen, Leaf: leaf}, err
}

// openedBy says who opened a report or a case, and why.
func openedBy(by, reason string) (m strictjson.Members) {
	m.Text("openedBy", by)
	m.Text("reason", reason)
	return m
}

// Narrative is the text of a report, and which text it replaces.
type Narrative struct {
	by, text string
	seen     [32]byte // SHA-256; zero: nobody had written one.
}

// narrativeMax leaves room for the other parts of the leaf.
const narrativeMax = 32 * engine.KiB

// ReadNarrative reads who writes which text over which.
func ReadNarrative(f *strictjson.Fields) (Narrative, error) {
	n := Narrative{by: f.RequiredName("by"), text: f.RequiredText("narrative", narrativeMax)}
	if digits := f.Text("replaces", 2*len(n.seen)); digits != "" {
		seen, err := hex.DecodeString(digits)
		if err != nil || len(seen) != len(n.seen) {
			f.Invalid("replaces", "must be the narrativeSha256 of the narrative that was read")
		}
		copy(n.seen[:], seen)
	}
	return n, f.Err()
}

// OpenQuestion is what a skeleton leaves to people.
var OpenQuestion = regexp.MustCompile(`\[[^\[\]]*\?\]`)

// IsFinished tells whether the text leaves nothing open: no question of the skeleton, and it is more
// than the skeleton without its questions.
func (n *Narrative) IsFinished(skeleton string) bool {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	return !OpenQuestion.MatchString(n.text) && words(n.text) != words(OpenQuestion.ReplaceAllString(skeleton, ""))
}

// Record builds the record that writes the narrative of the report on the record of a leaf.
func (n *Narrative) Record(j *edge.Judge, leaf uint64, finished bool) (*wire.SAR, error) {
	var fragment strictjson.Members
	fragment.Text("by", n.by)
	fragment.Text("narrative", n.text)
	common, err := j.Recorded(fragment)
	return &wire.SAR{Common: common, Op: wire.SARWrite, Leaf: leaf, Seen: n.seen, Narrative: sha256.Sum256([]byte(n.text)), Finished: finished}, err
}

// ReportMove is one step of a suspicious activity report.
type ReportMove struct {
	to                uint8 // wire.SARDraft or another state.
	by, reason, bsaID string
}

// ReadReportMove reads the body of a step.
func ReadReportMove(f *strictjson.Fields) (ReportMove, error) {
	move := ReportMove{by: f.RequiredName("by"), reason: f.Text("reason", engine.TextMax), bsaID: f.Text("bsaId", engine.FieldMax)}
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

// Record builds the record of the step. It moves a report as the caller's node has it. One that is
// closed without having been filed needs a reason.
func (s *ReportMove) Record(j *edge.Judge, row *fsm.SARRow) (*wire.SAR, error) {
	if s.to == wire.SARClosed && row.State != wire.SARFiled && strings.TrimSpace(s.reason) == "" {
		return nil, edge.MissingField("reason", "reason is required to close a report that was not filed")
	}
	var fragment strictjson.Members
	fragment.Text("by", s.by)
	fragment.Optional("reason", s.reason)
	fragment.Optional("bsaId", s.bsaID)
	var said strictjson.Members
	said.Uint("reviewedLeaf", row.Leaf)
	said.Text("to", fsm.SARState(s.to))
	common, err := j.RecordedSigned(fragment, edge.Statement{Act: "sar.moved", Said: said})
	if err != nil {
		return nil, err
	}
	record := &wire.SAR{Common: common, Op: wire.SARMove, Leaf: row.Leaf, From: row.State, To: s.to, Seen: row.Narrative}
	if s.bsaID != "" {
		record.Filing = sha256.Sum256([]byte(s.bsaID))
	}
	return record, nil
}
