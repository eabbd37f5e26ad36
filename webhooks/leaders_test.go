package webhooks

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/edge"
)

// follower is another node of a testNode's group, with the same state and its own history.
type follower struct {
	*testNode
	disk  *audittest.MemDir
	store *audit.Store
	leads atomic.Bool
}

// follower adds a node with a copy of the whole history.
func (n *testNode) follower() *follower {
	disk := audittest.NewMemDir()
	store, err := audit.Open(disk, audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(n.t, err)
	n.t.Cleanup(func() { _ = store.Close() })
	for at := range n.store.Size() {
		data, err := n.store.Leaf(at)
		require.NoError(n.t, err)
		require.NoError(n.t, store.Append(at, []audit.Leaf{{Time: int64(n.now), Data: data}}))
	}
	n.others = append(n.others, store)
	return &follower{testNode: n, disk: disk, store: store}
}

func (f *follower) Audit() *audit.Store                                  { return f.store }
func (f *follower) Leaf(_ context.Context, index uint64) ([]byte, error) { return f.store.Leaf(index) }
func (f *follower) Role() string {
	if f.leads.Load() {
		return "leader"
	}
	return "follower"
}

func (f *follower) dispatcher(r *receivers) *Dispatcher {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	judges := edge.New(edge.Deps{Published: f, Records: f, Secrets: f.secrets, Node: "n", Logger: log})
	d := New(f, NewReader(f, judges), r.post, log)
	d.every, d.afterError = 20*time.Second, 20*time.Second // They wait for days: each look costs real time.
	return d
}

// A new leader waits its own day for a leaf that it cannot read. It does not drop an event
// because another node could not read it, and a node that can read it sends it.
func TestANewLeaderWaitsADayOfItsOwn(t *testing.T) {
	for name, lastReads := range map[string]bool{"nobody can read it": false, "the third can": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, r := newTestNode(t), newReceivers()
				nodes := []*follower{n.follower(), n.follower(), n.follower()}
				id := n.hook()
				first := n.event()
				var before []map[string]int64
				for _, f := range nodes {
					before = append(before, f.disk.Files())
				}
				bad := n.event()
				for i, f := range nodes {
					if i < 2 || !lastReads {
						rot(t, f.disk, before[i])
					}
				}
				later := n.event()
				for _, f := range nodes {
					d := f.dispatcher(r)
					d.Start()
					defer d.Stop()
				}
				leads := func(f *follower, d time.Duration) {
					f.leads.Store(true)
					settled(d)
					f.leads.Store(false)
					settled(30 * time.Second)
				}
				leads(nodes[0], unreadableMax-time.Hour)
				leads(nodes[1], unreadableMax-time.Hour)
				require.Equal(t, []string{first}, r.had(id), "nothing is sent twice, and nothing is passed over")
				missed := missedTotal.Get()
				if lastReads {
					leads(nodes[2], time.Minute)
					require.Equal(t, []string{first, bad, later}, r.had(id))
					require.Equal(t, missed, missedTotal.Get())
					return
				}
				leads(nodes[2], unreadableMax-time.Minute)
				require.Equal(t, []string{first}, r.had(id))
				leads(nodes[2], unreadableMax+time.Minute)
				require.Equal(t, []string{first, later}, r.had(id))
				require.Equal(t, missed+1, missedTotal.Get())
			})
		})
	}
}
