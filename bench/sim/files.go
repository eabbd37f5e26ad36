package sim

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/cluster/datadir"
)

// files are the data folder of a host, without its history: real files, of which it also keeps what
// would survive a power cut. It implements datadir.Disk.
//
// A file's content is durable after the file was synced, and its name after its folder was synced.
// What raft's own store syncs (the content of a snapshot, the name of its folder) counts as durable.
// A power cut does not change the files of lists, because a node fetches damaged ones from its
// peers again, nor those of keys and endings, whose syncs are not seen here.
//
// Files are told apart by what the system numbers them by. It must not give a number away again
// soon, which holds for file systems in memory.
type files struct {
	root string

	mu      sync.Mutex
	inodes  []*inode          // Those that were synced or have a durable name.
	durable map[string]*inode // Their names after a power cut.
	gone    bool              // The process that has them has ended: whatever it still does fails.
}

// inode is a file, whatever its name.
type inode struct {
	info   fs.FileInfo // nil: the file is gone.
	synced []byte
}

// openFiles makes a folder or takes over an existing one. Everything that is in it counts as
// durable.
func openFiles(root string) (*files, error) {
	f := &files{root: root, durable: map[string]*inode{}}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	return f, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		made, err := f.inodeAt(path)
		if err != nil {
			return err
		}
		made.synced, err = os.ReadFile(path)
		f.durable[path] = made
		return err
	})
}

// inodeOf returns the file that the system describes so.
func (f *files) inodeOf(info fs.FileInfo) *inode {
	for _, one := range f.inodes {
		if one.info != nil && os.SameFile(one.info, info) {
			return one
		}
	}
	made := &inode{info: info}
	f.inodes = append(f.inodes, made)
	return made
}

func (f *files) inodeAt(path string) (*inode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return f.inodeOf(info), nil
}

// SyncFile implements datadir.Disk.
func (f *files) SyncFile(file *os.File) error {
	return f.change(func() error {
		info, err := file.Stat()
		if err != nil {
			return err
		}
		one := f.inodeOf(info)
		if int64(len(one.synced)) != info.Size() {
			one.synced = make([]byte, info.Size())
		}
		_, err = file.ReadAt(one.synced, 0)
		if errors.Is(err, io.EOF) && len(one.synced) == 0 {
			err = nil
		}
		return err
	})
}

// SyncData implements datadir.Disk.
func (f *files) SyncData(file *os.File) error { return f.SyncFile(file) }

// syncPath is SyncFile for a file that somebody else has opened.
func (f *files) syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.SyncFile(file), file.Close())
}

// change does something at one moment: the end of the process comes before or after it. Behind that
// moment it fails, because what the process would conclude from it is not so: the host has lost it.
func (f *files) change(do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return errBroken
	}
	return do()
}

// Rename implements datadir.Disk.
func (f *files) Rename(from, to string) error {
	return f.change(func() error { return os.Rename(from, to) })
}

// SyncFolder implements datadir.Disk.
func (f *files) SyncFolder(path string) error {
	return f.change(func() error { return f.keepNames(path) })
}

func (f *files) keepNames(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for name := range f.durable {
		if filepath.Dir(name) == path {
			delete(f.durable, name)
		}
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		name := filepath.Join(path, entry.Name())
		one, err := f.inodeAt(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // It is gone meanwhile.
		}
		if err != nil {
			return err
		}
		f.durable[name] = one // It is empty if its content was never synced.
	}
	return nil
}

var _ datadir.Disk = (*files)(nil)

// cut copies the folder, as the end of the process or a power cut would leave it, to another place.
// What a process still writes to the old folder is lost, and it is never told that it was synced.
func (f *files) cut(to string, loss audittest.Loss, random *rand.Rand) (*files, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	next, there := &files{root: to, durable: map[string]*inode{}}, map[string]bool{}
	err := filepath.WalkDir(f.root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // The file is gone: the old process goes on meanwhile.
		}
		if err != nil {
			return err
		}
		rest := strings.TrimPrefix(path, f.root)
		if entry.IsDir() {
			return os.MkdirAll(to+rest, 0o700)
		}
		there[path] = true
		return f.carry(next, path, rest, loss, random)
	})
	if err != nil {
		return nil, err
	}
	for path, one := range f.durable { // A segment whose removal was not synced may come back.
		rest := strings.TrimPrefix(path, f.root)
		if there[path] || !strings.HasSuffix(rest, segmentEnding) {
			continue
		}
		switch {
		case loss == audittest.LoseNone:
			next.durable[to+rest] = &inode{synced: bytes.Clone(one.synced)}
		case loss == audittest.LoseAll || random.IntN(2) == 0:
			if err := os.WriteFile(to+rest, one.synced, 0o600); err != nil {
				return nil, err
			}
		}
	}
	if loss != audittest.LoseNone { // Whatever is there after a power cut came from the disk.
		return openFiles(to)
	}
	return next, nil
}

// carry copies what is left of one file. After the end of a process that is all of it, and what was
// durable before is durable still.
func (f *files) carry(next *files, path, rest string, loss audittest.Loss, random *rand.Rand) error {
	data, keep := f.left(path, rest, loss, random)
	if !keep {
		return nil
	}
	if err := os.WriteFile(next.root+rest, data, 0o600); err != nil {
		return err
	}
	if loss != audittest.LoseNone {
		return nil
	}
	one, err := f.inodeAt(path)
	if err != nil {
		return nil //nolint:nilerr // The old process has removed it meanwhile.
	}
	same, err := next.inodeAt(next.root + rest)
	if err != nil {
		return err
	}
	same.synced = bytes.Clone(one.synced) // The old process may go on writing to its own.
	switch named := f.durable[path]; {
	case named == one:
		next.durable[next.root+rest] = same
	case named != nil:
		next.durable[next.root+rest] = &inode{synced: bytes.Clone(named.synced)}
	}
	return nil
}

const (
	segmentEnding = ".log"
	sectorBytes   = 512
)

// left returns what a power cut leaves of one file. If another one had its name before and the folder
// was not synced since, the name leads to either of them.
func (f *files) left(path, rest string, loss audittest.Loss, random *rand.Rand) (data []byte, keep bool) {
	now, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	there, err := f.inodeAt(path)
	if err != nil {
		return nil, false
	}
	lucky := loss == audittest.LoseNone || loss == audittest.LoseSome && random.IntN(3) == 0
	var durable []byte
	is, named := f.durable[path]
	if named {
		durable = is.synced
	}
	snapshot := strings.Contains(rest, datadir.SnapshotFolder)
	switch {
	case lucky || strings.HasPrefix(rest, "/"+datadir.ListFolder) || strings.HasPrefix(rest, "/"+datadir.KeysFolder):
		return now, true
	case snapshot && strings.Contains(rest, ".tmp"):
		return now[:random.IntN(len(now)+1)], loss == audittest.LoseSome
	case snapshot:
		return now, named
	case is != there && loss == audittest.LoseSome && random.IntN(2) == 0:
		return there.synced, true
	case is != there:
		return durable, named
	case loss == audittest.LoseSome && strings.HasSuffix(rest, segmentEnding):
		return tear(durable, now, 0, random), true
	case loss == audittest.LoseSome && filepath.Base(rest) == datadir.LogFile:
		return tearVotes(durable, now, random), true
	}
	return durable, named
}

// tear returns a file of whose changes since its last sync some sectors reached the disk, from an
// offset on.
func tear(synced, now []byte, from int, random *rand.Rand) []byte {
	if len(synced) != len(now) {
		return synced // It was never synced at this size.
	}
	torn := bytes.Clone(synced)
	for at := from; at < len(now); at += sectorBytes {
		if random.IntN(2) == 0 {
			copy(torn[at:min(at+sectorBytes, len(now))], now[at:])
		}
	}
	return torn
}

// tearVotes does the same to the file of votes. Its library syncs the pages before it writes the
// header that leads to them; the two headers are its first two pages.
func tearVotes(synced, now []byte, random *rand.Rand) []byte {
	headers := 2 * os.Getpagesize()
	if len(synced) != len(now) || len(now) < headers {
		return synced
	}
	if random.IntN(2) == 0 || bytes.Equal(synced[:headers], now[:headers]) {
		return tear(synced, now, headers, random)
	}
	return now
}

// takeFiles gives a host its first folder, or another empty one.
func (h *Host) takeFiles() {
	made, err := openFiles(h.newFolder())
	require.NoError(h.world.t, err, h.ID)
	h.files = made
}

// settleFiles makes durable what the disk has only said to be.
func (h *Host) settleFiles() {
	h.mu.Lock()
	defer h.mu.Unlock()
	settled, err := openFiles(h.files.root)
	require.NoError(h.world.t, err, h.ID)
	h.files = settled
}
