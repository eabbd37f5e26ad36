package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/engine"
)

// seeds are those of this run: RAILGUARD_SIM_SEEDS of them from
// RAILGUARD_SIM_FIRST on.
func seeds(fallback int) (list []uint64) {
	count, first := fallback, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("RAILGUARD_SIM_SEEDS")); err == nil {
		count = n
	}
	if n, err := strconv.ParseUint(os.Getenv("RAILGUARD_SIM_FIRST"), 10, 64); err == nil {
		first = n
	}
	for i := range count {
		list = append(list, first+uint64(i))
	}
	return list
}

// What the one spender may spend a day, and in which steps.
const (
	spendAmount = engine.Dollar
	spendLimit  = 300 * engine.Dollar
)

// load runs clients until stop is closed.
func load(w *World, h *History, clients int, stop <-chan struct{}) *sync.WaitGroup {
	for op := h.Spender(context.Background(), w.Hosts()[0], spendLimit); op.Err != nil; {
		op = h.Spender(context.Background(), w.Hosts()[0], spendLimit)
	}
	var all sync.WaitGroup
	for c := range clients {
		host := w.Hosts()[c%len(w.Hosts())]
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				var op *Op
				if name := fmt.Sprintf("%s-%d-%d", host.ID, c, i); i%3 == 0 {
					op = h.Register(context.Background(), host, name)
				} else {
					op = h.Screen(context.Background(), host, name, spendAmount)
				}
				if op == nil || op.Err != nil {
					time.Sleep(20 * time.Millisecond)
				}
				time.Sleep(time.Duration(1+c%5) * time.Millisecond)
			}
		})
	}
	for _, host := range w.Hosts() {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				h.Read(context.Background(), host)
				time.Sleep(7 * time.Millisecond)
			}
		})
	}
	return &all
}

// TestCalm is the base line: no faults.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h, stop := &History{}, make(chan struct{})
		clients := load(w, h, 6, stop)
		time.Sleep(3 * time.Second)
		close(stop)
		clients.Wait()
		w.AwaitEqual(10 * time.Second)
		checkAll(t, w, h)
		good, unknown, refused := h.Count()
		require.Greater(t, good, 500)
		require.Zero(t, unknown+refused)
		require.EqualValues(t, spendLimit/spendAmount, CheckSpent(t, w.Hosts()[0], spendAmount, spendLimit))
	})
}

// TestStorms runs clients on every node while partitions, broken connections,
// crashes, restarts and leader transfers come and go.
func TestStorms(t *testing.T) {
	for _, seed := range seeds(3) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed, 3, 20*time.Second) })
		})
	}
}

// TestStormsOfFive is the same with five nodes.
func TestStormsOfFive(t *testing.T) {
	for _, seed := range seeds(1) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed, 5, 15*time.Second) })
		})
	}
}

func storm(t *testing.T, seed uint64, nodes int, length time.Duration) {
	w := NewWorld(t, seed, nodes)
	w.StartAll()
	defer w.StopAll()
	h, stop := &History{}, make(chan struct{})
	clients := load(w, h, 9, stop)
	end := time.Now().Add(length)
	for time.Now().Before(end) {
		time.Sleep(time.Duration(200+w.Random.IntN(800)) * time.Millisecond)
		fault(w)
	}
	w.Net.Heal()
	for _, host := range w.Hosts() {
		if host.Node() == nil {
			host.Start()
		}
	}
	time.Sleep(3 * time.Second)
	close(stop)
	clients.Wait()
	w.AwaitReady(time.Minute)
	w.AwaitEqual(time.Minute)
	checkAll(t, w, h)
	good, _, _ := h.Count()
	require.Greater(t, good, 100)
}

// checkAll holds everything to the rules, at the end.
func checkAll(t *testing.T, w *World, h *History) {
	h.Check(t, w)
	h.CheckReads(t)
	spent := 0
	for _, host := range w.Hosts() {
		spent = CheckSpent(t, host, spendAmount, spendLimit)
	}
	good, unknown, refused := h.Count()
	t.Logf("%d acknowledged, %d unknown, %d refused; %d payments went through", good, unknown, refused, spent)
	require.Empty(t, w.GaveUp())
}

// fault does one thing to the world.
func fault(w *World) {
	hosts, ids := w.Hosts(), w.IDs()
	one := hosts[w.Random.IntN(len(hosts))]
	other := hosts[w.Random.IntN(len(hosts))]
	pause := time.Duration(100+w.Random.IntN(1500)) * time.Millisecond
	switch w.Random.IntN(7) {
	case 0:
		w.Net.Isolate(one.ID, ids...)
		time.Sleep(pause)
		w.Net.Heal()
	case 1:
		w.Net.Cut(one.ID, other.ID)
		time.Sleep(pause)
		w.Net.Heal()
	case 2:
		w.Net.Break(one.ID, other.ID)
	case 3, 4:
		one.Crash([]audittest.Loss{audittest.LoseAll, audittest.LoseNone, audittest.LoseSome}[w.Random.IntN(3)])
		time.Sleep(pause)
		w.Net.Heal()
		one.Start()
	case 5:
		if node := one.Node(); node != nil {
			_ = node.TransferLeader(context.Background(), other.ID)
		}
	case 6:
		if node := one.Node(); node != nil {
			_, _ = node.Snapshot(context.Background())
		}
	}
}

// leader returns the host that leads, waiting for one.
func leader(t *testing.T, w *World) *Host {
	for range 1000 {
		for _, host := range w.Hosts() {
			if node := host.Node(); node != nil && node.Role() == "leader" {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_, err := node.ReadIndex(ctx)
				cancel()
				if err == nil {
					return host
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no leader")
	return nil
}

// TestRejoinBySnapshot: a node that was away while the log was cut gets a snapshot
// and fetches the history before it from its peers (C08).
func TestRejoinBySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		away := w.Hosts()[2]
		if away == leader(t, w) {
			away = w.Hosts()[1]
		}
		away.Stop()
		for i := range 3000 {
			op := h.Register(context.Background(), leader(t, w), fmt.Sprintf("while-away-%d", i))
			require.NoError(t, op.Err)
		}
		for _, host := range w.Hosts() {
			if host != away {
				_, err := host.Node().Snapshot(context.Background())
				require.NoError(t, err)
			}
		}
		for i := range 50 {
			require.NoError(t, h.Register(context.Background(), leader(t, w), fmt.Sprintf("after-%d", i)).Err)
		}
		away.Start()
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		snapshots, err := os.ReadDir(filepath.Join(w.dir, away.ID, "raft", "snapshots"))
		require.NoError(t, err)
		require.NotEmpty(t, snapshots, "it came by a snapshot")
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}

// TestFormerLeaderWithLostEntries: a leader cut off with entries that were never
// committed comes back when the group's log is cut already (guard G3).
func TestFormerLeaderWithLostEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		former := leader(t, w)
		w.Net.Isolate(former.ID, w.IDs()...)
		var lost sync.WaitGroup
		for i := range 200 { // Into its log, never committed.
			lost.Go(func() { h.Register(context.Background(), former, fmt.Sprintf("lost-%d", i)) })
		}
		lost.Wait()
		var now *Host
		for now == nil || now == former {
			now = leader(t, w)
		}
		for i := range 2500 {
			require.NoError(t, h.Register(context.Background(), now, fmt.Sprintf("on-%d", i)).Err)
		}
		for _, host := range w.Hosts() {
			if host != former {
				_, err := host.Node().Snapshot(context.Background())
				require.NoError(t, err)
			}
		}
		for i := range 50 {
			require.NoError(t, h.Register(context.Background(), now, fmt.Sprintf("after-%d", i)).Err)
		}
		w.Net.Heal()
		time.Sleep(15 * time.Second)
		for _, reason := range w.GaveUp() { // The rule: a start from the disk mends it.
			require.Contains(t, reason, "restart this node")
			require.Contains(t, reason, former.ID)
			former.Stop()
			former.Start()
		}
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		h.Check(t, w)
	})
}

// TestClockJumps: one node's clock goes wrong by a day, the leader's or another's;
// log time stays with the other two (decisions 5.17).
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour, 5 * time.Minute, -5 * time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 1, 3)
				w.StartAll()
				defer w.StopAll()
				time.Sleep(3 * time.Second)
				for round := range 3 { // The leader's clock, then with another leader, then with that one gone.
					victim := leader(t, w)
					victim.Clock.Jump(jump)
					for range 50 {
						time.Sleep(100 * time.Millisecond)
						requireTrueLogTime(t, leader(t, w))
					}
					if round == 1 {
						victim.Crash(audittest.LoseNone)
						time.Sleep(2 * time.Second)
						requireTrueLogTime(t, leader(t, w))
						w.Net.Heal()
						victim.Start()
						w.AwaitReady(time.Minute)
					}
					warned := strings.Join(victim.Node().Status(context.Background()).Warnings, " ")
					require.Contains(t, warned, "clock", "it is named")
					victim.Clock.Jump(-jump)
					time.Sleep(2 * time.Second)
					if host := leader(t, w); round == 0 {
						_ = host.Node().TransferLeader(context.Background(), "")
					}
				}
				require.Empty(t, w.GaveUp())
			})
		})
	}
}

func requireTrueLogTime(t *testing.T, host *Host) {
	off := time.Duration(int64(host.Node().LogTime()) - time.Now().UnixNano())
	require.Less(t, off.Abs(), 1500*time.Millisecond, "log time")
}

// TestAllDownForAnHour: after the power came back log time is the true time at once,
// and everything is there.
func TestAllDownForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		for i := range 100 {
			require.NoError(t, h.Register(context.Background(), w.Hosts()[i%3], fmt.Sprintf("before-%d", i)).Err)
		}
		for _, host := range w.Hosts() {
			_, err := host.Node().Snapshot(context.Background())
			require.NoError(t, err)
		}
		for _, host := range w.Hosts() {
			host.Crash(audittest.LoseSome)
		}
		time.Sleep(time.Hour)
		w.Net.Heal()
		w.StartAll()
		requireTrueLogTime(t, leader(t, w))
		require.NoError(t, h.Register(context.Background(), w.Hosts()[1], "after").Err)
		w.AwaitEqual(time.Minute)
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}
