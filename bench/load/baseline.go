package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"railguard/cluster/testcluster"
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

// serveUntil serves on the loopback until the context ends.
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

// helper is a child process that is no node. It runs this binary with a hidden verb.
type helper struct {
	child *testcluster.Child
	url   string
	log   string
}

// launchHelper starts this binary and waits until it answers.
func (b *bench) launchHelper(ctx context.Context, name, address string, args ...string) (*helper, error) {
	if b.spawner == nil {
		b.spawner = testcluster.NewSpawner()
	}
	h := &helper{url: "http://" + address, log: filepath.Join(b.work, name+".log")}
	var err error
	if h.child, err = b.spawner.Launch(b.options.Self, args, os.Environ(), h.log); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	plain := newAPI("")
	defer plain.client.CloseIdleConnections()
	err = until(ctx, childPatient, func() bool {
		return h.child.Ended() || plain.ask(ctx, http.MethodPost, h.url+"/", []byte("{}"), nil) == nil
	})
	if err == nil && h.child.Ended() {
		said, _ := os.ReadFile(h.log)
		err = fmt.Errorf("it has ended: %.300s", said)
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}

func (h *helper) close() {
	if !h.child.Ended() {
		_ = h.child.Command.Process.Kill() // It may have ended meanwhile.
		_ = h.child.Wait(stopPatience)
	}
}

// echo is the bare HTTP base line; it is started once a run.
func (b *bench) echo(ctx context.Context) (*helper, error) {
	if b.echoes != nil {
		return b.echoes, nil
	}
	ports, err := testcluster.FreePorts(1)
	if err != nil {
		return nil, err
	}
	b.echoes, err = b.launchHelper(ctx, "echo", ports[0], "serve-echo", "--listen", ports[0])
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
	before, usageErr := usageOf([]int{h.child.PID()})
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
		if after, err := usageOf([]int{h.child.PID()}); err == nil {
			b.add("echo.cpu", "µs", less, micros(after.since(before).cpu)/float64(o.done))
		}
	}
	return o, nil
}

// fsyncFloor measures appending 4 KiB and syncing in the folder where nodes write.
func (b *bench) fsyncFloor(ctx context.Context, span time.Duration) error {
	path := filepath.Join(b.work, "sync")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("fsync floor: %w", err)
	}
	defer os.Remove(path)
	defer file.Close()
	h := newHistogram(3)
	block := make([]byte, syncBlock)
	var took []time.Duration
	for begin := time.Now(); time.Since(begin) < span || len(took) < syncsMin; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		at := time.Now()
		if _, err := file.Write(block); err != nil {
			return fmt.Errorf("fsync floor: %w", err)
		}
		if err := file.Sync(); err != nil {
			return fmt.Errorf("fsync floor: %w", err)
		}
		took = append(took, time.Since(at))
		note(h, took[len(took)-1])
	}
	slices.Sort(took)
	b.add("fsync.p50", "ms", less, float64(h.ValueAtQuantile(50))/1000)
	b.add("fsync.p99", "ms", less, float64(h.ValueAtQuantile(99))/1000)
	b.report.Fsync = fmt.Sprintf("4 KiB appended and synced: p50 %.2f ms, p99 %.2f ms, worst %.1f ms of %d", float64(h.ValueAtQuantile(50))/1000, float64(h.ValueAtQuantile(99))/1000, float64(h.Max())/1000, len(took))
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
