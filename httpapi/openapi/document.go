package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var source []byte

// shared holds what operations merge in; it is the writer's, not the reader's.
const shared = "x-shared"

// Document is the document as JSON, its members in the order of openapi.yaml. It is
// made once; a test holds that it can be made.
var Document = sync.OnceValues(func() ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("document: not one object")
	}
	var out bytes.Buffer
	err := appendNode(&out, root.Content[0])
	return out.Bytes(), err
})

// appendNode writes a node as JSON.
func appendNode(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.AliasNode:
		return appendNode(out, node.Alias)
	case yaml.MappingNode:
		return appendMapping(out, node)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := appendNode(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	var value any = node.Value
	if node.Tag != "!!str" && node.Tag != "!!timestamp" {
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("document: line %d: %w", node.Line, err)
		}
	}
	data, err := json.Marshal(value)
	out.Write(data)
	return err
}

// appendMapping writes a mapping as a JSON object: what it merges in first, each
// member once, the mapping's own before what is merged.
func appendMapping(out *bytes.Buffer, node *yaml.Node) error {
	var all members
	if err := all.add(node); err != nil {
		return err
	}
	out.WriteByte('{')
	for i, name := range all.names {
		if i > 0 {
			out.WriteByte(',')
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		out.Write(quoted)
		out.WriteByte(':')
		if err := appendNode(out, all.values[name]); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// members are those of a mapping, in order.
type members struct {
	names  []string
	values map[string]*yaml.Node
}

// add puts in what a mapping merges, then its own.
func (m *members) add(node *yaml.Node) error {
	if m.values == nil {
		m.values = map[string]*yaml.Node{}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		merged := node.Content[i+1]
		if merged.Kind != yaml.AliasNode || merged.Alias.Kind != yaml.MappingNode {
			return fmt.Errorf("document: line %d: only one anchor is merged at a time", merged.Line)
		}
		if err := m.add(merged.Alias); err != nil {
			return err
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if node.Content[i].Tag == "!!merge" || name == shared {
			continue
		}
		if _, known := m.values[name]; !known {
			m.names = append(m.names, name)
		}
		m.values[name] = node.Content[i+1]
	}
	return nil
}
