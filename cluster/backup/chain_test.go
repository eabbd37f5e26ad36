package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// folder is a folder that a cluster backs itself up to, and that cluster.
type folder struct {
	*logged
	at   string
	keys *Keys
	time time.Time
	mark uint64 // Entries up to here are in a tail, or in the first copy.
	size uint64
}

func newFolder(t testing.TB) *folder {
	keys := &Keys{Derived: []string{"a passphrase of thirty-two bytes"}}
	return &folder{logged: &logged{newWorld(t, "c-test"), map[uint64][]byte{}}, at: t.TempDir(), keys: keys, time: time.Unix(0, int64(start))}
}

// take writes a full copy or an increment behind one note.
func (f *folder) take(full bool) string {
	f.note(10)
	from := f.size
	if full {
		from = 0
	}
	f.time = f.time.Add(time.Hour)
	path := filepath.Join(f.at, FileName(f.time))
	_, err := Create(path, f.keys, bytes.NewReader(f.plain(from)))
	require.NoError(f.t, err)
	f.size = f.machine.Freeze().Size
	if f.mark == 0 {
		f.mark = f.index // The first tail goes on from the first copy, and each further one from the tail before it.
	}
	return path
}

// ship writes a tail of some notes.
func (f *folder) ship(notes int) string {
	first := f.mark + 1
	for range notes {
		f.note(10)
	}
	f.mark = f.index
	return f.tail(f.at, f.keys, first)
}

// restore restores what the folder holds, as the verb does, and returns how many leaves came back.
func (f *folder) restore() (leaves uint64, err error) {
	chain, err := FindChain(f.at, f.keys)
	if err != nil {
		return 0, err
	}
	order := f.order()
	order.Tails = chain.Tails
	restored, err := Restore(chain.Files, f.keys, order)
	if err != nil {
		return 0, err
	}
	require.True(f.t, IsOf(f.history, restored.Report.TreeSize, restored.Report.TreeHead))
	return restored.Report.TreeSize, nil
}

// fill writes what a day leaves in a folder, and returns the names.
func (f *folder) fill() (full, more, one, two, three string) {
	for range 300 {
		f.note(10)
	}
	full = f.take(true)
	for range 300 {
		f.note(10)
	}
	more = f.take(false)
	return full, more, f.ship(2), f.ship(1), f.ship(1)
}

// What a restore makes of a folder in which something is wrong. It never makes less of it without a
// word: it names the file and how far one comes without it.
func TestFoldersWithFaults(t *testing.T) {
	spoil := func(path string, at int) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		data[len(data)+at] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	for name, c := range map[string]struct {
		fault func(f *folder, full, more, one, two, three string)
		want  string // The refusal; "": all leaves but less come back.
		less  uint64
	}{
		"nothing is wrong":               {fault: func(*folder, string, string, string, string, string) {}},
		"the full copy is missing":       {func(_ *folder, full, _, _, _, _ string) { _ = os.Remove(full) }, "the full one before them is missing", 0},
		"a broken tail":                  {func(_ *folder, _, _, _, two, _ string) { spoil(two, -1) }, "log time 2026-03-22T03:33:28.589Z: to restore up to there, move it out", 0},
		"a long tail, broken at its end": {func(f *folder, _, _, _, _, _ string) { spoil(f.ship(1000), -1) }, "to restore up to there, move it and the tails behind it out", 0},
		"a gap between tails":            {func(_ *folder, _, _, _, two, _ string) { _ = os.Remove(two) }, "", 2},
		"the tails' first is missing":    {func(_ *folder, _, _, one, _, _ string) { _ = os.Remove(one) }, "", 4},
		"a tail before the full copy":    {func(f *folder, _, _, _, _, _ string) { f.tail(f.at, f.keys, 3) }, "", 0},
		"a doubled tail": {func(f *folder, _, _, one, _, _ string) {
			first, _, _ := parseTailName(filepath.Base(one))
			f.tail(f.at, f.keys, first)
		}, "", 0},
		"a tail of another cluster": {func(f *folder, _, _, _, _, _ string) { f.foreign("c-other", "") }, "", 0},
		"a tail of another lineage": {func(f *folder, _, _, _, _, _ string) { f.foreign("c-test", "feed") }, "", 0},
		"a tail under another's name": {func(_ *folder, _, _, one, two, _ string) {
			data, _ := os.ReadFile(two)
			_ = os.WriteFile(one, data, 0o600)
		}, "a file between is missing", 0},
		"an increment is missing": {func(f *folder, _, more, _, _, _ string) { f.ship(300); f.take(false); _ = os.Remove(more) }, "a file between is missing; to restore up to ", 0},
		"a copy that nobody can open": {func(f *folder, _, more, _, _, _ string) {
			f.ship(300)
			f.take(false)
			spoil(more, -int(sizeOf(t, more)))
		}, "encryption header", 0},
		"a file that is still written": {func(f *folder, full, _, _, _, _ string) { _ = os.WriteFile(full+unendedSuffix, []byte("half"), 0o600) }, "", 0},
		"the last tail is cut":         {func(_ *folder, _, _, _, _, three string) { _ = os.Truncate(three, sizeOf(t, three)-20) }, "to restore up to there", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			full, more, one, two, three := f.fill()
			c.fault(f, full, more, one, two, three)
			leaves, err := f.restore()
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, f.machine.Freeze().Size-c.less, leaves)
		})
	}
}

func sizeOf(t testing.TB, path string) int64 {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// foreign writes a tail that would follow, of another cluster or lineage.
func (f *folder) foreign(cluster, lineage string) {
	head := TailOf(f.machine.Freeze(), &Manifest{ClusterID: cluster, Lineage: lineage}, "n9", f.mark+1)
	head.Last = f.mark + 5
	require.NoError(f.t, CreateTail(filepath.Join(f.at, TailName(head.First, head.Last)), f.keys, head, func(uint64, uint64, func(uint64, uint64, []byte) error) error { return nil }))
}

// A tail's entries are compared with the tree head that it names, and with the cluster, before one of
// them is believed.
func TestTailsAreHeldToTheirHeads(t *testing.T) {
	f := newFolder(t)
	full := f.take(true)
	f.ship(1)
	path := f.ship(2)
	for want, change := range map[string]func(h *EntriesHead){
		"lead to":                     func(h *EntriesHead) { h.TreeSize++ },
		"and should to":               func(h *EntriesHead) { h.TreeHead = h.TreeHead[1:] + "0" },
		"it is of cluster c-other":    func(h *EntriesHead) { h.ClusterID = "c-other" },
		`lineage "feed"`:              func(h *EntriesHead) { h.Lineage = "feed" },
		"restore it with the release": func(h *EntriesHead) { h.Format++ },
		"are none":                    func(h *EntriesHead) { h.First = 0 },
	} {
		head, err := InspectTail(path, f.keys)
		require.NoError(t, err)
		head.First = f.mark - 2
		change(head)
		odd := filepath.Join(t.TempDir(), filepath.Base(path))
		require.NoError(t, CreateTail(odd, f.keys, head, func(_, _ uint64, visit func(uint64, uint64, []byte) error) error {
			for index := f.mark - 2; index <= f.mark; index++ {
				require.NoError(t, visit(index, f.term, f.entries[index]))
			}
			return nil
		}))
		order := f.order()
		order.Tails = []string{odd}
		_, err = Restore([]string{full}, f.keys, order)
		require.ErrorContains(t, err, want)
	}
}

// A folder that is copied away file by file, in the order of names, can be restored at every moment
// from its first full copy on, and never to less than a moment before.
func TestAFolderIsCopiedAwayInOrder(t *testing.T) {
	f := newFolder(t)
	f.fill()
	f.take(false)
	f.ship(1)
	entries, err := os.ReadDir(f.at)
	require.NoError(t, err)
	away, last := &folder{logged: f.logged, at: t.TempDir(), keys: f.keys}, uint64(0)
	for i, entry := range entries {
		data, err := os.ReadFile(filepath.Join(f.at, entry.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(away.at, entry.Name()), data, 0o600))
		leaves, err := away.restore()
		require.NoError(t, err, i)
		require.GreaterOrEqual(t, leaves, last)
		last = leaves
	}
	require.Equal(t, f.machine.Freeze().Size, last)
}

// However many copies are kept, thinning never takes away what a restore needs, of the newest copy,
// of that before it, or of a lineage whose last entries only tails hold.
func TestThinningKeepsWhatARestoreNeeds(t *testing.T) {
	for keep := 1; keep <= 3; keep++ {
		f := newFolder(t)
		for range 300 { // An increment begins at the bundle of leaves before it, and so at 0 with fewer.
			f.note(10)
		}
		for round := range 5 {
			f.take(true)
			f.ship(1)
			f.take(false)
			f.ship(2)
			before, err := f.restore()
			require.NoError(t, err)
			_, err = Thin(f.at, f.keys, "c-test", keep)
			require.NoError(t, err)
			after, err := f.restore()
			require.NoError(t, err)
			require.Equal(t, before, after)
			chain, err := FindChain(f.at, f.keys)
			require.NoError(t, err)
			newest, hidden := chain.Files[1], chain.Files[1]+" is away"
			require.NoError(t, os.Rename(newest, hidden)) // The newest copy turns out to be of no use.
			without, err := f.restore()
			require.NoError(t, err)
			require.Equal(t, before, without, "the copy before and the tails lead as far")
			require.NoError(t, os.Rename(hidden, newest))
			copies, err := listCopies(f.at, f.keys)
			require.NoError(t, err)
			require.Len(t, copies, 2*min(keep, round+1))
		}
	}
	f := newFolder(t)
	f.take(true)
	f.foreign("c-test", "before the restore")
	f.take(true)
	f.take(true)
	gone, err := Thin(f.at, f.keys, "c-test", 1)
	require.NoError(t, err)
	require.Len(t, gone, 3, "two copies, and a tail of which no copy is left")

	other := newFolder(t)
	other.take(true)
	lost := other.ship(1)
	copies, err := listCopies(other.at, other.keys)
	require.NoError(t, err)
	head, err := InspectTail(lost, other.keys)
	require.NoError(t, err)
	restored := copied{says: &Manifest{ClusterID: "c-test", Lineage: "after the restore", Index: 1000}}
	require.False(t, isHeld(head, []copied{copies[0], restored, restored}, 0), "a copy made after a restore does not hold what the restore left out")
	require.True(t, isHeld(head, []copied{copies[0], restored, restored}, 1))
}

// What stays counts in full copies of the newest lineage; what a lineage was restored from stays a
// while longer.
func TestWhatStaysIsOfTheNewestLineage(t *testing.T) {
	for _, c := range []struct {
		copies string // F and i are of the lineage before a restore, G and j of the one behind it.
		keep   int
		want   int
	}{
		{"", 1, 0}, {"F", 1, 0}, {"Fi", 1, 0}, {"FiF", 1, 2}, {"FiF", 2, 0}, {"FiFiFi", 2, 2}, {"ii", 1, 0}, {"iiF", 1, 2},
		{"FiG", 1, 0}, {"FiGj", 1, 0}, {"FiGjG", 1, 2}, {"FFFFG", 3, 0}, {"FFGGjG", 3, 2}, {"FGGG", 2, 2},
	} {
		var all []copied
		for _, letter := range c.copies {
			says := &Manifest{Lineage: "before"}
			if letter == 'G' || letter == 'j' {
				says.Lineage = "behind"
			}
			if letter == 'i' || letter == 'j' {
				says.From = 256
			}
			all = append(all, copied{says: says})
		}
		require.Equal(t, c.want, keptFrom(all, c.keep), "%s, keep %d", c.copies, c.keep)
	}
}

// FuzzTails reads any bytes as a tail in clear: an error or entries in their order, and the same
// entries again when they are written.
func FuzzTails(f *testing.F) {
	head, err := json.Marshal(&EntriesHead{Format: Format, ClusterID: "c", First: 3, Last: 9})
	require.NoError(f, err)
	whole := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	f.Add(append([]byte(nil), whole...))
	f.Add(append(append([]byte(nil), whole...), 3, 2, 1, 'x', 9, 2, 0))
	f.Add(append(append([]byte(nil), whole...), 4, 2, 1, 'x', 3, 2, 0))
	f.Add(append(append([]byte(nil), whole...), 4, 2, 0xff, 0xff, 0xff, 0x3f))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		last := uint64(0)
		head, err := readTail(bufio.NewReader(bytes.NewReader(data)), func(index, term uint64, entry []byte) error {
			if index <= last || len(entry) > len(data) {
				return errors.New("BUG")
			}
			last = index
			again = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(again, index), term), uint64(len(entry)))
			again = append(again, entry...)
			return nil
		})
		if err != nil {
			require.NotEqual(t, "BUG", err.Error())
			return
		}
		require.LessOrEqual(t, last, head.Last)
		require.True(t, last == 0 || last >= head.First)
		size, n := binary.Uvarint(data)
		whole := append(append([]byte(nil), data[:n+int(size)]...), again...)
		back, err := readTail(bufio.NewReader(bytes.NewReader(whole)), nil)
		require.NoError(t, err)
		require.Equal(t, head, back)
	})
}
