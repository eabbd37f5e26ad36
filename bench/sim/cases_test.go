package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Sanctions cases over failovers. Clients at all nodes ask for payments that the list blocks, of
// several roots and parties, once or until they get an answer, while one leader after the other
// falls. In the end there is one open case of each root and party, and every BLOCK stands in it.

const (
	caseRunsShort = 12 // Number of worlds if RAILGUARD_SIM_SEEDS is not set.
	caseFailovers = 10 // So often a leader is made to fall in each world.
)

// blockedParties are the causes of which each payment has one or two.
var blockedParties = []wire.Cause{wire.PartyCause(7), wire.PartyCause(8), wire.PlaceCause("IR")}

// blocker is a client of blocked payments.
func (l *load) blocker(c int, random *rand.Rand, of *sync.Map) {
	hosts, h := l.world.hosts, l.history
	for i := 0; l.rest(time.Duration(1 + random.Int64N(2*int64(l.pause)))); i++ {
		first := random.IntN(len(blockedParties))
		pay := payment{
			name: fmt.Sprintf("%sb%d-%d", l.named, c, i), amount: engine.Dollar, causes: []wire.Cause{blockedParties[first]},
			agent: []engine.AgentSlot{spender, child, grandchild, miser}[random.IntN(4)], rule: []engine.RuleID{engine.RulePartyWallet, engine.RulePartyName}[random.IntN(2)],
		}
		if random.IntN(3) == 0 {
			pay.causes = append(pay.causes, blockedParties[(first+1)%len(blockedParties)])
		}
		of.Store(pay.name, pay)
		if random.IntN(2) == 0 {
			h.Screen(context.Background(), hosts[c%len(hosts)], pay)
			continue
		}
		pay.idem = keyOf(pay.name)
		op := h.Pay(context.Background(), func(try int) *Host { return hosts[(c+try)%len(hosts)] }, pay, l.stop)
		if op.Err == nil && random.IntN(4) == 0 { // Its answer was lost, say.
			h.repeat(context.Background(), hosts[(c+1)%len(hosts)], pay)
		}
	}
}

// failover makes the leader fall in one of the ways in which leaders do.
func (w *World) failover() {
	leads := w.leading()
	switch w.Random.IntN(6) {
	case 0:
		w.transfer()
	case 1, 2:
		leads.Crash(w.loss())
	case 3:
		for _, other := range w.IDs() {
			if other != leads.ID {
				w.Net.Cut(leads.ID, other)
				w.Net.Cut(other, leads.ID)
			}
		}
	case 4:
		w.deafen(leads)
	case 5: // A node begins with a snapshot, and not with the log.
		if node := leads.Node(); node != nil {
			_, _ = node.Snapshot(context.Background())
		}
		leads.Crash(w.loss())
	}
	w.pause(900)
	w.mend()
	w.pause(300)
}

func (w *World) term() uint64 { return w.leading().Node().Status(context.Background()).Term }

type casePair struct {
	root  uint64
	cause wire.Cause
}

// requireOneCase requires of every node that each root and party have one case, which is open and has
// every BLOCK of theirs, found by its key. It returns how many payments were blocked.
func (w *World) requireOneCase(t testing.TB, of *sync.Map) (blocked int) {
	want := map[casePair][]uint64{}
	leaves := w.leavesOf(w.hosts[0])
	for i, data := range leaves {
		if asked, known := of.Load(member(data, "name")); known && member(data, "verdict") == "BLOCK" {
			blocked++
			pay := asked.(payment)
			root := pay.agent
			if pay.agent == child || pay.agent == grandchild {
				root = spender
			}
			for _, cause := range pay.causes {
				pair := casePair{wire.AlertSubject(wire.TargetAgent, uint64(root)), cause}
				want[pair] = append(want[pair], uint64(i))
			}
		}
	}
	opened := 0
	for _, data := range leaves {
		if member(data, "kind") == "sanctions.opened" {
			opened++
		}
	}
	require.Len(t, want, opened, "one leaf opens the case of each pair")
	for _, host := range w.hosts {
		view, err := host.Node().View(context.Background(), 0)
		require.NoError(t, err)
		open := map[casePair]fsm.SanctionsRow{}
		view.SanctionsCases(0, true, func(row fsm.SanctionsRow) bool {
			pair := casePair{row.Root, row.Cause}
			require.NotContains(t, open, pair, "%s has two cases of one pair", host.ID)
			open[pair] = row
			return true
		})
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(open)), host.ID)
		settings := host.Node().Settings()
		ids := fsm.NewIDs(settings.Genesis.IDKey, settings.Epochs...)
		for pair, records := range want {
			row := open[pair]
			require.Equal(t, []uint64{uint64(len(records)), records[0], records[len(records)-1]}, []uint64{row.Count, row.First, row.Last}, "%s: %v", host.ID, pair)
			require.Equal(t, engine.USD(len(records))*engine.Dollar, row.Amount)
			require.Equal(t, wire.SanctionsOpen, row.State)
			require.Equal(t, records, w.recordsOf(t, host, engine.FilterKey(engine.FilterCase, fsm.CasePair(ids, pair.root, pair.cause))), "%s: every BLOCK is found by the pair", host.ID)
		}
	}
	return blocked
}

// recordsOf returns the leaves of a node that are found by a key.
func (w *World) recordsOf(t testing.TB, host *Host, key uint64) (found []uint64) {
	query := audit.Query{To: host.Node().Audit().Size(), Examine: 1 << 20, Keys: []uint64{key}}
	for {
		scanned, err := host.Node().Audit().Scan(query, func(index uint64, _ audit.Leaf) bool {
			found = append(found, index)
			return true
		})
		require.NoError(t, err)
		if scanned.Done {
			return found
		}
		query.From = scanned.Next
	}
}

// TestOneCaseAPair is about leader changes, retries, snapshots, and restored backups.
func TestOneCaseAPair(t *testing.T) {
	var mu sync.Mutex
	worlds, terms, blocked, restored := 0, uint64(0), 0, 0
	t.Cleanup(func() {
		t.Logf("%d worlds, %d terms began, %d payments blocked, %d backups restored", worlds, terms, blocked, restored)
	})
	for seed := range uint64(wanted(caseRunsShort)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, h := NewWorld(t, 7000+seed, 3), &History{}
				w.StartAll()
				defer w.StopAll()
				prepare(w, h)
				before, of := w.term(), &sync.Map{}
				l := &load{world: w, history: h, seed: seed, pause: 30 * time.Millisecond, stop: make(chan struct{})}
				for c := range 6 {
					random := rand.New(rand.NewPCG(seed, uint64(300+c)))
					l.all.Go(func() { l.blocker(c, random, of) })
				}
				defer l.end()
				for i := range caseFailovers {
					if i == caseFailovers/2 && seed%4 == 0 {
						w.backUp(w.one())
					}
					w.failover()
				}
				l.end()
				w.settle(t)
				began := w.term() - before
				count := w.requireOneCase(t, of)
				require.Empty(t, h.checkCalls(w.leavesOf(w.hosts[0])))
				again := w.saved != nil
				if again {
					w.restoreBackup(t, h)
					w.blockEverywhere(t, of)
					w.requireOneCase(t, of)
				}
				mu.Lock()
				defer mu.Unlock()
				worlds, terms, blocked = worlds+1, terms+began, blocked+count
				if again {
					restored++
				}
			})
		})
	}
}

// blockEverywhere asks each node for a payment that is blocked.
func (w *World) blockEverywhere(t testing.TB, of *sync.Map) {
	anew := &History{}
	for i, host := range w.hosts {
		pay := payment{name: fmt.Sprintf("after-%d", i), agent: spender, amount: engine.Dollar, causes: blockedParties[:1], rule: engine.RulePartyName}
		of.Store(pay.name, pay)
		op := anew.Screen(context.Background(), host, pay)
		require.NoError(t, op.Err)
		require.Equal(t, "BLOCK", op.Verdict)
	}
	w.AwaitEqual(time.Minute)
}
