package httpapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/timing"
	"railguard/httpapi/border"
)

// crowded returns a queue in which calls of an owner have waited long, though others end all the
// time, each of its own: more come than are answered. relieve ends those that wait.
func crowded(t *testing.T, owner string) (q *timing.Queue, relieve func()) {
	t.Helper()
	now := time.Second
	q = timing.NewQueue(func() time.Duration { return now }, nil)
	waiting := make([]timing.Waiter, 4*timing.FewCalls)
	for i := range waiting {
		require.True(t, q.Enter(&waiting[i], owner))
	}
	for range 100 {
		var one timing.Waiter
		require.True(t, q.Enter(&one, "somebody else"))
		now += 10 * time.Millisecond
		q.Leave(&one)
	}
	require.True(t, q.Overloaded())
	return q, func() {
		for i := range waiting {
			q.Leave(&waiting[i])
		}
	}
}

// A node to which more calls come than it answers refuses those of whoever sends the most, before
// they wait, and says that nothing happened. Batches and parts of streams have a queue of their
// own. What is refused leaves nothing behind.
func TestExcessIsToldEarly(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	key := member(t, n.do("screener", "GET", "/v1/key", "").Body.Bytes(), "keyId")
	batch := `{"payments":[{"token":"` + token + `","amount":1}]}`
	screen := func(path, body string, refused bool) {
		t.Helper()
		w := n.do("screener", "POST", path, body)
		if !refused {
			require.Equal(t, 200, w.Code, w.Body)
			return
		}
		require.Equal(t, 503, w.Code, w.Body)
		require.Equal(t, "overloaded", member(t, w.Body.Bytes(), "code"))
		require.Equal(t, "none", w.Header().Get(border.HeaderOutcome))
		require.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	one := `{"token":"` + token + `","amount":1}`

	single, _ := crowded(t, key)
	n.api.Calls = &timing.Calls{Single: single, Bulk: timing.NewQueue(nil, nil)}
	_, before := n.api.Calls.Single.Oldest()
	screen("/v1/screen", one, true)
	screen("/v1/screen/batch", batch, false)
	require.Equal(t, 200, n.do("", "GET", "/v1/health", "").Code)
	require.Equal(t, 200, n.do("screener", "GET", "/v1/key", "").Code, "what asks for no verdict is not counted")
	_, after := n.api.Calls.Single.Oldest()
	require.Equal(t, before, after)

	single, _ = crowded(t, "another owner")
	bulk, relieve := crowded(t, key)
	n.api.Calls = &timing.Calls{Single: single, Bulk: bulk}
	screen("/v1/screen", one, false)
	screen("/v1/screen/batch", batch, true)
	s := openLines(t, serveStreams(t, n, false), "screener", nil)
	began := time.Now()
	s.send(one + "\n")
	line := s.next()
	require.Equal(t, "overloaded", string(line.GetStringBytes("code")), line.String())
	require.GreaterOrEqual(t, time.Since(began), time.Second, "a stream's part waits first: its caller is to slow down")
	relieve()
	s.send(one + "\n")
	require.Equal(t, "PROCEED", string(s.next().GetStringBytes("verdict")))
	require.NoError(t, s.body.Close())
	_, end := s.rest()
	require.NotNil(t, end)
	require.Eventually(t, func() bool { _, left := bulk.Oldest(); return left == 0 && n.api.Running() == 0 }, time.Minute, time.Millisecond)
}
