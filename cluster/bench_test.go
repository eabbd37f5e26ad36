package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// BenchmarkPropose measures screening records through a group of one on the real
// disk: per operation, from many callers at once.
func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 64, 256, 1024} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) { benchPropose(b, callers) })
	}
}

func benchPropose(b *testing.B, callers int) {
	n := openAlone(b, b.TempDir(), func(c *Config) { c.Timing = Timing{} })
	propose(b, n, wire.KindRegister, register("bench"))
	runProposals(b, n, callers)
}

func runProposals(b *testing.B, n *Node, callers int) {
	record := benchScreen(n)
	var left atomic.Int64
	left.Store(int64(b.N))
	before := entriesProposed.Get()
	b.SetBytes(int64(len(record)))
	b.ResetTimer()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				r, err := n.Propose(b.Context(), wire.KindScreen, record)
				if err != nil || r.Code != wire.Applied {
					b.Errorf("%v %+v", err, r)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/float64(entriesProposed.Get()-before), "records/entry")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkProposeWithoutDisk shows the ceiling: the log is in memory.
func BenchmarkProposeWithoutDisk(b *testing.B) {
	for _, callers := range []int{1, 64, 256, 1024} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			n := openAlone(b, b.TempDir(), func(c *Config) {
				c.OpenLog = func(string) (datadir.LogStore, error) { return &failingLog{InmemStore: raft.NewInmemStore()}, nil }
			})
			propose(b, n, wire.KindRegister, register("bench"))
			runProposals(b, n, callers)
		})
	}
}

// BenchmarkGroupPropose measures three nodes in one process, with TLS over the loopback and
// three logs on one disk.
func BenchmarkGroupPropose(b *testing.B) {
	g := newGroup(b, func(c *Config) { c.Timing = Timing{Stall: 20 * time.Second} })
	g.form(3)
	propose(b, g.leader(), wire.KindRegister, register("bench"))
	for _, at := range []struct {
		name string
		node func() *Node
	}{{"leader", g.leader}, {"follower", g.follower}} {
		for _, callers := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", at.name, callers), func(b *testing.B) {
				n := at.node()
				require.NoError(b, n.WaitApplied(b.Context(), g.leader().Applied()))
				runProposals(b, n, callers)
			})
		}
	}
}

// BenchmarkLogAppend measures the disk alone: one append of one record, with one sync.
func BenchmarkLogAppend(b *testing.B) {
	store, err := datadir.OpenLog(b.TempDir())
	require.NoError(b, err)
	defer store.Close()
	data := make([]byte, 600)
	for i := uint64(1); b.Loop(); i++ {
		require.NoError(b, store.StoreLog(&raft.Log{Index: i, Term: 1, Data: data}))
	}
}

// benchScreen is a screening record of usual size.
func benchScreen(n *Node) []byte {
	settings := n.Settings()
	basis := engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version, Matcher: settings.Matcher, Rules: settings.Rules().Number}
	basis.Fold(engine.RevAgent, 1, n.Agent(1).Rev)
	basis.Fold(engine.RevOperator, uint32(n.Agent(1).Operator), n.Operator(n.Agent(1).Operator).Rev)
	return wire.Encode(&wire.Screen{
		Agent: 1, Version: 1, Expires: n.Agent(1).ExpiresAt, Amount: engine.Dollar, Basis: basis,
		Fragment: benchFragment("1", "0x52908400098527886E0F7030069857D2E4169EE7", "Some Company", [32]byte{1}),
		Filters:  []uint64{1, 2, 3, 4},
	})
}

// benchFragment is the part of a usual record that an edge writes.
func benchFragment(amount, wallet, name string, request [32]byte) []byte {
	var f leaf.Fragment
	f.Set(leaf.TagSource, []byte{1})
	for tag, text := range map[leaf.Tag]string{
		leaf.TagMixers: "2026-08-20", leaf.TagZones: "2026a", leaf.TagVersion: "0.1.0", leaf.TagCredential: "urn:uuid:0b6cf2b4-3ad4-4a9a-8a3c-6d1b5f4f2f10",
		leaf.TagKey: "key_bench", leaf.TagNode: "n1", leaf.TagRequestID: "req_01J00000000000000000000000",
		leaf.TagAmount: amount, leaf.TagChain: `"BASE"`, leaf.TagWallet: `"` + wallet + `"`, leaf.TagName: `"` + name + `"`, leaf.TagRail: `"USDC"`,
		leaf.TagPartyType: `"BUSINESS"`, leaf.TagProtocol: `"x402"`,
	} {
		f.Set(tag, []byte(text))
	}
	f.Set(leaf.TagRequestHash, request[:])
	return f.Append(nil)
}

// BenchmarkView measures a reader that always asks for the newest state.
func BenchmarkView(b *testing.B) {
	n := openAlone(b, b.TempDir())
	propose(b, n, wire.KindRegister, register("bench"))
	b.ResetTimer()
	for b.Loop() {
		_, err := n.View(b.Context(), 0)
		require.NoError(b, err)
	}
}

// BenchmarkAdmit measures the queue alone: admit, take, answer.
func BenchmarkAdmit(b *testing.B) {
	w := newWaiters(1, 0, SystemClock())
	body := make([]byte, 300)
	var attempts []attempt
	for b.Loop() {
		p, err := w.admitRecord(wire.KindScreen, body, nil)
		require.NoError(b, err)
		attempts = w.takeAttempts(1, 1, 1<<20, attempts[:0])
		w.takeApplied(1, []wire.Result{{Code: wire.Applied, Origin: 1, Seq: attempts[0].seq}}, time.Now())
		<-p.answer
	}
}
