package border

import (
	"time"

	"railguard/cluster/timing"
)

// pacing is how a call stands to the other work of its node.
type pacing struct {
	work   timing.Work   // The call's computing during a turn of the scans, which is paced.
	waiter timing.Waiter // Its place among the calls that wait for a verdict.
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
func (c *Request) queueOf() *timing.Queue {
	switch {
	case c.route.charge.Name != Charges[KindScreening].Name && c.route.charge.Bound != boundDuplex:
		return nil
	case c.large != nil || c.route.charge.Bound == boundDuplex:
		return c.border.calls.Bulk
	}
	return c.border.calls.Single
}

// joinQueue takes the call's place among those that wait for a verdict. Above what this node can
// answer it refuses the call at once, unless the call's owner has fewer under way than others.
func (c *Request) joinQueue() error {
	queue := c.queueOf()
	if queue == nil || queue.Enter(&c.pacing.waiter, c.ownerOfCalls()) {
		return nil
	}
	shedTotal.Inc()
	return Unavailable("overloaded", "more calls come than this node answers; this one was refused before it waited: try another node, or again later")
}

func (c *Request) leaveQueue() {
	if queue := c.queueOf(); queue != nil {
		queue.Leave(&c.pacing.waiter)
	}
}

// ownerOfCalls names whose calls these are: an operator's are all those of its keys.
func (c *Request) ownerOfCalls() string {
	if owner := c.Asked.Caller.Owner; owner != "" {
		return owner
	}
	return c.Asked.Caller.ID
}

// joinAsPart is joinQueue for a part of a stream, which waits a while instead.
func (c *Request) joinAsPart() error {
	err := c.joinQueue()
	for waited := time.Duration(0); err != nil && waited < partPatience; waited += partLook {
		select {
		case <-time.After(partLook):
		case <-c.ctx.Done():
			return err
		}
		err = c.joinQueue()
	}
	return err
}
