package description

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentIsWhole: every operation is in the document, and every reference in it
// leads to a component.
func TestDocumentIsWhole(t *testing.T) {
	data, err := json.Marshal(Document())
	require.NoError(t, err)
	var document struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &document))
	var names []string
	for _, methods := range document.Paths {
		for _, operation := range methods {
			names = append(names, operation.OperationID)
		}
	}
	for _, operation := range Operations() {
		require.True(t, slices.Contains(names, operation.Name), operation.Name)
	}
	require.Len(t, names, len(Operations()))
	references := regexp.MustCompile(`"\$ref":"#/components/([a-z]+)/([A-Za-z0-9]+)"`).FindAllSubmatch(data, -1)
	require.Greater(t, len(references), 1000)
	for _, match := range references {
		require.Contains(t, document.Components[string(match[1])], string(match[2]))
	}
}

func TestQueryHelp(t *testing.T) {
	list := FindOperation("GET", "/v1/audit")
	require.Equal(t, "a time or a date", list.QueryHelp("from"))
	require.Equal(t, "1 to 500, default 50", list.QueryHelp("limit"))
	require.Empty(t, list.QueryHelp("nothing"))
}
