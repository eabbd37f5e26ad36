package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
)

// TestMemberComesTwice: one more member is taken in and removed, twice. The second has the name of
// the first, and is another machine: it begins with an empty folder.
func TestMemberComesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		for i := range 2 {
			w.grow()
			require.NoError(t, h.Register(t.Context(), leader(t, w), fmt.Sprintf("after-%d", i)).Err)
		}
		w.AwaitReady(time.Minute)
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}

// TestAnotherMachineOfTheSameName: a host that is added under the name of one that is gone shares no
// folder with it, neither its first one nor those that crashes make.
func TestAnotherMachineOfTheSameName(t *testing.T) {
	w, seen := NewWorld(t, 1, 3), map[string]bool{}
	for range 3 {
		host := w.addHost(4)
		host.takeFiles()
		for range 2 {
			require.False(t, seen[host.files.root], host.files.root)
			seen[host.files.root] = true
			host.PowerOff(audittest.LoseNone)
		}
	}
}
