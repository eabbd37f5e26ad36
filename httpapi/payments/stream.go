package payments

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// POST /v1/screen/stream screens the payments of one caller as they come: a line is a payment of a
// batch, and has its answer as soon as it has a verdict, in any order. Lines that have come together
// share the way through the log, as the payments of a batch do: under load they are many, and at rest
// a line waits for no other.

// Bounds of a stream.
const (
	partsAtOnce  = 4               // Parts of one stream that are judged or wait for the log.
	partLines    = engine.BatchMax // Lines of one part, at most.
	partBegins   = 16              // Lines of the first part.
	partSlow     = 200 * time.Millisecond
	pieceOfBody  = 32 << 10         // Bytes read at once.
	lineWithin   = 10 * time.Second // The longest time in which a line that has begun is whole.
	quietMax     = 2 * time.Minute  // The longest time without a byte from the caller.
	aliveEvery   = 10 * time.Second // After so long without an answer the caller gets an empty line.
	lookEvery    = 250 * time.Millisecond
	looksPerKeys = 4 // Every so many looks, the key is looked at.
)

// The reasons for which a stream ends.
var (
	endComplete = &ending{"complete", ""}
	endGone     = &ending{"gone", "the connection broke"}
	endQuiet    = &ending{"quiet", "nothing came for two minutes; an empty line keeps a stream open"}
	endSlow     = &ending{"bad_request", "a line was not whole ten seconds after it had begun"}
	endBroken   = &ending{"bad_request", "the body ended before it was whole, or is not chunked as it says"}
	endLeaving  = &ending{"shutting_down", "this node is about to stop: go on at another one with the lines after the last one that is counted here"}
	endKey      = &ending{"unauthorized", "the key is no longer good"}
	endPanic    = &ending{"internal_error", "internal error"}
)

// stream is one such call.
type stream struct {
	call   *border.Request
	duplex *border.Duplex
	strict bool
	intake *intake
}

// screenStream is POST /v1/screen/stream.
func screenStream(c *border.Request) (border.Answer, error) {
	strict, err := strictOf(c)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerDuplex(func(duplex *border.Duplex) error {
		s := &stream{call: c, duplex: duplex, strict: strict, intake: newIntake()}
		return s.run()
	})
}

// run answers all lines. The last line says how many were taken: of a line after that nothing
// happened.
func (s *stream) run() error {
	streamsOpen.Inc()
	defer streamsOpen.Dec()
	s.duplex.Go(s.read)
	ended := make(chan struct{})
	parts := make(chan struct{}, partsAtOnce)
	for range partsAtOnce {
		s.duplex.Go(func() {
			defer func() { parts <- struct{}{} }()
			defer s.intake.end(endPanic) // Only after a panic it is the first reason.
			s.answerParts()
		})
	}
	go func() {
		for range partsAtOnce {
			<-parts
		}
		close(ended)
	}()
	s.watch(ended)
	s.duplex.EndReading()
	taken, why := s.intake.outcome()
	if why == endGone || why == endPanic {
		return errors.New(why.message)
	}
	var end strictjson.Members
	end.Int("lines", int64(taken))
	end.Text("code", why.code)
	end.Optional("message", why.message)
	var last strictjson.Members
	last.Object("end", end)
	_ = s.duplex.Send(append(last.Body(), '\n')) // A caller that went away is not our fault.
	return nil
}

// watch waits for the end. Meanwhile it looks whether the node leaves and whether the key is good, and
// keeps the connection.
func (s *stream) watch(ended <-chan struct{}) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for look := 1; ; look++ {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		switch {
		case s.call.IsLeaving():
			s.end(endLeaving)
		case look%looksPerKeys == 0 && !s.duplex.KeyStands():
			s.end(endKey)
		case s.duplex.KeepAlive(aliveEvery) != nil:
			s.intake.abandon()
			s.duplex.EndReading()
		}
	}
}

// end ends the reading; what was read is answered.
func (s *stream) end(why *ending) {
	s.intake.end(why)
	s.duplex.EndReading()
}

// read feeds the intake until the body or the stream ends.
func (s *stream) read() {
	piece := make([]byte, pieceOfBody)
	within, began := quietMax, time.Time{}
	for {
		n, err := s.duplex.Read(piece, within)
		partial, more := s.intake.feed(piece[:n])
		switch {
		case !more:
			return
		case err == io.EOF:
			s.intake.end(endComplete)
			return
		case err != nil:
			s.intake.end(endOfBody(err, partial))
			return
		case !partial:
			within, began = quietMax, time.Time{}
		case began.IsZero():
			within, began = lineWithin, time.Now()
		default:
			within = lineWithin - time.Since(began)
		}
	}
}

// endOfBody says why a body could not be read to its end.
func endOfBody(err error, partial bool) *ending {
	var slow net.Error
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded) && !(errors.As(err, &slow) && slow.Timeout()):
		return endBroken
	case partial:
		return endSlow
	}
	return endQuiet
}

// answerParts takes lines and answers them, until there are no more. A part that took long is followed
// by a smaller one: a node that is slow delays a stream, and refuses none of its lines.
func (s *stream) answerParts() {
	var taken []byte
	most := partBegins
	for {
		lines, first, more := s.intake.take(taken[:0], min(most, s.duplex.MostOfPart()))
		if !more {
			return
		}
		taken = lines
		began := time.Now()
		s.answerPart(lines, first)
		switch took := time.Since(began); {
		case took > partSlow:
			most = max(most/2, 1)
		case took < partSlow/4:
			most = min(most*2, partLines)
		}
	}
}

// answerPart judges the lines of one part, as a batch, and sends their answers.
func (s *stream) answerPart(lines []byte, first int) {
	b := batchPool.Get().(*batch)
	b.parsed.ReadLines(lines, engine.ScreenValuesMax)
	b.items = append(b.items, make([]batchItem, b.parsed.Count())...)
	s.duplex.Part(b.cost(), func(part *border.Request, refused error) {
		b.call = part
		part.HoldUntilAnswered(b)
		part.Asked.Strict = s.strict
		if refused == nil {
			b.screenAll()
			refused = part.ConfirmPart() // If no line has a record.
		}
		if refused != nil {
			b.refuseAll(refused)
		}
		b.writeLines(first)
		if s.duplex.Send(b.out) != nil {
			s.intake.abandon()
			s.duplex.EndReading()
		}
	})
}

// refuseAll gives every payment the same error.
func (b *batch) refuseAll(err error) {
	for i := range b.items {
		b.items[i].err = err
	}
}

// writeLines writes the outcome of every payment as a line of its own. first is the number of the
// first line.
func (b *batch) writeLines(first int) {
	c := b.call
	for i := range b.items {
		item := &b.items[i]
		var head strictjson.Members
		head.Int("line", int64(first+b.parsed.Line(i)))
		head.Optional("idempotencyKey", item.key)
		c.Out, c.TxnID, c.Replayed = c.Out[:0], "", false
		b.write(item)
		b.out = append(append(append(b.out, '{'), head...), ',')
		b.out = append(append(b.out, c.Out...), '}', '\n')
	}
	streamLines.Add(len(b.items))
}
