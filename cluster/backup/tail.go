package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"railguard/audit"
	"railguard/fsm"
)

// A tail is what the log took after a backup: its entries, as the state machine takes them. A
// restore applies them to the backup's state, which gives the state and the leaves that the lost
// group had (decision 167). The file is encrypted as a backup is. In clear it is the length of its
// head as uvarint, the head as JSON, and then for each entry index, term and length as uvarints, and
// its bytes.

// EntriesHead says of which cluster a tail is, and where its entries lead.
type EntriesHead struct {
	Format    int    `json:"format"` // As a manifest's.
	ClusterID string `json:"clusterId"`
	Lineage   string `json:"lineage,omitempty"`
	Node      string `json:"node"`
	First     uint64 `json:"firstEntry"` // Entries before it are in the backup, or in the tail before this one.
	Last      uint64 `json:"lastEntry"`
	TreeSize  uint64 `json:"treeSize"` // After the last entry.
	TreeHead  string `json:"treeHead"`
	LogNanos  int64  `json:"logNanos"`
}

const (
	tailHeadMax  = 1 << 16
	tailEntryMax = 128 << 20 // More than raft takes of an entry.
)

// TailOf returns the head of the tail that leads to a state from a backup, or from the tail before.
func TailOf(view *fsm.View, of *Manifest, node string, first uint64) *EntriesHead {
	return &EntriesHead{
		Format: Format, ClusterID: of.ClusterID, Lineage: of.Lineage, Node: node, First: first, Last: view.Index,
		TreeSize: view.Size, TreeHead: hex.EncodeToString(view.Root[:]), LogNanos: int64(view.Time),
	}
}

// CreateTail writes a tail. each visits the entries from head.First to head.Last.
func CreateTail(path string, keys *Keys, head *EntriesHead, each func(from, to uint64, visit func(index, term uint64, data []byte) error) error) error {
	return writeSealed(path, keys, func(sealed io.Writer) error {
		text, err := json.Marshal(head)
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(sealed, 1<<16)
		if _, err := out.Write(append(binary.AppendUvarint(nil, uint64(len(text))), text...)); err != nil {
			return err
		}
		err = each(head.First, head.Last, func(index, term uint64, data []byte) error {
			row := binary.AppendUvarint(nil, index)
			row = binary.AppendUvarint(row, term)
			row = binary.AppendUvarint(row, uint64(len(data)))
			if _, err := out.Write(row); err != nil {
				return err
			}
			_, err := out.Write(data)
			return err
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
}

// ReadTail reads a tail whole and calls visit, unless it is nil, for each entry. The bytes belong to
// visit.
func ReadTail(path string, keys *Keys, visit func(index, term uint64, data []byte) error) (head *EntriesHead, err error) {
	file, plain, err := openFile(path, keys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if head, err = readTail(bufio.NewReaderSize(plain, 1<<16), visit); err != nil {
		return nil, fmt.Errorf("%s: backup: tail: %w", filepath.Base(path), describeCut(err))
	}
	return head, nil
}

// InspectTail reads a tail's head without proving what follows.
func InspectTail(path string, keys *Keys) (head *EntriesHead, err error) {
	file, plain, err := openFile(path, keys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if head, err = readTailHead(bufio.NewReader(plain)); err != nil {
		return nil, fmt.Errorf("%s: backup: tail: %w", filepath.Base(path), describeCut(err))
	}
	return head, nil
}

func readTail(from *bufio.Reader, visit func(index, term uint64, data []byte) error) (*EntriesHead, error) {
	head, err := readTailHead(from)
	if err != nil {
		return nil, err
	}
	for last := head.First - 1; ; {
		index, err := binary.ReadUvarint(from)
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		term, termErr := binary.ReadUvarint(from)
		size, sizeErr := binary.ReadUvarint(from)
		if err := errors.Join(err, termErr, sizeErr); err != nil {
			return nil, errors.New("an entry is cut")
		}
		if index <= last || index > head.Last || size > tailEntryMax {
			return nil, fmt.Errorf("entry %d of %d bytes is not in its place", index, size)
		}
		var data bytes.Buffer // It grows with what is there, whatever a damaged length says.
		if _, err := io.CopyN(&data, from, int64(size)); err != nil {
			return nil, err
		}
		last = index
		if visit == nil {
			continue
		}
		if err := visit(index, term, data.Bytes()); err != nil {
			return nil, err
		}
	}
}

func readTailHead(from *bufio.Reader) (*EntriesHead, error) {
	size, err := binary.ReadUvarint(from)
	if err != nil || size > tailHeadMax {
		return nil, errors.New("it has no head")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return nil, err
	}
	head := &EntriesHead{}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, err
	}
	switch {
	case head.Format != Format:
		return nil, fmt.Errorf("it has format %d and this release reads %d: restore it with the release that wrote it", head.Format, Format)
	case head.First == 0 || head.First > head.Last:
		return nil, fmt.Errorf("entries %d to %d are none", head.First, head.Last)
	}
	return head, nil
}

// applyTails applies tails to the restored state, and brings the report up to it.
func (r *restoring) applyTails(paths []string, keys *Keys, report *Report) error {
	for _, path := range paths {
		view := r.machine.Freeze()
		if err := r.applyTail(path, keys, report); err != nil {
			return fmt.Errorf("%w; what is before this tail ends at entry %d, log time %s: to restore up to there, move it and the tails behind it out of the folder, empty %s, and begin again",
				err, view.Index, view.Time, r.order.Dir)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	is, err := describeView(r.machine.Freeze())
	if err != nil {
		return err
	}
	is.Node, is.Recovery, is.Members, is.Rotten, is.From, is.Frontier = report.Node, report.Recovery, report.Members, report.Rotten, report.From, report.Frontier
	report.Manifest = *is
	return nil
}

func (r *restoring) applyTail(path string, keys *Keys, report *Report) error {
	name := filepath.Base(path)
	view := r.machine.Freeze()
	head, err := InspectTail(path, keys)
	switch {
	case err != nil:
		return err
	case head.ClusterID != report.ClusterID || head.Lineage != report.Lineage:
		return fmt.Errorf("%s: it is of cluster %s and lineage %q, and the backup of %s and %q", name, head.ClusterID, head.Lineage, report.ClusterID, report.Lineage)
	case head.First > view.Index+1:
		return fmt.Errorf("%s: it begins at entry %d, and what was restored before it ends at %d: a file between is missing", name, head.First, view.Index)
	case head.Last <= view.Index:
		return nil // The backup, or the tail before, has all of it.
	}
	var out fsm.Effects
	_, err = ReadTail(path, keys, func(index, term uint64, data []byte) error {
		if index <= view.Index {
			return nil // The backup has it.
		}
		r.machine.Apply(index, term, data, &out)
		if out.Stop != "" {
			return fmt.Errorf("entry %d: %s", index, out.Stop)
		}
		return r.appendLeaves(&out)
	})
	if err != nil {
		return err
	}
	if after := r.machine.Freeze(); after.Size != head.TreeSize || hex.EncodeToString(after.Root[:]) != head.TreeHead {
		return fmt.Errorf("%s: its entries lead to %d leaves and the tree head %x, and should to %d and %s", name, after.Size, after.Root, head.TreeSize, head.TreeHead)
	}
	return nil
}

// IsOf reports whether a node's history has a tree head of a size.
func IsOf(history *audit.Store, size uint64, head string) bool {
	root, err := history.Root(size)
	return err == nil && hex.EncodeToString(root[:]) == head
}
