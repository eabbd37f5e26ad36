package examine

import (
	"fmt"

	"railguard/fsm/leaf"
)

// verifyProof verifies a proof file: a screening record, with its disposition and comments if
// the file has them.
func (x *examiner) verifyProof(e *envelope) error {
	x.Kind = "proof"
	size := e.peekMember("treeSize")
	if err := x.verifyCheckpoint(e); err != nil {
		return err
	}
	x.TxnID = e.takeText("txnId")
	index := e.takeNumber("index")
	disposition, comments := e.takeObject("disposition"), e.takeObjects("comments")
	record, err := x.verifyLeaf(e, index)
	if err != nil {
		return err
	}
	if err := e.refuseRest(); err != nil {
		return err
	}
	if record.Kind != leaf.KindScreen {
		return fmt.Errorf("%w: record %d is no screening record", ErrProof, index)
	}
	if record.TxnID != x.TxnID {
		return fmt.Errorf("%w: txnId is %s, the record is of %s", ErrProof, x.TxnID, record.TxnID)
	}
	if err := x.countRecord(record); err != nil {
		return err
	}
	if disposition != nil {
		x.Disposition = true
		if _, err := x.verifyEvent(disposition, record, leaf.KindDispositioned, "disposition", size); err != nil {
			return err
		}
	}
	last := index
	for _, inner := range comments {
		x.Comments++
		comment, err := x.verifyEvent(inner, record, leaf.KindCommented, "comment", size)
		if err != nil {
			return err
		}
		if comment.Index <= last {
			return fmt.Errorf("%w: comment %d stands twice, or before an earlier one", ErrProof, comment.Index)
		}
		last = comment.Index
	}
	return nil
}

// verifyEvent verifies an event of a review and checks that it is about this record.
func (x *examiner) verifyEvent(e *envelope, of *Record, kind, what, size string) (*Record, error) {
	if e.peekMember("treeSize") != size {
		return nil, fmt.Errorf("%w: the %s's treeSize is %s, the record's %s", ErrProof, what, e.peekMember("treeSize"), size)
	}
	_ = e.takeNumber("treeSize")
	record, err := x.verifyLeaf(e, e.takeNumber("index"))
	if err == nil {
		err = e.refuseRest()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if record.Kind != kind {
		return nil, fmt.Errorf("%w: the %s is a leaf of kind %s", ErrProof, what, record.Kind)
	}
	if record.reviewed == nil || *record.reviewed != of.Index || record.TxnID != of.TxnID {
		return nil, fmt.Errorf("%w: the %s is of another case, %s", ErrProof, what, record.TxnID)
	}
	return record, x.countRecord(record)
}
