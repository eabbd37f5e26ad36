package description

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
)

// The types of this room are what bodies hold. A struct is a closed object, a member
// that may be absent has omitempty, a pointer may be null. What a type cannot say
// stands in tags:
//
//	doc       what the member means
//	length    "1-FieldMax": the least and the most characters; either may be left out
//	range     "0-30": the least and the most
//	items     "1-BatchMax": the fewest and the most of an array
//	pattern   a regular expression
//	enum      the words that may stand there, with spaces between them
//	format    a format of JSON Schema
//	free      why an object is open
//	each      JSON that the schema of each item, or of each value of a map, holds besides
//	schema    JSON that the schema holds besides
//
// What is true of a whole struct stands in the tags of a field named _.

// Free is an object with any members; the tag free says why.
type Free map[string]any

// Number is a JSON number of any size. Amounts have at most six decimals and are at most a billion
// dollars, so that a double holds each exactly.
type Number json.Number

// Anything is any JSON value.
type Anything struct{}

var anything Anything

// schemaMaker makes schemas of Go types, and collects the named ones.
type schemaMaker struct {
	named map[string]Object // Schemas of the document's components.
	order []string
}

// refer returns the schema for a use of a type. A named type of this package becomes a
// reference, and is described once.
func (m *schemaMaker) refer(t reflect.Type) Object {
	if t.Kind() == reflect.Pointer {
		return m.allowNull(t.Elem())
	}
	if t.Name() == "" || t.PkgPath() == "" || t == reflect.TypeFor[Free]() || t == reflect.TypeFor[Number]() || t == reflect.TypeFor[Anything]() {
		return m.describe(t)
	}
	name := t.Name()
	if _, known := m.named[name]; !known {
		m.named[name] = nil // The type may refer to itself.
		m.order = append(m.order, name)
		m.named[name] = m.describe(t)
	}
	return Object{{"$ref", "#/components/schemas/" + name}}
}

func (m *schemaMaker) allowNull(t reflect.Type) Object {
	schema := m.refer(t)
	if kind, plain := schema.Get("type").(string); plain && t.Kind() != reflect.Struct {
		return schema.With("type", []string{kind, "null"})
	}
	return Object{{"oneOf", []any{Object{{"type", "null"}}, schema}}}
}

// describe returns the full schema of a type.
func (m *schemaMaker) describe(t reflect.Type) Object {
	if raw, ok := scalars[t.Name()]; ok && t.PkgPath() != "" {
		return readObject(raw)
	}
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[Number]() {
			return Object{{"type", "number"}, {"format", "double"}}
		}
		return Object{{"type", "string"}}
	case reflect.Int64:
		return Object{{"type", "integer"}, {"format", "int64"}}
	case reflect.Bool:
		return Object{{"type", "boolean"}}
	case reflect.Interface:
		return Object{}
	case reflect.Slice:
		return Object{{"type", "array"}, {"items", m.refer(t.Elem())}}
	case reflect.Map:
		if t == reflect.TypeFor[Free]() {
			return Object{{"type", "object"}, {"additionalProperties", true}}
		}
		return Object{{"type", "object"}, {"additionalProperties", m.refer(t.Elem())}}
	case reflect.Struct:
		if t == reflect.TypeFor[Anything]() {
			return Object{}
		}
		return m.describeStruct(t)
	}
	panic(fmt.Sprintf("BUG: %s has no JSON schema", t))
}

func (m *schemaMaker) describeStruct(t reflect.Type) Object {
	schema := Object{{"type", "object"}}
	var about reflect.StructTag
	var required []string
	properties := Object{}
	for field := range fieldsOf(t) {
		if field.Name == "_" {
			about = field.Tag
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options != "omitempty" {
			required = append(required, name)
		}
		properties = append(properties, Pair{name, addTags(m.refer(field.Type), field.Tag)})
	}
	if required != nil {
		schema = append(schema, Pair{"required", required})
	}
	if len(properties) > 0 {
		schema = append(schema, Pair{"properties", properties})
	}
	return addTags(append(schema, Pair{"additionalProperties", about.Get("free") != ""}), about)
}

// fieldsOf yields the fields of a struct; an embedded struct's fields replace it.
func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			field := t.Field(i)
			if field.Anonymous {
				for inner := range fieldsOf(field.Type) {
					if inner.Name != "_" && !yield(inner) {
						return
					}
				}
				continue
			}
			if !yield(field) {
				return
			}
		}
	}
}

// bounds are the bounds of the engine that a tag may name in place of a number, so that the
// number stands in engine/limits.go alone.
var bounds = map[string]int{
	"BatchMax": engine.BatchMax, "FieldMax": engine.FieldMax, "NameRunesMax": engine.NameRunesMax, "TextMax": engine.TextMax,
	"UserAgentsMax": engine.UserAgentsMax, "WhitelistMax": engine.WhitelistMax,
}

// boundNumber returns the number that a tag gives or names.
func boundNumber(text string) json.Number {
	if bound, named := bounds[text]; named {
		return json.Number(strconv.Itoa(bound))
	}
	return json.Number(text)
}

// spans are the tags that give a minimum and a maximum, with their names in JSON Schema.
var spans = []struct{ tag, least, most string }{
	{"length", "minLength", "maxLength"},
	{"range", "minimum", "maximum"},
	{"items", "minItems", "maxItems"},
}

// addTags adds to a schema what a member's tags say.
func addTags(schema Object, tag reflect.StructTag) Object {
	for _, span := range spans {
		least, most, _ := strings.Cut(tag.Get(span.tag), "-")
		if least != "" {
			schema = schema.With(span.least, boundNumber(least))
		}
		if most != "" {
			schema = schema.With(span.most, boundNumber(most))
		}
	}
	if words := tag.Get("enum"); words != "" {
		schema = schema.With("enum", strings.Fields(words))
	}
	for _, text := range []string{"pattern", "format"} {
		if value := tag.Get(text); value != "" {
			schema = schema.With(text, value)
		}
	}
	if reason := tag.Get("free"); reason != "" {
		schema = schema.With("x-free", reason)
	}
	if more := tag.Get("each"); more != "" {
		place := "items"
		if schema.Get(place) == nil {
			place = "additionalProperties"
		}
		schema = schema.With(place, append(schema.Get(place).(Object), readObject(more)...))
	}
	if more := tag.Get("schema"); more != "" {
		for _, member := range readObject(more) {
			schema = schema.With(member.Name, member.Value)
		}
	}
	if text := tag.Get("doc"); text != "" {
		schema = schema.With("description", text)
	}
	return schema
}

// Object is a JSON object whose members have an order.
type Object []Pair

// Pair is one member of an Object.
type Pair struct {
	Name  string
	Value any
}

// Get returns the value of a member, or nil.
func (o Object) Get(name string) any {
	for _, member := range o {
		if member.Name == name {
			return member.Value
		}
	}
	return nil
}

// With returns the object with a member set.
func (o Object) With(name string, value any) Object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
			return o
		}
	}
	return append(o, Pair{name, value})
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, member := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, member.Name), ':')
		value, err := json.Marshal(member.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

// readObject parses JSON that is written in this package's source.
func readObject(text string) Object {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, err := readValue(decoder)
	object, ok := value.(Object)
	if err != nil || !ok {
		panic("BUG: not a JSON object: " + text)
	}
	return object
}

func readValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := Object{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			object = append(object, Pair{name.(string), value})
		}
		_, err = decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = decoder.Token()
		return list, err
	}
	return token, nil
}
