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

	"railguard/ofac/fetch"
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
	encoded, info, found, err := EncodeFiles(files)
	require.NoError(t, err)
	require.NotEmpty(t, encoded)
	require.Empty(t, found)
	require.EqualValues(t, 6, info.Entries)
	require.Contains(t, info.Warnings, "no CONS list among the files")
	_, _, _, err = EncodeFiles(map[string][]byte{"SDN_ENHANCED.XML": []byte("<html>")})
	require.Error(t, err)
}

func TestCheckSource(t *testing.T) {
	require.NoError(t, CheckSource("published"))
	require.Error(t, CheckSource("publised"))
}
