package sim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
)

// These are the tests of guards that need whole nodes. The tests of guards that need only the
// library, with their negative controls, are in package cluster.

// TestGuardG3WholeNode: a leader is cut off with entries that were never committed. It comes back
// after the group has cut its log.
func TestGuardG3WholeNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		former := leader(t, w)
		w.Net.Isolate(former.ID, w.IDs()...)
		var lost sync.WaitGroup
		for i := range 200 { // The entries get into its log but are never committed.
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
		for _, host := range w.hosts {
			if host != former {
				_, err := host.Node().Snapshot(context.Background())
				require.NoError(t, err)
			}
		}
		for i := range 50 {
			require.NoError(t, h.Register(context.Background(), now, fmt.Sprintf("after-%d", i)).Err)
		}
		w.Net.Heal()
		w.settle(t)
		h.Check(t, w)
	})
}

const (
	transfersEnv   = "RAILGUARD_SIM_TRANSFERS"
	transfersCount = 200
	transfersDone  = "transfers done:"
)

// TestGuardG5Transfers hands the leadership 200 times to a node that cannot be reached, and cuts
// off the leader meanwhile. The group never hangs; at most a leader ends itself, as guard G5
// demands, and is started again. The test runs in a process of its own, because the library
// leaves a goroutine hanging that would keep the bubble from ending.
func TestGuardG5Transfers(t *testing.T) {
	if os.Getenv(transfersEnv) != "" {
		synctest.Test(t, func(t *testing.T) { transfers(t, transfersCount) })
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestGuardG5Transfers$", "-test.count=1")
	child.Env = append(os.Environ(), transfersEnv+"=1")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, told, done := strings.Cut(string(out), transfersDone)
	require.True(t, done, "%s", out)
	t.Log(strings.TrimSpace(told))
}

func transfers(t *testing.T, count int) {
	w, h := NewWorld(t, 1, 3), &History{}
	w.StartAll()
	failed := 0
	for round := range count {
		first := w.supervisedLeader(t, round)
		target := w.one()
		for target == first {
			target = w.one()
		}
		w.Net.Isolate(target.ID, w.IDs()...)
		require.NoError(t, h.Register(context.Background(), first, fmt.Sprintf("behind-%d", round)).Err)
		for range 2 { // The second transfer waits for the first and hangs.
			if first.Node().TransferLeader(context.Background(), target.ID) != nil {
				failed++
			}
		}
		w.Net.Isolate(first.ID, w.IDs()...)
		w.pause(1500)
		w.Net.Heal()
		if now := w.supervisedLeader(t, round); now != first { // The leadership goes back to it, so that it finds the mark still set.
			_ = now.Node().TransferLeader(context.Background(), first.ID)
		}
		served(t, w, h, round)
	}
	w.settle(t)
	h.Check(t, w)
	fmt.Printf("%s %d in vain, %d leaders ended themselves by the rule\n", transfersDone, failed, len(w.Restarts()))
	os.RemoveAll(w.dir)
	os.Exit(0) // The process ends without waiting for the goroutine that hangs.
}

// supervisedLeader waits for a leader that serves. Meanwhile it restarts nodes that gave up, as a
// supervisor would.
func (w *World) supervisedLeader(t *testing.T, round int) *Host {
	for limit := time.Now().Add(liveAfter); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		for _, host := range w.hosts {
			host.Supervise()
			if node := host.Node(); node != nil && node.Role() == "leader" {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_, err := node.ReadIndex(ctx)
				cancel()
				if err == nil {
					return host
				}
			}
		}
	}
	var roles []string
	for _, host := range w.hosts {
		roles = append(roles, fmt.Sprintf("%s %+v", host.ID, host.Node().Ready(context.Background(), report.ReadyQuery{})))
	}
	t.Fatalf("round %d: no leader: %v; restarts %v", round, roles, w.Restarts())
	return nil
}

// served waits until every node serves again. Meanwhile it restarts nodes that gave up, as a
// supervisor would.
func served(t *testing.T, w *World, h *History, round int) {
	limit := time.Now().Add(liveAfter)
	for i, host := range w.hosts {
		for try := 0; ; try++ {
			op := h.Register(context.Background(), host, fmt.Sprintf("served-%d-%d-%d", round, i, try))
			if op != nil && op.Err == nil {
				break
			}
			require.True(t, time.Now().Before(limit), "round %d: %s does not serve: %v; restarts %v", round, host.ID, op.Err, w.Restarts())
			time.Sleep(50 * time.Millisecond)
			for _, other := range w.hosts {
				other.Supervise()
			}
		}
	}
}
