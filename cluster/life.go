package cluster

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// life has a node's goroutines, and ends the node. The node is closed (stop), which loses
// nothing, or it dies: then it serves nothing more and the process ends.
type life struct {
	log    *slog.Logger
	lastly func() // Called when the node dies: ends service and replica. Set before anything can die.
	fatal  func(reason string)

	stop     chan struct{}
	stopping sync.Once
	running  sync.WaitGroup
	dead     atomic.Pointer[string] // Why the node died; nil: it has not.
}

func newLife(log *slog.Logger, fatal func(reason string)) *life {
	return &life{log: log, lastly: func() {}, fatal: fatal, stop: make(chan struct{})}
}

// endProcess ends the node's service for good and then the process.
func (l *life) endProcess(reason string) {
	if !l.dead.CompareAndSwap(nil, &reason) {
		return
	}
	l.log.Error("FATAL: this node stops", "reason", reason)
	l.lastly()
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
