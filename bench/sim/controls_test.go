package sim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm/wire"
)

// These tests are negative controls. Each breaks one thing on which a promise depends, and the
// checks must find that. A check that cannot fail proves nothing.

// spoiled runs a little load in a world that spoil has changed, and kills a leader meanwhile. It
// returns what the checks find.
func spoiled(t *testing.T, seed uint64, spoil func(w *World), pay func(w *World, h *History, i int)) (found problems) {
	w, h := NewWorld(t, seed, 3), &History{}
	spoil(w)
	w.StartAll()
	defer w.StopAll()
	prepare(w, h)
	var clients sync.WaitGroup
	for i := range 60 {
		clients.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			pay(w, h, i)
		})
	}
	time.Sleep(30 * time.Millisecond)
	killed := w.leading()
	killed.Crash(w.loss())
	clients.Wait()
	killed.Start()
	w.AwaitReady(time.Minute)
	time.Sleep(3 * time.Second) // The new term writes some ticks in this time.
	w.AwaitEqual(time.Minute)
	leaves := w.leavesOf(w.hosts[0])
	return append(append(h.checkCalls(leaves), h.checkOrder()...), checkLeaves(leaves, spendLimits)...)
}

func payOnce(w *World, h *History, i int) {
	h.Screen(context.Background(), w.hosts[i%3], payment{name: fmt.Sprintf("pay-%d", i), agent: spender, amount: 1})
}

// staleEntries puts an entry of an older term into the log of a later term, in place of one of
// the leader's ticks. A delayed message could do that, and so could the defect of the raft
// library against which there is guard G1.
func staleEntries(beforeStore func(host *Host, log *raft.Log)) func(w *World) {
	var mu sync.Mutex
	var stale *raft.Log
	ticks := map[uint64]int{} // Number of ticks by term. The first tick opens a term, and the leader waits for it.
	return func(w *World) {
		w.Adjust = func(host *Host, log *raft.Log) {
			mu.Lock()
			defer mu.Unlock()
			batch, err := wire.Decode(log.Data)
			if log.Type != raft.LogCommand || err != nil {
				return
			}
			first, ok := batch.Next()
			switch {
			case !ok:
			case stale == nil && first.Kind == wire.KindScreen:
				stale = &raft.Log{Term: log.Term, Data: bytes.Clone(log.Data)}
			case first.Kind == wire.KindTick && batch.Count == 1 && log.AppendedAt.Equal(time.Now()):
				// Only the leader writes an entry in the same instant in which the entry is made.
				if ticks[log.Term]++; ticks[log.Term] == 2 && stale != nil && log.Term > stale.Term {
					log.Data = bytes.Clone(stale.Data)
				}
			}
			if beforeStore != nil {
				beforeStore(host, log)
			}
		}
	}
}

// TestFence: stale entries that get into a later term do nothing, because the fence refuses them.
// Without the fence they take effect twice, and the checks report it.
func TestFence(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Empty(t, spoiled(t, seed, staleEntries(nil), payOnce))
			})
			synctest.Test(t, func(t *testing.T) {
				found := spoiled(t, seed, staleEntries(withoutFence), payOnce)
				require.NotEmpty(t, found, "the fence is off")
				require.Contains(t, fmt.Sprint(found), "pay-")
			})
		})
	}
}

// TestControlRetriesWithoutKeys: clients that try again without a key when the outcome is unknown
// pay twice, and the checks report it.
func TestControlRetriesWithoutKeys(t *testing.T) {
	retry := func(key bool) func(w *World, h *History, i int) {
		return func(w *World, h *History, i int) {
			never := make(chan struct{})
			name := fmt.Sprintf("pay-%d", i)
			p := payment{name: name, agent: spender, amount: 1}
			if key {
				p.idem = keyOf(name)
			}
			h.Pay(context.Background(), func(try int) *Host { return w.hosts[(i+try)%3] }, p, never)
		}
	}
	twice := 0
	for seed := range uint64(100) {
		if seed >= 20 && twice > 0 { // In about one of three worlds somebody pays twice.
			break
		}
		synctest.Test(t, func(t *testing.T) {
			twice += len(spoiled(t, seed, func(*World) {}, retry(false)))
		})
		synctest.Test(t, func(t *testing.T) {
			require.Empty(t, spoiled(t, seed, func(*World) {}, retry(true)))
		})
	}
	t.Logf("%d payments were made twice", twice)
	require.NotZero(t, twice)
}

// TestControlLostWrites: if the logs lose their last entries in a power cut of the whole group,
// acknowledged calls are lost, and the checks report it.
func TestControlLostWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		for i := range 10 {
			payOnce(w, h, i)
		}
		w.powerOff(w.hosts)
		for _, host := range w.hosts {
			log, err := datadir.OpenLog(filepath.Join(host.files.root, datadir.RaftFolder))
			require.NoError(t, err)
			last, err := log.LastIndex()
			require.NoError(t, err)
			require.NoError(t, log.DeleteRange(last-3, last))
			require.NoError(t, log.Close())
			require.NoError(t, os.Remove(filepath.Join(host.files.root, datadir.ReachedFile)), "a node that knows better does not start")
			host.Start()
		}
		w.AwaitReady(time.Minute)
		leaves := w.leavesOf(w.hosts[0])
		require.Contains(t, fmt.Sprint(h.checkCalls(leaves)), "was acknowledged")
	})
}

// controlLimits are the limits for the history below: agent 1 and its child 2 are both in fleet
// 1.
var controlLimits = Limits{
	Agents: map[engine.AgentSlot]Account{1: {Daily: 100, Fleet: 1, Operator: beta}, 2: {Daily: 1000, Parent: 1}, 3: {Daily: 1000, Fleet: 1}},
	Fleets: map[engine.FleetSlot]engine.USD{1: 110},
}

// What the leaves of the histories below say.
const (
	morning, soon, noon, next = "2000-01-01T08:00:00.000Z", "2000-01-01T08:00:20.000Z", "2000-01-01T12:00:00.000Z", "2000-01-02T00:00:00.000Z"

	proceed = `"verdict":"PROCEED","list":"0","fleet":"1"`
	review  = `"verdict":"REVIEW","list":"0","fleet":"1"`
	held    = proceed + `,"hold":"30"`
	first   = `"screenedLeaf":0`

	allRedeemed = "where all are to be redeemed" // Ends the names of such histories.
)

// screened is a screening record.
func screened(at string, agent int, more string) string {
	return fmt.Sprintf(`{"kind":"screen","screenedAt":"%s","agent":"%d","amount":"60","name":"x",%s}`, at, agent, more)
}

// happened is an event.
func happened(kind, at, more string) string {
	return fmt.Sprintf(`{"kind":"%s","time":"%s","amount":"60","name":"x",%s}`, kind, at, more)
}

// approvedOf are the members of an approval.
func approvedOf(record int) string {
	return fmt.Sprintf(`"reviewedLeaf":%d,"disposition":"APPROVED","agent":"1","fleet":"1","payBy":"%s"`, record, next)
}

// doctored is a history with one fault, which the walk through its leaves must find; "": none.
type doctored struct {
	name   string
	leaves []string
	want   string
}

func walkDoctored(t *testing.T, all []doctored) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			var leaves [][]byte
			for _, leaf := range c.leaves {
				leaves = append(leaves, []byte(leaf))
			}
			limits := controlLimits
			if strings.HasSuffix(c.name, allRedeemed) {
				limits.Need = engine.PermitOfAll
			}
			found := checkLeaves(leaves, limits)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, fmt.Sprint(found), c.want)
		})
	}
}

// TestControlLeaves adds one fault at a time to a history without faults. The walk through the
// leaves must find each.
func TestControlLeaves(t *testing.T) {
	screen, event, approved := screened, happened, approvedOf(0)
	walkDoctored(t, []doctored{
		{"right", []string{screen(morning, 1, proceed), screen(noon, 2, review), screen(next, 2, proceed)}, ""},
		{"overspent", []string{screen(morning, 1, proceed), screen(noon, 1, proceed)}, "agent 1 on 2000-01-01 spent 120 of 100"},
		{"overspent by a child", []string{screen(morning, 1, proceed), screen(noon, 2, proceed)}, "agent 1 on 2000-01-01 spent 120 of 100"},
		{"overspent in the fleet", []string{screen(morning, 2, proceed), screen(noon, 3, proceed)}, "fleet 1 on 2000-01-01 spent 120 of 110"},
		{"over by an approval, allowed", []string{screen(morning, 1, proceed), event("review.dispositioned", noon, approved)}, ""},
		{"more after an approval", []string{event("review.dispositioned", morning, approved), screen(noon, 2, proceed)}, "agent 1 on 2000-01-01 spent 120 of 100"},
		{"more in the fleet after an approval", []string{event("review.dispositioned", morning, approved), screen(noon, 3, proceed)}, "fleet 1 on 2000-01-01 spent 120 of 110"},
		{"two dispositions", []string{event("review.dispositioned", morning, `"reviewedLeaf":7,"disposition":"REJECTED"`),
			event("review.dispositioned", noon, `"reviewedLeaf":7,"disposition":"REJECTED"`)}, "another disposition of leaf 7"},
		{"after a revocation", []string{event("agent.revoked", morning, `"agent":"1"`), screen(noon, 1, proceed)}, "agent 1 is revoked"},
		{"child of a revoked one", []string{event("agent.revoked", morning, `"agent":"1"`), screen(noon, 2, proceed)}, "agent 1 is revoked"},
		{"reinstated", []string{event("agent.suspended", morning, `"agent":"1"`), event("agent.reinstated", noon, `"agent":"1"`), screen(noon, 1, proceed)}, ""},
		{"operator suspended", []string{event("operator.suspended", morning, `"operator":"beta"`), screen(noon, 2, proceed)}, "operator beta is suspended"},
		{"user suspended", []string{event("user.suspended", morning, `"user":"1"`), screen(noon, 3, proceed+`,"user":"1"`)}, "user 1 is suspended"},
		{"old list", []string{event("list.activated", morning, `"listVersion":1`), screen(noon, 1, review)}, "judged with list 0"},
		{"old fleet", []string{event("fleet.removed", morning, `"agent":"1","fleet":"1"`), screen(noon, 2, review)}, "judged in fleet 1"},
		{"held counts", []string{screen(morning, 1, held), screen(morning, 1, proceed)}, "agent 1 on 2000-01-01 spent 120 of 100"},
		{"room after a release", []string{screen(morning, 2, held), event("hold.released", noon, first), screen(noon, 3, proceed)}, ""},
		{"room of a settle for less", []string{screen(morning, 1, held), event("hold.settled", morning, first), screen(noon, 1, proceed)}, "spent 120"},
		{"returned by itself", []string{screen(morning, 1, held), event("due", noon, `"state":"expired",`+first)}, "returns by itself, redeemed: false"},
		{"expired, " + allRedeemed, []string{screen(morning, 1, held), event("due", noon, `"type":"hold.expired","state":"expired",`+first), screen(noon, 1, proceed)}, ""},
		{"expired too early", []string{screen(noon, 1, held), event("due", noon, `"type":"hold.expired","state":"expired",`+first)}, "was not held until then"},
		{"unresolved, " + allRedeemed, []string{screen(morning, 1, held), event("due", noon, `"state":"unresolved",`+first)}, "nobody redeemed it"},
		{"settled, " + allRedeemed, []string{screen(morning, 1, held), event("hold.settled", morning, first)}, "unpermitted: false"},
		{"unresolved counts", []string{screen(morning, 1, held), event("due", noon, `"type":"hold.unresolved","state":"unresolved",`+first), screen(noon, 1, proceed)}, "spent 120 of 100"},
		{"unresolved too early", []string{screen(noon, 1, held), event("due", noon, `"type":"hold.unresolved","state":"unresolved",`+first)}, "held until later"},
		{"unresolved twice", []string{screen(morning, 1, held), event("due", noon, `"state":"unresolved",`+first), event("due", noon, `"state":"unresolved",`+first)}, "had ended"},
		{"unresolved, then released", []string{screen(morning, 1, held), event("due", noon, `"state":"unresolved",`+first), event("hold.released", noon, first), screen(noon, 1, proceed)}, ""},
		{"released twice", []string{screen(morning, 1, held), event("hold.released", noon, first), event("hold.released", noon, first)}, `was "released" before`},
		{"settled late", []string{screen(morning, 1, held), event("hold.released", noon, first), event("hold.settled", noon, first+`,"late":true`)}, ""},
		{"settled late twice", []string{screen(morning, 1, held), event("hold.released", noon, first), event("hold.settled", noon, first+`,"late":true`),
			event("hold.settled", noon, first+`,"late":true`)}, "ends a second time"},
		{"never ended", []string{screen(morning, 1, held), screen(noon, 3, review)}, "never ended"},
		{"time goes back", []string{screen(noon, 1, review), screen(morning, 1, review)}, "after"},
	})
}

// TestControlCalls adds one fault at a time to the answers of calls. The comparison of the
// answers with the history must find each.
func TestControlCalls(t *testing.T) {
	leaf := func(name string) []byte { return []byte(`{"kind":"screen","verdict":"PROCEED","name":"` + name + `"}`) }
	now := time.Now()
	op := func(name string, at uint64, err error) *Op {
		return &Op{Name: name, Kind: wire.KindScreen, Agent: engine.AgentSlot(1), Leaf: at, Data: leaf(name), Err: err, Start: now, End: now}
	}
	for _, c := range []struct {
		name   string
		ops    []*Op
		leaves [][]byte
		want   string
	}{
		{"right", []*Op{op("a", 0, nil), op("b", 0, wire.ErrUnknown), op("c", 0, wire.ErrNoLeader)}, [][]byte{leaf("a"), leaf("b")}, ""},
		{"lost", []*Op{op("a", 0, nil)}, nil, "was acknowledged"},
		{"twice", []*Op{op("a", 0, nil)}, [][]byte{leaf("a"), leaf("a")}, "was acknowledged"},
		{"unknown twice", []*Op{op("a", 0, wire.ErrUnknown)}, [][]byte{leaf("a"), leaf("a")}, "more than once"},
		{"refused and there", []*Op{op("a", 0, wire.ErrNoLeader)}, [][]byte{leaf("a")}, "certainly did not happen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := (&History{ops: c.ops}).checkCalls(c.leaves)
			if c.want == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, fmt.Sprint(found), c.want)
		})
	}
	first, second := op("first", 1, nil), op("second", 0, nil)
	second.Start, second.End = now.Add(time.Second), now.Add(2*time.Second)
	require.NotEmpty(t, (&History{ops: []*Op{first, second}}).checkOrder(), "order against the clock")
	revoked := op("revoked", 0, nil)
	revoked.Kind, revoked.To = wire.KindStatus, engine.Revoked
	require.NotEmpty(t, (&History{ops: []*Op{revoked, second}}).checkRevoked([][]byte{leaf("second")}, spendLimits), "goes through after a revocation")
}
