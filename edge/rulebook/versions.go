package rulebook

import (
	"slices"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// RaisedMatcher builds the record that changes the matcher version of all nodes. The caller has
// checked that all nodes support it.
func RaisedMatcher(j *edge.Judge, to uint16, grounds edge.Grounds) (*wire.Matcher, error) {
	var m strictjson.Members
	m.Uint("previousMatcherVersion", uint64(j.Terms.Settings.Matcher))
	grounds.Write(&m)
	common, err := j.Recorded(m)
	return &wire.Matcher{Common: common, To: to}, err
}

// RaisedFormat builds the record that changes the format of all nodes. The caller has checked
// that all nodes support it.
func RaisedFormat(j *edge.Judge, to engine.Format, grounds edge.Grounds) (*wire.FormatRaise, error) {
	var m strictjson.Members
	m.Uint("previousFormat", uint64(j.Terms.Settings.Format))
	grounds.Write(&m)
	common, err := j.Recorded(m)
	return &wire.FormatRaise{Common: common, To: to}, err
}

// ConfirmedTime builds the record by which a person says that it is not later than an instant, so
// that log time may leap up to it.
func ConfirmedTime(j *edge.Judge, notAfter engine.Time, grounds edge.Grounds) (*wire.TimeConfirm, error) {
	var m strictjson.Members
	m.Time("notAfter", notAfter)
	grounds.Write(&m)
	common, err := j.RecordedSigned(m, edge.Statement{Act: "clock.confirmed", Said: slices.Clone(m)})
	return &wire.TimeConfirm{Common: common, NotAfter: notAfter}, err
}

// advanceMax is how far one record may move the test clock.
const advanceMax = 1000 * engine.DayLength

// ClockAdvance moves log time forward in a cluster with a test clock.
type ClockAdvance struct {
	text string
	span engine.Time
}

// ReadClockAdvance reads advance, a span such as 25h.
func ReadClockAdvance(f *strictjson.Fields) (ClockAdvance, error) {
	text := f.RequiredText("advance", engine.FieldMax)
	span, ok := edge.ParseSpan(text)
	if text != "" && (!ok || span <= 0 || span > advanceMax) {
		f.Invalid("advance", "must be a span such as 25h or 91d, at most 1000d")
	}
	return ClockAdvance{text, span}, f.Err()
}

// Record builds the record.
func (a *ClockAdvance) Record(j *edge.Judge) (*wire.Clock, error) {
	var m strictjson.Members
	m.Text("advance", a.text)
	common, err := j.Recorded(m)
	return &wire.Clock{Common: common, Advance: a.span}, err
}
