package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// keptKeys is a group whose state keeps four Idempotency-Keys.
type keptKeys struct {
	*testing.T
	*group
}

// call registers an agent under a name, as an edge of a node would.
func (k *keptKeys) call(n *Node, name string, idem wire.Idem) wire.Result {
	k.Helper()
	return propose(k, n, wire.KindRegister, k.record(name, idem))
}

func (k *keptKeys) record(name string, idem wire.Idem) []byte {
	body := wire.Register{
		Common:  wire.Common{Idem: &idem, Fragment: []byte(`"name":"` + name + `"`)},
		Profile: engine.AgentProfile{AgentName: name, OperatorLegalName: "Acme", Type: engine.Supervised}, Operator: wire.OperatorRef{Name: "Acme"},
	}
	return wire.Encode(&body)
}

// finds waits until a node finds the leaf of a key in its files.
func (k *keptKeys) finds(n *Node, idem wire.Idem, leaf uint64) {
	k.Helper()
	require.Eventually(k, func() bool {
		leaves, looked, err := n.KeyedLeaves(idem.Key)
		return err == nil && len(leaves) == 1 && leaves[0].Index == leaf && looked >= n.KeysFrom()
	}, groupPatience, 10*time.Millisecond)
}

// TestKeysOutliveEveryNode (line K3): each node finds the keys that the state has forgotten, also
// after a restart, without its files, and after it came back with an empty disk and got a snapshot.
func TestKeysOutliveEveryNode(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	limits.Idempotency = 4
	k := &keptKeys{t, newGroup(t, patient)}
	k.form(3)
	key := func(n int) wire.Idem {
		return wire.Idem{Key: [16]byte{1, byte(n), byte(n >> 8), 7}, Looked: wire.NeverUsed}
	}
	first := k.call(k.leader(), "first", key(0))
	require.Equal(t, wire.Applied, first.Code)
	for i := range 60 {
		require.Equal(t, wire.Applied, k.call(k.leader(), "other", key(1+i)).Code)
	}
	k.awaitEqual()
	for _, n := range k.all() {
		require.NotZero(t, n.KeysFrom())
		k.finds(n, key(0), first.Leaf)
	}
	again := key(0)
	again.Looked = 0
	result, err := k.follower().Propose(t.Context(), wire.KindRegister, k.record("first", again))
	require.NoError(t, err)
	require.Equal(t, wire.Stale, result.Code, "its edge has not looked")

	id := k.follower().NodeID()
	k.close(id)
	k.finds(k.open(id), key(0), first.Leaf)

	k.close(id)
	require.NoError(t, os.RemoveAll(filepath.Join(k.dir, id, "keys")))
	k.finds(k.open(id), key(0), first.Leaf)

	k.close(id)
	require.NoError(t, os.RemoveAll(filepath.Join(k.dir, id)))
	for _, n := range k.all() {
		reload := n.replica.raft.ReloadableConfig()
		reload.TrailingLogs = 1
		require.NoError(t, n.replica.raft.ReloadConfig(reload))
		require.NoError(t, n.replica.raft.Snapshot().Error())
	}
	came := k.open(id, expect(3), join(k.host("n1"), k.host("n2"), k.host("n3")))
	require.Eventually(t, func() bool { return came.audit.Size() > 60 }, groupPatience, 10*time.Millisecond)
	k.finds(came, key(0), first.Leaf)
	require.Equal(t, wire.Applied, k.call(k.leader(), "after", key(99)).Code)
	k.finds(came, key(0), first.Leaf)
}
