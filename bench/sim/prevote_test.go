package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReturnMovesNoTerm: a follower that was cut off for long asks before it
// stands for election (pre-vote), so its return moves neither term nor leader.
func TestReturnMovesNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		leads := leader(t, w)
		away := w.Hosts()[0]
		if away == leads {
			away = w.Hosts()[1]
		}
		term := leads.Node().Status(context.Background()).Term
		for round := range 5 {
			w.Net.Isolate(away.ID, w.IDs()...)
			time.Sleep(time.Duration(round+1) * 2 * time.Second)
			require.NoError(t, h.Register(context.Background(), leads, fmt.Sprintf("away-%d", round)).Err)
			w.Net.Heal()
			w.AwaitReady(time.Minute)
			w.AwaitEqual(time.Minute)
		}
		status := leads.Node().Status(context.Background())
		require.Equal(t, term, status.Term)
		require.Equal(t, "leader", status.Role)
		h.Check(t, w)
	})
}
