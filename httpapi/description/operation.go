package description

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Operation is one call of the public API.
type Operation struct {
	Name      string // Its id in the document.
	Route     string // Method and path.
	Tag       string
	Scope     Scope
	Roles     string // Any one is enough; separated by spaces. "": none is needed.
	Look      string // What a call of it looks at, where that is kept: the name of a kind of look (fsm/leaf).
	Outsiders string // Roles that are also enough for a key of an operator or a caller.
	Guest     string // The setting that switches the operation on.
	Summary   string
	Text      string

	Parameters string // Names of shared parameters, separated by spaces.
	Query      []Parameter

	Body    *Body
	Answers []Answer

	Refusals string // Statuses in addition to the usual ones of the operation's kind.
	Bare     bool   // Refusals is the complete list: a guest answers itself.
	Codes    Codes
}

// Scope says what a key with an operator's scope may do with an operation.
type Scope string

// The scopes.
const (
	Public      Scope = "public"
	Owner       Scope = "owner"
	Institution Scope = "institution"
	Reference   Scope = "reference"
)

// Codes maps a status to the operation's own error codes, separated by spaces.
type Codes map[int]string

// Parameter is a parameter of one operation's query.
type Parameter struct {
	Name     string
	Text     string
	Of       any // A value of the parameter's type; nil: a text of at least one character.
	Tags     reflect.StructTag
	Required bool
	Flag     bool // It needs no value.
	Path     bool // It is part of the path.
}

// Body is a request body of an operation.
type Body struct {
	Of       any // A value of the body's type.
	Tags     reflect.StructTag
	Example  string
	Optional bool
	YAML     bool // A body in YAML is accepted, too.
	Lines    bool // The body is lines; Of is a string.
}

// Answer is one answer of an operation.
type Answer struct {
	Status  int
	Text    string // "": Done.
	Of      any    // A value of the answer's type; nil: no JSON.
	Tags    reflect.StructTag
	Example string
	Headers string // Names of shared headers in addition to the usual ones; "-": no headers.
	Media   []Media
}

// Media is an answer in another media type, instead of JSON or as an alternative.
type Media struct {
	Type string
	Of   any    // A value of the answer's type; nil: bytes.
	Text string // Description in the schema.
}

// divideRoute returns the method and path of an operation.
func (o *Operation) divideRoute() (method, path string) {
	method, path, _ = strings.Cut(o.Route, " ")
	return strings.ToLower(method), path
}

// refusals returns the statuses with which an operation may be refused.
func (o *Operation) refusals() []int {
	statuses := []int{}
	if !o.Bare {
		statuses = append(statuses, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
			http.StatusRequestHeaderFieldsTooLarge, http.StatusInternalServerError, http.StatusServiceUnavailable)
		if o.Scope != Public {
			statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge)
		}
		if o.Body != nil {
			statuses = append(statuses, http.StatusUnsupportedMediaType)
		}
	}
	for word := range strings.FieldsSeq(o.Refusals) {
		status, err := strconv.Atoi(word)
		if err != nil {
			panic("BUG: " + o.Name + ": no status: " + word)
		}
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

// describe returns the operation as it stands in the document.
func (o *Operation) describe(m *schemaMaker) Object {
	out := Object{{"operationId", o.Name}, {"summary", o.Summary}}
	if o.Text != "" {
		out = append(out, Pair{"description", o.Text})
	}
	out = append(out, Pair{"tags", []string{o.Tag}}, Pair{"x-scope", o.Scope}, Pair{"x-roles", append([]string{}, strings.Fields(o.Roles)...)})
	if o.Outsiders != "" {
		out = append(out, Pair{"x-roles-of-outsiders", strings.Fields(o.Outsiders)})
	}
	if o.Guest != "" {
		out = append(out, Pair{"x-guest", o.Guest})
	}
	if o.Scope == Public {
		out = append(out, Pair{"security", []any{}})
	}
	if parameters := o.describeParameters(m); len(parameters) > 0 {
		out = append(out, Pair{"parameters", parameters})
	}
	if o.Body != nil {
		out = append(out, Pair{"requestBody", o.Body.describe(m)})
	}
	out = append(out, Pair{"responses", o.describeAnswers(m)})
	if len(o.Codes) > 0 {
		codes := Object{}
		for _, status := range slices.Sorted(maps.Keys(o.Codes)) {
			codes = append(codes, Pair{strconv.Itoa(status), strings.Fields(o.Codes[status])})
		}
		out = append(out, Pair{"x-codes", codes})
	}
	return out
}

func (o *Operation) describeParameters(m *schemaMaker) []any {
	var all []any
	for name := range strings.FieldsSeq(o.Parameters) {
		all = append(all, Object{{"$ref", "#/components/parameters/" + name + "Parameter"}})
	}
	for _, parameter := range o.Query {
		all = append(all, parameter.describe(m))
	}
	return all
}

func (p *Parameter) describe(m *schemaMaker) Object {
	out := Object{{"name", p.Name}, {"in", "query"}}
	if p.Path {
		out = out.With("in", "path")
	}
	if p.Text != "" {
		out = append(out, Pair{"description", p.Text})
	}
	if p.Required {
		out = append(out, Pair{"required", true})
	}
	if p.Flag {
		out = append(out, Pair{"allowEmptyValue", true})
	}
	schema := Object{{"type", "string"}, {"minLength", 1}}
	if p.Of != nil {
		schema = addTags(m.refer(reflect.TypeOf(p.Of)), p.Tags)
	}
	return append(out, Pair{"schema", schema})
}

func (b *Body) describe(m *schemaMaker) Object {
	content := Object{{"schema", addTags(m.refer(reflect.TypeOf(b.Of)), b.Tags)}}
	if b.Example != "" {
		content = append(content, Pair{"example", readObject(b.Example)})
	}
	all := Object{{"application/json", content}}
	if b.Lines {
		all = Object{{"application/x-ndjson", content}}
	}
	if b.YAML {
		all = append(all, Pair{"application/yaml", Object{{"schema", Object{{"type", "string"}}}}})
	}
	if b.Optional {
		return Object{{"content", all}}
	}
	return Object{{"required", true}, {"content", all}}
}

func (o *Operation) describeAnswers(m *schemaMaker) Object {
	out := Object{}
	for _, answer := range o.Answers {
		out = append(out, Pair{strconv.Itoa(answer.Status), answer.describe(m)})
	}
	for _, status := range o.refusals() {
		name := refusalNames[status]
		if special, ok := specialRefusals[o.Name][status]; ok {
			name = special
		}
		if out.Get(strconv.Itoa(status)) == nil {
			out = append(out, Pair{strconv.Itoa(status), Object{{"$ref", "#/components/responses/" + name + "Response"}}})
		}
	}
	return out
}

func (a *Answer) describe(m *schemaMaker) Object {
	out := Object{{"description", "Done."}}
	if a.Text != "" {
		out = out.With("description", a.Text)
	}
	if names, bare := strings.CutPrefix(a.Headers, "-"); names != "" || !bare {
		headers := Object{}
		if !bare {
			names = "RequestId Node Index Role Lineage " + names
		}
		for name := range strings.FieldsSeq(names) {
			headers = append(headers, Pair{headerNames[name], Object{{"$ref", "#/components/headers/" + name + "Header"}}})
		}
		out = append(out, Pair{"headers", headers})
	}
	content := Object{}
	if a.Of != nil {
		body := Object{{"schema", addTags(m.refer(reflect.TypeOf(a.Of)), a.Tags)}}
		if a.Example != "" {
			body = append(body, Pair{"example", readObject(a.Example)})
		}
		content = append(content, Pair{"application/json", body})
	}
	for _, media := range a.Media {
		body := Object{}
		if media.Of != nil {
			schema := m.refer(reflect.TypeOf(media.Of))
			if media.Text != "" {
				schema = schema.With("description", media.Text)
			}
			body = append(body, Pair{"schema", schema})
		}
		content = append(content, Pair{media.Type, body})
	}
	if len(content) > 0 {
		out = append(out, Pair{"content", content})
	}
	return out
}
