package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSlowIn: a trace is kept for a slow call in one of its seconds, or in the second
// before or after, since windows are whole seconds.
func TestSlowIn(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	r := newRecorder(start)
	for second := range 20 {
		took := 2 * time.Millisecond
		if second == 10 {
			took = 60 * time.Millisecond
		}
		due := start.Add(time.Duration(second) * time.Second)
		r.record(0, event{due: due, sent: due, done: due.Add(took)})
	}
	o := r.sum(start.Add(20 * time.Second))
	at := func(from, to float64) bool {
		return o.slowIn(start.Add(time.Duration(from*float64(time.Second))), start.Add(time.Duration(to*float64(time.Second))))
	}
	require.True(t, at(8, 12))
	require.True(t, at(10.2, 10.4))
	require.True(t, at(11.5, 15))
	require.False(t, at(0, 5))
	require.False(t, at(12, 20))
	require.False(t, at(30, 40))
}

// TestTraces: traces are taken one after the other until the load ends; a node that
// refuses is asked once.
func TestTraces(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 3 {
			cancel()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte("trace"))
	}))
	defer server.Close()
	folder := t.TempDir()
	taken := (&node{id: "n1", admin: server.URL}).traces(ctx, filepath.Join(folder, "n1-light"))
	require.Len(t, taken, 2)
	require.FileExists(t, filepath.Join(folder, "n1-light-02.trace"))
	require.False(t, taken[1].begin.Before(taken[0].end))

	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	require.Empty(t, (&node{id: "n2", admin: refusing.URL}).traces(t.Context(), filepath.Join(folder, "n2-light")))
}
