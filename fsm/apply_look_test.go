package fsm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// looked applies what a node counted.
func (w *world) looked(rows []wire.Look, used ...wire.KeyUsed) wire.Result {
	return w.do(wire.KindLooks, &wire.Looks{Node: "n1", Rows: rows, Used: used})
}

// Every count is a leaf, and moves no revision: calls under way go on.
func TestLooksAreLeaves(t *testing.T) {
	w := newWorld(t)
	officer := w.key("", wire.RoleReviewer)
	row, hour := officer.Key.Row, w.now/engine.Hour*engine.Hour
	id := w.m.settings.Keys[row-1].ID
	r := w.looked([]wire.Look{
		{Kind: wire.LookSuspicion, Key: row, Hour: hour, Count: 60, First: "192.0.2.1", Last: "192.0.2.9"},
		{Kind: wire.LookExport, Key: row, Hour: hour, Count: 2, First: "192.0.2.1", Last: "192.0.2.1"},
	})
	require.Equal(t, wire.Applied, r.Code)
	all := w.leavesOf(leaf.KindLooked)
	require.Len(t, all, 2)
	require.Contains(t, all[0], `"look":"suspicion","keyId":"`+id+`","subject":"key:`+id+`","node":"n1","hour":"`)
	require.Contains(t, all[0], `"count":60,"firstAddress":"192.0.2.1","lastAddress":"192.0.2.9"`)
	require.Contains(t, all[1], `"look":"export"`)
	require.Empty(t, w.alerts(), "officers look at such things every day")
	require.Equal(t, wire.Applied, w.do(wire.KindNote, &wire.Note{Common: officer, Event: "agent.refused"}).Code)
}

// The same record counts once, however often it is sent.
func TestLooksCountOnce(t *testing.T) {
	w := newWorld(t)
	key := w.key("", wire.RoleAuditor).Key.Row
	b := &wire.Looks{Common: wire.Common{Idem: &wire.Idem{Key: [16]byte{1}}}, Node: "n1", Rows: []wire.Look{
		{Kind: wire.LookNames, Key: key, Hour: w.now, Count: 1}, {Kind: wire.LookExport, Key: key, Hour: w.now, Count: 1},
	}}
	require.Equal(t, wire.Applied, w.do(wire.KindLooks, b).Code)
	require.Equal(t, wire.Replayed, w.do(wire.KindLooks, b).Code)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// lastUsedAt is the beginning of an hour, only rises, and never lies after log time.
func TestLastUseOfKeys(t *testing.T) {
	w := newWorld(t)
	key := w.key("", wire.RoleScreener).Key
	at := func() engine.Time { return w.m.settings.Keys[key.Row-1].UsedAt }
	require.Zero(t, at())
	born := w.key("", wire.RoleViewer).Key.Row
	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{
		ID: "key_born", Name: "born", Roles: wire.RoleViewer, Prefix: "rg_live_born", Hashes: [][]byte{bytes.Repeat([]byte{7}, 32)}, UsedAt: w.now,
	}}).Code)
	require.Zero(t, w.m.settings.Keys[born].UsedAt, "only Apply says when a key was used")
	used := func(when engine.Time) { w.looked(nil, wire.KeyUsed{Key: key.Row, Hour: when}) }
	hour := w.now / engine.Hour * engine.Hour
	used(hour - 2*engine.Hour)
	require.Equal(t, hour-2*engine.Hour, at())
	used(hour + 17*engine.Minute)
	require.Equal(t, min(hour+17*engine.Minute, w.now)/engine.Hour*engine.Hour, at())
	used(hour - engine.Hour)
	require.Equal(t, hour, at(), "it only rises")
	used(w.now + engine.DayLength)
	require.Equal(t, w.m.now/engine.Hour*engine.Hour, at(), "a clock that is ahead")
	require.Equal(t, key.Rev, w.m.settings.Keys[key.Row-1].Rev)
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// An alert opens once for the use of the admin token in an hour, for many dry runs of a key on a
// day, and for many names near one listed party. Keys that are shown matches open none.
func TestLooksThatAlert(t *testing.T) {
	w := newWorld(t)
	tenant, officer := w.key("opr_1", wire.RoleScreener).Key.Row, w.key("", wire.RolePolicy).Key.Row
	many, all := uint32(w.m.limits.DryRuns), ""
	for _, rows := range [][]wire.Look{
		{{Kind: wire.LookAdminToken, Hour: w.now, Count: 1}},
		{{Kind: wire.LookDryRun, Key: tenant, Hour: w.now, Count: many}},
		{{Kind: wire.LookProbe, Key: tenant, Hour: w.now, Count: 9, UID: 27307}},
	} {
		before := w.m.desk.alerts.Len()
		require.Equal(t, wire.Applied, w.looked(rows).Code)
		require.Equal(t, before+1, w.m.desk.alerts.Len())
		all += strings.Join(w.leavesOf(leaf.KindAlertOpened), "\n")
		require.Equal(t, wire.Applied, w.looked(rows).Code)
		require.Equal(t, before+1, w.m.desk.alerts.Len(), "the same again is no other alert")
	}
	for _, want := range []string{`"alert":"admin_token_used"`, `"alert":"many_dry_runs"`, `"alert":"names_probed"`, `"uid":27307`, `"lookedOn":"n1"`} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, `"txnId"`, "no record is the subject")
	before := w.m.desk.alerts.Len()
	w.looked([]wire.Look{
		{Kind: wire.LookDryRun, Key: tenant, Hour: w.now - engine.DayLength, Count: many - 1}, {Kind: wire.LookDryRun, Key: officer, Hour: w.now, Count: 10 * many},
		{Kind: wire.LookProbe, Key: officer, Hour: w.now, Count: 9, UID: 27307},
	})
	require.Equal(t, before, w.m.desk.alerts.Len())
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
	w.looked([]wire.Look{{Kind: wire.LookProbe, Key: tenant, Hour: w.now - engine.DayLength, Count: 9, UID: 27307}})
	require.Equal(t, before+1, w.m.desk.alerts.Len(), "another day is another alert")
	require.Equal(t, w.m.limits.DryRuns, engine.DryRunsCalm, "nodes tell when Apply alerts")
	require.Equal(t, w.m.limits.RecordTargets, engine.LooksBatch)
	require.Less(t, w.m.limits.APIKeys, 1<<keyBits, "the row of a key has room in a subject")
	_, at := wire.SplitSubject(w.m.desk.alerts.At(w.m.desk.alerts.Next() - 1).Subject)
	require.Equal(t, uint64(27307), at>>keyBits&(1<<uidBits-1))
	for _, kind := range []uint8{wire.AlertToken, wire.AlertDryRuns, wire.AlertProbe} {
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: kind}).Refusal)
	}
}

func TestUnsoundLooks(t *testing.T) {
	w := newWorld(t)
	key := w.key("", wire.RoleAuditor).Key.Row
	sound := wire.Look{Kind: wire.LookNames, Key: key, Hour: w.now, Count: 1}
	for name, change := range map[string]func(b *wire.Looks){
		"no node":                func(b *wire.Looks) { b.Node = "" },
		"a long node":            func(b *wire.Looks) { b.Node = strings.Repeat("n", 65) },
		"nothing":                func(b *wire.Looks) { b.Rows = nil },
		"too many":               func(b *wire.Looks) { b.Rows = make([]wire.Look, w.m.limits.RecordTargets+1) },
		"too many keys":          func(b *wire.Looks) { b.Used = make([]wire.KeyUsed, w.m.limits.RecordTargets+1) },
		"no kind":                func(b *wire.Looks) { b.Rows[0].Kind = 0 },
		"an unknown kind":        func(b *wire.Looks) { b.Rows[0].Kind = wire.LookKinds + 1 },
		"no look":                func(b *wire.Looks) { b.Rows[0].Count = 0 },
		"no key":                 func(b *wire.Looks) { b.Rows[0].Key = 0 },
		"an unknown key":         func(b *wire.Looks) { b.Rows[0].Key = 10_000 },
		"a key with the token":   func(b *wire.Looks) { b.Rows[0].Kind = wire.LookAdminToken },
		"a probe of nobody":      func(b *wire.Looks) { b.Rows[0].Kind = wire.LookProbe },
		"a listed party":         func(b *wire.Looks) { b.Rows[0].UID = 7 },
		"a long address":         func(b *wire.Looks) { b.Rows[0].First = strings.Repeat("1", 257) },
		"before all time":        func(b *wire.Looks) { b.Rows[0].Hour = -1 },
		"the use of no key":      func(b *wire.Looks) { b.Used = []wire.KeyUsed{{}} },
		"the use of another key": func(b *wire.Looks) { b.Used = []wire.KeyUsed{{Key: 10_000}} },
	} {
		b := &wire.Looks{Node: "n1", Rows: []wire.Look{sound}}
		change(b)
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindLooks, b).Refusal, name)
	}
}
