package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm/wire"
)

func TestCheckFrame(t *testing.T) {
	good := frameRecords(1, []attempt{{seq: 1, kind: wire.KindScreen, body: []byte("a")}, {seq: 2, kind: wire.KindAttest, body: []byte("b")}})
	require.NoError(t, checkFrame(&port.ForwardCall{Count: 2, Records: good}))
	bad := func(kind wire.Kind, version uint8) []byte {
		return wire.AppendRecord(nil, wire.Record{Kind: kind, Version: version, Body: []byte("x")})
	}
	for name, m := range map[string]*port.ForwardCall{
		"count too low":     {Count: 1, Records: good},
		"count too high":    {Count: 3, Records: good},
		"no records":        {Count: 0},
		"cut short":         {Count: 2, Records: good[:len(good)-1]},
		"too many":          {Count: engine.EntryRecordsMax, Records: good},
		"a tick":            {Count: 1, Records: bad(wire.KindTick, wire.RecordVersion)},
		"a genesis":         {Count: 1, Records: bad(wire.KindGenesis, wire.RecordVersion)},
		"an unknown kind":   {Count: 1, Records: bad(200, wire.RecordVersion)},
		"another version":   {Count: 1, Records: bad(wire.KindScreen, wire.RecordVersion+1)},
		"more than allowed": {Count: 1, Records: make([]byte, engine.EntryMax)},
	} {
		require.ErrorIs(t, checkFrame(m), errBadFrame, name)
	}
}

// FuzzCheckFrame: checkFrame accepts exactly the frames whose entry can be decoded into the
// same records. The old check made that entry.
func FuzzCheckFrame(f *testing.F) {
	f.Add(1, []byte{1})
	f.Add(2, frameRecords(1, []attempt{{seq: 1, kind: wire.KindScreen, body: []byte("a")}, {seq: 2, kind: wire.KindAttest}}))
	f.Fuzz(func(t *testing.T, count int, data []byte) {
		got := checkFrame(&port.ForwardCall{Count: count, Records: data})
		if count < 1 || count >= engine.EntryRecordsMax || len(data) > engine.EntryMax-entryFrame-tickSizeMax {
			require.ErrorIs(t, got, errBadFrame)
			return
		}
		entry := append(wire.AppendHeader(nil, wire.Header{}), data...)
		batch, err := wire.Decode(wire.Seal(entry, count))
		for err == nil {
			record, ok := batch.Next()
			if !ok {
				break
			}
			if record.Version != wire.RecordVersion || record.Kind < wire.KindScreen || record.Kind > wire.KindNewest {
				err = errBadFrame
			}
		}
		require.Equal(t, err == nil, got == nil)
	})
}

// BenchmarkCheckFrame checks a full frame of screening records.
func BenchmarkCheckFrame(b *testing.B) {
	attempts := make([]attempt, engine.EntryRecordsMax-1)
	for i := range attempts {
		attempts[i] = attempt{seq: uint64(i), kind: wire.KindScreen, body: make([]byte, 400)}
	}
	m := &port.ForwardCall{Count: len(attempts), Records: frameRecords(1, attempts)}
	b.ReportAllocs()
	for b.Loop() {
		if err := checkFrame(m); err != nil {
			b.Fatal(err)
		}
	}
}
