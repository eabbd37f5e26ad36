package webhooks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Bounds of the dispatcher.
const (
	pollEvery       = 50 * time.Millisecond // How soon a new event is seen.
	redeliveryEvery = 2 * time.Second       // How soon what is to be sent again is.
	checkEvery      = time.Second           // How soon it is seen that a key has expired.
)

// Dispatcher has a worker for each webhook while its node leads. What a worker has waited for
// what it could not read ends with it: the next leader reads on another disk, asks its
// peers anew, and waits its own unreadableMax. How long the one before waited would be
// no reason for it to lose an event at once that it may have in a minute.
type Dispatcher struct {
	node   Node
	reader *Reader
	post   Post
	every  time.Duration // pollEvery, but in tests that last for days.
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup

	// The dispatcher's goroutine's own.
	workers             map[uint32]*worker
	settings            *fsm.Settings // Of the workers.
	settingsChecked     time.Time
	redeliveriesChecked time.Time
	size                uint64
}

// Post makes one attempt. A Sender's Send is one.
type Post func(ctx context.Context, hook *wire.Webhook, now engine.Time, id string, body []byte) Attempt

// New returns a dispatcher that does nothing yet.
func New(node Node, reader *Reader, post Post, log *slog.Logger) *Dispatcher {
	return &Dispatcher{node: node, reader: reader, post: post, every: pollEvery, log: log, cancel: func() {}, workers: make(map[uint32]*worker)}
}

// Start begins the dispatcher's goroutine.
func (d *Dispatcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.done.Add(1)
	go d.runLoop(ctx)
}

// Stop ends it and its workers, and waits for them.
func (d *Dispatcher) Stop() {
	d.cancel()
	d.done.Wait()
}

// runLoop is the dispatcher's goroutine.
func (d *Dispatcher) runLoop(ctx context.Context) {
	defer d.done.Done()
	ticks := time.NewTicker(d.every)
	defer ticks.Stop()
	for {
		if ctx.Err() != nil || d.node.Role() != "leader" || d.node.Settings().Genesis == nil {
			d.stopWorkers()
		} else {
			d.updateWorkers(ctx)
		}
		workersRunning.Store(int64(len(d.workers)))
		select {
		case <-ticks.C:
		case <-ctx.Done():
			d.stopWorkers()
			return
		}
	}
}

// updateWorkers brings the workers up to date with the settings, and wakes them for new leaves.
func (d *Dispatcher) updateWorkers(ctx context.Context) {
	settings, now := d.node.Settings(), time.Now()
	if settings != d.settings || now.Sub(d.settingsChecked) >= checkEvery {
		if d.reconcileWorkers(ctx, settings) {
			d.settings, d.settingsChecked = settings, now
		}
	}
	if now.Sub(d.redeliveriesChecked) >= redeliveryEvery && len(d.workers) > 0 {
		d.redeliveriesChecked = now
		d.pushRedeliveries(ctx)
	}
	size, furthest, stuck := d.node.Audit().Size(), uint64(0), time.Duration(0)
	for _, l := range d.workers {
		if since := l.stuck.Load(); since != 0 {
			stuck = max(stuck, now.Sub(time.Unix(0, since)))
		}
		if size != d.size {
			l.wakeUp()
		}
		furthest = max(furthest, size-min(l.behind.Load(), size))
	}
	d.size = size
	leavesBehind.Store(int64(furthest))
	unreadableFor.Store(int64(stuck))
}

// reconcileWorkers begins the workers that should be and ends those that should not; false: what
// it needs could not be read.
func (d *Dispatcher) reconcileWorkers(ctx context.Context, settings *fsm.Settings) bool {
	wanted := make(map[uint32]bool, len(settings.Webhooks))
	var view *fsm.View
	for _, hook := range settings.Webhooks {
		if _, alive := Owner(settings, d.node.LogTime(), hook); hook.Off || !alive {
			continue
		}
		wanted[hook.ID] = true
		if l := d.workers[hook.ID]; l != nil {
			if l.hook.Swap(hook) != hook {
				l.wakeUp()
			}
			continue
		}
		if view == nil {
			var err error
			if view, err = d.node.View(ctx, d.node.Applied()); err != nil {
				return false
			}
		}
		seq, n, _, found := view.Cursor(hook.ID)
		if !found {
			return false // Of a state from before it was made.
		}
		l := &worker{
			node: d.node, reader: d.reader, post: d.post, warn: d.log.Warn, wake: make(chan struct{}, 1), done: make(chan struct{}),
			position: events.Position{Leaf: seq, Skip: int(n)}, cursor: events.Position{Leaf: seq, Skip: int(n)},
		}
		l.hook.Store(hook)
		l.behind.Store(seq)
		d.startWorker(ctx, hook.ID, l)
	}
	var ended []*worker
	for id, l := range d.workers {
		if !wanted[id] {
			l.cancel()
			ended = append(ended, l)
			delete(d.workers, id)
		}
	}
	for _, l := range ended {
		<-l.done
	}
	return true
}

func (d *Dispatcher) startWorker(ctx context.Context, id uint32, l *worker) {
	ctx, l.cancel = context.WithCancel(ctx)
	d.workers[id] = l
	go l.runLoop(ctx)
}

// pushRedeliveries tells the workers what is to be sent again.
func (d *Dispatcher) pushRedeliveries(ctx context.Context) {
	view, err := d.node.View(ctx, d.node.Applied())
	if err != nil {
		return
	}
	asked := make(map[uint32][]events.Position)
	view.Asked(func(webhook uint32, seq uint64, n uint8) {
		asked[webhook] = append(asked[webhook], events.Position{Leaf: seq, Skip: int(n)})
	})
	for id, l := range d.workers {
		l.setRedeliveries(view.Index, asked[id])
	}
}

// stopWorkers ends all workers, at once, and waits for them.
func (d *Dispatcher) stopWorkers() {
	for _, l := range d.workers {
		l.cancel()
	}
	for _, l := range d.workers {
		<-l.done
	}
	clear(d.workers)
	d.settings = nil
	leavesBehind.Store(0)
	unreadableFor.Store(0)
}
