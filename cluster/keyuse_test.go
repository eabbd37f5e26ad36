package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
)

// TestUseOfKeysReachesTheOthers: each node learns the use of keys on all others, and forgets
// that of a node that does not answer.
func TestUseOfKeysReachesTheOthers(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	tell := func() {
		for id, n := range g.all() {
			n.Neighbours().TellUse([]report.KeyUse{{Key: "key_a", Milli: 10}, {Key: "key_" + id, Milli: 1}})
		}
	}
	require.Eventually(t, func() bool {
		tell()
		use := g.all()["n1"].Neighbours().OthersUse()
		return len(use) == 3 && use["key_a"] == 20 && use["key_n2"] == 1 && use["key_n3"] == 1
	}, 10*time.Second, 20*time.Millisecond)
	g.close("n3")
	require.Eventually(t, func() bool {
		tell()
		return g.all()["n1"].Neighbours().OthersUse()["key_a"] == 10
	}, 10*time.Second, 20*time.Millisecond)
	g.all()["n2"].use.told.Store(&toldUse{at: time.Now().Add(-time.Hour)})
	require.Eventually(t, func() bool { return len(g.all()["n1"].Neighbours().OthersUse()) == 0 }, 10*time.Second, 20*time.Millisecond)
}

// TestCosignedReachesTheOthers: all other nodes learn what witnesses cosigned for one node,
// unless it is too large.
func TestCosignedReachesTheOthers(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	told := report.Cosigned{Size: 7, Time: 5, Lines: []string{"— witness AAAA\n"}}
	g.all()["n1"].Neighbours().TellCosigned(told)
	g.all()["n1"].Neighbours().TellCosigned(report.Cosigned{Size: 8, Lines: []string{strings.Repeat("x", 65<<10)}})
	for _, id := range []string{"n2", "n3"} {
		require.Eventually(t, func() bool {
			others := g.all()[id].Neighbours().OthersCosigned()
			return len(others) == 1 && others[0].Size == 7 && others[0].Time == 5 && others[0].Lines[0] == told.Lines[0]
		}, 10*time.Second, 20*time.Millisecond)
	}
	require.Empty(t, g.all()["n1"].Neighbours().OthersCosigned())
}

// A node that has just started cannot answer other nodes' API questions yet. That must not look
// like an empty answer: a caller that asks it for a job would say that the job is gone.
func TestRelayBeforeThereIsAnAnswer(t *testing.T) {
	g := newGroup(t)
	g.form(2)
	asked, asking := g.all()["n1"], g.all()["n2"]
	ask := func() (string, error) {
		answer, err := Relay(t.Context(), asking, "n1", []byte("question"))
		return string(answer), err
	}
	_, err := ask()
	require.Error(t, err)
	OnRelay(asked, func(context.Context, []byte) []byte { return []byte("answer") })
	answer, err := ask()
	require.NoError(t, err)
	require.Equal(t, "answer", answer)
}
