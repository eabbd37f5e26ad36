package contract

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"railguard/httpapi/openapi"
)

// Contract is the compiled document. It is safe for concurrent use.
type Contract struct {
	Operations []*Operation // Sorted by path, then by method.

	root     map[string]any
	compiler *jsonschema.Compiler
	common   map[string][]string // Codes that any operation may answer with, by status.
	strange  []*Answer           // Answers to requests that are no operation.

	mutex   sync.Mutex
	schemas map[string]*jsonschema.Schema // Schemas, by their place in the document.
	seen    map[string]bool               // "METHOD /path status".
}

// Operation is one method of one path.
type Operation struct {
	Method  string
	Path    string
	Scope   string
	Roles   []string
	Query   []Parameter
	Body    Body // The body of the request.
	Answers []*Answer
	Codes   map[string][]string // Its own codes, by status.
	Guest   string              // The handler in front of the API that answers it; "": the API.

	segments []string
}

// Parameter is a parameter of the query.
type Parameter struct {
	Name   string
	Flag   bool   // Needs no value.
	Schema string // Its place in the document.
}

// Body describes the bodies that may be sent.
type Body struct {
	Schema   string // Its place in the document; "": none.
	Required bool
	YAML     bool // YAML is accepted too.
	Lines    bool // The body is lines, which have no schema of their own.
}

// Answer is one status of an operation.
type Answer struct {
	Status  string
	Shared  bool              // A component that any operation may answer with.
	Content map[string]string // Schema's place by media type; "": no schema.
	Headers map[string]header
}

type header struct {
	required bool
	place    string
}

const resource = "railguard:openapi.json"

// Load reads the document that the service serves.
func Load() (*Contract, error) {
	data, err := openapi.Document()
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	c := &Contract{schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}, compiler: jsonschema.NewCompiler()}
	closeObjects(value)
	c.root, _ = value.(map[string]any)
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource(resource, value); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	c.common = wordLists(c.root["x-common-codes"])
	for path, item := range object(c.root["paths"]) {
		for method, operation := range object(item) {
			c.Operations = append(c.Operations, c.operation(path, method, object(operation)))
		}
	}
	sort.Slice(c.Operations, func(i, j int) bool {
		return c.Operations[i].Path+" "+c.Operations[i].Method < c.Operations[j].Path+" "+c.Operations[j].Method
	})
	for name := range object(c.at("/components/responses")) {
		place := "/components/responses/" + name
		c.strange = append(c.strange, c.answer(name, place))
	}
	return c, nil
}

// closeObjects makes what the document leaves open for additions strict: the service under test answers
// with no member and no word that its document does not have.
func closeObjects(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, isSchema := v["properties"].(map[string]any); isSchema && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		if words, extensible := v["x-extensible-enum"]; extensible {
			v["enum"] = words
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

func (c *Contract) operation(path, method string, said map[string]any) *Operation {
	place := "/paths/" + escape(path) + "/" + method
	o := &Operation{Method: strings.ToUpper(method), Path: path, segments: strings.Split(path, "/"), Codes: wordLists(said["x-codes"])}
	o.Scope, _ = said["x-scope"].(string)
	o.Guest, _ = said["x-guest"].(string)
	o.Roles = words(said["x-roles"])
	for i := range list(said["parameters"]) {
		at, parameter := c.resolve(fmt.Sprintf("%s/parameters/%d", place, i))
		if parameter["in"] != "query" {
			continue
		}
		name, _ := parameter["name"].(string)
		o.Query = append(o.Query, Parameter{Name: name, Flag: parameter["allowEmptyValue"] == true, Schema: at + "/schema"})
	}
	if body := object(said["requestBody"]); body != nil {
		o.Body.Required = body["required"] == true
		content := object(body["content"])
		if content["application/json"] != nil {
			o.Body.Schema = place + "/requestBody/content/application~1json/schema"
		}
		o.Body.Lines = content["application/x-ndjson"] != nil
		o.Body.YAML = content["application/yaml"] != nil
	}
	for status := range object(said["responses"]) {
		o.Answers = append(o.Answers, c.answer(status, place+"/responses/"+status))
	}
	return o
}

func (c *Contract) answer(status, place string) *Answer {
	at, said := c.resolve(place)
	a := &Answer{Status: status, Shared: at != place, Content: map[string]string{}, Headers: map[string]header{}}
	for media, content := range object(said["content"]) {
		a.Content[media] = ""
		if object(content)["schema"] != nil {
			a.Content[media] = at + "/content/" + escape(media) + "/schema"
		}
	}
	for name := range object(said["headers"]) {
		where, one := c.resolve(at + "/headers/" + name)
		a.Headers[name] = header{required: one["required"] == true, place: where + "/schema"}
	}
	return a
}

// find returns the operation of a request, or nil. known says that the path has other
// methods.
func (c *Contract) find(method, path string) (found *Operation, known bool) {
	if method == "HEAD" {
		method = "GET"
	}
	given, least := strings.Split(path, "/"), -1
	var best string
	for _, o := range c.Operations {
		if n, ok := matches(o.segments, given); ok && (least < 0 || n <= least) {
			if n < least || o.Path != best {
				found = nil // A path with fewer placeholders fits better.
			}
			least, best = n, o.Path
			if o.Method == method {
				found = o
			}
		}
	}
	return found, least >= 0
}

// matches tells whether a path fits a template, and how many placeholders it fills. The
// last placeholder of a tile takes the whole rest.
func matches(template, given []string) (places int, ok bool) {
	for i, segment := range template {
		if i >= len(given) {
			return 0, false
		}
		switch {
		case segment == "{index}" && i == len(template)-1:
			return places + 1, given[i] != ""
		case strings.HasPrefix(segment, "{"):
			places++
		case segment != given[i]:
			return 0, false
		}
	}
	return places, len(template) == len(given)
}

// Schema is the compiled schema at a place of the document.
func (c *Contract) Schema(place string) (*jsonschema.Schema, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known := c.schemas[place]; known != nil {
		return known, nil
	}
	schema, err := c.compiler.Compile(resource + "#" + place)
	if err != nil {
		return nil, fmt.Errorf("schema at %s: %w", place, err)
	}
	c.schemas[place] = schema
	return schema, nil
}

// Members returns the names that the object at a place declares. Names inside objects or
// lists of objects follow behind a dot.
func (c *Contract) Members(place string) []string {
	var names []string
	c.members(place, "", &names)
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *Contract) members(place, prefix string, names *[]string) {
	at, said := c.resolve(place)
	if said["x-free"] != nil {
		return
	}
	for name := range object(said["properties"]) {
		*names = append(*names, prefix+name)
		c.members(at+"/properties/"+escape(name), prefix+name+".", names)
	}
	if said["items"] != nil {
		c.members(at+"/items", prefix, names)
	}
	for i := range list(said["oneOf"]) {
		c.members(fmt.Sprintf("%s/oneOf/%d", at, i), prefix, names)
	}
}

// resolve follows references from a place to their target.
func (c *Contract) resolve(place string) (string, map[string]any) {
	for {
		said := object(c.at(place))
		target, ok := said["$ref"].(string)
		if !ok {
			return place, said
		}
		place = strings.TrimPrefix(target, "#")
	}
}

func (c *Contract) at(place string) any {
	var value any = c.root
	for _, step := range strings.Split(place, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func escape(step string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(step) }

func object(value any) map[string]any { o, _ := value.(map[string]any); return o }

func list(value any) []any { l, _ := value.([]any); return l }

func words(value any) []string {
	var all []string
	for _, item := range list(value) {
		word, _ := item.(string)
		all = append(all, word)
	}
	return all
}

func wordLists(value any) map[string][]string {
	all := map[string][]string{}
	for name, item := range object(value) {
		all[name] = words(item)
	}
	return all
}
