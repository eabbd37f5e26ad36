package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// parties registers two agents of an operator, and a user of the first.
func (w *world) parties() *fsm.IDs {
	for _, name := range []string{"a", "b"} {
		require.Equal(w.t, wire.Applied, w.apply(wire.KindRegister, &wire.Register{
			Operator: wire.OperatorRef{Name: "acme"},
			Profile: engine.AgentProfile{
				AgentName: name, OperatorLegalName: "Acme", Type: engine.Supervised,
				Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.NoLimit},
			},
			Basis: engine.Basis{List: w.machine.Freeze().Settings().ListVersion},
		}).Code)
	}
	settings := w.machine.Freeze().Settings()
	require.Equal(w.t, wire.Applied, w.apply(wire.KindUser, &wire.User{Profile: engine.UserProfile{LegalName: "Ann"}, Basis: engine.Basis{List: settings.ListVersion}}).Code)
	return fsm.NewIDs(settings.Genesis.IDKey)
}

// TestRevocationsEndAgain: a file of events ends the same again in the restored state, each as the
// last event about it says, and a party that the backup does not know changes nothing.
func TestRevocationsEndAgain(t *testing.T) {
	keys := keyPair(t)
	w := newWorld(t, "cluster-x")
	ids := w.parties()
	path, _ := w.save(keys, 0)
	first, second, user, operator := ids.AgentID(1), ids.AgentID(2), ids.UserID(1), ids.OperatorID(1)
	var lines []string
	tell := func(kind, member, id string) {
		lines = append(lines, fmt.Sprintf(`{"id":"evt_%d_0","type":"%s","data":{"%s":"%s"}}`, 1000+len(lines), kind, member, id))
	}
	tell("agent.suspended", "agentId", first)
	tell("agent.reissued", "agentId", first) // Which also lifts the suspension.
	tell("agent.suspended", "agentId", second)
	tell("agent.revoked", "agentId", second)
	tell("user.reissued", "userId", user)
	tell("user.suspended", "userId", user)
	tell("operator.suspended", "operatorId", operator)
	tell("operator.reinstated", "operatorId", operator)
	tell("key.sessions_ended", "keyId", "k")
	tell("key.rotated", "keyId", "k")
	tell("signing_key.revoked", "kid", "cc-v1")
	tell("agent.revoked", "agentId", ids.AgentID(77))
	tell("user.reissued", "userId", ids.UserID(77))
	tell("agent.reissued", "agentId", "agt_nobody")
	file := filepath.Join(t.TempDir(), "events")
	text := `{"completeTo":"17"}` + "\n" + strings.Join(lines, "\n") + "\n" + `{"id":"evt_9`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	restored, err := Restore([]string{path}, keys, Order{Dir: t.TempDir(), ID: "n1", Now: time.Unix(0, int64(start)).Add(time.Hour), Revocations: []string{file}})
	require.NoError(t, err)
	require.Equal(t, &Revoked{
		Events: len(lines), Unknown: 3, Known: "evt_1013", Applied: []string{
			"agent.reissued " + first, "user.reissued " + user, "key.sessions_ended k",
			"agent.revoked " + second, "user.suspended " + user, "key.rotated k", "signing_key.revoked cc-v1",
		},
	}, restored.Revoked)
	view := stateOf(t, restored).Freeze()
	_, agent, _ := view.Agent(1)
	require.EqualValues(t, 2, agent.CredentialVersion)
	require.Equal(t, engine.Revoked, view.Effective(2))
	row, _, _ := view.User(1)
	require.Equal(t, engine.Suspended, row.Status)
	require.NotZero(t, view.Settings().Keys[0].RevokedAt)
	require.NotZero(t, view.Settings().SigningKeys[0].RevokedAt)

	for what, line := range map[string]string{"no event's id": `{"id":"x","type":"agent.revoked","data":{}}`, "line 1": "}"} {
		require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
		_, err := readRevocations([]string{file})
		require.ErrorContains(t, err, what)
	}
}
