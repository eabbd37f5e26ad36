package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RequiredLists proves the records of a folder that is being made. It returns the digests, in
// hex, of the lists by which they were decided, and the size of the tree that proves them.
func RequiredLists(dir string) (lists []string, size uint64, err error) {
	keys, err := os.ReadFile(filepath.Join(dir, KeysName))
	if err != nil {
		return nil, 0, err
	}
	c, err := readRecords(dir, string(keys), nil)
	if err != nil {
		return nil, 0, err
	}
	return sortedNames(c.lists), c.report.Checkpoint.Size, nil
}

// Finish completes a folder that has its records, keys and lists: it writes the files derived
// from the records, and the checksums of all files. madeBy names the program that makes it.
func Finish(dir string, madeBy Program) error {
	if !madeBy.isNamed() {
		return errors.New("the program that makes a bundle has no version or no digest")
	}
	keys, err := os.ReadFile(filepath.Join(dir, KeysName))
	if err != nil {
		return err
	}
	c, err := readRecords(dir, string(keys), nil)
	if err != nil {
		return err
	}
	c.madeBy = madeBy
	files, err := c.deriveFiles(versionNewest)
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	sums, err := checksumFolder(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(sums), 0o644)
}

// checksumFolder returns the text of SHA256SUMS for a folder, sorted by name.
func checksumFolder(dir string) (string, error) {
	names, err := listFiles(dir)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range names {
		if name == sumsName {
			continue
		}
		sum, err := checksumFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, name)
	}
	return text.String(), nil
}

func checksumFile(path string) (sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// listFiles returns the files of a folder, sorted, with slashes in their names. It refuses
// anything but files and folders, because a link could lead out of the folder.
func listFiles(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
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
