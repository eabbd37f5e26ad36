package recovery

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"

	"railguard/audit"
	"railguard/engine"
)

// overlay lets a history be opened without changing it: what the store would cut,
// mark or seal on its disk goes to memory.
type overlay struct {
	base audit.Dir

	mu      sync.Mutex
	files   map[string]*overlayFile // What was written, or may have been.
	removed map[string]bool
}

func newOverlay(base audit.Dir) *overlay {
	return &overlay{base: base, files: map[string]*overlayFile{}, removed: map[string]bool{}}
}

// Create implements audit.Dir.
func (o *overlay) Create(name string) (audit.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.materialize(name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = &overlayFile{pages: map[int64][]byte{}}, nil
		o.files[name] = f
		delete(o.removed, name)
	}
	return f, err
}

// materialize returns the file of a name as one that can be written.
func (o *overlay) materialize(name string) (*overlayFile, error) {
	if f := o.files[name]; f != nil {
		return f, nil
	}
	if o.removed[name] {
		return nil, fs.ErrNotExist
	}
	base, err := o.base.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := base.Size()
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	f := &overlayFile{base: base, shared: size, size: size, pages: map[int64][]byte{}}
	o.files[name] = f
	return f, nil
}

// Open implements audit.Dir.
func (o *overlay) Open(name string) (audit.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.files[name]; f != nil {
		return f, nil
	}
	if o.removed[name] {
		return nil, fs.ErrNotExist
	}
	return o.base.Open(name)
}

// Rename implements audit.Dir.
func (o *overlay) Rename(from, to string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, err := o.materialize(from)
	if err != nil {
		return err
	}
	delete(o.files, from)
	delete(o.removed, to)
	o.files[to], o.removed[from] = f, true
	return nil
}

// Remove implements audit.Dir.
func (o *overlay) Remove(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.files, name)
	o.removed[name] = true
	return nil
}

// Sync implements audit.Dir: there is nothing to make durable.
func (o *overlay) Sync(string) error { return nil }

// List implements audit.Dir.
func (o *overlay) List(folder string) ([]string, error) {
	below, err := o.base.List(folder)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[string]bool{}
	for _, name := range below {
		if !o.removed[path.Join(folder, name)] {
			found[name] = true
		}
	}
	for full := range o.files {
		rest, inside := full, true
		if folder != "" {
			rest, inside = strings.CutPrefix(full, folder+"/")
		}
		if !inside {
			continue
		}
		if name, _, deeper := strings.Cut(rest, "/"); deeper {
			found[name+"/"] = true
		} else {
			found[name] = true
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

// close closes what stands below.
func (o *overlay) close() error {
	var errs []error
	for _, f := range o.files {
		if f.base != nil {
			errs = append(errs, f.base.Close())
		}
	}
	return errors.Join(errs...)
}

const overlayPage = 64 * engine.KiB

// overlayFile is a file of the disk with what was written over it.
type overlayFile struct {
	base audit.File // nil: a new file.

	mu     sync.Mutex
	shared int64 // Bytes of base that still count.
	size   int64
	pages  map[int64][]byte
}

// page fills buffer with a page as it is; buffer holds overlayPage bytes.
func (f *overlayFile) page(number int64, buffer []byte) error {
	clear(buffer)
	if written := f.pages[number]; written != nil {
		copy(buffer, written)
		return nil
	}
	at := number * overlayPage
	if f.base == nil || at >= f.shared {
		return nil
	}
	_, err := f.base.ReadAt(buffer[:min(overlayPage, f.shared-at)], at)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ReadAt implements audit.File.
func (f *overlayFile) ReadAt(p []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	buffer := make([]byte, overlayPage)
	for n < len(p) && at < f.size {
		if err := f.page(at/overlayPage, buffer); err != nil {
			return n, err
		}
		end := min(overlayPage, f.size-at/overlayPage*overlayPage)
		copied := copy(p[n:], buffer[at%overlayPage:end])
		n, at = n+copied, at+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements audit.File.
func (f *overlayFile) WriteAt(p []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(p) {
		number := at / overlayPage
		if f.pages[number] == nil {
			fresh := make([]byte, overlayPage)
			if err := f.page(number, fresh); err != nil {
				return n, err
			}
			f.pages[number] = fresh
		}
		copied := copy(f.pages[number][at%overlayPage:], p[n:])
		n, at = n+copied, at+int64(copied)
		f.size = max(f.size, at)
	}
	return n, nil
}

// Truncate implements audit.File.
func (f *overlayFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size, f.shared = size, min(f.shared, size)
	for number, page := range f.pages {
		at := number * overlayPage
		if at >= size {
			delete(f.pages, number)
		} else if at+overlayPage > size {
			clear(page[size-at:])
		}
	}
	return nil
}

// Sync implements audit.File.
func (f *overlayFile) Sync() error { return nil }

// Close implements audit.File. The bytes stay for who opens the name again.
func (f *overlayFile) Close() error { return nil }

// Size implements audit.File.
func (f *overlayFile) Size() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size, nil
}
