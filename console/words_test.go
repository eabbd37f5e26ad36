package console

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/events"
	"railguard/engine"
)

// TestPolicyDefaults: the defaults that the page names are those of the engine without a
// policy document.
func TestPolicyDefaults(t *testing.T) {
	text := string(newDesk(t, nil).c.files["/web/policywords.js"].data)
	found := regexp.MustCompile(`(?m)^const defaults = (\{.*\});$`).FindStringSubmatch(text)
	require.Len(t, found, 2)
	var flat map[string]any
	require.NoError(t, json.Unmarshal([]byte(found[1]), &flat))
	document := map[string]any{}
	for path, value := range flat {
		at := document
		parts := strings.Split(path, ".")
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = map[string]any{}
			}
			at = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = value
	}
	written, err := json.Marshal(document)
	require.NoError(t, err)
	policy, wrong := engine.ParsePolicy(written, 0, engine.NewestRules)
	require.Empty(t, wrong)
	want := engine.DefaultPolicy()
	policy.Document, want.Document = nil, nil
	require.EqualValues(t, 8750, policy.NameReview)
	require.EqualValues(t, 9300, policy.NameBlock)
	policy.NameReview, policy.NameBlock = want.NameReview, want.NameBlock // 0 in a policy means the list's own value, which these are.
	require.Empty(t, engine.Widens(want, policy), "the places of the default")
	require.Empty(t, engine.Widens(policy, want))
	policy.Jurisdictions = nil // What is not set is the default, which these are.
	require.Equal(t, want, policy)
}

// TestEventWords: the page has words for every event, and for no other.
func TestEventWords(t *testing.T) {
	text := string(newDesk(t, nil).c.files["/web/events.js"].data)
	var named []string
	for _, found := range regexp.MustCompile(`'([a-z_]+\.[a-z0-9_]+)': '[A-Z]`).FindAllStringSubmatch(text, -1) {
		named = append(named, found[1])
	}
	require.ElementsMatch(t, events.Types, named)
}
