package load

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maker writes the next request of a caller. The calls of a load count up serial.
type maker func(c *caller, serial uint64, out []byte) []byte

// load is one way to ask a service.
type load struct {
	name    string
	homes   []*endpoint
	callers int // Connections; an open loop has no more calls under way than these.
	rate    int // Arrivals a second; 0: a closed loop, every caller asks as soon as it is answered.
	warm    time.Duration
	span    time.Duration
	seed    uint64
	make    maker
	accept  func(r reply) string // Returns "" or what was wrong; nil: acceptOK.
	verdict bool                 // Count the verdicts.
	greet   bool                 // Ask /livez first, because a server may close a connection that has sent no request.
	retries int                  // How often a failed call is sent again, the same bytes, to the next home.
	events  *[]event             // Keeps every call with its times; nil: none is kept.
	watched bool                 // Look, second by second, how many processors this machine uses.
}

const (
	stragglers  = 6 * time.Second // Longer than an exchange may take.
	tellEvery   = time.Second
	retryPause  = 20 * time.Millisecond
	requestRoom = 4096
)

// caller is one connection of a load with what it needs to make requests.
type caller struct {
	number  int
	load    uint64 // Number of the load within the run.
	link    *link
	random  *random
	buffer  []byte
	digits  []byte
	scratch []byte
}

// drive runs a load to its end.
func (b *bench) drive(ctx context.Context, l load) (*outcome, error) {
	run := b.gather(&l)
	run.begins()
	r, end := run.recorder, run.end
	stop := b.tell(run)
	var eyes *watch
	if l.watched && len(b.hosts) == 0 { // Else the nodes have other processors.
		eyes = watchMachine(r.start)
	}
	var err error
	if l.rate > 0 {
		err = run.open(ctx)
	} else {
		err = run.closed(ctx)
	}
	stop()
	cores := eyes.close()
	for _, c := range run.callers {
		c.link.close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	o := r.sum(end)
	o.name, o.rate, o.callers, o.cores, o.full = l.name, l.rate, l.callers, cores, run.full
	b.keep(o)
	if o.done == 0 {
		return o, fmt.Errorf("%s: no call was answered: %v", l.name, o.errors)
	}
	return o, nil
}

// gather makes the callers of a load, connected.
func (b *bench) gather(l *load) *running {
	if l.accept == nil {
		l.accept = acceptOK
	}
	run := &running{load: l}
	b.loads++
	for i := range l.callers {
		run.callers = append(run.callers, &caller{
			number: i, load: b.loads, link: newLink(l.homes, i), random: newRandom(l.seed, uint64(i)), buffer: make([]byte, 0, requestRoom),
		})
	}
	_ = each(l.callers, func(i int) error { // A caller that cannot connect now gets the error when it makes a call.
		run.callers[i].link.connect()
		if l.greet {
			run.callers[i].link.greet()
		}
		return nil
	})
	return run
}

// begins starts the clock of the load.
func (r *running) begins() {
	r.begin = time.Now()
	r.recorder = newRecorder(r.begin.Add(r.load.warm))
	r.end = r.recorder.start.Add(r.load.span)
}

type running struct {
	load       *load
	recorder   *recorder
	begin, end time.Time
	callers    []*caller
	serial     atomic.Uint64
	done       atomic.Int64
	failed     atomic.Int64
	full       int64      // Calls of an open loop that found no free connection. The dispatcher's until the loop ends.
	mu         sync.Mutex // Guards load.events.
}

func (r *running) closed(ctx context.Context) error {
	var all sync.WaitGroup
	for _, c := range r.callers {
		all.Go(func() {
			for first := true; ctx.Err() == nil; first = false { // Each asks once at least: on a starved machine a brief load is over before the callers begin.
				due := time.Now()
				if due.After(r.end) && !first {
					return
				}
				c.buffer = r.load.make(c, r.serial.Add(1), c.buffer[:0])
				r.settle(c, due, due, c.link.send(c.buffer))
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

// order is a call that was sent and waits for its answer.
type order struct {
	due, sent time.Time
	err       error // Why it could not be sent.
}

// open runs the open loop: a dispatcher on a thread of its own sends every call when it is due,
// on a free connection. If none is free, it waits. The latency of each call that is delayed so
// includes the wait.
func (r *running) open(ctx context.Context) error {
	idle := make(chan *caller, len(r.callers))
	orders := make([]chan order, len(r.callers))
	var readers sync.WaitGroup
	for i, c := range r.callers {
		orders[i] = make(chan order, 1)
		idle <- c
		readers.Go(func() {
			for o := range orders[i] {
				r.settle(c, o.due, o.sent, o.err)
				c.link.connect() // If the dispatcher did this, all calls would wait.
				idle <- c
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // The thread ends with the goroutine, and so does its timer slack.
		sharpen()
		r.dispatch(ctx, idle, orders)
	}()
	<-done
	for _, o := range orders {
		close(o)
	}
	readers.Wait()
	return ctx.Err()
}

func (r *running) dispatch(ctx context.Context, idle chan *caller, orders []chan order) {
	interval := time.Second / time.Duration(r.load.rate)
	late := time.NewTimer(0)
	defer late.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		due := r.begin.Add(time.Duration(i) * interval)
		if due.After(r.end) {
			return
		}
		if wait := time.Until(due); wait > 0 {
			rest(wait)
		}
		var c *caller
		select {
		case c = <-idle:
		default:
			r.full++
			late.Reset(time.Until(r.end) + stragglers)
			select {
			case c = <-idle:
			case <-late.C:
				return
			case <-ctx.Done():
				return
			}
		}
		c.buffer = r.load.make(c, uint64(i), c.buffer[:0])
		sent := time.Now()
		orders[c.number] <- order{due, sent, c.link.send(c.buffer)}
	}
}

// settle waits for the answer to a call, sends it again as often as the load allows, and
// records the outcome.
func (r *running) settle(c *caller, due, sent time.Time, err error) {
	var failure string
	var got reply
	for try := 0; ; try++ {
		if err == nil {
			got, err = c.link.receive()
		}
		if failure = r.judge(c, got, err); failure == "" || try == r.load.retries {
			break
		}
		if err == nil {
			c.link.leave()
		}
		time.Sleep(retryPause)
		err = c.link.send(c.buffer)
	}
	e := event{due: due, sent: sent, done: time.Now(), failure: failure, silent: err != nil}
	if failure == "" && r.load.verdict {
		e.verdict = verdictOf(got.body)
	}
	if failure == "" {
		r.done.Add(1)
	} else {
		r.failed.Add(1)
	}
	r.recorder.record(c.number, e)
	if r.load.events != nil {
		r.mu.Lock()
		*r.load.events = append(*r.load.events, e)
		r.mu.Unlock()
	}
}

// judge says what was wrong with an answer, if anything.
func (r *running) judge(c *caller, got reply, err error) string {
	if err != nil {
		c.link.leave()
		return "connection: " + shortError(err)
	}
	return r.load.accept(got)
}

func acceptOK(got reply) string {
	if got.status == 200 {
		return ""
	}
	return fmt.Sprintf("%d %s", got.status, member(got.body, "code"))
}

// verdictOf returns the verdict of an answer, with the rule if it names one.
func verdictOf(body []byte) string {
	verdict := member(body, "verdict")
	if rule := member(body, "rule"); rule != "" {
		return verdict + " " + rule
	}
	return verdict
}

// member is the text of a string member of a flat answer, without a parse.
func member(body []byte, name string) string {
	at := bytes.Index(body, []byte(`"`+name+`":"`))
	if at < 0 {
		return ""
	}
	rest := body[at+len(name)+4:]
	if end := bytes.IndexByte(rest, '"'); end >= 0 {
		return string(rest[:end])
	}
	return ""
}
