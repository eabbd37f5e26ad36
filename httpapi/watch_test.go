package httpapi

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	outside "railguard/audit/watch"
	"railguard/fsm/wire"
)

// An outside watcher follows the real log by proofs and by tiles, through key rotations,
// with only the first keys. It does not accept a lineage's name by itself.
func TestWatcherFollowsTheRealLog(t *testing.T) {
	n := newTestNode(t)
	server := httptest.NewServer(n.api.Handler())
	defer server.Close()
	keys := n.logText(t, "/log/keys")
	dir := t.TempDir()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	look := func(lineage string) []string {
		t.Helper()
		state, err := outside.OpenState(dir, keys)
		require.NoError(t, err)
		defer state.Close()
		w := outside.New(state, []*outside.Source{{Base: server.URL, HTTP: server.Client()}}, outside.Options{Silence: time.Hour, Lineage: lineage}, now)
		found, err := w.Step(context.Background(), now)
		require.NoError(t, err)
		var kinds []string
		for _, f := range found {
			kinds = append(kinds, f.Kind)
		}
		return kinds
	}
	require.Equal(t, []string{outside.KindFirst}, look(""))
	random := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		for range 5 {
			for range random.IntN(90) {
				n.screen("x", "")
			}
			n.checkpointNow(t)
			require.Equal(t, []string{outside.KindGrown}, look(""))
		}
		answer(t, n.doAdmin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`), 201)
		n.checkpointNow(t)
		require.Equal(t, []string{outside.KindRotation, outside.KindGrown}, look(""))
		require.Equal(t, []string{outside.KindSame}, look(""))
	}
	const lineage = "0123456789abcdef"
	n.must(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: lineage})
	name, _, _ := strings.Cut(n.checkpointNow(t), "\n")
	require.True(t, strings.HasSuffix(name, "/"+lineage), name)
	require.Equal(t, []string{outside.KindLineage}, look(""))
	keys = n.logText(t, "/log/keys")
	require.Equal(t, []string{outside.KindLineage}, look(""))
	require.Equal(t, []string{outside.KindMoved}, look(name))
	n.checkpointNow(t)
	require.Equal(t, []string{outside.KindGrown}, look(""))
}
