package keeper

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/ofac/fetch"
	"railguard/ofac/listtest"
)

// A node without a source of lists says once that calls are refused because there is no
// list.
func TestMissingListIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		k := New(newGroup(t), Config{}, slog.New(slog.NewTextHandler(&told, nil)))
		k.Start()
		time.Sleep(time.Minute)
		k.Stop()
		require.Equal(t, 1, bytes.Count(told.Bytes(), []byte("no sanctions list")))
	})
}

// A development node begins with the sample. It requests a published list every minute
// until it has one.
func TestFetchingGoesOnUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends []error
		g := newGroup(t)
		k := New(g, Config{Dev: true, Source: "https://mirror.example/ofac", Every: time.Hour, Ran: func(err error) { ends = append(ends, err) }}, slog.New(slog.DiscardHandler))
		unknown := errors.New("no such host")
		k.sync.adjust = func(source *fetch.Source) {
			source.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, unknown }
		}
		k.Start()
		time.Sleep(10*time.Minute + 30*time.Second)
		k.Stop()
		require.True(t, g.Settings().List.Sample)
		require.Len(t, ends, 11, "at once, then every minute")
		for _, err := range ends {
			require.ErrorIs(t, err, unknown)
		}
		require.Contains(t, k.LastSync().Failure, "no such host")
	})
}

// A refused folder is tried again, so that it can be repaired without a restart.
func TestRefusedFolderIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		k := New(newGroup(t), Config{Dir: dir}, slog.New(slog.NewTextHandler(&told, nil)))
		k.Start()
		time.Sleep(150 * time.Second)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "SDN_ENHANCED.XML"), sdnOf(time.Now(), 40), 0o600))
		time.Sleep(time.Minute)
		k.Stop()
		require.Equal(t, 3, bytes.Count(told.Bytes(), []byte("no list file here")))
		require.Contains(t, told.String(), "a whole one has at least 10000", "the first list is held to a least size")
	})
}

// Files without a date get that of the newest file.
func TestNewestFile(t *testing.T) {
	dir := t.TempDir()
	require.Zero(t, newestFile(dir))
	require.Zero(t, newestFile(filepath.Join(dir, "absent")))
	newest := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"sdn.csv", "alt.csv", "add.csv"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		require.NoError(t, os.Chtimes(path, newest, newest.AddDate(0, 0, -i)))
	}
	require.Equal(t, newest.UnixNano(), newestFile(dir))
}

// An upload becomes an encoded list, its description, and the problems of its content.
func TestEncodeFiles(t *testing.T) {
	files := map[string][]byte{"SDN_ENHANCED.XML": sdnOf(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 5)}
	encoded, info, err := EncodeFiles(files, time.Time{}, nil, nil)
	require.NoError(t, err)
	require.NotEmpty(t, encoded)
	require.Empty(t, info.Found)
	require.EqualValues(t, 6, info.Entries)
	require.Contains(t, info.Warnings, "no CONS list among the files")
	_, _, err = EncodeFiles(map[string][]byte{"SDN_ENHANCED.XML": []byte("<html>")}, time.Time{}, nil, nil)
	require.Error(t, err)
}

// CSV files have no date of their own, so that whoever uploads them says of when they are. The
// date counts like one of the file, and a file's own date wins over it.
func TestUndatedFilesNeedADate(t *testing.T) {
	csv := map[string][]byte{}
	for _, name := range []string{"sdn.csv", "alt.csv", "add.csv", "sdn_comments.csv"} {
		raw, err := os.ReadFile(filepath.Join("..", "feed", "testdata", "csv", name))
		require.NoError(t, err)
		csv[name] = raw
	}
	_, _, err := EncodeFiles(csv, time.Time{}, nil, nil)
	require.ErrorIs(t, err, ErrUndated)
	asOf := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	_, info, err := EncodeFiles(csv, asOf, nil, nil)
	require.NoError(t, err)
	require.Equal(t, engine.Time(asOf.UnixNano()), info.SDNAsOf)
	require.Equal(t, engine.Time(asOf.UnixNano()), info.PublishedAt)
	require.Equal(t, "SDN_CSV 2026-03-01T14:00:00Z", info.Source)
	require.True(t, info.Uploaded)
	csv["CONS_ENHANCED.XML"] = listtest.WriteEnhanced("Consolidated List", asOf.AddDate(0, 0, 1), listtest.Entity{ID: 930001, Last: "PASSERBY HOLDING"})
	_, info, err = EncodeFiles(csv, asOf, nil, nil)
	require.NoError(t, err)
	require.Equal(t, engine.Time(asOf.UnixNano()), info.SDNAsOf)
	require.Equal(t, engine.Time(asOf.AddDate(0, 0, 1).UnixNano()), info.CONSAsOf)
}

func TestCheckSource(t *testing.T) {
	require.NoError(t, CheckSource("published"))
	require.Error(t, CheckSource("publised"))
}
