package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// memberPatience is how long a change of the membership may take while leaders are killed.
const memberPatience = 2 * time.Minute

// awaitCalm ends all faults and waits until all nodes have everything that was acknowledged: a change
// that costs a disk is made only then, because no group survives the loss of more than a minority
// of its disks.
func (w *World) awaitCalm() {
	w.mend()
	w.AwaitReady(time.Minute)
	w.AwaitEqual(time.Minute)
}

// awaitVotes waits until all nodes have votes and answer.
func (w *World) awaitVotes() {
	w.AwaitReady(time.Minute)
	w.AwaitEqual(time.Minute)
	w.insistOn("votes of all", func() error {
		if healthy := w.leadingOr(w.hosts[0]).Node().Status(context.Background()).Quorum.Healthy; healthy != len(w.hosts) {
			return fmt.Errorf("%d of %d", healthy, len(w.hosts))
		}
		return nil
	})
}

// insistOn does something until it succeeds. Meanwhile leaders may be killed.
func (w *World) insistOn(what string, do func() error) {
	limit := time.Now().Add(memberPatience)
	for {
		err := do()
		if err == nil {
			return
		}
		require.True(w.t, time.Now().Before(limit), "%s: %v; gave up: %v", what, err, w.GaveUp())
		time.Sleep(50 * time.Millisecond)
	}
}

// killLeader kills the leader's process in every second change, soon after the change began.
func (w *World) killLeader(except *Host) (done func()) {
	if w.Random.IntN(2) == 0 {
		return func() {}
	}
	after := time.Duration(w.Random.IntN(20)) * time.Millisecond
	killed, other := make(chan struct{}), w.one()
	go func() {
		defer close(killed)
		time.Sleep(after)
		if leads := w.leadingOr(other); leads != except && leads.Node() != nil {
			leads.Crash(audittest.LoseNone)
			leads.Start()
		}
	}()
	return func() { <-killed }
}

// replace removes a member, whose node must end, and takes in another machine of its name.
func (w *World) replace(host *Host) {
	w.awaitCalm()
	host.Doom()
	asker := w.another(host)
	done := w.killLeader(host)
	w.insistOn("removal of "+host.ID, func() error {
		node := asker.Node()
		if node == nil {
			return errDown
		}
		for _, member := range node.Members() {
			if member.ID == host.ID {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				if err := node.Remove(ctx, host.ID, false, wire.Common{}); err != nil {
					return err
				}
				return fmt.Errorf("%s is a member still", host.ID)
			}
		}
		return nil
	})
	done()
	w.pause(1000)
	host.Wipe()
	w.pause(1000)
	host.Start()
	w.awaitVotes()
}

// demote takes a member's vote, lets others fail meanwhile, and gives the vote back.
func (w *World) demote(host *Host) {
	w.awaitCalm()
	asker := w.another(host)
	ask := func(what string, voter bool) {
		w.insistOn(what+" of "+host.ID, func() error {
			node := asker.Node()
			if node == nil {
				return errDown
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			for _, member := range node.Members() {
				if member.ID == host.ID && member.Voter == voter {
					return nil
				}
			}
			if voter {
				return fmt.Errorf("no vote yet: %w", node.Promote(ctx, host.ID, wire.Common{}))
			}
			return fmt.Errorf("a vote still: %w", node.Demote(ctx, host.ID, false, wire.Common{}))
		})
	}
	done := w.killLeader(nil)
	ask("demotion", false)
	done()
	w.AwaitReady(time.Minute)
	ask("demotion", false) // A leader that died may have taken it along.
	w.AwaitEqual(time.Minute)
	w.pause(3000) // Nobody promotes it by itself.
	w.AwaitReady(time.Minute)
	for _, member := range asker.Node().Members() {
		require.False(w.t, member.ID == host.ID && member.Voter, "%s was demoted, and was promoted again by itself", host.ID)
	}
	host.Crash(w.loss())
	w.pause(1000)
	host.Start()
	w.AwaitReady(time.Minute)
	done = w.killLeader(nil)
	ask("promotion", true)
	done()
	w.awaitVotes()
}

// grow takes in one more node, which gets a vote, and removes it again.
func (w *World) grow() {
	w.awaitCalm()
	added := w.addHost(len(w.hosts) + 1)
	added.late, added.build = true, w.hosts[0].build
	added.Start()
	w.hosts = append(w.hosts, added)
	w.awaitVotes()
	w.pause(1000)
	if w.Random.IntN(2) == 0 {
		w.crash(w.hosts[w.Random.IntN(len(w.hosts)-1):][:1])
	}
	w.awaitCalm()
	w.hosts = w.hosts[:len(w.hosts)-1]
	added.Doom()
	asker := w.one()
	w.insistOn("removal of "+added.ID, func() error {
		node := asker.Node()
		if node == nil {
			return errDown
		}
		for _, member := range node.Members() {
			if member.ID == added.ID {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				return fmt.Errorf("%s is a member still: %w", added.ID, node.Remove(ctx, added.ID, false, wire.Common{}))
			}
		}
		return nil
	})
	w.pause(500)
	added.Stop()
	require.NoError(w.t, os.RemoveAll(added.files.root))
	w.awaitVotes()
}

// another returns a host that is not this one.
func (w *World) another(than *Host) *Host {
	for {
		if host := w.one(); host != than {
			return host
		}
	}
}

// lie makes the disks of hosts say that they have synced, and kills the processes: what they wrote
// is still there.
func (w *World) lie(hosts []*Host) {
	for _, life := range w.disksOf(hosts) {
		life.Lie()
	}
	w.pause(1000)
	for _, host := range hosts {
		host.Crash(audittest.LoseNone)
		host.settleFiles()
		host.Start()
	}
}

// lose makes one disk lie until the power goes away. No software can tell what such a disk has lost,
// so an operator puts in another one, while all other nodes have everything.
func (w *World) lose(host *Host) {
	w.awaitCalm()
	for _, life := range w.disksOf([]*Host{host}) {
		life.Lie()
	}
	w.pause(1500)
	host.PowerOff(audittest.LoseSome)
	host.reap()
	host.Wipe()
	w.pause(500)
	host.Start()
	w.awaitVotes()
}

// putBack stops a node, and puts back what it had of its log some time before, or removes its file of
// votes alone. It must refuse to start, because it could vote again in a term in which it has voted, and
// then the host gets a new disk.
func (w *World) putBack(host *Host, votes bool) {
	w.awaitCalm()
	host.Stop()
	raftFolder := func() string { return filepath.Join(host.files.root, datadir.RaftFolder) }
	older := filepath.Join(w.dir, host.ID+"-older")
	require.NoError(w.t, os.RemoveAll(older))
	require.NoError(w.t, os.CopyFS(older, os.DirFS(raftFolder())))
	host.Start()
	w.AwaitReady(time.Minute)
	w.pause(1000)
	before := host.Node().Applied()
	w.insistOn("entries behind the copy", func() error {
		if node := host.Node(); node == nil || node.Applied() < before+3 {
			return errDown
		}
		return nil
	})
	host.Stop()
	if votes {
		require.NoError(w.t, os.Remove(filepath.Join(raftFolder(), datadir.LogFile)))
	} else {
		require.NoError(w.t, os.RemoveAll(raftFolder()))
		require.NoError(w.t, os.CopyFS(raftFolder(), os.DirFS(older)))
	}
	host.settleFiles()
	err := host.open()
	require.ErrorIs(w.t, err, datadir.ErrDamaged, "%s starts on votes or entries of another time", host.ID)
	host.Wipe()
	w.pause(500)
	host.Start()
	w.awaitVotes()
}
