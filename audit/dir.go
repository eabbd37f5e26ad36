package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// Dir is the disk under a store. Tests replace it by a disk that crashes. Names are relative
// and slash-separated.
//
// A new, renamed or removed name is durable only after Sync of its folder, a new folder only
// after Sync of the folder above it.
type Dir interface {
	// Create opens a file for reading and writing. It makes the file and the folders above it
	// if they do not exist. It does not truncate.
	Create(name string) (File, error)
	// Open opens an existing file for reading (fs.ErrNotExist otherwise).
	Open(name string) (File, error)
	// Rename moves a file within its folder and replaces a file of the new name.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(name string) error
	// Sync makes the names in a folder durable ("" is the root).
	Sync(folder string) error
	// List returns the names in a folder, sorted, with a slash after folders. It returns none
	// if there is no such folder.
	List(folder string) ([]string, error)
}

// File is an open file of a Dir.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Size() (int64, error)
}

// OSDir is the real disk: a folder of the operating system. Files are made with
// mode 0600 and folders with 0700, since leaves hold personal data.
func OSDir(root string) Dir { return osDir(root) }

type osDir string

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d osDir) fullPath(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

func (d osDir) Create(name string) (File, error) {
	if err := os.MkdirAll(filepath.Dir(d.fullPath(name)), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.fullPath(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDir) Open(name string) (File, error) {
	f, err := os.Open(d.fullPath(name))
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDir) Rename(from, to string) error { return os.Rename(d.fullPath(from), d.fullPath(to)) }
func (d osDir) Remove(name string) error     { return os.Remove(d.fullPath(name)) }

func (d osDir) Sync(folder string) error {
	f, err := os.Open(d.fullPath(folder))
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

func (d osDir) List(folder string) ([]string, error) {
	entries, err := os.ReadDir(d.fullPath(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

// syncPath syncs the folder of a file and every folder above it: a file's name is durable
// only if the names of the folders above it are.
func syncPath(d Dir, name string) error {
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		if folder == "." {
			folder = ""
		}
		if err := d.Sync(folder); err != nil {
			return err
		}
		if folder == "" {
			return nil
		}
	}
}

// replaceFile writes a small file so that a crash leaves the old or the new
// content, never a mixture.
func replaceFile(d Dir, name string, content []byte) error {
	temporary := name + temporarySuffix
	f, err := d.Create(temporary)
	if err != nil {
		return err
	}
	if err = f.Truncate(0); err == nil {
		if _, err = f.WriteAt(content, 0); err == nil {
			err = f.Sync()
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(temporary, name); err != nil {
		return err
	}
	return syncPath(d, name)
}

// readFile reads a small file whole, at most max bytes.
func readFile(d Dir, name string, max int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > max {
		return nil, ErrLimit
	}
	content := make([]byte, size)
	if err := readFull(f, content, 0); err != nil {
		return nil, err
	}
	return content, nil
}

// readFull fills b from an offset. It accepts io.EOF together with a full read.
func readFull(f io.ReaderAt, b []byte, offset int64) error {
	n, err := f.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func isFolder(name string) bool { return strings.HasSuffix(name, "/") }
