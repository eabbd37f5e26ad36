package fsm

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// unseen are kinds that random histories do not write; each has a test of its own.
var unseen = []string{
	"act.withdrawn", "agent.model_changed", "agent.whitelist", "backup.drilled", "backup.schedule_changed", "backup.taken", "clock.confirmed", "cluster.recovered", "cluster.restored", "due:hold.expired", "due:hold.unresolved", "due:key.expiring", "due:second_look.lapsed", "fleet.whitelist", "format.raised",
	"hold.released", "hold.settled", "key.looked", "key.reinstated", "key.signed_in", "passkey.added", "passkey.removed", "payment.confirmed", "payment.redeemed", "person.ended", "reconciliation.done", "second_look.answered", "user.refused", "webhook.changed", "webhook.dead_letter", "work.changed",
}

// Leaves of random histories have exactly the members of their kind's struct, in its order,
// after the head. Agents are old enough to retire only a month after each history.
func TestLeavesAreWrittenFromTheirStructs(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20) {
		w, random := history(t, seed, 2500), rand.New(rand.NewPCG(seed, 17))
		w.retireSome(random)
		for range 2 {
			w.now += w.m.limits.AgentValidity/2 + engine.DayLength
			w.tick()
		}
		w.retireSome(random)
		for _, data := range w.leaves {
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
	var missing []string
	for _, kind := range leaf.Kinds {
		if kind.Members != nil && !seen[kind.Name] {
			missing = append(missing, kind.Name)
		}
	}
	slices.Sort(missing)
	require.Equal(t, unseen, missing)
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
