package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"railguard/engine"
)

// fields reads the members of one JSON object and collects what is wrong with
// them, so that a caller learns of all mistakes at once. null counts as absent,
// unknown members are ignored (decisions 5.1). Every string is copied out of
// the parser. Nested objects share the findings of their parent.
type fields struct {
	object   *fastjson.Object
	gate     *gate // Of the top object: raw literals as sent.
	path     string
	findings *findings
}

// findings is what was wrong with one body.
type findings struct {
	status  int // 422; 400 on a screening call.
	missing []Detail
	invalid []Detail
}

func (f *findings) err() error {
	list, code := f.missing, "missing_field"
	if len(list) == 0 {
		list, code = f.invalid, "invalid_field"
	}
	if len(list) == 0 {
		return nil
	}
	return &Error{Status: f.status, Code: code, Message: list[0].Param + " " + list[0].Message, Param: list[0].Param, Details: list}
}

// err returns the answer for all that was found: missing members first, as the
// check order of decisions 5.2 asks.
func (f *fields) err() error { return f.findings.err() }

// missing records that a required member is absent.
func (f *fields) missing(name string) {
	if len(f.findings.missing) < fieldErrorsMax {
		f.findings.missing = append(f.findings.missing, Detail{Param: f.path + name, Message: "is required"})
	}
}

// invalid records what is wrong with a member.
func (f *fields) invalid(name, message string) {
	if len(f.findings.invalid) < fieldErrorsMax {
		f.findings.invalid = append(f.findings.invalid, Detail{Param: f.path + name, Message: message})
	}
}

// get returns a member, nil when absent or null.
func (f *fields) get(name string) *fastjson.Value {
	if f.object == nil {
		return nil
	}
	v := f.object.Get(name)
	if v == nil || v.Type() == fastjson.TypeNull {
		return nil
	}
	return v
}

// has reports whether the member stands there at all, null included.
func (f *fields) has(name string) bool { return f.object != nil && f.object.Get(name) != nil }

// raw returns the member's JSON as sent, nil when absent or null. The bytes
// are a copy.
func (f *fields) raw(name string) []byte {
	v := f.get(name)
	if v == nil {
		return nil
	}
	if f.gate != nil {
		return append([]byte(nil), f.gate.raw(name)...)
	}
	return appendValue(nil, v)
}

// text reads an optional string of at most max bytes; "" when absent.
func (f *fields) text(name string, max int) string {
	return f.bounded(name, max, func(s string) int { return len(s) }, " bytes")
}

// name reads an optional name: at most engine.NameRunesMax characters.
func (f *fields) name(name string) string {
	return f.bounded(name, engine.NameRunesMax, utf8.RuneCountInString, " characters")
}

func (f *fields) bounded(name string, max int, size func(string) int, unit string) string {
	v := f.get(name)
	if v == nil {
		return ""
	}
	b, err := v.StringBytes()
	if err != nil {
		f.invalid(name, "must be a string")
		return ""
	}
	text := string(b)
	if size(text) > max {
		f.invalid(name, "must have at most "+strconv.Itoa(max)+unit)
		return ""
	}
	return text
}

// requiredText reads a string that must be there and not blank.
func (f *fields) requiredText(name string, max int) string {
	return f.demand(name, f.text(name, max))
}

// requiredName reads a name that must be there and not blank.
func (f *fields) requiredName(name string) string {
	return f.demand(name, f.name(name))
}

func (f *fields) demand(name, text string) string {
	v := f.get(name)
	if v == nil {
		f.missing(name)
		return ""
	}
	if v.Type() == fastjson.TypeString && strings.TrimSpace(string(v.GetStringBytes())) == "" {
		f.invalid(name, "must not be blank")
	}
	return text
}

// oneOf reads an optional string that must be one of the values; "" when absent.
func (f *fields) oneOf(name string, values ...string) string {
	v := f.get(name)
	if v == nil {
		return ""
	}
	b, err := v.StringBytes()
	if err == nil {
		for _, value := range values {
			if string(b) == value {
				return value
			}
		}
	}
	f.invalid(name, "must be one of "+strings.Join(values, ", "))
	return ""
}

// requiredOneOf is oneOf for a member that must be there.
func (f *fields) requiredOneOf(name string, values ...string) string {
	if f.get(name) == nil {
		f.missing(name)
		return ""
	}
	return f.oneOf(name, values...)
}

// usd reads an optional amount: engine.NoLimit and "" when absent, else the
// amount and its literal as sent.
func (f *fields) usd(name string) (engine.USD, string) {
	v := f.get(name)
	if v == nil {
		return engine.NoLimit, ""
	}
	if v.Type() != fastjson.TypeNumber {
		f.invalid(name, "must be a number >= 0")
		return engine.NoLimit, ""
	}
	literal := string(appendValue(nil, v))
	amount, err := engine.ParseUSD(literal)
	if err != nil {
		f.invalid(name, "must be a number from 0 to 1e12")
		return engine.NoLimit, ""
	}
	return amount, literal
}

// requiredUSD is usd for a member that must be there.
func (f *fields) requiredUSD(name string) (engine.USD, string) {
	if f.get(name) == nil {
		f.missing(name)
		return engine.NoLimit, ""
	}
	return f.usd(name)
}

// integer reads an optional whole number within [min, max].
func (f *fields) integer(name string, min, max int64) (int64, bool) {
	v := f.get(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(appendValue(nil, v)), 10, 64)
	if v.Type() != fastjson.TypeNumber || err != nil || n < min || n > max {
		f.invalid(name, "must be a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
		return 0, false
	}
	return n, true
}

// flag reads an optional boolean.
func (f *fields) flag(name string) (value, given bool) {
	v := f.get(name)
	if v == nil {
		return false, false
	}
	b, err := v.Bool()
	if err != nil {
		f.invalid(name, "must be true or false")
		return false, false
	}
	return b, true
}

// instant reads an optional RFC 3339 time.
func (f *fields) instant(name string) (engine.Time, bool) {
	text := f.text(name, engine.FieldMax)
	if text == "" {
		if v := f.get(name); v != nil && v.Type() == fastjson.TypeString {
			f.invalid(name, "must be an ISO 8601 time")
		}
		return 0, false
	}
	at, ok := parseTime(text)
	if !ok {
		f.invalid(name, "must be an ISO 8601 time")
	}
	return at, ok
}

// parseTime reads an RFC 3339 time, or a bare date as its first instant UTC.
func parseTime(text string) (engine.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, text); err != nil {
			return 0, false
		}
	}
	if t.Year() < 1970 || t.Year() > 2261 {
		return 0, false
	}
	return engine.Time(t.UnixNano()), true
}

// texts reads an optional list of at most count strings of at most max bytes.
// given tells an empty list from an absent one.
func (f *fields) texts(name string, count, max int) (values []string, given bool) {
	v := f.get(name)
	if v == nil {
		return nil, false
	}
	items, err := v.Array()
	if err != nil {
		f.invalid(name, "must be a list of strings")
		return nil, true
	}
	if len(items) > count {
		f.invalid(name, "must have at most "+strconv.Itoa(count)+" items")
		return nil, true
	}
	values = make([]string, 0, len(items))
	for i, item := range items {
		b, err := item.StringBytes()
		if err != nil || len(b) > max {
			f.invalid(name+"["+strconv.Itoa(i)+"]", "must be a string of at most "+strconv.Itoa(max)+" bytes")
			continue
		}
		values = append(values, string(b))
	}
	return values, true
}

// nested reads an optional object; ok is false when it is absent or not one.
func (f *fields) nested(name string) (inner fields, ok bool) {
	v := f.get(name)
	if v == nil {
		return fields{}, false
	}
	object, err := v.Object()
	if err != nil {
		f.invalid(name, "must be an object")
		return fields{}, false
	}
	return fields{object: object, path: f.path + name + ".", findings: f.findings}, true
}

// items reads an optional list of at most count objects and calls read for each.
func (f *fields) items(name string, count int, read func(fields)) (given bool) {
	v := f.get(name)
	if v == nil {
		return false
	}
	list, err := v.Array()
	if err != nil {
		f.invalid(name, "must be a list")
		return true
	}
	if len(list) > count {
		f.invalid(name, "must have at most "+strconv.Itoa(count)+" items")
		return true
	}
	for i, item := range list {
		at := name + "[" + strconv.Itoa(i) + "]"
		object, err := item.Object()
		if err != nil {
			f.invalid(at, "must be an object")
			continue
		}
		read(fields{object: object, path: f.path + at + ".", findings: f.findings})
	}
	return true
}

func newFindings() findings { return findings{status: http.StatusUnprocessableEntity} }
