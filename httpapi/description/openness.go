package description

import (
	"slices"
	"strings"
)

// An answer may get more members within a version of the API, so the document leaves the objects of
// answers open: a client that was generated from it passes over what it does not know. What is sent
// stays closed, because a member that the service does not know is refused. An object that stands in
// both is open.

// openAnswers returns the paths and the schemas with the objects of all answers open.
func openAnswers(paths, schemas Object) (Object, Object) {
	answered := map[string]bool{"Error": true, "Problem": true, "GuestError": true}
	paths = slices.Clone(paths)
	for i := range paths {
		methods := slices.Clone(paths[i].Value.(Object))
		for j := range methods {
			operation := methods[j].Value.(Object)
			responses := opened(operation.Get("responses"))
			refersTo(responses, answered)
			methods[j].Value = operation.With("responses", responses)
		}
		paths[i].Value = methods
	}
	for before := 0; before < len(answered); {
		before = len(answered)
		for _, schema := range schemas {
			if answered[schema.Name] {
				refersTo(schema.Value, answered)
			}
		}
	}
	schemas = slices.Clone(schemas)
	for i := range schemas {
		if answered[schemas[i].Name] {
			schemas[i].Value = opened(schemas[i].Value)
		}
	}
	return paths, schemas
}

// refersTo adds the names of the schemas that a part of the document refers to.
func refersTo(part any, names map[string]bool) {
	switch part := part.(type) {
	case Object:
		for _, member := range part {
			if name, found := strings.CutPrefix(textOrNone(member.Value), "#/components/schemas/"); found && member.Name == "$ref" {
				names[name] = true
			}
			refersTo(member.Value, names)
		}
	case []any:
		for _, item := range part {
			refersTo(item, names)
		}
	}
}

func textOrNone(value any) string {
	text, _ := value.(string)
	return text
}

// opened returns a part of the document without the word that closes its objects.
func opened(part any) any {
	switch part := part.(type) {
	case Object:
		out := make(Object, 0, len(part))
		for _, member := range part {
			if member.Name != "additionalProperties" || member.Value != false {
				out = append(out, Pair{member.Name, opened(member.Value)})
			}
		}
		return out
	case []any:
		out := make([]any, len(part))
		for i := range part {
			out[i] = opened(part[i])
		}
		return out
	}
	return part
}
