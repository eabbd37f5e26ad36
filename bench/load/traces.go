package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	traceSpan = 5 * time.Second
	traceSlow = 40.0 // Milliseconds; seconds with no slower call are not worth a trace.
)

// tracing is one execution trace that was taken of a node.
type tracing struct {
	path       string
	begin, end time.Time
}

// traced runs a load while execution traces of every node are taken one after the other
// (go tool trace), and keeps those of seconds with a slow call. Tracing costs a few
// percent, so it is only done with --profiles.
func (t *target) traced(ctx context.Context, name string, run func() (*measured, error)) (*measured, error) {
	if t.bench.options.Profiles == "" || t.group == nil {
		return run()
	}
	if err := os.MkdirAll(t.bench.options.Profiles, 0o700); err != nil {
		return nil, err
	}
	during, stop := context.WithCancel(ctx)
	taken := make([][]tracing, len(t.group.nodes))
	var all sync.WaitGroup
	for i, n := range t.group.nodes {
		all.Go(func() { taken[i] = n.traces(during, filepath.Join(t.bench.options.Profiles, n.id+"-"+name)) })
	}
	m, err := run()
	stop()
	all.Wait()
	kept := 0
	for _, ofNode := range taken {
		for _, one := range ofNode {
			if err == nil && m.slowIn(one.begin, one.end) {
				kept++
				continue
			}
			err = errors.Join(err, os.Remove(one.path))
		}
	}
	if kept > 0 {
		t.bench.report.Notes = append(t.bench.report.Notes, fmt.Sprintf("%s: %d execution traces of seconds with a call above %.0f ms are in %s", name, kept, traceSlow, t.bench.options.Profiles))
	}
	return m, err
}

// traces takes traces until ctx ends; the last one is cut off, but readable.
func (n *node) traces(ctx context.Context, prefix string) (taken []tracing) {
	for i := 1; ctx.Err() == nil; i++ {
		one := tracing{path: fmt.Sprintf("%s-%02d.trace", prefix, i), begin: time.Now()}
		url := fmt.Sprintf("%s/debug/pprof/trace?seconds=%d", n.admin, int(traceSpan.Seconds()))
		err := n.keep(ctx, url, one.path)
		one.end = time.Now()
		if _, missing := os.Stat(one.path); missing == nil {
			taken = append(taken, one)
		}
		if err != nil {
			return taken
		}
	}
	return taken
}

// slowIn tells whether a call that ended between two instants was slow. Windows are whole
// seconds, so the one before and the one after count too.
func (o *outcome) slowIn(begin, end time.Time) bool {
	first, last := int(begin.Sub(o.start)/windowSpan)-1, int(end.Sub(o.start)/windowSpan)+1
	for at, w := range o.windows {
		if at >= first && at <= last && w.latency != nil && float64(w.latency.Max())/1000 > traceSlow {
			return true
		}
	}
	return false
}
