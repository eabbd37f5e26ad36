package strictjson

import (
	"github.com/valyala/fastjson"

	"railguard/engine"
)

// Document checks, parses and reads one JSON object. It is reused; nothing may keep its content
// after Reset. In the zero value all members are absent.
type Document struct {
	validator Validator
	parser    *fastjson.Parser // nil before the first reading, and after a large one.
	oversized bool             // The last reading was larger than a pool should keep memory for.
	object    *fastjson.Object
	findings  findings
}

// A document that has read more than this drops its memory at Reset, because a parser never
// shrinks by itself.
const (
	valuesKept = 1024
	bytesKept  = 64 * engine.KiB
)

// Read checks data, which may have at most so many values, and parses it. Its errors are those
// of this package and may be shown to the caller. data must not change until Reset.
func (d *Document) Read(data []byte, values int) error {
	err := d.validator.Check(data, values)
	d.oversized = d.oversized || values-d.validator.values > valuesKept || len(data) > bytesKept
	if err != nil {
		return err
	}
	if d.parser == nil {
		d.parser = new(fastjson.Parser)
	}
	value, err := d.parser.ParseBytes(data)
	if err != nil {
		return ErrSyntax
	}
	if d.object, err = value.Object(); err != nil {
		return ErrTop
	}
	return nil
}

// Raw returns a member of the object as it was sent, nil when it is absent.
func (d *Document) Raw(name string) []byte { return d.validator.Raw(name) }

// Fields returns a reader of the members. It drops the findings of an earlier reader.
func (d *Document) Fields() Fields {
	d.findings = findings{}
	return Fields{object: d.object, validator: &d.validator, findings: &d.findings}
}

// Reset forgets what was read. It keeps the memory for the next reading unless it is large.
func (d *Document) Reset() {
	if d.oversized {
		*d = Document{}
		return
	}
	d.validator.data, d.object, d.findings = nil, nil, findings{}
	d.validator.top, d.validator.names, d.validator.scratch = d.validator.top[:0], d.validator.names[:0], d.validator.scratch[:0]
}
