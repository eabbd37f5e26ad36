package border

import (
	"time"

	"railguard/cluster/timing"
)

// pacing is how a call stands to the other work of its node.
type pacing struct {
	work   timing.Work   // The call's computing during a turn of the scans, which is paced.
	waiter timing.Waiter // Its place among the calls that wait for a verdict.
	owner  string        // Whose call it is: an operator's are those of all its keys.
}

const (
	// callsMakeWay is how long after its beginning a search or an export still makes way for
	// verdicts. A person waits for it.
	callsMakeWay = 2 * time.Second
	// partPatience is how long a part of a stream waits while this node has more calls than it
	// can answer. Its caller is told of the back pressure by that.
	partPatience = time.Second
	partLook     = 5 * time.Millisecond
)

// queueOf returns the queue in which a call waits for its verdict, or nil if it asks for none.
func (b *Border) queueOf(c *Request) *timing.Queue {
	switch {
	case c.route.charge.Name != Charges[KindScreening].Name && c.route.charge.Bound != boundDuplex:
		return nil
	case c.large != nil || c.route.charge.Bound == boundDuplex:
		return b.Calls.Bulk
	}
	return b.Calls.Single
}

// joinQueue takes the call's place among those that wait for a verdict. Above what this node can
// answer it refuses the call at once, unless the call's owner has fewer under way than others.
func (b *Border) joinQueue(c *Request) error {
	err := b.tryQueue(c)
	if err != nil {
		shedTotal.Inc()
	}
	return err
}

func (b *Border) tryQueue(c *Request) error {
	queue := b.queueOf(c)
	if queue == nil || queue.Enter(&c.pacing.waiter, c.pacing.owner) {
		return nil
	}
	return Unavailable("overloaded", "more calls come than this node answers; this one was refused before it waited: try another node, or again later")
}

func (b *Border) leaveQueue(c *Request) {
	if queue := b.queueOf(c); queue != nil {
		queue.Leave(&c.pacing.waiter)
	}
}

// joinAsPart is joinQueue for a part of a stream, which waits a while instead.
func (b *Border) joinAsPart(c *Request) error {
	for waited := time.Duration(0); waited < partPatience && b.tryQueue(c) != nil; waited += partLook {
		select {
		case <-time.After(partLook):
		case <-c.ctx.Done():
			waited = partPatience
		}
	}
	if c.pacing.waiter.Waits() {
		return nil
	}
	return b.joinQueue(c)
}
