package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
)

// TestLateFrameOfADeadProcess: a follower's frame is late, its connection breaks, the
// leader is asked and says that nothing arrived, so the call is made anew and
// answered. Then the follower's process is killed and another one sends frames of its
// own; and only then, in the same term, the first frame arrives. It was given up: it
// must not happen once more.
func TestLateFrameOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		w.AwaitEqual(time.Minute)
		leads := leader(t, w)
		follower := w.hosts[0]
		if follower == leads {
			follower = w.hosts[1]
		}
		require.NoError(t, h.Screen(context.Background(), follower, payment{name: "first", agent: spender, amount: 1}).Err, "the connection stands")
		term := leads.Node().Status(context.Background()).Term
		const late = 10 * time.Second
		w.Net.Late(follower.ID, leads.ID, late)
		paid := make(chan *Op, 1)
		go func() {
			paid <- h.Screen(context.Background(), follower, payment{name: "late", agent: spender, amount: 1})
		}()
		time.Sleep(20 * time.Millisecond)
		w.Net.Late(follower.ID, leads.ID, 0)
		w.Net.Forsake(follower.ID, leads.ID)
		require.NoError(t, (<-paid).Err, "made anew over another connection")
		follower.Crash(audittest.LoseNone)
		follower.Start()
		w.AwaitReady(time.Minute)
		require.NoError(t, h.Screen(context.Background(), follower, payment{name: "of the next process", agent: spender, amount: 1}).Err)
		time.Sleep(late)
		w.AwaitEqual(time.Minute)
		require.Equal(t, term, leads.Node().Status(context.Background()).Term, "all of it in one term")
		h.CheckAll(t, w, spendLimits)
	})
}
