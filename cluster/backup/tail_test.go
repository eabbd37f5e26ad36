package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// logged keeps the entries of a world, as its log would.
type logged struct {
	*world
	entries map[uint64][]byte
}

func (l *logged) note(size int) {
	fragment := []byte(`"text":"x"`)
	l.index++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: l.term, Time: l.now})
	entry = wire.AppendRecord(entry, wire.Record{Kind: wire.KindNote, Version: wire.RecordVersion, Origin: 1, Seq: l.index, Body: wire.Encode(&wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: fragment[:size]}})})
	sealed := wire.Seal(entry, 1)
	l.entries[l.index] = append([]byte(nil), sealed...)
	l.machine.Apply(l.index, l.term, sealed, &l.out)
	require.Empty(l.t, l.out.Stop)
	r := restoring{store: l.history}
	require.NoError(l.t, r.appendLeaves(&l.out))
}

func (l *logged) tail(dir string, keys *Keys, first uint64) string {
	head := TailOf(l.machine.Freeze(), &Manifest{ClusterID: "c-test"}, l.id, first)
	path := filepath.Join(dir, TailName(head.First, head.Last))
	require.NoError(l.t, CreateTail(path, keys, head, func(from, to uint64, visit func(index, term uint64, data []byte) error) error {
		for index := from; index <= to; index++ {
			if err := visit(index, l.term, l.entries[index]); err != nil {
				return err
			}
		}
		return nil
	}))
	return path
}

// A folder gives the newest full backup, its increments and the tails behind them; a restore of all
// has the leaves of the lost node. A gap, a cut, and a tail of another cluster are refused. Thinning
// keeps what the newest full backups need.
func TestTailsContinueABackup(t *testing.T) {
	keys := &Keys{Derived: []string{"a passphrase of thirty-two bytes"}}
	l := &logged{newWorld(t, "c-test"), map[uint64][]byte{}}
	dir := t.TempDir()
	at := time.Unix(0, int64(start))
	take := func(from uint64) string {
		at = at.Add(time.Hour)
		path := filepath.Join(dir, FileName(at))
		_, err := Create(path, keys, bytes.NewReader(l.plain(from)))
		require.NoError(t, err)
		return path
	}
	old := take(0)
	for range 300 {
		l.note(10)
	}
	full := take(0)
	first := l.machine.Freeze()
	l.note(10)
	early := l.tail(dir, keys, first.Index+1)
	increment := take(first.Size)
	second := l.machine.Freeze()
	for range 3 {
		l.note(10)
	}
	one := l.tail(dir, keys, second.Index+1)
	third := l.machine.Freeze()
	l.note(10)
	two := l.tail(dir, keys, third.Index+1)

	chain, err := FindChain(dir, keys)
	require.NoError(t, err)
	require.Equal(t, []string{full, increment}, chain.Files)
	require.Equal(t, []string{one, two}, chain.Tails)
	restore := func(files, tails []string) (*Restored, error) {
		order := l.order()
		order.Tails = tails
		return Restore(files, keys, order)
	}
	restored, err := restore(chain.Files, chain.Tails)
	require.NoError(t, err)
	is := l.machine.Freeze()
	require.Equal(t, []any{is.Index, is.Size}, []any{restored.Report.Index, restored.Report.TreeSize})
	require.True(t, IsOf(l.history, restored.Report.TreeSize, restored.Report.TreeHead))
	require.NoError(t, errors.Join(ReadBack(restored), HistoryHolds(restored)))
	_, err = restore([]string{full}, []string{early, one, two})
	require.NoError(t, err, "without the increment the tails before it lead there, too")
	_, err = restore(chain.Files, []string{two})
	require.ErrorContains(t, err, "a file between is missing")
	_, err = restore([]string{full}, chain.Tails)
	require.ErrorContains(t, err, "a file between is missing")

	l.spoilTail(one, keys, func() error { _, err := restore(chain.Files, chain.Tails); return err })
	l.thinOut(dir, keys, filepath.Base(old), filepath.Base(early), func() { take(second.Size) })
}

// spoilTail damages a tail, and puts it back. No damage is restored.
func (l *logged) spoilTail(one string, keys *Keys, restore func() error) {
	t := l.t
	data, err := os.ReadFile(one)
	require.NoError(t, err)
	for at := range 40 {
		spoilt := append([]byte(nil), data...)
		spoilt[len(data)*at/40] ^= 1
		require.NoError(t, os.WriteFile(one, spoilt, 0o600))
		_, err := ReadTail(one, keys, nil)
		require.Error(t, err, at)
	}
	require.NoError(t, os.WriteFile(one, data[:len(data)-20], 0o600))
	require.Error(t, restore())
	require.NoError(t, os.WriteFile(one, data, 0o600))
	require.NoError(t, restore())
}

// thinOut thins a folder: what goes is older than what is kept, and never the last verified one.
func (l *logged) thinOut(dir string, keys *Keys, old, early string, take func()) {
	t := l.t

	gone, err := Thin(dir, keys, "c-other", 1)
	require.NoError(t, err)
	require.Empty(t, gone, "files of another cluster")
	gone, err = Thin(dir, keys, "c-test", 3)
	require.NoError(t, err)
	require.Empty(t, gone, "there are not so many")
	gone, err = Thin(dir, keys, "c-test", 1, old)
	require.NoError(t, err)
	require.Empty(t, gone, "the last verified one stays whatever its age")
	gone, err = Thin(dir, keys, "c-test", 1)
	require.NoError(t, err)
	require.Equal(t, []string{old}, gone)
	take()
	gone, err = Thin(dir, keys, "c-test", 1)
	require.NoError(t, err)
	require.Equal(t, []string{early}, gone, "two backups hold its entries")
}
