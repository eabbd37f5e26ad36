package strictjson

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"railguard/engine"
)

// Fields reads the members of one JSON object and collects the errors, so that a caller learns
// of all of them at once. null counts as absent. Unknown members are found with a Shape.
// Strings are copies. Nested objects share the findings of their parent.
type Fields struct {
	object    *fastjson.Object
	validator *Validator // The validator of the top object, which has the raw literals as they were sent.
	path      string
	findings  *findings
}

// Finding says what is wrong with one member.
type Finding struct {
	Param   string
	Message string
	Extra   Members // Further members of the finding, for the caller.
}

// findings are all errors of one body.
type findings struct{ unknown, missing, invalid []Finding }

// FindingsMax bounds how many findings of each kind are reported for one body.
const FindingsMax = 32

// InvalidBody is the error of a body that is JSON but has invalid, missing or unknown members.
// Code is missing_field, invalid_field or unknown_field; Findings has at least one.
type InvalidBody struct {
	Code     string
	Findings []Finding
}

func (e *InvalidBody) Error() string {
	return e.Findings[0].Param + " " + e.Findings[0].Message
}

// Err returns the findings as an error, nil if there are none. Unknown members come first,
// because they may be misspellings of the missing ones, which follow. Invalid members come
// last.
func (f *Fields) Err() error {
	if found := f.findings; len(found.unknown) > 0 {
		return &InvalidBody{Code: "unknown_field", Findings: slices.Concat(found.unknown, found.missing, found.invalid)}
	}
	list, code := f.findings.missing, "missing_field"
	if len(list) == 0 {
		list, code = f.findings.invalid, "invalid_field"
	}
	if len(list) == 0 {
		return nil
	}
	return &InvalidBody{Code: code, Findings: list}
}

// Missing records that a required member is absent.
func (f *Fields) Missing(name string) {
	if len(f.findings.missing) < FindingsMax {
		f.findings.missing = append(f.findings.missing, Finding{Param: f.path + name, Message: "is required"})
	}
}

// Invalid records what is wrong with a member.
func (f *Fields) Invalid(name, message string) {
	if len(f.findings.invalid) < FindingsMax {
		f.findings.invalid = append(f.findings.invalid, Finding{Param: f.path + name, Message: message})
	}
}

// Get returns a member, nil if it is absent or null.
func (f *Fields) Get(name string) *fastjson.Value {
	if f.object == nil {
		return nil
	}
	v := f.object.Get(name)
	if v == nil || v.Type() == fastjson.TypeNull {
		return nil
	}
	return v
}

// Has reports whether the object has the member, even as null.
func (f *Fields) Has(name string) bool { return f.object != nil && f.object.Get(name) != nil }

// Names returns the names of all members, as they stand.
func (f *Fields) Names() (names []string) {
	if f.object != nil {
		f.object.Visit(func(name []byte, _ *fastjson.Value) { names = append(names, string(name)) })
	}
	return names
}

// Text reads an optional string of at most max bytes; "" when absent.
func (f *Fields) Text(name string, max int) string {
	return f.boundedText(name, max, func(s string) int { return len(s) }, " bytes")
}

// Name reads an optional name: at most engine.NameRunesMax characters.
func (f *Fields) Name(name string) string {
	return f.boundedText(name, engine.NameRunesMax, utf8.RuneCountInString, " characters")
}

func (f *Fields) boundedText(name string, max int, size func(string) int, unit string) string {
	v := f.Get(name)
	if v == nil {
		return ""
	}
	b, err := v.StringBytes()
	if err != nil {
		f.Invalid(name, "must be a string")
		return ""
	}
	text := string(b)
	if size(text) > max {
		f.tooLong(name, max, unit)
		return ""
	}
	return text
}

func (f *Fields) tooLong(name string, max int, unit string) {
	f.Invalid(name, "must have at most "+strconv.Itoa(max)+unit)
}

// RequiredText reads a string that must be present and not blank.
func (f *Fields) RequiredText(name string, max int) string {
	return f.requireText(name, f.Text(name, max))
}

// RequiredName reads a name that must be present and not blank.
func (f *Fields) RequiredName(name string) string {
	return f.requireText(name, f.Name(name))
}

func (f *Fields) requireText(name, text string) string {
	v := f.Get(name)
	if v == nil {
		f.Missing(name)
		return ""
	}
	if v.Type() == fastjson.TypeString && strings.TrimSpace(string(v.GetStringBytes())) == "" {
		f.Invalid(name, "must not be blank")
	}
	return text
}

// OneOf reads an optional string that must be one of the values; "" when absent.
func (f *Fields) OneOf(name string, values ...string) string {
	v := f.Get(name)
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
	f.Invalid(name, "must be one of "+strings.Join(values, ", "))
	return ""
}

// RequiredOneOf is OneOf for a required member.
func (f *Fields) RequiredOneOf(name string, values ...string) string {
	if f.Get(name) == nil {
		f.Missing(name)
		return ""
	}
	return f.OneOf(name, values...)
}

// readUSD reads an optional amount. It returns the amount and its literal as sent, or
// engine.NoLimit and "" if it is absent.
func (f *Fields) readUSD(name string) (engine.USD, string) {
	v := f.Get(name)
	if v == nil {
		return engine.NoLimit, ""
	}
	if v.Type() != fastjson.TypeNumber {
		f.Invalid(name, "must be a number >= 0")
		return engine.NoLimit, ""
	}
	literal := string(AppendValue(nil, v))
	amount, err := engine.ParseUSD(literal)
	if err != nil {
		f.Invalid(name, engine.WhyNotUSD(err))
		return engine.NoLimit, ""
	}
	return amount, literal
}

// RequiredUSD is readUSD for a required member.
func (f *Fields) RequiredUSD(name string) (engine.USD, string) {
	if f.Get(name) == nil {
		f.Missing(name)
		return engine.NoLimit, ""
	}
	return f.readUSD(name)
}

// Integer reads an optional whole number within [min, max].
func (f *Fields) Integer(name string, min, max int64) (int64, bool) {
	v := f.Get(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(AppendValue(nil, v)), 10, 64)
	if v.Type() != fastjson.TypeNumber || err != nil || n < min || n > max {
		f.Invalid(name, "must be a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
		return 0, false
	}
	return n, true
}

// Flag reads an optional boolean.
func (f *Fields) Flag(name string) (value, given bool) {
	v := f.Get(name)
	if v == nil {
		return false, false
	}
	b, err := v.Bool()
	if err != nil {
		f.Invalid(name, "must be true or false")
		return false, false
	}
	return b, true
}

// Instant reads an optional RFC 3339 time.
func (f *Fields) Instant(name string) (engine.Time, bool) {
	text := f.Text(name, engine.FieldMax)
	if text == "" {
		if v := f.Get(name); v != nil && v.Type() == fastjson.TypeString {
			f.Invalid(name, "must be an ISO 8601 time")
		}
		return 0, false
	}
	at, ok := ParseTime(text)
	if !ok {
		f.Invalid(name, "must be an ISO 8601 time")
	}
	return at, ok
}

// ParseTime reads an RFC 3339 time, or a bare date as its first instant in UTC.
func ParseTime(text string) (engine.Time, bool) {
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

// Texts reads an optional list of at most count strings of at most max bytes. given
// distinguishes an empty list from an absent one.
func (f *Fields) Texts(name string, count, max int) (values []string, given bool) {
	v := f.Get(name)
	if v == nil {
		return nil, false
	}
	items, err := v.Array()
	if err != nil {
		f.Invalid(name, "must be a list of strings")
		return nil, true
	}
	if len(items) > count {
		f.Invalid(name, "must have at most "+strconv.Itoa(count)+" items")
		return nil, true
	}
	values = make([]string, 0, len(items))
	for i, item := range items {
		b, err := item.StringBytes()
		if err != nil || len(b) > max {
			f.Invalid(elementPath(name, i), "must be a string of at most "+strconv.Itoa(max)+" bytes")
			continue
		}
		values = append(values, string(b))
	}
	return values, true
}

// elementPath returns the path of a list's element.
func elementPath(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

// Nested reads an optional object; ok is false when it is absent or not one.
func (f *Fields) Nested(name string) (inner Fields, ok bool) {
	v := f.Get(name)
	if v == nil {
		return Fields{}, false
	}
	object, err := v.Object()
	if err != nil {
		f.Invalid(name, "must be an object")
		return Fields{}, false
	}
	return Fields{object: object, path: f.path + name + ".", findings: f.findings}, true
}

// Items reads an optional list of at most count objects and calls read for each.
func (f *Fields) Items(name string, count int, read func(Fields)) (given bool) {
	v := f.Get(name)
	if v == nil {
		return false
	}
	list, err := v.Array()
	if err != nil {
		f.Invalid(name, "must be a list")
		return true
	}
	if len(list) > count {
		f.Invalid(name, "must have at most "+strconv.Itoa(count)+" items")
		return true
	}
	for i, item := range list {
		at := elementPath(name, i)
		object, err := item.Object()
		if err != nil {
			f.Invalid(at, "must be an object")
			continue
		}
		read(Fields{object: object, path: f.path + at + ".", findings: f.findings})
	}
	return true
}

// Report adds the errors that a compiler of package engine found.
func (f *Fields) Report(wrong []engine.FieldError) {
	for _, e := range wrong {
		list := &f.findings.invalid
		if e.Unknown {
			list = &f.findings.unknown
		}
		if len(*list) < FindingsMax {
			*list = append(*list, Finding{Param: f.path + e.Param, Message: e.Message})
		}
	}
}

// Compact returns a member's JSON without white space, nil if it is absent or null. Documents
// are stored in this form only, so that a leaf and a profile render to the same bytes.
func (f *Fields) Compact(name string) []byte {
	v := f.Get(name)
	if v == nil {
		return nil
	}
	return AppendValue(nil, v)
}

// JSON returns the whole object without white space.
func (f *Fields) JSON() []byte { return appendObject(nil, f.object) }

// WithoutNulls returns the whole object without white space and without members that are
// null.
func (f *Fields) WithoutNulls() []byte {
	dst := []byte{'{'}
	f.object.Visit(func(key []byte, v *fastjson.Value) {
		if v.Type() == fastjson.TypeNull {
			return
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(AppendQuoted(dst, string(key)), ':')
		dst = AppendValue(dst, v)
	})
	return append(dst, '}')
}
