package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// recordOf is a plan of a group with as many members as there may be.
func recordOf(members int) *recoveryRecord {
	r := &recoveryRecord{
		Format: folderFormat, State: recoveryBegun, Recovery: 1, Lineage: "0123456789abcdef", ClusterID: "test-cluster", Node: "n0",
		By: "Ada", Second: "Bob", Reason: "r", DecidedAt: instantOf(time.Unix(1_800_000_000, 0)), LastIndex: 100, LastTerm: 3, NewTerm: 4,
	}
	for i := range members {
		id := strings.Repeat("n", port.IDMax-1) + string(rune('0'+i))
		r.Former = append(r.Former, RecoveryMember{ID: id, Addr: strings.Repeat("h", 250) + ":65535", Incarnation: "0123456789abcdef", Voter: true, Self: i == 0})
	}
	return r
}

func TestAppendMembership(t *testing.T) {
	plan := recordOf(3)
	fill := func(first, last uint64) *memoryLog {
		store := newMemoryLog()
		for i := first; i <= last && last > 0; i++ {
			require.NoError(t, store.StoreLog(&raft.Log{Index: i, Term: 3}))
		}
		return store
	}
	for name, store := range map[string]*memoryLog{
		"behind the last entry":            fill(90, 100),
		"into an empty log":                fill(1, 0),
		"over a log before the snapshot's": fill(1, 50),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // Twice: it may have been killed after it.
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

// TestRecoveryNoteFits: the state machine takes the leaf of the largest group with the
// longest names and reason, whatever stands in them.
func TestRecoveryNoteFits(t *testing.T) {
	plan := recordOf(membersMax)
	plan.By, plan.Second, plan.Reason = strings.Repeat("\x01", orderNameMax), strings.Repeat("\x02", orderNameMax), strings.Repeat("\x03", orderReasonMax)
	for _, m := range plan.Former {
		plan.Kept = append(plan.Kept, m.ID)
	}
	note, err := plan.note()
	require.NoError(t, err)
	machine, out := fsm.New(), &fsm.Effects{}
	genesis := testGenesis()
	entry := wire.AppendHeader(nil, wire.Header{Format: 1, Term: 1, Time: 1})
	entry = wire.AppendRecord(entry, wire.Record{Kind: wire.KindGenesis, Version: wire.RecordVersion, Body: wire.Encode(&genesis)})
	entry = wire.AppendRecord(entry, wire.Record{Kind: wire.KindNote, Version: wire.RecordVersion, Body: wire.Encode(note)})
	machine.Apply(1, 1, wire.Seal(entry, 2), out)
	require.Empty(t, out.Stop)
	require.Equal(t, wire.Applied, out.Results[1].Code, "%+v", out.Results[1])
	require.Contains(t, string(out.Results[1].Data), `"lineage":"0123456789abcdef"`)
}

// TestRecoveryOrderBounds: at the bound and one past it.
func TestRecoveryOrderBounds(t *testing.T) {
	report := &RecoveryReport{ClusterID: "c"}
	word := func(by, reason int) *RecoveryOrder {
		return &RecoveryOrder{ClusterID: "c", By: strings.Repeat("a", by), Second: "b", Reason: strings.Repeat("r", reason)}
	}
	require.NoError(t, word(orderNameMax, orderReasonMax).check(report))
	require.ErrorIs(t, word(orderNameMax+1, 1).check(report), ErrRecoveryOrder)
	require.ErrorIs(t, word(1, orderReasonMax+1).check(report), ErrRecoveryOrder)
	keep := word(1, 1)
	keep.Keep = []string{"n2"}
	require.ErrorContains(t, keep.check(report), "n2 cannot be kept")
	report.Members = []RecoveryMember{{ID: "n2"}}
	require.ErrorContains(t, keep.check(report), "known where its log ends", "blind, the one kept might have what this node lacks")
	report.Survivors = []SurvivorIndex{{Node: "n2"}}
	require.NoError(t, keep.check(report))
	report.Behind, report.Furthest, keep.ForceBehind = true, "n2", true
	require.ErrorContains(t, keep.check(report), "the furthest must be recovered")
}
