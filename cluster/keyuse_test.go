package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
)

// TestUseOfKeysReachesTheOthers: each node learns what all the others told, and
// forgets it when they do not answer.
func TestUseOfKeysReachesTheOthers(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	tell := func() {
		for id, n := range g.all() {
			n.TellUse([]report.KeyUse{{Key: "key_a", Milli: 10}, {Key: "key_" + id, Milli: 1}})
		}
	}
	require.Eventually(t, func() bool {
		tell()
		use := g.all()["n1"].OthersUse()
		return len(use) == 3 && use["key_a"] == 20 && use["key_n2"] == 1 && use["key_n3"] == 1
	}, 10*time.Second, 20*time.Millisecond)
	g.close("n3")
	require.Eventually(t, func() bool {
		tell()
		return g.all()["n1"].OthersUse()["key_a"] == 10
	}, 10*time.Second, 20*time.Millisecond)
	g.all()["n2"].use.told.Store(&toldUse{at: time.Now().Add(-time.Hour)})
	require.Eventually(t, func() bool { return len(g.all()["n1"].OthersUse()) == 0 }, 10*time.Second, 20*time.Millisecond)
}
