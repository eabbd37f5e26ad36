package cluster

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/recorder"
)

// life has a node's goroutines, and ends the node. The node is closed (stop), which loses
// nothing, or it dies: then it serves nothing more and the process ends.
type life struct {
	log    *slog.Logger
	record *recorder.Recorder // nil: nothing is recorded.
	sever  func()             // Resets the callers: closes their listeners and connections.
	lastly func()             // Called when the node dies: ends service and replica. Set before anything can die.
	fatal  func(reason string)

	stop     chan struct{}
	stopping sync.Once
	running  sync.WaitGroup
	dead     atomic.Pointer[string] // Why the node died; nil: it has not.
}

// endPatience is how long each step of a node's end may take. A step may wait for the disk whose
// hanging ends the node. logPatience is how long the line with the reason may take: by then the
// callers are reset and nobody waits for this process, so that a busy machine has the time to
// write why it ended.
const (
	endPatience = 100 * time.Millisecond
	logPatience = time.Second
)

func newLife(log *slog.Logger, fatal func(reason string)) *life {
	return &life{log: log, sever: func() {}, lastly: func() {}, fatal: fatal, stop: make(chan struct{})}
}

// endProcess ends the node's service for good and then the process. It is the only way in which a
// node ends by itself. The order matters: a process whose disk hangs cannot go before the disk
// answers, and holds its connections until then. So callers are reset first, then nothing is
// decided or said to other nodes any more, and then the reason is written. No step waits for a
// disk for longer than endPatience, nor for whoever reads the log for longer than logPatience.
func (l *life) endProcess(reason string) {
	if !l.dead.CompareAndSwap(nil, &reason) {
		return
	}
	l.note(recorder.Ending, reason)
	waitAtMost(endPatience, l.sever)
	waitAtMost(endPatience, l.lastly)
	waitAtMost(logPatience, func() { l.log.Error("FATAL: this node stops", "reason", reason) })
	l.fatal(reason)
}

// hasEnded reports whether the node was closed or died.
func (l *life) hasEnded() bool {
	select {
	case <-l.stop:
		return true
	default:
		return l.dead.Load() != nil
	}
}

// note records what may be part of an incident.
func (l *life) note(kind, text string) { l.record.Note(recorder.Entry{Kind: kind, Text: text}) }
