package audittest

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"railguard/audit"
)

// MemDir is an audit.Dir in memory that distinguishes what was written from what is durable.
// It is safe for concurrent use.
//
// The content of a file is durable after File.Sync. A name that is made, renamed or removed is
// durable after Sync of its folder. CrashClone returns the disk as a power cut would leave it;
// MemDir itself reads everything as written.
type MemDir struct {
	// Hook, if set, is called before every operation that changes the disk,
	// with its kind (create, write, truncate, sync, rename, remove, syncdir)
	// and name. An error from it fails the operation, which then has no effect.
	// It may call CrashClone. Set it before use.
	Hook func(operation, name string) error

	mu      sync.Mutex
	names   map[string]*memFile // as a reader sees them
	durable map[string]*memFile // as they are after a crash
	pending []nameChange        // changes not synced, in order
}

type memFile struct {
	data   []byte
	synced []byte
	writes []memWrite // The writes since the last sync, in order.
}

type memWrite struct {
	offset   int64
	data     []byte
	truncate bool // data is nil, offset is the new size
}

// nameChange is one change in a folder: first remove is removed, then set is made.
type nameChange struct {
	folder string
	remove string
	set    string
	file   *memFile // the file that set names; nil for a folder
}

// NewMemDir returns an empty disk.
func NewMemDir() *MemDir {
	return &MemDir{names: make(map[string]*memFile), durable: make(map[string]*memFile)}
}

func folderOf(name string) string {
	if folder := path.Dir(strings.TrimSuffix(name, "/")); folder != "." {
		return folder + "/"
	}
	return ""
}

func (d *MemDir) callHook(operation, name string) error {
	if d.Hook == nil {
		return nil
	}
	return d.Hook(operation, name)
}

func (d *MemDir) applyChange(c nameChange) {
	if c.remove != "" {
		delete(d.names, c.remove)
	}
	if c.set != "" {
		d.names[c.set] = c.file
	}
	d.pending = append(d.pending, c)
}

// Create implements audit.Dir.
func (d *MemDir) Create(name string) (audit.File, error) {
	d.mu.Lock()
	file, exists := d.names[name]
	d.mu.Unlock()
	if !exists {
		if err := d.callHook("create", name); err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		var above []string
		for folder := folderOf(name); folder != ""; folder = folderOf(folder) {
			above = append(above, folder)
		}
		slices.Reverse(above)
		for _, folder := range above {
			if _, ok := d.names[folder]; !ok {
				d.applyChange(nameChange{folder: folderOf(folder), set: folder})
			}
		}
		file = &memFile{}
		d.applyChange(nameChange{folder: folderOf(name), set: name, file: file})
	}
	return &memHandle{dir: d, file: file, name: name, writable: true}, nil
}

// Open implements audit.Dir.
func (d *MemDir) Open(name string) (audit.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.names[name]
	if file == nil {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return &memHandle{dir: d, file: file, name: name}, nil
}

// Rename implements audit.Dir.
func (d *MemDir) Rename(from, to string) error {
	if folderOf(from) != folderOf(to) {
		return fmt.Errorf("rename %s to %s: across folders", from, to)
	}
	if err := d.callHook("rename", to); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.names[from]
	if file == nil {
		return fmt.Errorf("rename %s: %w", from, fs.ErrNotExist)
	}
	d.applyChange(nameChange{folder: folderOf(to), remove: from, set: to, file: file})
	return nil
}

// Remove implements audit.Dir.
func (d *MemDir) Remove(name string) error {
	if err := d.callHook("remove", name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return fmt.Errorf("remove %s: %w", name, fs.ErrNotExist)
	}
	d.applyChange(nameChange{folder: folderOf(name), remove: name})
	return nil
}

// Sync implements audit.Dir.
func (d *MemDir) Sync(folder string) error {
	if folder != "" {
		folder += "/"
	}
	if err := d.callHook("syncdir", folder); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.pending[:0:0]
	for _, c := range d.pending {
		if c.folder == folder {
			c.applyTo(d.durable)
		} else {
			rest = append(rest, c)
		}
	}
	d.pending = rest
	return nil
}

func (c *nameChange) applyTo(names map[string]*memFile) {
	if c.remove != "" {
		delete(names, c.remove)
	}
	if c.set != "" {
		names[c.set] = c.file
	}
}

// List implements audit.Dir.
func (d *MemDir) List(folder string) ([]string, error) {
	if folder != "" {
		folder += "/"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.names {
		if folderOf(name) == folder {
			names = append(names, strings.TrimPrefix(name, folder))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Loss says which of the changes that are not synced a crash undoes.
type Loss int

const (
	// LoseAll: nothing that was not synced survives.
	LoseAll Loss = iota
	// LoseNone: everything survives, as when only the process dies.
	LoseNone
	// LoseSome: each sector of 512 bytes of each write survives or not. Of the changes in each
	// folder, the first few survive.
	LoseSome
)

// CrashClone returns the disk as a power cut at this moment would leave it. It does not change
// the original.
func (d *MemDir) CrashClone(loss Loss, random *rand.Rand) *MemDir {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make(map[string]*memFile, len(d.durable))
	for name, file := range d.durable {
		names[name] = file
	}
	stopped := make(map[string]bool)
	for _, c := range d.pending {
		if loss == LoseSome && random.IntN(3) == 0 {
			stopped[c.folder] = true
		}
		if loss == LoseNone || (loss == LoseSome && !stopped[c.folder]) {
			c.applyTo(names)
		}
	}
	clone := NewMemDir()
	for _, name := range slices.Sorted(keysOf(names)) {
		if !isReachable(names, name) {
			continue
		}
		file := names[name]
		if file != nil {
			file = file.crashClone(loss, random)
		}
		clone.names[name], clone.durable[name] = file, file
	}
	return clone
}

func keysOf(names map[string]*memFile) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range names {
			if !yield(name) {
				return
			}
		}
	}
}

func isReachable(names map[string]*memFile, name string) bool {
	for folder := folderOf(name); folder != ""; folder = folderOf(folder) {
		if _, ok := names[folder]; !ok {
			return false
		}
	}
	return true
}

const sector = 512

func (f *memFile) crashClone(loss Loss, random *rand.Rand) *memFile {
	data := slices.Clone(f.synced)
	switch loss {
	case LoseNone:
		data = slices.Clone(f.data)
	case LoseSome:
		for _, w := range f.writes {
			data = w.tearWrite(data, random)
		}
	}
	return &memFile{data: data, synced: slices.Clone(data)}
}

func (w *memWrite) tearWrite(data []byte, random *rand.Rand) []byte {
	if w.truncate {
		if random.IntN(2) == 0 {
			return resizeData(data, w.offset)
		}
		return data
	}
	for at := 0; at < len(w.data); at += sector {
		part := w.data[at:min(len(w.data), at+sector)]
		if random.IntN(4) > 0 {
			data = writeAt(data, part, w.offset+int64(at))
		}
	}
	return data
}

func resizeData(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

func writeAt(data, part []byte, offset int64) []byte {
	if end := offset + int64(len(part)); end > int64(len(data)) {
		data = resizeData(data, end)
	}
	copy(data[offset:], part)
	return data
}

// FlipBit changes one bit of a file, as a failing disk does. The change is durable.
func (d *MemDir) FlipBit(name string, bit int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.names[name]
	if file == nil || bit/8 >= int64(len(file.data)) {
		return fmt.Errorf("flip bit %d of %s: %w", bit, name, fs.ErrNotExist)
	}
	file.data[bit/8] ^= 1 << (bit % 8)
	if bit/8 < int64(len(file.synced)) {
		file.synced[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

// Files returns the names of all files with their sizes.
func (d *MemDir) Files() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	sizes := make(map[string]int64)
	for name, file := range d.names {
		if file != nil {
			sizes[name] = int64(len(file.data))
		}
	}
	return sizes
}

type memHandle struct {
	dir      *MemDir
	file     *memFile
	name     string
	writable bool
	closed   bool
}

func (h *memHandle) checkOpen(write bool) error {
	if h.closed {
		return fmt.Errorf("%s: %w", h.name, os.ErrClosed)
	}
	if write && !h.writable {
		return fmt.Errorf("%s: %w", h.name, os.ErrPermission)
	}
	return nil
}

func (h *memHandle) ReadAt(b []byte, offset int64) (int, error) {
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if err := h.checkOpen(false); err != nil {
		return 0, err
	}
	if offset >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.file.data[offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(b []byte, offset int64) (int, error) {
	if err := h.dir.callHook("write", h.name); err != nil {
		return 0, err
	}
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if err := h.checkOpen(true); err != nil {
		return 0, err
	}
	h.file.data = writeAt(h.file.data, b, offset)
	h.file.writes = append(h.file.writes, memWrite{offset: offset, data: slices.Clone(b)})
	return len(b), nil
}

func (h *memHandle) Truncate(size int64) error {
	if err := h.dir.callHook("truncate", h.name); err != nil {
		return err
	}
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if err := h.checkOpen(true); err != nil {
		return err
	}
	h.file.data = resizeData(h.file.data, size)
	h.file.writes = append(h.file.writes, memWrite{offset: size, truncate: true})
	return nil
}

func (h *memHandle) Sync() error {
	if err := h.dir.callHook("sync", h.name); err != nil {
		return err
	}
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	if err := h.checkOpen(false); err != nil {
		return err
	}
	h.file.synced = slices.Clone(h.file.data)
	h.file.writes = nil
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	return int64(len(h.file.data)), h.checkOpen(false)
}

func (h *memHandle) Close() error {
	h.dir.mu.Lock()
	defer h.dir.mu.Unlock()
	err := h.checkOpen(false)
	h.closed = true
	return err
}
