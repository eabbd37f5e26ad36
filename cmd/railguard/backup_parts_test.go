package main

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"railguard/cluster/backup"
	"railguard/ofac"
)

// plainPart says where a part's content is in the unencrypted tar.
type plainPart struct {
	name       string
	begin, end int
}

// partsOf finds the parts of an unencrypted backup.
func partsOf(t testing.TB, plain []byte) []plainPart {
	var parts []plainPart
	counted := bytes.NewReader(plain)
	all := tar.NewReader(counted)
	for {
		header, err := all.Next()
		if err == io.EOF {
			return parts
		}
		require.NoError(t, err)
		begin := len(plain) - counted.Len()
		parts = append(parts, plainPart{header.Name, begin, begin + int(header.Size)})
	}
}

// awaitLists waits until the keeper has written the list file beside the log; until then the list is
// only in the state.
func awaitLists(t testing.TB, dir string) {
	require.Eventually(t, func() bool {
		lists, err := filepath.Glob(filepath.Join(dir, "lists", "*.entities"))
		return err == nil && len(lists) > 0
	}, 30*time.Second, 5*time.Millisecond)
}

// A flipped byte in any part is refused with that part's name, even if the file is encrypted
// anew: the parts are checked against each other, not only by the encryption.
func TestFlippedByteIsNamedByItsPart(t *testing.T) {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.nodes["n1"]
	token := n.token(t)
	for range 5 {
		n.pay(t, token)
	}
	awaitLists(t, n.dir)
	var plain bytes.Buffer
	require.NoError(t, backup.Saver(n.node, n.dir)(context.Background(), &plain, 0, 0))
	key, err := newTestIdentity()
	require.NoError(t, err)
	keys := &backup.Keys{Identities: []byte(key.identity)}
	path := filepath.Join(t.TempDir(), "spoilt")
	verify := func(plain []byte) error {
		var sealed bytes.Buffer
		to, err := age.ParseX25519Recipient(key.recipient)
		require.NoError(t, err)
		w, err := age.Encrypt(&sealed, to)
		require.NoError(t, err)
		_, err = w.Write(plain)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, os.WriteFile(path, sealed.Bytes(), 0o600))
		_, err = backup.Verify(path, keys)
		return err
	}
	require.NoError(t, verify(plain.Bytes()))
	seen := map[string]bool{}
	for _, part := range partsOf(t, plain.Bytes()) {
		kind, _, _ := strings.Cut(part.name, "/")
		seen[kind] = true
		size := part.end - part.begin
		require.NotZero(t, size, part.name)
		for _, at := range []int{0, size / 5, size / 3, size / 2, size * 2 / 3, size * 4 / 5, size - 1} {
			spoilt := bytes.Clone(plain.Bytes())
			spoilt[part.begin+at] ^= 1
			err := verify(spoilt)
			require.Error(t, err, "%s, byte %d", part.name, at)
			named := strings.Contains(err.Error(), "part "+part.name) || part.name == "manifest.json" && strings.Contains(err.Error(), "manifest")
			require.True(t, named, "%s, byte %d: %v", part.name, at, err)
		}
	}
	require.Equal(t, map[string]bool{"manifest.json": true, "state": true, "history": true, "lists": true, "end.json": true}, seen)
}

// With --every the verb goes on: it runs the hook with the path of each file, reports a round
// that fails and takes the next one. A hook that fails does not end it.
func TestBackupEveryGoesOn(t *testing.T) {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	away := false
	server := g.nodes["n1"].api.Handler()
	front := newFront(t, func(w http.ResponseWriter, r *http.Request) {
		if away && strings.HasPrefix(r.URL.Path, "/v1/cluster/backup") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		server.ServeHTTP(w, r)
	})
	dir := t.TempDir()
	backups, told := filepath.Join(dir, "backups"), filepath.Join(dir, "told")
	require.NoError(t, os.Mkdir(backups, 0o700))
	hook := filepath.Join(dir, "hook")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho \"$1 $2\" >> "+told+"\n[ $(wc -l < "+told+") -ne 1 ]\n"), 0o700)) //nolint:gosec // A program.
	key, err := newTestIdentity()
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	var waited []time.Duration
	b := &backupRun{now: func() time.Time { return now }}
	b.after = func(d time.Duration) <-chan time.Time {
		waited = append(waited, d)
		now, away = now.Add(d), len(waited) == 2
		next := make(chan time.Time, 1)
		if len(waited) < 4 {
			next <- now
		} else {
			cancel()
		}
		return next
	}
	cmd := b.makeCommand()
	var out, complaint bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&complaint)
	cmd.SetArgs([]string{"--directory", backups, "--every", "24h", "--hook", hook + " word", "--recipient", key.recipient, "--url", front, "--key", groupKey, "--data", dir})
	require.NoError(t, cmd.ExecuteContext(ctx), "asked to end it ends well")
	require.Equal(t, []time.Duration{24 * time.Hour, 24 * time.Hour, 24 * time.Hour, 24 * time.Hour}, waited)

	files, err := backupsIn(backups)
	require.NoError(t, err)
	var named []string
	for _, file := range files {
		named = append(named, "word "+file.path)
		_, err := backup.Verify(file.path, &backup.Keys{Identities: []byte(key.identity)})
		require.NoError(t, err)
	}
	require.Len(t, files, 3, "the third round found nobody")
	require.Equal(t, now.Add(-24*time.Hour), files[2].at)
	said, err := os.ReadFile(told)
	require.NoError(t, err)
	require.Equal(t, strings.Join(named, "\n")+"\n", string(said))
	require.Contains(t, complaint.String(), "the hook failed")
	require.Contains(t, complaint.String(), "NO BACKUP this time: 503")
	left, err := filepath.Glob(filepath.Join(backups, "*.part"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Records that have expired since the backup are erased from the restored folder before a node
// starts on it.
func TestRestoreErasesWhatHasExpired(t *testing.T) {
	const secretive = "Unrepeatable Lighthouse Chandlery"
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	n := g.nodes["n1"]
	token := n.token(t)
	n.must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"`+secretive+`"}`)
	file := filepath.Join(t.TempDir(), "file")
	taken := n.takeBackup(t, file, 0)
	restored := func(later time.Duration) (*backup.Restored, string) {
		dir := t.TempDir()
		r, err := backup.Restore([]string{file}, testBackupKeys, backup.Order{Dir: dir, ID: "n1", Now: time.Now().Add(later)})
		require.NoError(t, err)
		require.NoError(t, backup.ReadBack(r))
		require.NoError(t, backup.HistoryHolds(r))
		return r, dir
	}
	now, dir := restored(0)
	require.Zero(t, now.Forgotten)
	require.True(t, folderHolds(t, dir, secretive), "a control: today it is there")
	late, dir := restored(91 * 24 * time.Hour)
	require.GreaterOrEqual(t, late.Forgotten, taken.TreeSize)
	require.False(t, folderHolds(t, dir, secretive))
	require.Equal(t, taken.TreeHead, late.Report.TreeHead, "hashes stay")
}

// folderHolds reports whether some file in a folder contains a text.
func folderHolds(t testing.TB, dir, words string) bool {
	found := false
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(words))
		return err
	}))
	return found
}
