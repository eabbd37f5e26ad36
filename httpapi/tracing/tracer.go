package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

const (
	queueMax    = 2048            // Calls that wait to be sent.
	batchMax    = 256             // Calls in one request.
	batchPause  = 2 * time.Second // Longest wait of a call for a request.
	sendTimeout = 5 * time.Second
	answerMax   = 4 << 10 // Bytes read of a collector's answer.
)

var (
	callsSent    = metrics.NewCounter("railguard_traces_sent_total")
	callsDropped = metrics.NewCounter("railguard_traces_dropped_total")
)

// Config says where spans go.
type Config struct {
	Collector string  // URL of the collector, such as http://127.0.0.1:4318/v1/traces.
	Share     float64 // Part of the calls without a traceparent that are sampled, 0 to 1.
	Header    string  // A header for the collector, `Name: value`; "": none.
	Node      string
	Version   string
	Logger    *slog.Logger
	Client    *http.Client // nil: one with sendTimeout.
}

// Tracer samples calls and sends them. A nil Tracer samples nothing. It is safe for concurrent use.
type Tracer struct {
	config       Config
	name, secret string // The header.
	queue        chan finished
	end          context.CancelFunc
	done         chan struct{}
	failing      bool // The last request failed; of the sending goroutine alone.
}

// New checks a config. The error names the setting that is wrong.
func New(config Config) (*Tracer, error) {
	u, err := url.Parse(config.Collector)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the collector %q is no URL such as http://127.0.0.1:4318/v1/traces", config.Collector)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
		config.Collector = u.String()
	}
	if !(config.Share >= 0 && config.Share <= 1) {
		return nil, fmt.Errorf("the share of %v is not between 0 and 1", config.Share)
	}
	t := &Tracer{config: config, queue: make(chan finished, queueMax), done: make(chan struct{})}
	if config.Header != "" {
		name, secret, found := strings.Cut(config.Header, ":")
		t.name, t.secret = strings.TrimSpace(name), strings.TrimSpace(secret)
		if !found || t.name == "" || t.secret == "" || strings.ContainsAny(config.Header, "\r\n") {
			return nil, fmt.Errorf("the header for the collector is not of the form `Name: value`")
		}
	}
	if t.config.Client == nil {
		t.config.Client = &http.Client{Timeout: sendTimeout}
	}
	return t, nil
}

// Begin returns the walk of a call that is sampled, and nil for all others. A traceparent decides by its flag;
// without one the share does.
func (t *Tracer) Begin(traceparent string, began time.Time) *Walk {
	if t == nil {
		return nil
	}
	from, found := ReadParent(traceparent)
	if found && !from.Sampled || !found && rand.Float64() >= t.config.Share {
		return nil
	}
	w := &Walk{tracer: t, trace: from.Trace, span: makeID(8), parent: from.Span, began: began, last: began, steps: make([]step, 0, 8)}
	if !found {
		w.trace = makeID(16)
	}
	return w
}

// Start sends what comes, until Stop.
func (t *Tracer) Start() {
	ctx, end := context.WithCancel(context.Background())
	t.end = end
	go t.run(ctx)
}

// Stop ends the sending: what is left is sent once, within a second. A nil Tracer has nothing to stop.
func (t *Tracer) Stop() {
	if t == nil || t.end == nil {
		return
	}
	t.end()
	<-t.done
}

func (t *Tracer) run(ctx context.Context) {
	defer close(t.done)
	pause := time.NewTicker(batchPause)
	defer pause.Stop()
	batch := make([]finished, 0, batchMax)
	flush := func(ctx context.Context) {
		if len(batch) > 0 {
			t.send(ctx, batch)
			batch = batch[:0]
		}
	}
	for {
		select {
		case f := <-t.queue:
			if batch = append(batch, f); len(batch) == batchMax {
				flush(ctx)
			}
		case <-pause.C:
			flush(ctx)
		case <-ctx.Done():
			for len(batch) < batchMax && len(t.queue) > 0 {
				batch = append(batch, <-t.queue)
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			flush(last)
			cancel()
			return
		}
	}
}

// send posts one batch. Nothing is tried again: a collector that is away loses the traces of that time.
func (t *Tracer) send(ctx context.Context, batch []finished) {
	err := t.post(ctx, batch)
	if err != nil {
		callsDropped.Add(len(batch))
	} else {
		callsSent.Add(len(batch))
	}
	if failed := err != nil; failed != t.failing {
		t.failing = failed
		if failed {
			t.config.Logger.Warn("traces cannot be sent; they are dropped until the collector answers", "collector", t.config.Collector, "error", err)
		} else {
			t.config.Logger.Info("traces are sent again", "collector", t.config.Collector)
		}
	}
}

func (t *Tracer) post(ctx context.Context, batch []finished) error {
	body, err := t.encode(batch)
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.config.Collector, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if t.name != "" {
		r.Header.Set(t.name, t.secret)
	}
	answer, err := t.config.Client.Do(r)
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s: %.200q", answer.Status, text)
	}
	return nil
}
