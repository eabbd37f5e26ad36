package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit"
	"railguard/audit/merkle"
	"railguard/fsm"
)

// Report says what a backup holds.
type Report struct {
	Manifest
	Parts   int      `json:"parts"`
	Leaves  uint64   `json:"leaves"` // How many leaves of history are in this file.
	Erased  uint64   `json:"erased"` // How many of them have only their hash.
	Lists   []string `json:"lists"`
	LeftOut []string `json:"leftOut"` // What a restore does not bring back, one sentence each.

	view *fsm.View
}

// taker receives the parts of a file in their order. A list is proven when it comes; all else
// only when the whole file was read without an error.
type taker interface {
	takeState(m *Manifest, machine *fsm.Machine) error
	takeLeaves(first uint64, leaves []audit.Leaf) error
	takeList(name string, at time.Time, data []byte) error
}

// Verify reads a file whole, restores its state into a scratch machine, and compares
// digest, tree head, key set and the checksum of every part. The error names the part.
func Verify(path string, keys *Keys) (*Report, error) { return readFile(path, keys, nil) }

// Inspect reads a file's manifest without proving any of it.
func Inspect(path string, keys *Keys) (m *Manifest, err error) {
	file, plain, err := openFile(path, keys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := &reader{tar: tar.NewReader(plain)}
	if err := r.readManifest(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return &r.report.Manifest, nil
}

func readFile(path string, keys *Keys, to taker) (report *Report, err error) {
	file, plain, err := openFile(path, keys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if report, err = proveParts(plain, to); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return report, nil
}

// reader reads the parts of one file.
type reader struct {
	tar    *tar.Reader
	to     taker // nil: the file is only proven.
	report Report
	sums   map[string]string
	tree   *compact.Range
	hash   merkle.Hasher
	seen   int // Place of the last part that was read: 0 manifest, 1 state, 2 history, 3 lists, 4 end.
	ended  bool
}

// proveParts reads all parts and compares them with each other; to receives them, unless it is nil.
func proveParts(plain io.Reader, to taker) (*Report, error) {
	r := &reader{tar: tar.NewReader(plain), to: to, sums: map[string]string{}}
	if err := r.readManifest(); err != nil {
		return nil, err
	}
	for !r.ended {
		header, err := r.tar.Next()
		if err != nil {
			return nil, fmt.Errorf("backup: what follows part %d is damaged or missing: %w", len(r.sums), describeCut(err))
		}
		if err := r.takePart(header); err != nil {
			return nil, fmt.Errorf("backup: part %s: %w", header.Name, describeCut(err))
		}
	}
	// Zeroes follow the last part. Reading them makes the encryption check the file to its end.
	if _, err := r.tar.Next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("backup: behind part %s: %w", partEnd, errors.Join(errors.New("there is more"), err))
	}
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return nil, fmt.Errorf("backup: behind part %s: %w", partEnd, err)
	}
	return &r.report, nil
}

// describeCut replaces the error of a file that ends too early with one in plain words.
func describeCut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends before its end")
	}
	return err
}

func (r *reader) readManifest() error {
	header, err := r.tar.Next()
	if err == nil && header.Name != partManifest {
		err = errors.New("it is not there")
	}
	var data []byte
	if err == nil {
		data, err = readPart(r.tar, header, manifestMax)
	}
	m := &r.report.Manifest
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	if err != nil {
		return fmt.Errorf("backup: part %s: %w", partManifest, describeCut(err))
	}
	if m.Format != Format {
		return fmt.Errorf("backup: the file has format %d and this release reads %d: restore it with the release that wrote it", m.Format, Format)
	}
	sum := sha256.Sum256(data)
	if r.sums != nil {
		r.sums[partManifest] = hex.EncodeToString(sum[:])
	}
	return nil
}

func readPart(from io.Reader, header *tar.Header, most int64) ([]byte, error) {
	if header.Typeflag != tar.TypeReg || header.Size > most || header.Size < 0 {
		return nil, fmt.Errorf("%d bytes are too many, or it is no file", header.Size)
	}
	return io.ReadAll(from)
}

// takePart reads one of the parts behind the manifest. Parts in a wrong order are refused.
func (r *reader) takePart(header *tar.Header) error {
	name := header.Name
	if _, twice := r.sums[name]; twice || len(r.sums) >= partsMax {
		return errors.New("it is there twice, or there are too many")
	}
	sum := sha256.New()
	from := io.TeeReader(r.tar, sum)
	var order int
	var take func() error
	switch {
	case name == partState:
		order, take = 1, func() error { return r.readState(from) }
	case strings.HasPrefix(name, partHistory):
		order, take = 2, func() error { return r.readHistory(from, header) }
	case strings.HasPrefix(name, partLists):
		order, take = 3, func() error { return r.readList(from, header) }
	case name == partEnd:
		order, take = 4, func() error { return r.readEnd(from, header) }
	default:
		return errors.New("it is none that this binary knows")
	}
	if order < r.seen || order == 1 && r.seen == 1 || order > 1 && r.seen == 0 {
		return errors.New("it is not in its place")
	}
	r.seen = order
	if err := take(); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, from); n != 0 || err != nil {
		return errors.Join(errors.New("there is more in it than belongs there"), err)
	}
	r.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

func (r *reader) readState(from io.Reader) error {
	machine, err := fsm.Restore(from)
	if err != nil {
		return err
	}
	m := &r.report.Manifest
	view := machine.Freeze()
	if err := m.findDifference(view); err != nil {
		return err
	}
	r.report.view = view
	hashes := make([][]byte, len(m.Frontier))
	for i, text := range m.Frontier {
		if hashes[i], err = hex.DecodeString(text); err != nil || len(hashes[i]) != sha256.Size {
			return errors.New("the manifest's frontier is none")
		}
	}
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	if r.tree, err = factory.NewRange(0, m.From, hashes); err != nil {
		return fmt.Errorf("history before leaf %d: %w", m.From, err)
	}
	if r.to != nil {
		return r.to.takeState(m, machine)
	}
	return nil
}

// readHistory reads bundles and appends them to the tree.
func (r *reader) readHistory(from io.Reader, header *tar.Header) error {
	data, err := readPart(from, header, partMax)
	if err != nil {
		return err
	}
	first := r.tree.End()
	for next := first; len(data) > 0; next = r.tree.End() {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) || next >= r.report.TreeSize {
			return errors.New("a bundle is cut, or one too many")
		}
		leaves, err := audit.ParseBundle(data[n:n+int(size)], int(min(audit.BundleLeaves, r.report.TreeSize-next)))
		if err != nil {
			return err
		}
		data = data[n+int(size):]
		if err := r.growTree(next, leaves); err != nil {
			return err
		}
	}
	if header.Name != historyPart(first, r.tree.End()) {
		return errors.New("its name is not that of its leaves")
	}
	return nil
}

func (r *reader) growTree(next uint64, leaves []audit.Leaf) error {
	for i := range leaves {
		hash := leaves[i].Hash
		if leaves[i].Erased {
			r.report.Erased++
			if next+uint64(i) >= r.report.Oldest && r.report.From == 0 {
				return fmt.Errorf("leaf %d has no content and is not past its retention", next+uint64(i))
			}
		} else {
			hash = r.hash.Leaf(leaves[i].Data)
		}
		if err := r.tree.Append(hash[:], nil); err != nil {
			return err
		}
	}
	r.report.Leaves += uint64(len(leaves))
	if r.to != nil {
		return r.to.takeLeaves(next, leaves)
	}
	return nil
}

func (r *reader) readList(from io.Reader, header *tar.Header) error {
	data, err := readPart(from, header, listMax)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	name := strings.TrimPrefix(header.Name, partLists)
	if name != hex.EncodeToString(sum[:])+listSuffix {
		return errors.New("its content is not that of its name")
	}
	r.report.Lists = append(r.report.Lists, strings.TrimSuffix(name, listSuffix))
	if r.to != nil {
		return r.to.takeList(name, header.ModTime, data)
	}
	return nil
}

// readEnd compares the checksums of what was read with those that were written, and the tree
// with the state.
func (r *reader) readEnd(from io.Reader, header *tar.Header) error {
	data, err := readPart(from, header, manifestMax<<6)
	if err != nil {
		return err
	}
	var said end
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&said); err != nil {
		return err
	}
	for name, sum := range said.Sha256 {
		if r.sums[name] != sum {
			return fmt.Errorf("part %s is not the one that was written, or is missing", name)
		}
	}
	if len(said.Sha256) != len(r.sums) || said.Parts != len(r.sums) {
		return errors.New("there are parts that were never written")
	}
	m := &r.report
	root, err := r.tree.GetRootHash(nil)
	if err != nil {
		return err
	}
	if m.TreeSize == 0 {
		root = rfc6962.DefaultHasher.EmptyRoot()
	}
	if r.tree.End() != m.TreeSize || hex.EncodeToString(root) != m.TreeHead {
		return fmt.Errorf("history has %d leaves that lead to %x, and the state says %d and %s", r.tree.End(), root, m.TreeSize, m.TreeHead)
	}
	m.Parts, r.ended = len(r.sums)+1, true
	m.LeftOut = append(m.LeftOut, "the cluster secret, TLS files and flags: without the secret nothing that was restored can sign", "tables of lists: made anew at the start")
	if m.From > 0 {
		m.LeftOut = append(m.LeftOut, fmt.Sprintf("history before leaf %d: it is in the backups before this one", m.From))
	}
	for _, list := range m.Rotten {
		m.LeftOut = append(m.LeftOut, fmt.Sprintf("list %s: its file on that node's disk is damaged", list))
	}
	if m.Erased > 0 {
		m.LeftOut = append(m.LeftOut, fmt.Sprintf("the content of %d leaves past their retention: their hashes are there", m.Erased))
	}
	return nil
}
