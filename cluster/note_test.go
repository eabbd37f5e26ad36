package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// recordOf returns the record of a recovery in a group with so many members.
func recordOf(members int) *datadir.Record {
	r := &datadir.Record{
		Format: datadir.Format, State: datadir.RecoveryBegun, Recovery: 1, Lineage: "0123456789abcdef", ClusterID: "test-cluster", Node: "n0",
		By: "Ada", Second: "Bob", Reason: "r", DecidedAt: time.Unix(1_800_000_000, 0).UTC().Format(datadir.TimeFormat), LastIndex: 100, LastTerm: 3, NewTerm: 4,
	}
	for i := range members {
		id := strings.Repeat("n", port.IDMax-1) + string(rune('0'+i))
		r.Former = append(r.Former, datadir.Member{ID: id, Addr: strings.Repeat("h", 250) + ":65535", Incarnation: "0123456789abcdef", Voter: true, Self: i == 0})
	}
	return r
}

// TestRecoveryNoteFits: the state machine takes the leaf of the largest group with the longest
// names and reason, whatever characters they have.
func TestRecoveryNoteFits(t *testing.T) {
	plan := recordOf(port.MembersMax)
	plan.By, plan.Second, plan.Reason = strings.Repeat("\x01", 128), strings.Repeat("\x02", 128), strings.Repeat("\x03", 512)
	for _, m := range plan.Former {
		plan.Kept = append(plan.Kept, m.ID)
	}
	note, err := noteOf(plan)
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
