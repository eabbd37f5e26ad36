package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/fsm"
)

// History is the part of a node's history that a backup reads.
type History interface {
	Bundle(index uint64, width int) ([]audit.Leaf, error)
	Frontier(size uint64) ([]audit.Hash, error)
}

// Source is the data from which a backup is made.
type Source struct {
	View     *fsm.View
	History  History
	Lists    string // Folder of lists.
	Scratch  string // Folder for the state's temporary file; nothing stays there.
	Node     string
	Recovery uint64
	Members  []datadir.Member

	From  uint64 // The first leaf of the backup. It is rounded down to the beginning of a bundle.
	Since int64  // Only lists in use after this log time (nanoseconds); 0: all.
}

// writer writes parts.
type writer struct {
	tar   *tar.Writer
	at    time.Time
	parts map[string]string
}

// Write writes the parts of a backup, in clear, as a tar. It needs a few MiB of memory. The
// state is written to a temporary file first, so that a slow receiver does not keep the state in
// memory.
func Write(w io.Writer, s *Source) (err error) {
	m, err := describeView(s.View)
	if err != nil {
		return err
	}
	m.Node, m.Recovery, m.Members = s.Node, s.Recovery, s.Members
	if s.From > m.TreeSize {
		return fmt.Errorf("backup: history from leaf %d on was asked for, and the log has %d", s.From, m.TreeSize)
	}
	m.From = s.From - s.From%audit.BundleLeaves
	frontier, err := s.History.Frontier(m.From)
	if err != nil {
		return fmt.Errorf("backup: history before leaf %d: %w", m.From, err)
	}
	for _, hash := range frontier {
		m.Frontier = append(m.Frontier, hex.EncodeToString(hash[:]))
	}
	lists, err := findLists(s.Lists, s.Since)
	if err != nil {
		return err
	}
	m.Rotten = lists.rotten
	state, err := spoolState(s.Scratch, s.View)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	s.View = nil // The state is in the temporary file now: its memory can be freed.
	out := &writer{tar: tar.NewWriter(w), at: time.Unix(0, m.LogNanos), parts: map[string]string{}}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := out.writeBytes(partManifest, text); err != nil {
		return err
	}
	size, err := state.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = state.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("backup: state: %w", err)
	}
	if err := out.writePart(partState, size, out.at, state); err != nil {
		return err
	}
	if err := out.writeHistory(s.History, m.From, m.TreeSize); err != nil {
		return err
	}
	for _, path := range lists.whole {
		if err := out.writeList(path); err != nil {
			return err
		}
	}
	text, err = json.Marshal(&end{Parts: len(out.parts), Sha256: out.parts})
	if err != nil {
		return err
	}
	if err := out.writeBytes(partEnd, text); err != nil {
		return err
	}
	return out.tar.Close()
}

// spoolState writes the state into a temporary file and removes its name at once. So the file
// is gone when it is closed, even after a crash.
func spoolState(dir string, view *fsm.View) (*os.File, error) {
	file, err := os.CreateTemp(dir, "backup-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("backup: state: %w", err)
	}
	err = os.Remove(file.Name())
	if err == nil {
		_, err = view.WriteTo(file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("backup: state: %w", err), file.Close())
	}
	return file, nil
}

func (w *writer) writeBytes(name string, data []byte) error {
	return w.writePart(name, int64(len(data)), w.at, strings.NewReader(string(data)))
}

func (w *writer) writePart(name string, size int64, at time.Time, data io.Reader) error {
	sum := sha256.New()
	err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: at.Truncate(time.Second), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(io.MultiWriter(w.tar, sum), io.LimitReader(data, size))
	}
	if err == nil {
		err = w.tar.Flush() // Flush fails if fewer bytes came than the header announced.
	}
	if err != nil {
		return fmt.Errorf("backup: part %s: %w", name, err)
	}
	w.parts[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// writeHistory writes the leaves from..size-1 in bundles. A part holds several bundles, each
// with its length before it.
func (w *writer) writeHistory(history History, from, size uint64) error {
	var buffer, bundle []byte
	for first, next := from, from; next < size; {
		width := min(audit.BundleLeaves, size-next)
		leaves, err := history.Bundle(next/audit.BundleLeaves, int(width))
		if err == nil {
			bundle, err = audit.AppendBundle(bundle[:0], leaves)
		}
		if err != nil {
			return fmt.Errorf("backup: history, leaves %d to %d: %w", next, next+width-1, err)
		}
		buffer = binary.AppendUvarint(buffer, uint64(len(bundle)))
		buffer = append(buffer, bundle...)
		if next += width; len(buffer) < partBytes && next < size {
			continue
		}
		if err := w.writeBytes(historyPart(first, next), buffer); err != nil {
			return err
		}
		first, buffer = next, buffer[:0]
	}
	return nil
}

func historyPart(first, end uint64) string {
	return fmt.Sprintf("%s%015d-%015d", partHistory, first, end)
}

// lists are the files of a folder of lists.
type lists struct {
	whole  []string // Paths.
	rotten []string // Digests of those whose content is not that of their name.
}

// findLists finds the sanctions lists with which past verdicts were judged, except those that an
// earlier backup has. A rotten one is left out, and the manifest says so: one bad sector must not
// keep a cluster from having backups.
func findLists(dir string, since int64) (found lists, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return found, fmt.Errorf("backup: lists: %w", err)
	}
	for _, entry := range entries {
		digest, isList := strings.CutSuffix(entry.Name(), listSuffix)
		info, err := entry.Info()
		if !isList || err != nil || info.ModTime().UnixNano() < since {
			continue // A table, which every node makes again from its list; one that was deleted meanwhile, after its 90 days; one that an earlier backup has.
		}
		path := filepath.Join(dir, entry.Name())
		switch whole, err := isNamedByDigest(path, digest); {
		case err != nil:
			return found, fmt.Errorf("backup: lists: %w", err)
		case whole:
			found.whole = append(found.whole, path)
		default:
			found.rotten = append(found.rotten, digest)
		}
	}
	return found, nil
}

// isNamedByDigest reports whether a file's content has a digest. A file that cannot be read has not.
func isNamedByDigest(path, digest string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	sum := sha256.New()
	_, readErr := io.Copy(sum, file)
	return readErr == nil && hex.EncodeToString(sum.Sum(nil)) == digest, file.Close()
}

func (w *writer) writeList(path string) (err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // The list was deleted meanwhile, after its 90 days.
	}
	if err != nil {
		return fmt.Errorf("backup: lists: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("backup: lists: %w", err)
	}
	return w.writePart(partLists+filepath.Base(path), info.Size(), info.ModTime(), file)
}
