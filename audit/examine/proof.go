package examine

import (
	"fmt"

	"railguard/fsm/leaf"
)

// verifyProof verifies a proof file: a screening record and, in order, what was written about it
// since. Each of these names the one before it, so that none can be left out but the newest.
func (x *examiner) verifyProof(e *envelope) error {
	x.Kind = "proof"
	size := e.peekMember("treeSize")
	if err := x.verifyCheckpoint(e); err != nil {
		return err
	}
	x.TxnID = e.takeText("txnId")
	index := e.takeNumber("index")
	later := e.takeObjects("later")
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
	last := index
	for _, inner := range later {
		said, err := x.verifyLater(inner, record, size)
		if err != nil {
			return err
		}
		if *said.before != last {
			return fmt.Errorf("%w: record %d names record %d as the one before it about %s, record %d stands here: something is missing or moved", ErrProof, said.Index, *said.before, x.TxnID, last)
		}
		last = said.Index
		x.Later++
		x.Disposition = x.Disposition || said.Kind == leaf.KindDispositioned
		if err := x.countRecord(said); err != nil {
			return err
		}
	}
	return nil
}

// verifyLater verifies a leaf that was written about a record, and that it is about this one.
func (x *examiner) verifyLater(e *envelope, of *Record, size string) (*Record, error) {
	if e.peekMember("treeSize") != size {
		return nil, fmt.Errorf("%w: a later record's treeSize is %s, the record's %s", ErrProof, e.peekMember("treeSize"), size)
	}
	_ = e.takeNumber("treeSize")
	record, err := x.verifyLeaf(e, e.takeNumber("index"))
	if err == nil {
		err = e.refuseRest()
	}
	if err != nil {
		return nil, fmt.Errorf("later: %w", err)
	}
	if record.about == nil || record.before == nil || *record.about != of.Index || record.TxnID != of.TxnID {
		return nil, fmt.Errorf("%w: record %d, a leaf of kind %s, is not about %s", ErrProof, record.Index, record.Kind, of.TxnID)
	}
	return record, nil
}
