package bundle

import (
	"errors"
	"os"
	"path/filepath"
)

// RequiredLists proves the records of a folder that is being made. It returns the digests, in
// hex, of the lists by which they were decided, and the size of the tree that proves them.
func RequiredLists(dir string) (lists []string, size uint64, err error) {
	keys, err := os.ReadFile(filepath.Join(dir, KeysName))
	if err != nil {
		return nil, 0, err
	}
	c, err := readRecords(Folder(dir), string(keys), nil)
	if err != nil {
		return nil, 0, err
	}
	return sortedNames(c.lists), c.report.Checkpoint.Size, nil
}

// Finish completes a folder that has its records, keys and lists: it writes the files derived
// from the records, and the checksums of all files. madeBy names the program that makes it. page
// is the second judge that it puts at the head of index.html; nil: the program carries none.
func Finish(dir string, madeBy Program, page []byte) error {
	if !madeBy.isNamed() {
		return errors.New("the program that makes a bundle has no version or no digest")
	}
	keys, err := os.ReadFile(filepath.Join(dir, KeysName))
	if err != nil {
		return err
	}
	c, err := readRecords(Folder(dir), string(keys), nil)
	if err != nil {
		return err
	}
	c.madeBy, c.judge = madeBy, judgeOf(page)
	if err := c.describeListed(Folder(dir)); err != nil {
		return err
	}
	files, err := c.deriveFiles(versionNewest)
	if err != nil {
		return err
	}
	if page != nil {
		if files[pageName], err = c.carryFiles(page, Folder(dir), files); err != nil {
			return err
		}
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
	sums, err := checksumFolder(Folder(dir))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(sums), 0o644)
}
