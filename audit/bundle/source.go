package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is where the files of a bundle are read from: a folder, or the memory of a browser.
type Source interface {
	// Names returns the names of all files, sorted, with slashes in them.
	Names() ([]string, error)
	// Open opens a file. If there is none, the error is fs.ErrNotExist.
	Open(name string) (io.ReadCloser, error)
}

// Folder is a bundle in a folder.
type Folder string

// Names returns the files of the folder. It refuses anything but files and folders, because a
// link could lead out of the folder.
func (f Folder) Names() ([]string, error) {
	var names []string
	err := filepath.WalkDir(string(f), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(string(f), path)
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			return fileError(filepath.ToSlash(name), "is no file")
		}
		names = append(names, filepath.ToSlash(name))
		return nil
	})
	slices.Sort(names)
	return names, err
}

// Open opens a file of the folder.
func (f Folder) Open(name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
}

// Files is a bundle in memory.
type Files map[string][]byte

// Names returns the names of the files.
func (f Files) Names() ([]string, error) { return slices.Sorted(maps.Keys(f)), nil }

// Open opens a file.
func (f Files) Open(name string) (io.ReadCloser, error) {
	data, there := f[name]
	if !there {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func readFile(from Source, name string) ([]byte, error) {
	file, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// readUpTo returns a file, or one byte more than so many of it.
func readUpTo(from Source, name string, most int) ([]byte, error) {
	file, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, int64(max(most, 0))+1))
}

func hasFile(from Source, name string) bool {
	file, err := from.Open(name)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

// checksumFile returns the SHA-256 of a file, in hex, and its size.
func checksumFile(from Source, name string) (sum string, size int64, err error) {
	file, err := from.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// checksumFolder returns the text of SHA256SUMS for a bundle, sorted by name.
func checksumFolder(from Source) (string, error) {
	names, err := from.Names()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range names {
		if name == sumsName {
			continue
		}
		sum, _, err := checksumFile(from, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	return text.String(), nil
}
