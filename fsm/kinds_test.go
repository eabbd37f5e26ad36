package fsm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/leaf"
)

// unseen are kinds that random histories do not write; each has a test of its own.
var unseen = []string{
	"agent.model_changed", "agent.whitelist", "clock.confirmed", "cluster.recovered", "cluster.restored", "due:hold.expired", "due:hold.unresolved", "due:key.expiring", "fleet.whitelist", "format.raised",
	"hold.released", "hold.settled", "key.looked", "user.refused", "webhook.changed", "webhook.dead_letter",
}

// Leaves of random histories have exactly the members of their kind's struct, in its order,
// after the head. A rare kind may take more than 20 of them.
func TestLeavesAreWrittenFromTheirStructs(t *testing.T) {
	seen := map[string]bool{}
	missing := func() (kinds []string) {
		for _, kind := range leaf.Kinds {
			if kind.Members != nil && !seen[kind.Name] {
				kinds = append(kinds, kind.Name)
			}
		}
		slices.Sort(kinds)
		return kinds
	}
	for seed := uint64(0); seed < 20 || seed < 80 && len(missing()) > len(unseen); seed++ {
		for _, data := range history(t, seed, 2500).leaves {
			if leaf.FormOf(data) != leaf.FormEvent {
				continue
			}
			kind := between(data, `"kind":"`, `"`)
			if kind == leaf.KindDue {
				kind += ":" + between(data, `"type":"`, `"`)
			}
			var known []string
			for _, m := range leaf.MembersOf(kind) {
				if !m.Edge {
					known = append(known, m.Name)
				}
			}
			seen[kind] = true
			at := -1
			for _, name := range namesOf(t, data) {
				if place := slices.Index(known, name); place >= 0 {
					require.Greater(t, place, at, "%s of %s", name, data)
					at = place
				}
			}
		}
	}
	require.Equal(t, unseen, missing())
}

// namesOf lists the names of a JSON object's members in their order.
func namesOf(t *testing.T, data []byte) (names []string) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	_, err := decoder.Token()
	require.NoError(t, err)
	for decoder.More() {
		name, err := decoder.Token()
		require.NoError(t, err)
		names = append(names, name.(string))
		var value json.RawMessage
		require.NoError(t, decoder.Decode(&value))
	}
	return names
}
