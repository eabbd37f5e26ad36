package keeper

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/sample"
)

// A first list that is cut short is not activated by itself, wherever it comes from.
func TestSmallFirstListIsNotTaken(t *testing.T) {
	m := newMirror(t)
	m.lists("2026-03-10", 40)
	d := dutyOn(t, m)
	d.node = newGroup(t)
	require.ErrorContains(t, d.runs(t), "small: a first list of 42 entries: a whole one has at least 10000")
	require.Nil(t, d.node.Settings().List)

	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "SDN_ENHANCED.XML"), sdnOf(time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC), 40), 0o600))
	d.config.Dir = folder
	require.ErrorContains(t, d.importFirst(t.Context()), "small: ")
	require.Nil(t, d.node.Settings().List)
}

func (g *group) ReadIndex(context.Context) (uint64, error) { return 0, nil }

func (g *group) WaitApplied(context.Context, uint64) error { return nil }

// waking is a leader that was just started. Until it has caught up, its state has no list.
type waking struct {
	*group
	awake bool
}

func (w *waking) WaitApplied(context.Context, uint64) error {
	w.awake = true
	return nil
}

func (w *waking) Settings() *fsm.Settings {
	s := *w.group.Settings()
	if !w.awake {
		s.List, s.ListVersion = nil, 0
	}
	return &s
}

// A leader that has not read its log to the end does not act as if the cluster had no list.
// A list read from a folder or a mirror does not replace one activated meanwhile.
func TestRestartKeepsTheList(t *testing.T) {
	g := newGroup(t)
	d := New(g, Config{Dev: true}, slog.New(slog.DiscardHandler))
	require.True(t, d.firstImport(t.Context()))
	before := *g.Settings().List

	other := sample.Entities()[:50]
	encoded, err := ofac.EncodeEntities(other, sample.Meta())
	require.NoError(t, err)
	info, err := describeList(encoded)
	require.NoError(t, err)
	d.node = &waking{group: g}
	require.False(t, d.firstImport(t.Context()))
	d.node = &waking{group: g}
	require.ErrorIs(t, d.activateList(t.Context(), encoded, info, nil, d.encodeFragment("first import", ""), 0), errMeanwhile)
	require.Equal(t, before, *g.Settings().List)
}

// The log describes a list in the same numbers as its tables.
func TestDescribe(t *testing.T) {
	encoded, err := ofac.EncodeEntities(sample.Entities(), sample.Meta())
	require.NoError(t, err)
	info, err := describeList(encoded)
	require.NoError(t, err)
	index, err := ofac.Compile(encoded, ofac.MatcherVersion)
	require.NoError(t, err)
	require.Equal(t, index.Counts(), ofac.Counts{
		Entries: int(info.Entries), Lists: [ofac.SourcesMax]int{ofac.SDN: int(info.OfSource("SDN").Entries), ofac.CONS: int(info.OfSource("CONS").Entries)}, Names: int(info.Names), Wallets: int(info.Wallets),
		Individuals: int(info.Individuals), Entities: int(info.Companies), Vessels: int(info.Vessels), Aircraft: int(info.Aircraft),
	})
	require.Equal(t, index.Digest(), info.Digest)
}

// Malformed entities come first and are counted; other warnings are bounded.
func TestNoticed(t *testing.T) {
	loaded := feed.Loaded{Quarantined: []feed.Quarantined{{UID: 7, Detail: "x"}}, Warnings: []string{"entity 7 is malformed"}}
	for range 40 {
		loaded.Warnings = append(loaded.Warnings, strings.Repeat("y", 500))
	}
	var info wire.ListInfo
	addWarnings(&info, &loaded)
	require.EqualValues(t, 1, info.Quarantined)
	require.Len(t, info.Warnings, warningsKept)
	require.Equal(t, "entity 7 is malformed", info.Warnings[0])
	require.Equal(t, "26 more: see the log of the node that read the files", info.Warnings[warningsKept-1])
	require.LessOrEqual(t, len(info.Warnings[1]), warningBytesMax+3)
}

// useSample makes the sample the active list. Later lists are not compared with it.
func useSample(t *testing.T, g *group) *group {
	encoded, err := ofac.EncodeEntities(sample.Entities(), sample.Meta())
	require.NoError(t, err)
	info, err := describeList(encoded)
	require.NoError(t, err)
	require.NoError(t, New(g, Config{}, slog.New(slog.DiscardHandler)).activateList(t.Context(), encoded, info, nil, nil, 0))
	return g
}
