package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Shelf keeps small documents of a node, each in its own file, in a folder of the data folder.
// No other node has them, and backups leave them out.
type Shelf struct{ dir string }

const (
	shelfEnding      = ".json"
	shelfMost        = 256     // Most documents read at a start; callers have their own bounds.
	shelfDocumentMax = 1 << 20 // Most bytes of a document that are read.
)

// NewShelf returns a shelf in a folder, which is made with the first document.
func NewShelf(dir string) *Shelf { return &Shelf{dir} }

func (s *Shelf) file(name string) (string, error) {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("%q is no name of a document", name)
	}
	return name + shelfEnding, nil
}

// Put writes a document. After a crash the old or the new one is there.
func (s *Shelf) Put(name string, data []byte) error {
	file, err := s.file(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return ReplaceFile(s.dir, file, data)
}

// Drop removes a document. A missing one is no error.
func (s *Shelf) Drop(name string) error {
	file, err := s.file(name)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// All returns the documents by name. It leaves out those that cannot be read, and returns their
// errors.
func (s *Shelf) All() (map[string][]byte, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, entry := range entries {
		name, ours := strings.CutSuffix(entry.Name(), shelfEnding)
		if !ours || strings.HasPrefix(name, ".") || len(all) >= shelfMost {
			continue
		}
		info, failed := entry.Info()
		var data []byte
		switch {
		case failed == nil && info.Size() > shelfDocumentMax:
			failed = fmt.Errorf("%s has %d bytes", entry.Name(), info.Size())
		case failed == nil:
			data, failed = os.ReadFile(filepath.Join(s.dir, entry.Name()))
		}
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		all[name] = data
	}
	return all, err
}
