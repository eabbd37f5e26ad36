package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"railguard/engine"
	"railguard/strictjson"
)

// YAML is taken for what a policy is: a tree of maps, lists and scalars. What
// YAML adds to that (aliases, tags, merges, several documents, keys that are no
// strings) is refused, and so is a key that stands twice: the same text must not
// mean two things to two readers.

var (
	errYAMLAlias     = errors.New("aliases and merges are not taken")
	errYAMLDocuments = errors.New("one document is expected")
	errYAMLDepth     = errors.New("nested too deeply")
)

// jsonFromYAML brings one YAML document to JSON.
func jsonFromYAML(text []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%s", firstLine(err.Error()))
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errYAMLDocuments
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, errYAMLDocuments
	}
	return appendYAML(nil, document.Content[0], 1)
}

func appendYAML(dst []byte, node *yaml.Node, depth int) ([]byte, error) {
	if depth > engine.JSONDepthMax {
		return nil, errYAMLDepth
	}
	switch node.Kind {
	case yaml.MappingNode:
		return appendYAMLMap(dst, node, depth)
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range node.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendYAML(dst, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case yaml.ScalarNode:
		return appendYAMLScalar(dst, node)
	}
	return nil, fmt.Errorf("line %d: %w", node.Line, errYAMLAlias)
}

func appendYAMLMap(dst []byte, node *yaml.Node, depth int) ([]byte, error) {
	if len(node.Content)/2 > engine.JSONMembersMax {
		return nil, fmt.Errorf("line %d: %w", node.Line, strictjson.ErrMembers)
	}
	seen := make(map[string]bool, len(node.Content)/2)
	dst = append(dst, '{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, fmt.Errorf("line %d: a key must be plain text", key.Line)
		}
		if seen[key.Value] {
			return nil, fmt.Errorf("line %d: the key %q stands twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuoted(dst, key.Value), ':')
		var err error
		if dst, err = appendYAML(dst, value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendYAMLScalar writes a scalar. A date is text: a holiday need not be quoted.
func appendYAMLScalar(dst []byte, node *yaml.Node) ([]byte, error) {
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return strictjson.AppendQuoted(dst, node.Value), nil
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var value bool
		if err := node.Decode(&value); err != nil {
			return nil, fmt.Errorf("line %d: not a boolean", node.Line)
		}
		return strconv.AppendBool(dst, value), nil
	case "!!int", "!!float":
		// A number is copied digit by digit, so that no cent is lost on the way.
		if _, err := engine.ParseUSD(node.Value); errors.Is(err, engine.ErrAmountSyntax) {
			return nil, fmt.Errorf("line %d: %q is not a decimal number", node.Line, node.Value)
		}
		return append(dst, node.Value...), nil
	}
	return nil, fmt.Errorf("line %d: the tag %s is not taken", node.Line, node.Tag)
}

func firstLine(text string) string {
	for i := range len(text) {
		if text[i] == '\n' {
			return text[:i]
		}
	}
	return text
}
