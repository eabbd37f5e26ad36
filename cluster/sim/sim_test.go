package sim

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
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

// load runs clients until stop is closed.
func load(w *World, h *History, clients int, stop <-chan struct{}) *sync.WaitGroup {
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
				op := h.Register(context.Background(), host, fmt.Sprintf("%s-%d-%d", host.ID, c, i))
				if op == nil || op.Err != nil {
					time.Sleep(20 * time.Millisecond)
				}
				time.Sleep(time.Duration(1+c%5) * time.Millisecond)
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
		h.Check(t, w)
		good, unknown, refused := h.Count()
		t.Logf("%d acknowledged, %d unknown, %d refused", good, unknown, refused)
		require.Greater(t, good, 500)
		require.Zero(t, unknown+refused)
		require.Empty(t, w.GaveUp())
	})
}

// TestStorms runs clients on every node while partitions, broken connections,
// crashes, restarts and leader transfers come and go.
func TestStorms(t *testing.T) {
	for _, seed := range seeds(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, seed, 20*time.Second) })
		})
	}
}

func storm(t *testing.T, seed uint64, length time.Duration) {
	w := NewWorld(t, seed, 3)
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
	h.Check(t, w)
	good, unknown, refused := h.Count()
	t.Logf("%d acknowledged, %d unknown, %d refused", good, unknown, refused)
	require.Greater(t, good, 100)
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
