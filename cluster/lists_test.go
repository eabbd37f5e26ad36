package cluster

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/ofac"
)

// compiledList is a small list with one company of the name.
func compiledList(t testing.TB, name string) []byte {
	t.Helper()
	compiled, err := ofac.Build([]ofac.Entity{{
		UID: 7, Type: ofac.Company, Lists: ofac.ListSDN, Programs: []string{"TEST"},
		Names: []ofac.Name{{ID: 1, AliasType: "Name", Primary: true, Script: "Latin", Full: name}},
	}}, ofac.Meta{Source: name, PublishedAt: 1, Sample: true})
	require.NoError(t, err)
	return compiled
}

func stageList(t testing.TB, n *Node, compiled []byte) [32]byte {
	t.Helper()
	digest := ofac.Digest(compiled)
	r, err := n.Stage(t.Context(), compiled, wire.ListInfo{Digest: digest, Source: "test", Entries: 1, Sample: true}, wire.Common{})
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code, "%+v", r)
	return digest
}

func activateList(t testing.TB, n *Node, digest [32]byte) wire.Result {
	t.Helper()
	return propose(t, n, wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: digest}))
}

// A staged list is opened beside the apply goroutine; its activation takes the very
// index that was opened.
func TestStagedListIsOpenedAhead(t *testing.T) {
	n := openAlone(t, t.TempDir())
	digest := stageList(t, n, compiledList(t, "FIRST WORKS"))
	ahead := n.lists.ahead.Load()
	require.NotNil(t, ahead)
	require.Equal(t, digest, ahead.Digest())
	require.Nil(t, n.List(), "staged is not active")
	activateList(t, n, digest)
	require.Same(t, ahead, n.List())
	require.Nil(t, n.lists.ahead.Load())

	// One that is not ready in time is opened at its activation.
	digest = stageList(t, n, compiledList(t, "SECOND WORKS"))
	n.lists.ahead.Store(nil)
	activateList(t, n, digest)
	require.Equal(t, digest, n.List().Digest())

	// Another list's index is never taken for it.
	other := stageList(t, n, compiledList(t, "THIRD WORKS"))
	third := n.lists.ahead.Load()
	digest = stageList(t, n, compiledList(t, "FOURTH WORKS"))
	n.lists.ahead.Store(third)
	activateList(t, n, digest)
	require.Equal(t, digest, n.List().Digest())
	require.NotEqual(t, other, digest)
}

// Every node has every list of the last 90 days: from its own disk, or from that of
// another, also when its own folder is empty or damaged.
func TestListsOfAnEmptiedNode(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	digests := make([][32]byte, 3)
	for i := range digests {
		n := g.follower()
		digests[i] = stageList(t, n, compiledList(t, fmt.Sprintf("WORKS NUMBER %c", 'A'+i)))
		activateList(t, n, digests[i])
	}
	g.awaitEqual()
	emptied := g.follower()
	for i, digest := range digests[:2] {
		require.Eventually(t, func() bool { // Written beside the apply goroutine, on every node.
			for _, n := range g.all() {
				if _, err := os.Stat(n.lists.path(digest)); err != nil {
					return false
				}
			}
			return true
		}, 10*time.Second, 5*time.Millisecond)
		if i == 0 {
			require.NoError(t, os.Remove(emptied.lists.path(digest)))
		} else {
			require.NoError(t, os.WriteFile(emptied.lists.path(digest), []byte("not the list"), 0o600))
		}
		list, err := emptied.ListByDigest(digest)
		require.NoError(t, err)
		require.Equal(t, digest, list.Digest())
		require.FileExists(t, emptied.lists.path(digest), "kept now")
	}
	_, err := emptied.ListByDigest([32]byte{1})
	require.ErrorIs(t, err, ErrNoList)
}
