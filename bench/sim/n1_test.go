package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/engine"
)

const (
	limitRunsShort = 50 // Number of runs if RAILGUARD_SIM_SEEDS is not set.

	limitCalls  = 300
	limitAmount = 10 * engine.Dollar
	limitDaily  = 1000 * engine.Dollar
)

// TestLimitUnderKilledLeader: the daily limit is 1,000. Clients make 300 concurrent calls of 10
// at all nodes and try again with their idempotency keys. The leader is killed meanwhile. In
// every run exactly 100 calls go through.
func TestLimitUnderKilledLeader(t *testing.T) {
	for run := range wanted(limitRunsShort) {
		t.Run(fmt.Sprintf("run=%d", run), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { limitUnderKilledLeader(t, uint64(run)) })
		})
	}
}

func limitUnderKilledLeader(t *testing.T, seed uint64) {
	draw := rand.New(rand.NewPCG(seed, 4))
	w, h := NewWorld(t, seed, 3), &History{}
	w.StartAll()
	defer w.StopAll()
	require.NoError(t, h.register(t.Context(), w.hosts[0], "agent", Account{Daily: limitDaily}).Err)
	w.AwaitEqual(10 * time.Second)
	never := make(chan struct{})
	var clients sync.WaitGroup
	for i := range limitCalls {
		begin := time.Duration(draw.IntN(30)) * time.Millisecond
		clients.Go(func() {
			time.Sleep(begin)
			name := fmt.Sprintf("call-%d", i)
			p := payment{name: name, agent: spender, amount: limitAmount, idem: keyOf(name)}
			h.Pay(context.Background(), func(try int) *Host { return w.hosts[(i+try)%3] }, p, never)
		})
	}
	time.Sleep(time.Duration(draw.IntN(40_000)) * time.Microsecond)
	killed := w.leading()
	killed.Crash([]audittest.Loss{audittest.LoseAll, audittest.LoseNone, audittest.LoseSome}[draw.IntN(3)])
	if draw.IntN(2) == 0 {
		clients.Wait() // The two other nodes are enough for all calls.
	}
	killed.Start()
	clients.Wait()
	w.AwaitReady(time.Minute)
	w.AwaitEqual(time.Minute)
	h.CheckAll(t, w, Limits{Agents: map[engine.AgentSlot]Account{spender: {Daily: limitDaily}}})
	good, unknown, refused := h.Count()
	require.Equal(t, []int{limitCalls + 1, 0, 0}, []int{good, unknown, refused}, "everyone was answered")
	for _, host := range w.hosts {
		require.EqualValues(t, limitDaily/limitAmount, Proceeds(w.leavesOf(host)), host.ID)
	}
	require.Empty(t, w.GaveUp())
}
