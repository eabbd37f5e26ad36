package description

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// Members are the names that an object may have. Each maps to the names of the nested object, or
// of the objects of the nested list; nil: there is neither.
type Members map[string]Members

var byRoute = sync.OnceValue(func() map[string]*Operation {
	all := map[string]*Operation{}
	operations := Operations()
	for i := range operations {
		all[variable.ReplaceAllString(operations[i].Route, "{}")] = &operations[i]
	}
	return all
})

var variable = regexp.MustCompile(`\{[^}]*\}`)

// FindOperation returns the operation of a method and path, or nil. Names of path
// parameters do not matter.
func FindOperation(method, path string) *Operation {
	return byRoute()[variable.ReplaceAllString(method+" "+path, "{}")]
}

// BodyMembers returns the names that the body's object may have; nil for an open object or
// no body.
func (o *Operation) BodyMembers() Members {
	if o.Body == nil {
		return nil
	}
	return membersOf(reflect.TypeOf(o.Body.Of))
}

func membersOf(t reflect.Type) Members {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Anything]() {
		return nil
	}
	members := Members{}
	for field := range fieldsOf(t) {
		if field.Name == "_" {
			if field.Tag.Get("free") != "" {
				return nil
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		members[name] = membersOf(field.Type)
	}
	return members
}

// QueryNames returns the names of the operation's own parameters and of the shared ones.
// The name of a flag, which needs no value, ends in ?.
func (o *Operation) QueryNames() []string {
	var names []string
	for _, parameter := range o.Query {
		switch {
		case parameter.Path:
		case parameter.Flag:
			names = append(names, parameter.Name+"?")
		default:
			names = append(names, parameter.Name)
		}
	}
	for name := range strings.FieldsSeq(o.Parameters) {
		if name == "limit" || name == "cursor" || name == "order" {
			names = append(names, name)
		}
	}
	return names
}

// AnswerMembers returns the names that the object of the first success may have; nil for an
// open object, and for an answer that is not JSON.
func (o *Operation) AnswerMembers() Members {
	for _, answer := range o.Answers {
		if answer.Of != nil && answer.Status/100 == 2 {
			return membersOf(reflect.TypeOf(answer.Of))
		}
	}
	return nil
}
