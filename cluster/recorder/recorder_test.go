package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A flood of refused calls, and of anything else, leaves the newest and takes no more memory. It
// drives out no entry of another kind.
func TestRingsAreBounded(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	r := New(func() time.Time { return now })
	r.Follow(func() int64 { return 7 })
	r.Note(Entry{Kind: Leading, Term: 3, Text: strings.Repeat("x", 2*textMax)})
	for i := range 5 * refusalsKept {
		r.CountRefusal("unauthorized", fmt.Sprintf("/v1/%d", i%100))
		r.CountRefusal("no_leader", "/v1/screen")
		now = now.Add(300 * time.Millisecond)
	}
	all := r.Entries()
	require.Len(t, all, 1+refusalsKept)
	require.Equal(t, Entry{At: 1_000_000, LogTime: 7, Kind: Leading, Term: 3, Text: strings.Repeat("x", textMax)}, all[0])
	for range 2 * entriesKept {
		r.Note(Entry{Kind: Stall})
	}
	require.Len(t, r.Entries(), entriesKept+refusalsKept)
	require.Len(t, r.entries.values, entriesKept)
}

// Refused calls are counted by code and route within a second; beyond the bound together.
func TestRefusalsAreCounted(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	r := New(func() time.Time { return now })
	for range 41 {
		r.CountRefusal("no_leader", "/v1/screen")
	}
	now = now.Add(Interval)
	r.CountRefusal("no_leader", "/v1/screen")
	require.Equal(t, []Entry{
		{At: 1_000_000, Kind: Refused, Code: "no_leader", Route: "/v1/screen", Count: 41},
		{At: 1_001_000, Kind: Refused, Code: "no_leader", Route: "/v1/screen", Count: 1},
	}, r.Entries())
	for i := range 10 * kindsCounted {
		r.CountRefusal("not_found", fmt.Sprintf("/%d", i))
	}
	require.Len(t, r.counted, kindsCounted+1)
	var none *Recorder
	none.Note(Entry{})
	none.CountRefusal("x", "y")
	none.Follow(nil)
	require.Empty(t, none.Entries())
}

// Nothing is allocated for a refused call but once in an interval.
func TestCountingAllocatesNothing(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	r := New(func() time.Time { return now })
	r.CountRefusal("no_leader", "/v1/screen")
	require.Zero(t, testing.AllocsPerRun(1000, func() { r.CountRefusal("no_leader", "/v1/screen") }))
}

// requireKeysOnce reads a line of JSON strictly: each key stands once.
func requireKeysOnce(t *testing.T, line string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(line))
	open, err := decoder.Token()
	require.NoError(t, err, line)
	require.Equal(t, json.Delim('{'), open)
	seen := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		require.NoError(t, err)
		name, is := key.(string)
		require.True(t, is)
		require.False(t, seen[name], "%s stands twice in %s", name, line)
		seen[name] = true
		var value json.RawMessage
		require.NoError(t, decoder.Decode(&value))
	}
}

// Whatever rooms write, each key stands once in a line, and nothing is lost by that. Lines are
// kept from INFO on, whatever the level of the log.
func TestEachKeyStandsOnce(t *testing.T) {
	var said bytes.Buffer
	newest := NewLogRing()
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	options := &slog.HandlerOptions{Level: level}
	log := slog.New(Keep(slog.NewJSONHandler(&said, options), newest, options)).With("node", "n1")
	log.Warn("x", "time", "181ms", "node", "n2", "node", "n3", "error", "e")
	log.Info("kept")
	log.Debug("not kept")
	log.With("node", "n4").WithGroup("inner").Warn("y", "node", "n5")
	for line := range strings.Lines(said.String()) {
		requireKeysOnce(t, line)
	}
	require.Contains(t, said.String(), `"node":"n1","time2":"181ms","node2":"n2","node3":"n3","error":"e"`)
	require.Equal(t, 2, strings.Count(said.String(), "\n"))
	kept := newest.All()
	require.Len(t, kept, 3)
	require.Contains(t, kept[1], `"msg":"kept","node":"n1"`)
	for _, line := range kept {
		requireKeysOnce(t, line)
	}
	for range 2 * linesKept {
		log.Info(strings.Repeat("x", 2*lineMax))
	}
	require.Len(t, newest.All(), linesKept)
	require.LessOrEqual(t, len(newest.All()[0]), lineMax)
}
