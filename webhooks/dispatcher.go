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

const (
	pollEvery       = 50 * time.Millisecond // How often it looks for new events.
	redeliveryEvery = 2 * time.Second       // How often it looks for requests to send an event again.
	checkEvery      = time.Second           // How often it looks for expired keys.
)

// Dispatcher runs a worker for each webhook while its node leads. A new leader does not
// inherit how long a worker has waited for an unreadable leaf: it reads from another disk,
// asks its peers again and waits its own unreadableMax, because it may be able to read the
// leaf.
type Dispatcher struct {
	node   Node
	reader *Reader
	post   Post
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup

	every      time.Duration // pollEvery; longer in tests that last for days, as the next one.
	afterError time.Duration // errorPause

	// Only the dispatcher's goroutine uses these.
	workers             map[uint32]*worker
	settings            *fsm.Settings // The settings that the workers were made for.
	settingsChecked     time.Time
	redeliveriesChecked time.Time
	size                uint64
}

// Post makes one attempt to send an event. Sender.Send is a Post.
type Post func(ctx context.Context, hook *wire.Webhook, now engine.Time, id string, body []byte) Attempt

// New returns a dispatcher that does nothing yet.
func New(node Node, reader *Reader, post Post, log *slog.Logger) *Dispatcher {
	return &Dispatcher{node: node, reader: reader, post: post, every: pollEvery, afterError: errorPause, log: log, cancel: func() {}, workers: make(map[uint32]*worker)}
}

// Start begins the dispatcher's goroutine.
func (d *Dispatcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.done.Add(1)
	go d.runLoop(ctx)
}

// Stop ends the dispatcher and its workers, and waits for them.
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

// updateWorkers starts and stops workers as the settings say, gives them requests for
// redelivery, and wakes them for new leaves.
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

// reconcileWorkers starts missing workers and stops those whose webhook or key is gone. It
// returns false if it could not read the state.
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
			return false // The view is older than the webhook.
		}
		l := &worker{
			node: d.node, reader: d.reader, post: d.post, warn: d.log.Warn, wake: make(chan struct{}, 1), done: make(chan struct{}), afterError: d.afterError,
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
