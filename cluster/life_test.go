package cluster

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heldLog is a log whose writer waits for ever, as for a disk or a reader that hangs.
type heldLog struct {
	slog.Handler
	note func(step string)
}

func (h heldLog) Enabled(context.Context, slog.Level) bool { return true }
func (h heldLog) WithAttrs([]slog.Attr) slog.Handler       { return h }

func (h heldLog) Handle(context.Context, slog.Record) error {
	h.note("reason")
	select {}
}

// TestEndResetsCallersFirst: callers are reset, then the node's parts are stopped, then the reason
// is written, then the process ends; whatever hangs on the way.
func TestEndResetsCallersFirst(t *testing.T) {
	for _, hangs := range []string{"", "callers", "parts"} {
		var mu sync.Mutex
		var steps []string
		note := func(step string) {
			mu.Lock()
			steps = append(steps, step)
			mu.Unlock()
			if step == hangs {
				select {}
			}
		}
		ended := make(chan string, 1)
		l := newLife(slog.New(heldLog{slog.DiscardHandler, note}), func(reason string) { ended <- reason })
		l.sever, l.lastly = func() { note("callers") }, func() { note("parts") }
		go l.endProcess("for this test")
		select {
		case reason := <-ended:
			require.Equal(t, "for this test", reason)
		case <-time.After(10 * time.Second):
			require.Fail(t, "it waits", "hangs: %s", hangs)
		}
		mu.Lock()
		require.Equal(t, "callers parts reason", strings.Join(steps, " "))
		mu.Unlock()
		require.True(t, l.hasEnded())
	}
}
