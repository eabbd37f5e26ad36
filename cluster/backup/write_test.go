package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/fsm"
)

func TestSaverRefusesHolesInHistory(t *testing.T) {
	w := newWorld(t, "c-test")
	w.notes(5)
	saved := func() error { return Saver(w, w.dir)(t.Context(), io.Discard, 0, 0) }
	require.NoError(t, saved())
	require.ErrorContains(t, Saver(w, w.dir)(t.Context(), io.Discard, w.machine.Freeze().Size+1, 0), "was asked for, and the log has")
	require.NoError(t, Saver(w, w.dir)(t.Context(), io.Discard, w.machine.Freeze().Size, 0), "nothing is new")

	behind := newWorld(t, "c-test")
	behind.machine, behind.id = w.machine, "n2"
	require.ErrorIs(t, Saver(behind, behind.dir)(t.Context(), io.Discard, 0, 0), errHistoryIncomplete)
	who, err := datadir.ReadIdentity(behind.dir)
	require.NoError(t, err)
	still := &recovery.Still{View: w.machine.Freeze(), Identity: who}
	tell := func(string) {}
	require.ErrorContains(t, Stopped(still, behind.dir, t.TempDir(), tell)(io.Discard, 0), "can be read neither from history")
	unfit := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(unfit, datadir.AuditFolder), nil, 0o600))
	require.ErrorContains(t, Stopped(still, unfit, t.TempDir(), tell)(io.Discard, 0), "backup: history")

	require.NoError(t, os.Remove(filepath.Join(w.dir, datadir.IdentityFile)))
	require.Error(t, saved(), "a folder without its identity")

	unborn := newWorld(t, "c-test")
	unborn.machine = fsm.New()
	require.ErrorContains(t, Saver(unborn, unborn.dir)(t.Context(), io.Discard, 0, 0), "no state of a cluster yet")
}

func TestStoppedIsWhatTheNodeHas(t *testing.T) {
	w := newWorld(t, "c-test")
	w.notes(5)
	who, err := datadir.ReadIdentity(w.dir)
	require.NoError(t, err)
	running := w.plain(0)
	require.NoError(t, w.history.Close())
	before := files(t, w.dir)
	var stopped bytes.Buffer
	require.NoError(t, Stopped(&recovery.Still{View: w.machine.Freeze(), Identity: who, Members: w.Members()}, w.dir, t.TempDir(), func(string) {})(&stopped, 0))
	require.Equal(t, running, stopped.Bytes())
	require.Equal(t, before, files(t, w.dir))
}

// Lists that the previous backup has are not in this one; the tables of lists are in no backup.
func TestListsSince(t *testing.T) {
	w := newWorld(t, "c-test")
	w.addList([]byte("newer"), w.now+1000)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, datadir.ListFolder, w.lists[0]+".v7"), []byte("a table"), 0o600))
	for since, count := range map[int64]int{0: 2, int64(w.now): 2, int64(w.now) + 1: 1, int64(w.now) + 1001: 0} {
		var out bytes.Buffer
		require.NoError(t, Saver(w, w.dir)(t.Context(), &out, 0, since))
		report, err := proveParts(&out, nil)
		require.NoError(t, err)
		require.Len(t, report.Lists, count, since)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, datadir.ListFolder)))
	require.ErrorContains(t, Saver(w, w.dir)(t.Context(), io.Discard, 0, 0), "backup: lists")
}

// History is written in parts of bounded size.
func TestHistoryInSeveralParts(t *testing.T) {
	w := newWorld(t, "c-test")
	for w.machine.Freeze().Size < 2*audit.BundleLeaves+3 {
		w.note(20_000)
	}
	plain := w.plain(0)
	var names []string
	for _, part := range readParts(t, plain) {
		if strings.HasPrefix(part.header.Name, partHistory) {
			names = append(names, part.header.Name)
			require.LessOrEqual(t, len(part.data), partMax)
		}
	}
	require.Equal(t, []string{historyPart(0, audit.BundleLeaves), historyPart(audit.BundleLeaves, 2*audit.BundleLeaves), historyPart(2*audit.BundleLeaves, 2*audit.BundleLeaves+3)}, names)
	require.NoError(t, proveAll(plain))
}

// brokenHistory fails to read from a certain bundle on.
type brokenHistory struct {
	History
	from uint64
}

func (h brokenHistory) Bundle(index uint64, width int) ([]audit.Leaf, error) {
	if index >= h.from {
		return nil, audit.ErrCorrupt
	}
	return h.History.Bundle(index, width)
}

func (h brokenHistory) Frontier(size uint64) ([]audit.Hash, error) {
	if h.from == 0 {
		return nil, audit.ErrCorrupt
	}
	return h.History.Frontier(size)
}

// fullDisk takes left bytes and then fails.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left < len(p) {
		n := d.left
		d.left = 0
		return n, errors.New("no space left on device")
	}
	d.left -= len(p)
	return len(p), nil
}

func TestWriteTellsWhatCannotBeReadOrWritten(t *testing.T) {
	w := newWorld(t, "c-test")
	w.notes(300)
	source := func() *Source {
		return &Source{View: w.machine.Freeze(), History: w.history, Lists: filepath.Join(w.dir, datadir.ListFolder), Scratch: t.TempDir(), Node: w.id}
	}
	broken := source()
	broken.History = brokenHistory{w.history, 1}
	require.ErrorContains(t, Write(io.Discard, broken), fmt.Sprintf("history, leaves %d to %d", audit.BundleLeaves, w.machine.Freeze().Size-1))
	broken = source()
	broken.History = brokenHistory{w.history, 0}
	require.ErrorContains(t, Write(io.Discard, broken), "history before leaf 0")
	broken = source()
	broken.Scratch = filepath.Join(broken.Scratch, "nowhere")
	require.ErrorContains(t, Write(io.Discard, broken), "backup: state")

	whole := len(w.plain(0))
	draw := rand.New(rand.NewPCG(5, 6))
	for range 15 {
		scratch := source()
		require.ErrorContains(t, Write(&fullDisk{draw.IntN(whole)}, scratch), "no space left on device")
		require.Empty(t, files(t, scratch.Scratch), "nothing of the state stays")
	}
	require.NoError(t, Write(&fullDisk{whole}, source()))
}

// A disk that is full is named as such, and not as what the reader of the copy made of it. A folder
// without second names of files, as a mount of an object store, is written to as well.
func TestFoldersThatAreNotLikeOthers(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := &Keys{Derived: []string{"a passphrase of thirty-two bytes"}}
	w.notes(600)
	ended, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), FileName(time.Unix(0, int64(start))))
	plain := w.plain(0)
	ends := readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF })
	_, err := Create(path, keys.Until(ended), io.MultiReader(bytes.NewReader(plain[:len(plain)/2]), ends, bytes.NewReader(plain[len(plain)/2:])))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "cannot be written")
	require.Empty(t, files(t, filepath.Dir(path)))
	if _, err := os.Stat("/dev/full"); err == nil { // It is always full.
		require.NoError(t, os.Symlink("/dev/full", path+unendedSuffix))
		_, err := Create(path, keys, bytes.NewReader(plain))
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Empty(t, files(t, filepath.Dir(path)))
	}

	linkFile = func(string, string) error { return &os.LinkError{Op: "link", Err: syscall.EPERM} }
	t.Cleanup(func() { linkFile = os.Link })
	_, err = Create(path, keys, bytes.NewReader(w.plain(0)))
	require.NoError(t, err)
	_, err = Create(path, keys, bytes.NewReader(w.plain(0)))
	require.ErrorContains(t, err, "exists already")
	require.ErrorContains(t, giveName(path), "exists already")
	require.Equal(t, []string{filepath.Base(path)}, files(t, filepath.Dir(path)))
	_, err = Verify(path, keys.Until(ended))
	require.Error(t, err)
	_, err = Verify(path, keys)
	require.NoError(t, err)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
