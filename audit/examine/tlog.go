package examine

import (
	"fmt"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/fsm/leaf"
)

// tlogProof verifies a C2SP tlog-proof whose extra data is a screening record. The file holds
// no keys: the caller gives them, including those of witnesses whose cosignatures are
// required. Without keys it checks only that the record is in the tree that the file names.
func (x *examiner) tlogProof(data []byte) error {
	x.Kind = "proof"
	t, err := proof.ParseTlog(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	x.RecordOnly, x.Keys = true, x.options.Keys
	if x.KeysGiven {
		x.Checkpoint, err = note.Verify(t.Checkpoint, x.Keys)
	} else {
		x.Checkpoint, err = note.Parse(t.Checkpoint)
	}
	if err != nil {
		return fmt.Errorf("%w: checkpoint: %w", ErrProof, err)
	}
	if len(t.Extra) == 0 {
		return fmt.Errorf("%w: the record itself is not in it (extra)", ErrFormat)
	}
	hash := hashLeaf(t.Extra)
	if err := proof.VerifyHashInclusion(hash, t.Index, x.Checkpoint.Size, t.Path, x.Checkpoint.Root); err != nil {
		return fmt.Errorf("%w: record %d is not in the signed tree: %w", ErrProof, t.Index, err)
	}
	record, err := readLeaf(t.Extra, nil)
	if err != nil {
		return fmt.Errorf("%w: record %d", err, t.Index)
	}
	if record.Index != t.Index || record.Kind != leaf.KindScreen {
		return fmt.Errorf("%w: record %d calls itself %d, of kind %s", ErrProof, t.Index, record.Index, record.Kind)
	}
	record.Hash, x.TxnID = hash, record.TxnID
	return x.countRecord(record)
}
