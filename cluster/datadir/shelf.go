package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Shelf keeps small documents of a node, each in a file of its own, in a folder of the
// data folder. They are the node's alone: no other has them, and backups leave them out.
type Shelf struct{ dir string }

const (
	shelfEnding      = ".json"
	shelfMost        = 256     // Documents read at a start: who keeps them has bounds of its own.
	shelfDocumentMax = 1 << 20 // Bytes of one that is read.
)

// NewShelf keeps documents in a folder, which is made with the first.
func NewShelf(dir string) *Shelf { return &Shelf{dir} }

func (s *Shelf) file(name string) (string, error) {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("%q is no name of a document", name)
	}
	return name + shelfEnding, nil
}

// Put writes a document: after a crash the old one is there, or the new one.
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

// Drop removes a document. One that is not there is no error.
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

// All reads the documents, by name. What cannot be read is left out and told.
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
