package evidence

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"railguard/edge"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Events are read from the log (edge/events): in pages with a cursor, by a call that waits,
// or as a stream (text/event-stream). The node keeps no state for a reader. A reader that
// lost its connection continues with its cursor on any other node.

func eventRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/events", Stream: true, Handle: showEvents},
	}
}

// watch is one reader of events.
type watch struct {
	c      *border.Request
	reader *events.Reader
	at     events.Position
	limit  int
	until  time.Time // End of the call or of the stream.
	items  []strictjson.Members
	out    []byte // The bytes of a stream that were written since the last flush.
}

// showEvents is GET /v1/events.
func showEvents(c *border.Request) (border.Answer, error) {
	streams := strings.Contains(c.RequestHeader("Accept"), "text/event-stream")
	w, err := readWatch(c, streams)
	if err != nil {
		return border.Answer{}, err
	}
	if streams {
		return w.answerStream()
	}
	return w.answerPage()
}

func readWatch(c *border.Request, streams bool) (*watch, error) {
	wanted := events.Everything
	if text := c.Query("types"); text != "" {
		var unknown string
		if wanted, unknown = events.ParseSelection(strings.Split(text, ",")); unknown != "" || len(wanted) == 0 {
			return nil, border.BadQuery("types", "must be names of types or groups, divided by commas: "+strconv.Quote(unknown)+" is none")
		}
	}
	w := &watch{c: c, limit: engine.PageDefault}
	w.reader = events.NewReader(&c.Judge, c.Asked.Caller, c.Published(), c.Records().Audit(), wanted)
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > engine.PageMax {
			return nil, border.BadQuery("limit", "must be a whole number from 1 to "+strconv.Itoa(engine.PageMax))
		}
		w.limit = n
	}
	wait, err := waitOf(c)
	if err != nil {
		return nil, err
	}
	w.until = time.Now().Add(wait)
	if streams {
		w.until = time.Now().Add(streamLife)
	}
	name, after := "after", c.Query("after")
	if last := c.RequestHeader("Last-Event-Id"); streams && last != "" {
		name, after = "Last-Event-ID", last // A reconnect repeats the request from a later place.
	}
	return w, w.beginAt(name, after)
}

// waitOf reads ?wait= in whole seconds.
func waitOf(c *border.Request) (time.Duration, error) {
	text := c.Query("wait")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || time.Duration(n)*time.Second > watchWaitMax {
		return 0, border.BadQuery("wait", "must be a whole number of seconds from 0 to 30")
	}
	return time.Duration(n) * time.Second, nil
}

// beginAt finds the place to continue at. It refuses a cursor when events after it are
// gone, since the reader must learn that it missed them.
func (w *watch) beginAt(name, after string) error {
	switch after {
	case "":
		w.at = w.reader.Oldest()
		return nil
	case "latest":
		if err := w.confirmKey(); err != nil {
			return err
		}
		w.at = w.reader.End()
		return nil
	}
	at, ok := events.ParsePosition(after)
	if !ok {
		return border.BadQuery(name, "must be the id of an event, the nextCursor of a page, or latest")
	}
	if at.Leaf+uint64(min(at.Skip, 1)) < w.reader.Oldest().Leaf {
		return border.BadQuery(name, "is older than the 30 days that events are told for: what came next is gone; leave it out to begin with the oldest")
	}
	if at.Leaf > w.reader.End().Leaf {
		if err := w.confirmKey(); err != nil {
			return err
		}
	}
	if at.Leaf > w.reader.End().Leaf {
		return border.BadQuery(name, "is beyond the end of the log")
	}
	w.at = at
	return nil
}

func (w *watch) confirmKey() error {
	ctx, cancel := w.c.WithDeadline()
	defer cancel()
	w.c.Judge.Within(ctx)
	defer w.c.Judge.Within(w.c.Context())
	return w.c.Judge.Confirm()
}

// readStep reads further, in a turn of the scans, with the key's current rights.
func (w *watch) readStep(limit int, visit func(*events.Event)) error {
	c := w.c
	if err := c.AuthenticateAgain(); err != nil {
		return err
	}
	c.Judge.Renew()
	w.reader.For(c.Asked.Caller)
	ctx, cancel := c.WithDeadline()
	defer cancel()
	c.Judge.Within(ctx)
	defer c.Judge.Within(c.Context())
	return border.TakeTurn(c, func() error {
		at, seen, err := w.reader.Page(w.at, limit, watchStep, func(e *events.Event) bool {
			visit(e)
			return true
		})
		w.at = at
		border.ChargeLooked(c, seen)
		return err
	})
}

// answerPage answers with the events there are, or waits for one.
func (w *watch) answerPage() (border.Answer, error) {
	c := w.c
	border.ExtendAnswer(c, w.until)
	for steps := 1; ; steps++ {
		end := w.reader.End()
		err := w.readStep(w.limit-len(w.items), func(e *events.Event) {
			item := append(strictjson.Members(nil), e.Body...)
			w.items = append(w.items, item)
		})
		switch {
		case err != nil && len(w.items) == 0:
			return border.Answer{}, err
		case err != nil || len(w.items) == w.limit:
			return c.AnswerList(w.items, w.at.String())
		case w.at.Leaf < end.Leaf:
			if steps%watchStepsMax == 0 && (len(w.items) > 0 || !time.Now().Before(w.until)) {
				return c.AnswerList(w.items, w.at.String()) // A short page with a cursor, never a long walk.
			}
		case len(w.items) > 0 || !awaitChange(c, w.until, func() bool { return w.reader.End().Leaf > end.Leaf }):
			return c.AnswerList(w.items, w.at.String())
		}
	}
}

// answerStream sends events as they come. It ends when its time is over, when the node is
// about to stop, when the key is no longer valid, or when the caller disconnects.
func (w *watch) answerStream() (border.Answer, error) {
	c := w.c
	border.ExtendAnswer(c, w.until)
	w.out = append(w.out, "retry: "+strconv.Itoa(streamRetryMax)+"\n\n"...)
	preface, end := len(w.out), w.reader.End()
	var err error
	if !c.IsHead() {
		if err = w.readStep(eventsOfStep, w.sendEvent); err != nil && len(w.out) == preface {
			return border.Answer{}, err // Nothing was sent yet: refused as any other call.
		}
	}
	c.SetHeader("X-Accel-Buffering", "no")
	return border.StreamAnswer(eventStreamType, func(out *border.Stream) error {
		for time.Now().Before(w.until) && !c.IsLeaving() {
			if errors.Join(err, w.flushStream(out)) != nil {
				break // What was sent stays valid; the caller reconnects and is told the reason.
			}
			if w.at.Leaf >= end.Leaf && !w.awaitMore(end.Leaf) {
				break
			}
			end = w.reader.End()
			err = w.readStep(eventsOfStep, w.sendEvent)
		}
		return nil //nolint:nilerr // The stream has ended; what ended it is told to the next call.
	}), nil
}

var eventStreamType = []string{"text/event-stream"}

// awaitMore waits until the log has more than end, and sends a keep-alive after a long
// silence. It returns false when the caller has disconnected.
func (w *watch) awaitMore(end uint64) bool {
	silence := min(time.Until(w.until), streamSilence)
	if awaitChange(w.c, time.Now().Add(silence), func() bool { return w.reader.End().Leaf > end }) {
		return true
	}
	w.out = append(w.out, ": "+w.at.String()+"\nid: "+w.at.String()+"\n\n"...)
	return w.c.Context().Err() == nil
}

// sendEvent writes one event into the stream.
func (w *watch) sendEvent(e *events.Event) {
	w.out = append(append(append(w.out, "id: "...), e.ID...), "\nevent: "...)
	w.out = append(append(append(w.out, e.Type...), "\ndata: {"...), e.Body...)
	w.out = append(w.out, "}\n\n"...)
}

func (w *watch) flushStream(out *border.Stream) error {
	_, err := out.Write(w.out)
	w.out = w.out[:0]
	if err != nil {
		return err
	}
	return out.Flush()
}

// awaitChange waits until come returns true, and then returns true. It returns false at
// until, when the caller disconnects, or when the node is about to stop.
func awaitChange(c *border.Request, until time.Time, come func() bool) bool {
	ticks := time.NewTicker(watchPoll)
	defer ticks.Stop()
	for {
		if come() {
			return true
		}
		if !time.Now().Before(until) || c.IsLeaving() {
			return false
		}
		select {
		case <-ticks.C:
		case <-c.Context().Done():
			return false
		}
	}
}

// awaitDisposition waits, as long as the caller asked for, until there is a disposition
// that it may know of. A disposition that it may not know of looks like none, also in the
// time that the call takes.
func awaitDisposition(c *border.Request, l *edge.Leaf, had *edge.Disposition) (*edge.Disposition, error) {
	wait, err := waitOf(c)
	if err != nil || wait == 0 || l.Text("verdict") != "REVIEW" || mayBeShown(c, had) {
		return had, err
	}
	until := time.Now().Add(wait)
	if err := border.EnterWatch(c); err != nil {
		return nil, err
	}
	defer border.LeaveWatch(c)
	border.ExtendAnswer(c, until)
	hidden := had.Present
	c.DropDeadline()
	come := awaitChange(c, until, func() bool {
		_, decided := c.Published().Disposition(l.Index)
		return decided && !hidden
	})
	ctx, cancel := c.WithDeadline()
	defer cancel()
	c.Judge.Within(ctx)
	defer c.Judge.Within(c.Context())
	c.Judge.Renew()
	if err := c.AuthenticateAgain(); err != nil {
		return nil, err
	}
	if !c.Judge.MayRead(l) {
		return nil, border.NotFound("no such transaction, or past its 90 days")
	}
	now, err := c.Judge.Disposition(l, true)
	if err == nil && come && !mayBeShown(c, now) {
		awaitChange(c, until, func() bool { return false })
	}
	return now, err
}

// mayBeShown reports whether the caller may know that a disposition exists.
func mayBeShown(c *border.Request, d *edge.Disposition) bool {
	return d.Present && (c.Key.SeesAll() || !d.Said.Escalates())
}
