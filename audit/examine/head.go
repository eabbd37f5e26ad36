package examine

import (
	"fmt"

	"railguard/audit/note"
	"railguard/audit/proof"
)

// DemandHead returns an error unless a file's tree and the tree of a signed head, which the caller
// got another way, continue one another. After a rotation of the log's keys the former ones can
// still sign any tree of the sizes that were theirs; the head says which of them is the log's. path
// is what GET /log/consistency answers for the two sizes; it is not needed for equal ones.
func (r *Report) DemandHead(signed, path []byte) error {
	head, err := note.Verify(signed, r.Keys)
	if err != nil {
		return fmt.Errorf("%w: the head that you gave: %w", ErrProof, err)
	}
	older, newer := &r.Checkpoint, &head
	if older.Size > newer.Size {
		older, newer = newer, older
	}
	switch {
	case older.Size == newer.Size && older.Root != newer.Root:
		return fmt.Errorf("%w: the head that you gave is of another tree of %d leaves", ErrProof, newer.Size)
	case older.Size < newer.Size && len(path) == 0:
		return fmt.Errorf("%w: the head that you gave has %d leaves, the file's tree %d: give the proof between both, GET /log/consistency/%d/%d", ErrFormat, head.Size, r.Checkpoint.Size, older.Size, newer.Size)
	case older.Size < newer.Size:
		hashes, err := proof.ParseConsistency(path, older.Size, newer.Size)
		if err != nil {
			return fmt.Errorf("%w: the proof of the head: %w", ErrFormat, err)
		}
		if err := proof.VerifyConsistency(older.Size, newer.Size, older.Root, newer.Root, hashes); err != nil {
			return fmt.Errorf("%w: the file's tree and the head that you gave do not continue one another: %w", ErrProof, err)
		}
	}
	r.Head = &head
	return nil
}
