package strictjson

import (
	"github.com/valyala/fastjson"

	"railguard/engine"
)

// Document is the room in which one JSON object is checked, parsed and read. It
// is reused; nothing may keep what it holds after reset. The zero value has read
// nothing: its fields are all absent.
type Document struct {
	validator Validator
	parser    *fastjson.Parser // nil before the first reading, and after a large one.
	oversized bool             // What was read last is more than a pool should keep room for.
	object    *fastjson.Object
	findings  findings
}

// Room that a document keeps for the next reading: a parser never shrinks by itself.
const (
	valuesKept = 1024
	bytesKept  = 64 * engine.KiB
)

// Read checks data, of at most so many values, and parses it. The error is one of this
// room's, for the caller to see. data must not change until reset.
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

// Fields reads the members from the start: what an earlier reading found is
// forgotten, what this one finds is collected in the document.
func (d *Document) Fields() Fields {
	d.findings = findings{}
	return Fields{object: d.object, validator: &d.validator, findings: &d.findings}
}

// Reset forgets what was read and keeps the room, unless it has become large.
func (d *Document) Reset() {
	if d.oversized {
		*d = Document{}
		return
	}
	d.validator.data, d.object, d.findings = nil, nil, findings{}
	d.validator.top, d.validator.names, d.validator.scratch = d.validator.top[:0], d.validator.names[:0], d.validator.scratch[:0]
}
