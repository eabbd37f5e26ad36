package description

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// refusal describes an answer that refuses a call.
type refusal struct {
	name, text string
	headers    string // Like Answer.Headers, but a leading - leaves only the headers after it.
	media      string // type=schema, separated by commas.
}

func (r *refusal) describe() Object {
	out := Object{{"description", r.text}}
	names, bare := strings.CutPrefix(r.headers, "-")
	if !bare {
		names = "RequestId Node Index Role Lineage " + names
	}
	headers := Object{}
	for name := range strings.FieldsSeq(names) {
		headers = append(headers, Pair{headerNames[name], Object{{"$ref", "#/components/headers/" + name + "Header"}}})
	}
	if len(headers) > 0 {
		out = append(out, Pair{"headers", headers})
	}
	content := Object{}
	for part := range strings.SplitSeq(cmp.Or(r.media, "application/json=Error,application/problem+json=Problem"), ",") {
		kind, schema, _ := strings.Cut(part, "=")
		content = append(content, Pair{kind, Object{{"schema", describeNamed(schema)}}})
	}
	return append(out, Pair{"content", content})
}

func describeNamed(name string) Object {
	if name == "string" {
		return Object{{"type", "string"}}
	}
	return Object{{"$ref", "#/components/schemas/" + name}}
}

// besides has types to which no operation refers. Refusals or the text refer to them.
var besides = []any{Error{}, Problem{}, GuestError{}, BatchPayment{}, StreamResult{}, StreamEnd{}}

// Operations returns all operations of the public API.
func Operations() []Operation {
	return slices.Concat(paymentsOperations, evidenceOperations, caseworkOperations, workOperations, sanctionsOperations, learningOperations, partiesOperations, registryOperations, rulebookOperations, operationsOperations)
}

// Document returns the OpenAPI document of all operations.
func Document() Object {
	m := &schemaMaker{named: map[string]Object{}}
	paths := Object{}
	for _, operation := range Operations() {
		if len(operation.Answers) == 0 {
			continue // What is never there is no call of anybody's.
		}
		method, path := operation.divideRoute()
		there, _ := paths.Get(path).(Object)
		paths = paths.With(path, there.With(method, operation.describe(m)))
	}
	for _, value := range besides {
		m.refer(reflect.TypeOf(value))
	}
	answers := Object{}
	for _, r := range refusals {
		answers = append(answers, Pair{r.name + "Response", r.describe()})
	}
	schemas := Object{}
	slices.Sort(m.order)
	for _, name := range m.order {
		schemas = append(schemas, Pair{name, m.named[name]})
	}
	paths, schemas = openAnswers(paths, schemas)
	return append(slices.Clone(preface), Pair{"paths", paths}, Pair{"components", Object{
		{"securitySchemes", readObject(`{"apiKey": {"type": "http", "scheme": "bearer", "description": "An API key, rg_live_..."}}`)},
		{"parameters", renamed(parameters, "Parameter")}, {"headers", renamed(headers, "Header")}, {"responses", answers}, {"schemas", schemas},
	}})
}

// renamed returns components with their kind behind their names. Generators of clients put components
// of all kinds into one package, so no two may have the same name.
func renamed(components []Pair, kind string) Object {
	out := slices.Clone(components)
	for i := range out {
		out[i].Name += kind
	}
	return out
}
