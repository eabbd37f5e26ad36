package cluster

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/recorder"
)

// jsonLines collects lines.
type jsonLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *jsonLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *jsonLines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// duplicateKey returns a key that stands twice in a line of JSON; "": none does.
func duplicateKey(t *testing.T, line string) string {
	decoder := json.NewDecoder(strings.NewReader(line))
	_, err := decoder.Token()
	require.NoError(t, err, line)
	seen := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		require.NoError(t, err)
		name, _ := key.(string)
		if seen[name] {
			return name
		}
		seen[name] = true
		var value json.RawMessage
		require.NoError(t, decoder.Decode(&value))
	}
	return ""
}

// In every line of a group that loses its leader, raft's lines too, each key stands once; and the
// recorders know of the election, why it was, and who leads now.
func TestAnElectionIsRecorded(t *testing.T) {
	said := &jsonLines{}
	var mu sync.Mutex
	records := map[string]*recorder.Recorder{}
	g := newGroup(t, func(c *Config) {
		c.Logger = slog.New(slog.NewJSONHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Recorder = recorder.New(time.Now)
		mu.Lock()
		records[c.ID] = c.Recorder
		mu.Unlock()
	})
	g.form(3)
	dead := g.leader()
	id, term := dead.NodeID(), dead.replica.opened.Load()
	g.close(id)
	next := g.leader()
	require.Eventually(t, func() bool { return next.replica.opened.Load() > term }, groupPatience, 10*time.Millisecond)

	lines := 0
	for line := range strings.Lines(said.all()) {
		require.Empty(t, duplicateKey(t, line), line)
		lines++
	}
	require.Greater(t, lines, 20)
	require.Contains(t, said.all(), `"room":"raft"`)
	require.Contains(t, said.all(), `"self":"`, "raft's own word for the node")

	kinds := func(of string) (all []string) {
		for _, entry := range records[of].Entries() {
			all = append(all, entry.Kind)
		}
		return all
	}
	require.Subset(t, kinds(id), []string{recorder.Started, recorder.Leading, recorder.Stopping})
	after := records[next.NodeID()].Entries()
	require.Subset(t, kinds(next.NodeID()), []string{recorder.Started, recorder.Election, recorder.Leader, recorder.Leading})
	election := after[slices.IndexFunc(after, func(e recorder.Entry) bool { return e.Kind == recorder.Leading && e.Term > term })]
	require.NotZero(t, election.Index)
	require.NotZero(t, election.LogTime)
	require.True(t, slices.ContainsFunc(after, func(e recorder.Entry) bool {
		return e.Kind == recorder.Election && strings.HasPrefix(e.Text, "nothing was heard of leader "+id) || e.Kind == recorder.Leader && e.Text == "" && e.Term >= term
	}), "%+v", after)
}

// A node that is to join names who was asked, what came, and what to do.
func TestJoinNamesWhoWasAsked(t *testing.T) {
	said := &jsonLines{}
	g := newGroup(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(said, nil)) })
	nobody := g.host("n9")
	g.open("n1", join(nobody, "no-such-host.invalid:8280"))
	require.Eventually(t, func() bool { return strings.Contains(said.all(), "no group yet") }, groupPatience, 10*time.Millisecond)
	for _, words := range []string{"asked " + nobody + ": ", "connection refused", "asked no-such-host.invalid:8280: ", "Give --join the addresses"} {
		require.Contains(t, said.all(), words)
	}
}
