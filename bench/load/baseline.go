package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	echoBodyMax  = 64 << 10
	syncBlock    = 4096
	syncsMin     = 20
	childPatient = 20 * time.Second
)

// ServeEcho answers every POST with its own body until the context ends. It shows what
// net/http alone costs.
func ServeEcho(ctx context.Context, listen string) error {
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(io.LimitReader(r.Body, echoBodyMax))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body) // A caller that is gone needs no answer.
		}),
	}
	return serveUntil(ctx, server, listen)
}

// serveUntil serves until the context ends.
func serveUntil(ctx context.Context, server *http.Server, listen string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // This makes Serve return.
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// helper is a process that is no node. It is this program with a hidden verb.
type helper struct {
	process
	url string
}

// launchHelper starts a helper at a place and waits until it answers.
func launchHelper(ctx context.Context, at place, t *task) (*helper, error) {
	p, err := at.launch(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	h := &helper{process: p, url: "http://" + t.Addresses[0]}
	plain := newAPI("")
	defer plain.client.CloseIdleConnections()
	err = await(ctx, h, childPatient, t.Name, func() error { return plain.ask(ctx, http.MethodPost, h.url+"/", []byte("{}"), nil) })
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *helper) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = h.forget(ctx) // What survives this ends with its place.
}

// echo is the bare HTTP base line; it is started once a run, where the first node is.
func (b *bench) echo(ctx context.Context) (*helper, error) {
	if b.echoes != nil {
		return b.echoes, nil
	}
	at := b.places[0]
	addresses, err := at.addresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	b.echoes, err = launchHelper(ctx, at, &task{Kind: taskEcho, Name: "echo", Addresses: addresses})
	return b.echoes, err
}

// echoRound sends the bytes of screening calls to the echo. It adds the p50 of one caller,
// or else the calls a second and the server's CPU a call.
func (b *bench) echoRound(ctx context.Context, callers int, span time.Duration, requests maker) (*outcome, error) {
	h, err := b.echo(ctx)
	if err != nil {
		return nil, err
	}
	home, err := parseEndpoint(h.url)
	if err != nil {
		return nil, err
	}
	before, usageErr := usageOf(ctx, h)
	l := load{name: fmt.Sprintf("bare echo, %d callers", callers), homes: []*endpoint{home}, callers: callers, span: span, make: requests, seed: b.options.Workload.Seed}
	o, err := b.drive(ctx, l)
	if err != nil {
		return nil, err
	}
	if callers == 1 {
		b.add("echo.one.p50", "ms", less, o.quantile(50))
		return o, nil
	}
	b.add("echo.rate", "/s", more, o.perSecond())
	if usageErr == nil {
		if after, err := usageOf(ctx, h); err == nil {
			b.add("echo.cpu", "µs", less, micros(after.since(before).cpu)/float64(o.done))
		}
	}
	return o, nil
}

// syncFloor is how long it takes to append 4 KiB and to sync them, in ms.
type syncFloor struct {
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Worst float64 `json:"worst"`
	Count int     `json:"count"`
}

func (f syncFloor) String() string {
	return fmt.Sprintf("4 KiB appended and synced: p50 %.2f ms, p99 %.2f ms, worst %.1f ms of %d", f.P50, f.P99, f.Worst, f.Count)
}

// measureSync measures that in a folder where nodes write.
func measureSync(ctx context.Context, folder string, span time.Duration) (f syncFloor, err error) {
	path := filepath.Join(folder, "sync")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return f, fmt.Errorf("fsync floor: %w", err)
	}
	defer os.Remove(path)
	defer file.Close()
	h := newHistogram(3)
	block := make([]byte, syncBlock)
	for begin := time.Now(); time.Since(begin) < span || f.Count < syncsMin; f.Count++ {
		if ctx.Err() != nil {
			return f, ctx.Err()
		}
		at := time.Now()
		if _, err := file.Write(block); err != nil {
			return f, fmt.Errorf("fsync floor: %w", err)
		}
		if err := file.Sync(); err != nil {
			return f, fmt.Errorf("fsync floor: %w", err)
		}
		note(h, time.Since(at))
	}
	f.P50, f.P99, f.Worst = float64(h.ValueAtQuantile(50))/1000, float64(h.ValueAtQuantile(99))/1000, float64(h.Max())/1000
	return f, nil
}

// fsyncFloor measures the disks of all places. The figure is the median of hosts, which is what a
// majority of three waits for.
func (b *bench) fsyncFloor(ctx context.Context, span time.Duration) error {
	if len(b.hosts) == 0 {
		floor, err := measureSync(ctx, b.work, span)
		if err != nil {
			return err
		}
		b.report.Fsync = floor.String()
		b.add("fsync.p50", "ms", less, floor.P50)
		b.add("fsync.p99", "ms", less, floor.P99)
		return nil
	}
	for i, h := range b.hosts {
		var floor syncFloor
		if err := h.ask(ctx, "sync", &syncOrder{Span: span}, &floor); err != nil {
			return err
		}
		b.report.Hosts[i].Fsync = floor.String()
		b.add("fsync.p50", "ms", less, floor.P50)
		b.add("fsync.p99", "ms", less, floor.P99)
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
