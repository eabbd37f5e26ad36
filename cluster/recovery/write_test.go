package recovery

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

func TestAppendMembership(t *testing.T) {
	plan := &datadir.Record{
		Format: datadir.Format, State: datadir.RecoveryBegun, Recovery: 1, Lineage: "0123456789abcdef", ClusterID: "test-cluster", Node: "n0",
		By: "Ada", Second: "Bob", Reason: "r", DecidedAt: instantOf(time.Unix(1_800_000_000, 0)), LastIndex: 100, LastTerm: 3, NewTerm: 4,
		Former: []datadir.Member{{ID: "n0", Addr: "h:1", Incarnation: "0123456789abcdef", Voter: true, Self: true}, {ID: "n1", Addr: "h:2", Voter: true}},
	}
	fill := func(first, last uint64) stillLog {
		store := stillLog{raft.NewInmemStore()}
		for i := first; i <= last && last > 0; i++ {
			require.NoError(t, store.StoreLog(&raft.Log{Index: i, Term: 3}))
		}
		return store
	}
	for name, store := range map[string]stillLog{
		"behind the last entry":            fill(90, 100),
		"into an empty log":                fill(1, 0),
		"over a log before the snapshot's": fill(1, 50),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // Twice, as after a kill behind the first time.
				require.NoError(t, appendMembership(store, plan, "fedcba9876543210"))
				last, err := store.LastIndex()
				require.NoError(t, err)
				require.Equal(t, uint64(101), last)
				first, err := store.FirstIndex()
				require.NoError(t, err)
				for i := first; i <= last; i++ {
					require.NoError(t, store.GetLog(i, &raft.Log{}), "no hole")
				}
				var entry raft.Log
				require.NoError(t, store.GetLog(last, &entry))
				require.Equal(t, plan.NewTerm, entry.Term)
				require.Len(t, raft.DecodeConfiguration(entry.Data).Servers, 1)
			}
		})
	}
	require.ErrorContains(t, appendMembership(fill(90, 101), plan, "fedcba9876543210"), "is not the one")
	require.ErrorContains(t, appendMembership(fill(90, 102), plan, "fedcba9876543210"), "goes on to 102")
}

// TestRecoveryOrderBounds tests each bound and one past it.
func TestRecoveryOrderBounds(t *testing.T) {
	report := &Report{ClusterID: "c"}
	word := func(by, reason int) *Order {
		return &Order{ClusterID: "c", By: strings.Repeat("a", by), Second: "b", Reason: strings.Repeat("r", reason)}
	}
	require.NoError(t, word(orderNameMax, orderReasonMax).checkAgainst(report))
	require.ErrorIs(t, word(orderNameMax+1, 1).checkAgainst(report), ErrOrder)
	require.ErrorIs(t, word(1, orderReasonMax+1).checkAgainst(report), ErrOrder)
	keep := word(1, 1)
	keep.Keep = []string{"n2"}
	require.ErrorContains(t, keep.checkAgainst(report), "n2 cannot be kept")
	report.Members = []datadir.Member{{ID: "n2"}}
	require.ErrorContains(t, keep.checkAgainst(report), "known where its log ends", "blind, the one kept might have what this node lacks")
	report.Survivors = []datadir.Survivor{{Node: "n2"}}
	require.NoError(t, keep.checkAgainst(report))
	report.Behind, report.Furthest, keep.ForceBehind = true, "n2", true
	require.ErrorContains(t, keep.checkAgainst(report), "the furthest must be recovered")
}

type stillLog struct{ *raft.InmemStore }

func (stillLog) Close() error { return nil }
