package examine

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"railguard/audit/note"
)

// exportVersion is the version of export files that this program reads.
const exportVersion = 1

// walk is the state of reading an export.
type walk struct {
	last   uint64 // Index of the record before, if any is set.
	any    bool
	edges  bool // The records of the range have ended; those beside the time follow.
	digest hash.Hash
}

// verifyExport verifies an export: a head, one line for each record, an end line, and nothing
// after it.
func (x *examiner) verifyExport(head *envelope) error {
	x.Kind = "export"
	if err := x.verifyHead(head); err != nil {
		return err
	}
	w := &walk{digest: sha256.New()}
	for x.scanner.Scan() {
		x.line++
		e, err := readEnvelope(x.scanner.Bytes())
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		switch kind := e.takeText("type"); kind {
		case "leaf":
			if err := x.verifyExported(e, w); err != nil {
				return err
			}
		case "before", "after":
			if err := x.verifyEdge(e, kind, w); err != nil {
				return err
			}
		case "end":
			if err := x.verifyEnd(e, w); err != nil {
				return err
			}
			return x.nothingAfter()
		default:
			return fmt.Errorf("%w: a line of type %q", ErrFormat, kind)
		}
	}
	if err := x.scanner.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return fmt.Errorf("%w: the file breaks off here, after %d records: it has no end line", ErrProof, x.Leaves)
}

// verifyHead verifies an export's first line. The end line's signature covers its times and
// selection.
func (x *examiner) verifyHead(e *envelope) error {
	_ = e.takeText("type")
	if version := e.takeNumber("version"); e.err == nil && version > exportVersion {
		return fmt.Errorf("%w: an export of version %d; this program reads version %d", ErrRelease, version, exportVersion)
	} else if e.err == nil && version != exportVersion {
		return fmt.Errorf("%w: an export of version %d; this program reads version %d", ErrFormat, version, exportVersion)
	}
	if err := x.verifyCheckpoint(e); err != nil {
		return err
	}
	x.Cluster, x.From, x.To = e.takeText("clusterId"), e.takeText("from"), e.takeText("to")
	x.First, x.End = e.takeNumber("first"), e.takeNumber("end")
	if selection := e.takeObject("selection"); selection != nil {
		if selection.peekMember("agent") != "" {
			x.Agent = selection.takeText("agent")
		} else {
			x.Operator = selection.takeText("operator")
		}
		if err := selection.refuseRest(); err != nil {
			return fmt.Errorf("selection: %w", err)
		}
		if !x.Selection() {
			return fmt.Errorf("%w: a selection without its operator or agent", ErrFormat)
		}
	}
	if err := e.refuseRest(); err != nil {
		return err
	}
	if x.First > x.End || x.End > x.Checkpoint.Size {
		return fmt.Errorf("%w: leaves %d to %d are no range of a tree of %d", ErrProof, x.First, x.End, x.Checkpoint.Size)
	}
	return nil
}

func (x *examiner) verifyExported(e *envelope, w *walk) error {
	index := e.takeNumber("index")
	if e.err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, e.err)
	}
	if err := x.demandPlace(index, w); err != nil {
		return err
	}
	record, err := x.verifyLeaf(e, index)
	if err != nil {
		return err
	}
	if err := x.verifyPaid(e, record); err != nil {
		return err
	}
	if err := e.refuseRest(); err != nil {
		return err
	}
	if record.Time < x.From || record.Time > x.To { // The times have one fixed form, so they sort as text.
		return fmt.Errorf("%w: record %d is of %s, the export of %s to %s", ErrProof, index, record.Time, x.From, x.To)
	}
	if err := x.followRecord(record, w); err != nil {
		return err
	}
	w.last, w.any = index, true
	digestLeaf(w.digest, index, record.Hash)
	return x.countRecord(record)
}

func digestLeaf(digest hash.Hash, index uint64, leaf note.Hash) {
	digest.Write(binary.BigEndian.AppendUint64(nil, index))
	digest.Write(leaf[:])
}

// demandPlace returns an error unless a record has an allowed index: in a range the next one,
// in a selection any later one.
func (x *examiner) demandPlace(index uint64, w *walk) error {
	next := x.First
	if w.any {
		next = w.last + 1
	}
	switch {
	case w.any && index == w.last:
		return fmt.Errorf("%w: record %d stands here twice", ErrProof, index)
	case w.any && index < w.last:
		return fmt.Errorf("%w: record %d stands behind record %d: moved or repeated", ErrProof, index, w.last)
	case index < x.First || index >= x.End:
		return fmt.Errorf("%w: record %d does not belong here: the export is of leaves %s", ErrProof, index, nameSpan(x.First, x.End))
	case index > next && !x.Selection():
		return fmt.Errorf("%w: missing before this line: %s", ErrProof, nameSpan(next, index))
	}
	return nil
}

// nameSpan names the leaves [first, end).
func nameSpan(first, end uint64) string {
	switch {
	case first >= end:
		return "none"
	case first+1 == end:
		return fmt.Sprintf("record %d", first)
	}
	return fmt.Sprintf("%d to %d", first, end-1)
}

// verifyEnd verifies the end line: that its statements about the file are true, and that the
// cluster signed them.
func (x *examiner) verifyEnd(e *envelope, w *walk) error {
	first, end, leaves := e.takeNumber("first"), e.takeNumber("end"), e.takeNumber("leaves")
	digest, signature := e.takeHash("digest"), e.takeText("signature")
	var chain note.Chain
	if x.Agent != "" {
		chain = note.Chain{First: x.Chain.First, Last: x.Chain.Last, Before: e.takeText("before"), After: e.takeText("after")}
	}
	if err := e.refuseRest(); err != nil {
		return err
	}
	next := x.First
	if w.any {
		next = w.last + 1
	}
	switch {
	case first != x.First || end != x.End:
		return fmt.Errorf("%w: the end line is of leaves %s, the head of %s", ErrProof, nameSpan(first, end), nameSpan(x.First, x.End))
	case next != x.End && !x.Selection():
		return fmt.Errorf("%w: missing before the end line: %s", ErrProof, nameSpan(next, x.End))
	case leaves != uint64(x.Leaves):
		return fmt.Errorf("%w: the end line counts %d records, %d are here", ErrProof, leaves, x.Leaves)
	case digest != note.Hash(w.digest.Sum(nil)):
		return fmt.Errorf("%w: the records are not those that the end line was written for", ErrProof)
	}
	if err := x.verifyEnds(&chain); err != nil {
		return err
	}
	said := note.Export{
		Origin: x.Checkpoint.Origin, Cluster: x.Cluster, Size: x.Checkpoint.Size, Root: x.Checkpoint.Root, First: x.First, End: x.End,
		From: x.From, To: x.To, Operator: x.Operator, Leaves: leaves, Digest: digest, Agent: x.Agent, Chain: chain,
	}
	if err := note.VerifyExport(&said, []byte(signature), x.Keys); err != nil {
		return fmt.Errorf("%w: the cluster did not sign this export (head, range, selection or records were changed): %w", ErrProof, err)
	}
	return nil
}

// nothingAfter returns an error if a line follows the end line.
func (x *examiner) nothingAfter() error {
	if x.scanner.Scan() {
		x.line++
		return fmt.Errorf("%w: this line stands behind the end line", ErrProof)
	}
	if err := x.scanner.Err(); err != nil {
		x.line++
		return fmt.Errorf("%w: behind the end line: %w", ErrFormat, err)
	}
	return nil
}
