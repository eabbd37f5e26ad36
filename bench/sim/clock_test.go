package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// restartWith cuts the power of all hosts and starts them with their clocks off by so much.
func (w *World) restartWith(by time.Duration) {
	for _, host := range w.hosts {
		host.PowerOff(audittest.LoseAll)
	}
	for _, host := range w.hosts {
		host.reap()
		host.Clock.Jump(by)
		host.Start()
	}
}

func (w *World) mendClocks() {
	for _, host := range w.hosts {
		host.Clock.Right()
	}
}

// TestAllClocksLeap (line K1): all hosts lose power and come up with the same wrong time, or their
// clocks leap while a leader changes. Nothing is decided, or decided at the right time; no leaf is
// erased; every node says why it is not ready; and when the clocks are mended, all is as before.
func TestAllClocksLeap(t *testing.T) {
	for _, by := range []time.Duration{100 * 24 * time.Hour, 9 * time.Hour, -9 * time.Hour} {
		for _, off := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, power off %v", by, off), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, h := NewWorld(t, 1, 3), &History{}
					w.StartAll()
					defer w.StopAll()
					prepare(w, h)
					require.NoError(t, h.Screen(t.Context(), w.hosts[0], payment{name: "before", agent: spender, amount: 1}).Err)
					time.Sleep(15 * time.Second)
					if off {
						w.restartWith(by)
					} else {
						for _, host := range w.hosts {
							host.Clock.Jump(by)
						}
						w.transfer()
					}
					var last *Op
					for i := range 20 {
						time.Sleep(time.Second)
						last = h.Screen(t.Context(), w.hosts[i%3], payment{name: fmt.Sprintf("wrong-%d", i), agent: spender, amount: 1})
					}
					if off && by > 0 {
						w.requireClosed(t)
					} else {
						require.NoError(t, last.Err, "who lived through it knows what time it is")
					}
					w.mendClocks()
					w.settle(t)
					require.NoError(t, h.Screen(t.Context(), w.hosts[0], payment{name: "after", agent: spender, amount: 1}).Err)
					w.AwaitEqual(10 * time.Second)
					w.requireTime(t)
					h.CheckAll(t, w, spendLimits)
				})
			})
		}
	}
}

// requireClosed requires that no node takes a call, and that each says why.
func (w *World) requireClosed(t *testing.T) {
	for _, host := range w.hosts {
		said := fmt.Sprint(host.Node().Ready(context.Background(), report.ReadyQuery{}).Checks)
		require.Contains(t, said, "no leader opens its term", "the clocks of all leapt, and so did log time: %v on %s", host.Node().LogTime(), host.ID)
		require.Contains(t, said, "railguard cluster confirm-time")
		_, err := host.Node().Propose(context.Background(), wire.KindNote, wire.Encode(&wire.Note{Event: "agent.refused"}))
		require.ErrorIs(t, err, wire.ErrTimeUncertain)
	}
}

// TestTwoPersonsOpenTheTerm: after an outage of days the clocks are right. Through any node somebody
// says so, the leader may change in between, and the term is opened.
func TestTwoPersonsOpenTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		for _, host := range w.hosts {
			host.PowerOff(audittest.LoseAll)
		}
		for _, host := range w.hosts {
			host.reap()
		}
		time.Sleep(3 * 24 * time.Hour)
		for _, host := range w.hosts {
			host.Start()
		}
		time.Sleep(10 * time.Second)
		w.requireClosed(t)
		leads := w.leading()
		leads.Crash(audittest.LoseNone)
		leads.Start()
		time.Sleep(10 * time.Second)
		w.requireClosed(t)
		follower := w.hosts[0]
		if follower == w.leading() {
			follower = w.hosts[1]
		}
		record := wire.Encode(&wire.TimeConfirm{NotAfter: engine.Time(time.Now().Add(time.Hour).UnixNano())})
		result, err := follower.Node().Propose(t.Context(), wire.KindTime, record)
		require.NoError(t, err)
		require.Equal(t, wire.Applied, result.Code)
		w.settle(t)
		require.NoError(t, h.Screen(t.Context(), w.hosts[0], payment{name: "after", agent: spender, amount: 1}).Err)
		w.AwaitEqual(10 * time.Second)
		w.requireTime(t)
		h.CheckAll(t, w, spendLimits)
	})
}

// TestLogTimeCatchesUpInAGroup (line K16): the clocks of all were half an hour behind and are
// mended. Log time is told to be behind, and is right again within minutes, on every node alike.
func TestLogTimeCatchesUpInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		time.Sleep(time.Hour)
		for _, host := range w.hosts {
			host.Clock.Jump(-30 * time.Minute)
		}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		w.mendClocks()
		time.Sleep(10 * time.Second)
		for _, host := range w.hosts {
			require.Contains(t, fmt.Sprint(host.Node().Status(t.Context()).Warnings), "behind the clocks", host.ID)
			require.Greater(t, host.Node().ClocksAhead(), 25*engine.Minute, host.ID)
		}
		time.Sleep(2 * time.Minute)
		for _, host := range w.hosts {
			require.Zero(t, host.Node().ClocksAhead(), "log time is still behind: %v", host.Node().LogTime())
		}
		require.NoError(t, h.Screen(t.Context(), w.hosts[0], payment{name: "after", agent: spender, amount: 1}).Err)
		w.AwaitEqual(10 * time.Second)
		w.requireTime(t)
		h.CheckAll(t, w, spendLimits)
	})
}

// TestClocksAreAskedAnew: the clocks of all were wrong together and are right again, the leader is cut
// off before anybody has asked it since, and one of the two others is an hour ahead. What is known of
// the leader's clock is of before, so that two clocks seem to agree on the future: whoever leads next
// must not believe them.
func TestClocksAreAskedAnew(t *testing.T) {
	for seed := range uint64(20) {
		for wrong := range 2 {
			synctest.Test(t, func(t *testing.T) {
				w, h := NewWorld(t, seed, 3), &History{}
				w.StartAll()
				defer w.StopAll()
				prepare(w, h)
				time.Sleep(5 * time.Second)
				for _, host := range w.hosts {
					host.Clock.Jump(2 * time.Hour)
				}
				time.Sleep(time.Second)
				w.mendClocks()
				leader := w.leading()
				w.Net.Isolate(leader.ID, w.IDs()...)
				others := slices.DeleteFunc(slices.Clone(w.hosts), func(h *Host) bool { return h == leader })
				others[wrong].Clock.Jump(time.Hour)
				time.Sleep(3 * time.Second)
				w.mendClocks()
				w.Net.Heal()
				w.settle(t)
				w.requireTime(t)
			})
		}
	}
}
