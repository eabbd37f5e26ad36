package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	streamCallers = 16
	streamWindow  = 64 // Lines of one stream that are not answered yet.
)

// flow is one stream of payments: lines go out while fewer than window of them are unanswered.
type flow struct {
	run    *running
	caller *caller
	window chan struct{}
	lines  func(c *caller, serial uint64) []byte

	mu   sync.Mutex
	sent map[int]time.Time // When each unanswered line was sent, by its number.
	last int
}

// streams runs streams at full speed for a while. Each line counts as a call.
func (t *target) streams(ctx context.Context, name string, callers, window int, span time.Duration) (*measured, error) {
	l := t.screening(name, t.homes, callers, 0, span)
	run := t.bench.gather(&l)
	before, unknown := t.usage(ctx)
	run.begins()
	stop := t.bench.tell(run)
	err := each(callers, func(at int) error {
		f := &flow{run: run, caller: run.callers[at], window: make(chan struct{}, window), sent: make(map[int]time.Time)}
		f.lines = func(c *caller, serial uint64) []byte { return t.crew.payment(t.bench.options.Workload, c, serial) }
		return f.flow(ctx, t.crew.key)
	})
	stop()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	o := run.recorder.sum(run.end)
	o.name, o.callers = name, callers
	t.bench.keep(o)
	m := &measured{outcome: o, err: unknown}
	if unknown == nil {
		var after usage
		if after, m.err = t.usage(ctx); m.err == nil {
			m.used, m.took = after.since(before), after.at.Sub(before.at)
		}
	}
	return m, nil
}

// flow runs one stream to its end.
func (f *flow) flow(ctx context.Context, key string) error {
	link := f.caller.link
	defer link.close()
	if err := link.send([]byte("POST /v1/screen/stream HTTP/1.1\r\nHost: railguard\r\nAuthorization: Bearer " + key + "\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")); err != nil {
		return err
	}
	if err := link.conn.SetDeadline(f.run.end.Add(stragglers)); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- f.write(ctx) }()
	if err := f.read(link.reader); err != nil {
		link.close() // The writer notices.
		return errors.Join(err, <-failed)
	}
	return <-failed
}

// write sends lines until the load's end, all that the window allows in one piece.
func (f *flow) write(ctx context.Context) error {
	conn := f.caller.link.conn
	var lines, chunk []byte
	for time.Now().Before(f.run.end) && ctx.Err() == nil {
		select {
		case f.window <- struct{}{}:
		case <-time.After(time.Until(f.run.end)):
			continue
		}
		lines = f.append(lines[:0])
		for more := true; more; {
			select {
			case f.window <- struct{}{}:
				lines = f.append(lines)
			default:
				more = false
			}
		}
		chunk = append(strconv.AppendInt(chunk[:0], int64(len(lines)), 16), "\r\n"...)
		chunk = append(append(chunk, lines...), "\r\n"...)
		if _, err := conn.Write(chunk); err != nil {
			return err
		}
	}
	_, err := conn.Write([]byte("0\r\n\r\n"))
	return errors.Join(err, ctx.Err())
}

// append appends the next line.
func (f *flow) append(lines []byte) []byte {
	f.mu.Lock()
	f.last++
	f.sent[f.last] = time.Now()
	f.mu.Unlock()
	return append(append(lines, f.lines(f.caller, f.run.serial.Add(1))...), '\n')
}

// read reads the answers to the last line.
func (f *flow) read(from *bufio.Reader) error {
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(answer.Body) // What came says enough.
		return fmt.Errorf("the stream is answered %d: %.200s", answer.StatusCode, body)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		if bytes.HasPrefix(line, []byte(`{"end":`)) {
			if !bytes.Contains(line, []byte(`"code":"complete"`)) || len(f.sent) > 0 {
				return fmt.Errorf("the stream ends with %d lines unanswered: %.200s", len(f.sent), line)
			}
			return nil
		}
		if err := f.settle(line); err != nil {
			return err
		}
	}
	return errors.Join(errors.New("the stream broke off"), lines.Err())
}

// settle records one answer.
func (f *flow) settle(line []byte) error {
	rest, found := bytes.CutPrefix(line, []byte(`{"line":`))
	digits, _, _ := bytes.Cut(rest, []byte(","))
	number, err := strconv.Atoi(string(digits))
	if !found || err != nil {
		return fmt.Errorf("no answer of a line: %.200s", line)
	}
	f.mu.Lock()
	sent, known := f.sent[number]
	delete(f.sent, number)
	f.mu.Unlock()
	if !known {
		return fmt.Errorf("line %d is answered, and was not asked or twice", number)
	}
	<-f.window
	e := event{due: sent, sent: sent, done: time.Now()}
	if e.verdict = verdictOf(line); e.verdict == "" {
		e.failure = "no verdict: " + member(line, "code")
		f.run.failed.Add(1)
	} else {
		f.run.done.Add(1)
	}
	f.run.recorder.record(f.caller.number, e)
	return nil
}

// runStream compares streams with batches and single calls.
func runStream(ctx context.Context, b *bench) error {
	t, err := b.shared(ctx)
	if err != nil {
		return err
	}
	for round := range b.times(3) {
		single, err := t.drive(ctx, t.screening(fmt.Sprintf("single calls, round %d", round+1), t.homes, b.callers(), 0, b.span(4*time.Second)))
		if err != nil {
			return err
		}
		b.add("stream.single", "/s", more, single.perSecond())
		batches, err := t.drive(ctx, t.batches(fmt.Sprintf("batches of %d, round %d", batchPayments, round+1), b.options.Workload, b.span(4*time.Second)))
		if err != nil {
			return err
		}
		b.add("stream.batches", "/s", more, batches.perSecond()*batchPayments)
		o, err := t.streams(ctx, fmt.Sprintf("%d streams, %d lines under way in each, round %d", streamCallers, streamWindow, round+1), streamCallers, streamWindow, b.span(5*time.Second))
		if err != nil {
			return err
		}
		b.add("stream.payments", "/s", more, o.perSecond())
		b.add("stream.p50", "ms", less, o.quantile(50))
		b.add("stream.p99", "ms", less, o.quantile(99))
		if o.err == nil {
			b.add("stream.cpu", "µs", less, micros(o.used.cpu)/float64(o.done))
		}
		one, err := t.streams(ctx, fmt.Sprintf("one stream, one line under way, round %d", round+1), 1, 1, b.span(2*time.Second))
		if err != nil {
			return err
		}
		b.add("stream.alone.p50", "ms", less, one.quantile(50))
	}
	return nil
}
