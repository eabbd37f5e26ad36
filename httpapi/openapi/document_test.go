package openapi

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write openapi.yaml anew")

// TestWrittenDocument: openapi.yaml is the document that is served.
func TestWrittenDocument(t *testing.T) {
	data, err := Document()
	require.NoError(t, err)
	var node yaml.Node
	require.NoError(t, yaml.Unmarshal(data, &node)) // JSON is YAML.
	chooseStyle(node.Content[0], 0)
	var out bytes.Buffer
	out.WriteString("# Generated from httpapi/description: go test ./httpapi/openapi -update\n")
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	require.NoError(t, encoder.Encode(&node))
	if *update {
		require.NoError(t, os.WriteFile("openapi.yaml", out.Bytes(), 0o600))
	}
	written, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(written), out.String(), "go test ./httpapi/openapi -update")
}

// chooseStyle writes short values on one line, and others with one line per member.
func chooseStyle(node *yaml.Node, depth int) (length int) {
	node.Style = 0
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" && strings.HasPrefix(node.Value, "0x") {
		node.Style = yaml.DoubleQuotedStyle // Some readers take a bare one for a number.
	}
	length = len(node.Value)
	for _, child := range node.Content {
		length += 2 + chooseStyle(child, depth+1)
	}
	if depth > 2 && length < 120 && node.Kind != yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
	return length
}
