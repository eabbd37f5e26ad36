package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"railguard/audit/bundle"
	"railguard/engine"
)

// A node with --bundle-dir writes the examiner's bundle of every week (or day) that is over into that
// folder, and never removes one: records are kept for ten years (31 CFR 501.601), history for 90
// days. What is missing is made up for, oldest first, as long as history reaches back. Each node that
// has the flag writes its own copy (docs/decisions/0154-bundles-by-themselves.md).

const (
	bundleLook     = 10 * time.Minute // How often to look for a period that is over, and to try again after a fault.
	bundlePatience = time.Minute      // How long the API may be silent.
	bundleSettled  = engine.Minute    // How long log time must be beyond a period.
)

var (
	bundlesWritten = metrics.NewCounter("railguard_bundles_written_total")
	bundlesFailed  = metrics.NewCounter("railguard_bundles_failed_total")
	bundlesMissing atomic.Int64 // Periods that are over and have no bundle.
	_              = metrics.NewGauge("railguard_bundles_missing", func() float64 { return float64(bundlesMissing.Load()) })
)

// bundleFlags are the settings of the bundles that a node makes by itself.
type bundleFlags struct{ dir, every, keyFile string }

func (f *bundleFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "bundle-dir", "", "folder into which this node writes an examiner's bundle of every period that is over, and from which it removes none; a disk of its own is best")
	flags.StringVar(&f.every, "bundle-every", "week", "the period of a bundle: week (from Monday, UTC) or day")
	flags.StringVar(&f.keyFile, "bundle-key-file", "", "file with an API key of the role auditor, by which the bundles are read from the log; needed with --bundle-dir")
}

func (f *bundleFlags) check() error {
	switch {
	case f.dir == "" && f.keyFile != "":
		return usageError("--bundle-key-file is for --bundle-dir")
	case f.dir != "" && f.keyFile == "":
		return usageError("--bundle-dir needs --bundle-key-file (an API key of the role auditor)")
	case f.dir != "" && f.every != "week" && f.every != "day":
		return usageError("--bundle-every must be week or day")
	}
	return nil
}

// bundleKeeper writes the bundles of a node.
type bundleKeeper struct {
	flags   bundleFlags
	api     http.Handler
	logTime func() engine.Time
	oldest  func() (engine.Time, bool) // When the oldest leaf of history was written; false: there is none.
	log     interface {
		Info(text string, args ...any)
		Error(text string, args ...any)
	}

	end  context.CancelFunc
	done chan struct{}
}

// Start begins to write.
func (k *bundleKeeper) Start() {
	ctx, end := context.WithCancel(context.Background())
	k.end, k.done = end, make(chan struct{})
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			k.catchUp(ctx)
			timer := time.NewTimer(bundleLook)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
	}()
}

// Stop ends it. A bundle that is being written is begun anew at the next start.
func (k *bundleKeeper) Stop() {
	if k.end != nil {
		k.end()
		<-k.done
	}
}

// period is a span of time that has a bundle.
type period struct {
	name     string
	from, to engine.Time // Both inclusive.
}

// periods returns those that are over and that history still has, oldest first.
func (k *bundleKeeper) periods() (all []period) {
	oldest, any := k.oldest()
	now := k.logTime()
	if !any {
		return nil
	}
	length := engine.DayLength
	start := oldest / engine.DayLength * engine.DayLength
	if k.flags.every == "week" {
		length = 7 * engine.DayLength
		for time.Unix(0, int64(start)).UTC().Weekday() != time.Monday {
			start -= engine.DayLength
		}
	}
	for ; start+length+bundleSettled <= now; start += length {
		at := time.Unix(0, int64(start)).UTC()
		name := at.Format("2006-01-02")
		if k.flags.every == "week" {
			year, week := at.ISOWeek()
			name = fmt.Sprintf("%d-W%02d", year, week)
		}
		all = append(all, period{"railguard-" + name + bundle.Suffix, start, start + length - engine.Millisecond})
	}
	return all
}

// catchUp writes the bundles that are missing. It goes on behind one that fails: the next may be
// readable.
func (k *bundleKeeper) catchUp(ctx context.Context) {
	var missing []period
	for _, p := range k.periods() {
		if _, err := os.Stat(filepath.Join(k.flags.dir, p.name)); err != nil {
			missing = append(missing, p)
		}
	}
	bundlesMissing.Store(int64(len(missing)))
	for _, p := range missing {
		err := k.write(ctx, p)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			bundlesFailed.Inc()
			k.log.Error("a bundle was not written; it is tried again", "bundle", p.name, "again", bundleLook, "error", err)
		default:
			bundlesWritten.Inc()
			bundlesMissing.Add(-1)
			k.log.Info("a bundle was written", "bundle", filepath.Join(k.flags.dir, p.name))
		}
	}
}

func (k *bundleKeeper) write(ctx context.Context, p period) error {
	key, err := os.ReadFile(k.flags.keyFile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(k.flags.dir, 0o700); err != nil {
		return err
	}
	return writeInside(ctx, k.api, strings.TrimSpace(string(key)), p, filepath.Join(k.flags.dir, p.name))
}

// writeInside writes a packed bundle. It is whole where it has its name.
func writeInside(ctx context.Context, api http.Handler, key string, p period, out string) error {
	b := &auditBundle{out: out}
	b.client = client{url: []string{"http://inside"}, key: key, patience: bundlePatience, http: &http.Client{Transport: insideCall{api}}}
	b.asked = exportAsked{From: p.from.String(), To: p.to.String()}
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return b.writeBundle(cmd)
}

const (
	bundleDaysMax = 31 // How long a period a bundle of the console may have.
	bundleAtOnce  = 10 * time.Minute
)

// bundleDoor answers the console's GET /console/bundle?from=&to= with a packed bundle, by the key of
// whoever is signed in. One is made at a time, in a folder that is removed.
type bundleDoor struct {
	api    http.Handler
	folder string
	busy   sync.Mutex
}

func (d *bundleDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, err := readPeriod(r.URL.Query().Get("from"), r.URL.Query().Get("to"))
	if err != nil {
		doorError(w, http.StatusBadRequest, "invalid_query", err.Error())
		return
	}
	if !d.busy.TryLock() {
		w.Header().Set("Retry-After", "30")
		doorError(w, http.StatusServiceUnavailable, "overloaded", "this node makes a bundle for somebody already: try again in a while")
		return
	}
	defer d.busy.Unlock()
	dir, err := os.MkdirTemp(d.folder, "bundle-*")
	if err != nil {
		doorError(w, http.StatusServiceUnavailable, "internal_error", "there is no room for a bundle on this node's disk")
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(r.Context(), bundleAtOnce)
	defer cancel()
	path := filepath.Join(dir, p.name)
	if err := writeInside(ctx, d.api, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), p, path); err != nil {
		status := http.StatusServiceUnavailable
		if coded := new(exitError); errors.As(err, &coded) && coded.status != 0 {
			status = coded.status
		}
		doorError(w, status, "bundle_failed", "the bundle was not made: "+err.Error())
		return
	}
	file, err := os.Open(path)
	if err != nil {
		doorError(w, http.StatusInternalServerError, "internal_error", "the bundle cannot be read")
		return
	}
	defer file.Close()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Disposition", `attachment; filename="`+p.name+`"`)
	_, _ = io.Copy(w, file)
}

// readPeriod reads two days, both inclusive.
func readPeriod(from, to string) (period, error) {
	first, ok := engine.ParseDay(from)
	last, also := engine.ParseDay(to)
	if !ok || !also || last < first {
		return period{}, errors.New("from and to are days such as 2026-03-01, and to is not before from")
	}
	if last-first >= bundleDaysMax {
		return period{}, fmt.Errorf("a bundle of the console has %d days at most: railguard audit bundle has no such bound", bundleDaysMax)
	}
	return period{"railguard-" + from + "-" + to + bundle.Suffix, first.Start(), (last + 1).Start() - engine.Millisecond}, nil
}

func doorError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"error\":%q,\"code\":%q,\"message\":%q}", code, code, message)
}
