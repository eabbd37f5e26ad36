package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// journalFile is a store in a file of one line a step. It is locked twice: by the system, which frees the
// lock of a process that dies, and by a file beside it with the process's number, for clients whose platform
// has no such lock.
type journalFile struct {
	file *os.File
	size int64
	lock string // The path of the file beside it.
}

// OpenJournalFile opens the store of OpenJournal, for a store of yours that does more with each line.
func OpenJournalFile(path string) (JournalStore, error) {
	f, err := openJournalFile(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func openJournalFile(path string) (_ *journalFile, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	f := &journalFile{file: file}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if err := lockFile(file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournalLocked, err)
	}
	if err := lockBeside(path + ".lock"); err != nil {
		return nil, err
	}
	f.lock = path + ".lock"
	if err := f.cutTorn(); err != nil {
		return nil, err
	}
	folder, err := os.Open(filepath.Dir(path)) // A new file's name must outlive a crash too.
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return nil, err
	}
	return f, nil
}

// lockBeside makes the lock file. One that a dead process left is taken over.
func lockBeside(path string) error {
	for range 2 {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(file, os.Getpid())
			return errors.Join(err, file.Close())
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err == nil && pid > 0 && lives(pid) {
			return fmt.Errorf("%w: process %d, says %s", ErrJournalLocked, pid, path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("%w: %s", ErrJournalLocked, path)
}

// cutTorn takes away what a crash left of a last line. The step that it announced was not begun.
func (f *journalFile) cutTorn() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if f.size = info.Size(); f.size > 2*journalMax {
		return fmt.Errorf("%w: it has %d bytes", ErrJournal, f.size)
	}
	raw, err := f.read()
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(raw, '\n') + 1
	if rest := raw[:max(whole-1, 0)]; whole == len(raw) && whole > 0 { // The newline may be there, and what is before it not.
		if last := bytes.LastIndexByte(rest, '\n') + 1; !json.Valid(rest[last:]) {
			whole = last
		}
	}
	if int64(whole) == f.size {
		return nil
	}
	f.size = int64(whole)
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *journalFile) read() ([]byte, error) {
	raw := make([]byte, f.size)
	if _, err := f.file.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return raw, nil
}

func (f *journalFile) Lines() (lines [][]byte, err error) {
	raw, err := f.read()
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		if len(raw) > 0 {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func (f *journalFile) Append(line []byte) error {
	n, err := f.file.Write(append(line[:len(line):len(line)], '\n'))
	f.size += int64(n)
	if err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *journalFile) Room() bool { return f.size < journalMax }

func (f *journalFile) Close() error {
	if f.lock != "" {
		os.Remove(f.lock)
	}
	return f.file.Close()
}
