package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
	"railguard/strictjson"
)

// SyncReport is how the fetching of lists went on this node.
type SyncReport struct {
	Source  string    // "published", or the base URL of a mirror.
	Running bool      // A run is under way.
	TriedAt time.Time // When the last run began; zero: never.
	DoneAt  time.Time // When the last good run ended; zero: never.
	Failure string    // Why the last run failed; empty when it did not.
}

// syncReporter is a Syncer that tells how its runs went.
type syncReporter interface{ LastSync() SyncReport }

var (
	syncsDone   = metrics.NewCounter("railguard_ofac_syncs_total")
	syncsFailed = metrics.NewCounter("railguard_ofac_sync_failures_total")
)

// CountSync counts a run of whoever fetches lists, and its failure.
func CountSync(err error) {
	syncsDone.Inc()
	if err != nil {
		syncsFailed.Inc()
	}
}

// syncMembers is the member "sync" of GET /v1/ofac: how it went on the node that was
// asked. Fetching is the leader's work, so a follower may have nothing to tell.
func syncMembers(c *call) (strictjson.Members, bool) {
	var m strictjson.Members
	reporter, tells := c.api.deps.Sync.(syncReporter)
	if !tells {
		return m, false
	}
	report := reporter.LastSync()
	m.Text("node", c.api.deps.Node)
	m.TextOrNull("source", report.Source)
	m.Bool("running", report.Running)
	for _, moment := range []struct {
		name string
		at   time.Time
	}{{"lastTryAt", report.TriedAt}, {"lastSuccessAt", report.DoneAt}} {
		if moment.at.IsZero() {
			m.Null(moment.name)
		} else {
			m.Time(moment.name, engine.Time(moment.at.UnixNano()))
		}
	}
	m.TextOrNull("error", report.Failure)
	return m, true
}

// syncQuick is how long POST /v1/ofac/sync waits for an answer of its own before
// it says 202 and lets the run go on.
const syncQuick = 300 * time.Millisecond

// syncLists is POST /v1/ofac/sync. The run outlives the call: it ends by itself,
// at the latest after listWork.
func syncLists(c *call) error {
	syncer := c.api.deps.Sync
	if syncer == nil {
		return listRejected([]string{"this node has no source to fetch lists from; upload the files instead"})
	}
	type outcome struct {
		started bool
		err     error
	}
	done := make(chan outcome, 1)
	log, requestID := c.api.log, c.asked.RequestID
	detached := context.WithoutCancel(c.ctx) // Taken here: the call is not the goroutine's to read.
	go func() {
		ctx, cancel := context.WithTimeout(detached, listWork)
		defer cancel()
		started, err := syncer.Sync(ctx)
		if err != nil {
			log.Warn("list sync: the old list stays", "requestId", requestID, "error", err)
		}
		done <- outcome{started, err}
	}()
	timer := time.NewTimer(syncQuick)
	defer timer.Stop()
	finished := false
	select {
	case o := <-done:
		if o.err != nil {
			return listRejected([]string{o.err.Error()})
		}
		if !o.started {
			return conflict("refresh_running", "a list synchronisation is running already", nil)
		}
		finished = true
	case <-timer.C:
	}
	var m strictjson.Members
	m.Bool("started", true)
	m.Bool("finished", finished)
	c.reply(http.StatusAccepted, m)
	return nil
}
