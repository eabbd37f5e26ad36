package sim

import (
	"errors"
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

// files are the small files and the snapshots of a host. They are real files, and the type also
// keeps what would survive a power cut. It implements datadir.Disk.\n\nA file's content is
// durable after the file was synced, and its name after its folder was synced. What raft's own
// store syncs (the content of a snapshot, the name of its folder) counts as durable. A power cut
// does not change the files of lists, because a node fetches damaged ones from its peers again.
type files struct {
	root string

	mu      sync.Mutex
	synced  map[string][]byte // Synced contents, by the present name.
	durable map[string][]byte // Contents after a power cut, by name.
}

// openFiles makes a folder or takes over an existing one. Everything that is in it counts as
// durable.
func openFiles(root string) (*files, error) {
	f := &files{root: root, synced: map[string][]byte{}, durable: map[string][]byte{}}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	return f, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		f.synced[path], f.durable[path] = data, data
		return err
	})
}

// SyncFile implements datadir.Disk.
func (f *files) SyncFile(file *os.File) error {
	data, err := os.ReadFile(file.Name())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced[file.Name()] = data
	return err
}

// Rename implements datadir.Disk.
func (f *files) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, known := f.synced[from]
	delete(f.synced, from)
	delete(f.synced, to)
	if known {
		f.synced[to] = data
	}
	return os.Rename(from, to)
}

// SyncFolder implements datadir.Disk.
func (f *files) SyncFolder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.durable {
		if filepath.Dir(name) == path {
			delete(f.durable, name)
		}
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			name := filepath.Join(path, entry.Name())
			f.durable[name] = f.synced[name] // The file is empty if its content was never synced.
		}
	}
	return nil
}

var _ datadir.Disk = (*files)(nil)

// cut copies the folder, as a power cut would leave it, to another place. What a process still
// writes to the old folder is lost.
func (f *files) cut(to string, loss audittest.Loss, random *rand.Rand) (*files, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
		data, keep := f.left(path, rest, loss, random)
		if !keep {
			return nil
		}
		return os.WriteFile(to+rest, data, 0o600)
	})
	if err != nil {
		return nil, err
	}
	return openFiles(to)
}

// left returns what a power cut leaves of one file.
func (f *files) left(path, rest string, loss audittest.Loss, random *rand.Rand) (data []byte, keep bool) {
	now, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	lucky := loss == audittest.LoseNone || loss == audittest.LoseSome && random.IntN(2) == 0
	durable, named := f.durable[path]
	snapshot := strings.Contains(rest, datadir.SnapshotFolder)
	switch {
	case lucky || strings.HasPrefix(rest, "/"+datadir.ListFolder):
		return now, true
	case snapshot && strings.Contains(rest, ".tmp"):
		return now[:random.IntN(len(now)+1)], loss == audittest.LoseSome
	case snapshot:
		return now, named
	}
	return durable, named
}

// takeFiles gives a host its first folder, or another empty one.
func (h *Host) takeFiles() {
	h.lives++
	made, err := openFiles(h.folderOf(h.lives))
	require.NoError(h.world.t, err, h.ID)
	h.files = made
}
