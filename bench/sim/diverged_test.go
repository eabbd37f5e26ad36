package sim

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/fsm/wire"
)

// TestDivergedBesideARestart (C22): the state of one node differs, and the third node is away
// when the other two notice it. Neither of the two can know which is right, so neither ends. When
// the third node comes back, it has no digest for that index. At the next index for which all
// three have a digest, the majority is found. The diverged node ends, and the two others go on.
func TestDivergedBesideARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		var spoilt atomic.Pointer[Host]
		w.Adjust = func(host *Host, log *raft.Log) {
			if host == spoilt.Load() && log.Type == raft.LogCommand && bytes.Contains(log.Data, []byte("spoilt")) {
				spoil(log)
			}
		}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		leads := leader(t, w)
		var odd, away *Host
		for _, host := range w.hosts {
			switch {
			case host == leads:
			case odd == nil:
				odd = host
			default:
				away = host
			}
		}
		odd.Doom()
		spoilt.Store(odd)
		away.Crash(audittest.LoseNone)
		require.NoError(t, h.Screen(context.Background(), leads, payment{name: "spoilt", agent: outcast, amount: 5}).Err)
		time.Sleep(time.Minute) // Digests are compared every few seconds. Only two nodes run, and they differ, so there is no majority.
		require.Empty(t, w.GaveUp())
		require.Empty(t, w.Restarts(), "an absence ends nobody")

		away.Start()
		require.Eventually(t, func() bool { return len(w.Restarts()) > 0 }, time.Minute, 100*time.Millisecond, "the majority ends the diverged node")
		require.Len(t, w.Restarts(), 1)
		require.Contains(t, w.Restarts()[0], odd.ID+": BUG: state diverged")
		for _, host := range []*Host{leads, away} {
			require.Eventually(t, func() bool { return h.Register(context.Background(), host, "on "+host.ID).Err == nil }, time.Minute, time.Second)
		}
		require.Empty(t, w.GaveUp())

		spoilt.Store(nil)
		odd.Wipe()
		odd.Start()
		w.settle(t)
		h.CheckAll(t, w, spendLimits)
	})
}

// spoil changes the amounts of the payments in an entry.
func spoil(log *raft.Log) {
	batch, err := wire.Decode(log.Data)
	if err != nil {
		return
	}
	data, count := wire.AppendHeader(nil, batch.Header), 0
	for record, ok := batch.Next(); ok; record, ok = batch.Next() {
		var s wire.Screen
		if record.Kind == wire.KindScreen && wire.DecodeBody(record.Body, &s) == nil {
			s.Amount++
			record.Body = wire.Encode(&s)
		}
		data = wire.AppendRecord(data, record)
		count++
	}
	log.Data = wire.Seal(data, count)
}
