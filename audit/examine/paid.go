package examine

import (
	"fmt"

	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// isPaid reports whether a leaf holds the judgement of a payment that was confirmed or redeemed.
func isPaid(kind string) bool {
	return kind == leaf.KindPaymentConfirmed || kind == leaf.KindPaymentRedeemed
}

// paid decodes the judgement of a payment that was confirmed or redeemed. Without the payment's own
// record, which then stands before the file and is past its retention, nothing of the call is known:
// Paid.Of is nil.
func (r *Record) paid() (*leafjson.Screen, error) {
	x := new(leafjson.Screen)
	if err := x.OpenPaid(r.stored); err != nil {
		return nil, err
	}
	if r.payment != nil {
		of := new(leafjson.Screen)
		if err := of.Open(r.payment); err != nil {
			return nil, err
		}
		x.Adopt(of)
	}
	return x, x.Load(r.profiles)
}

// verifyPaid verifies what stands beside the leaf of a payment that was confirmed or redeemed in an
// export: the profiles that its judgement names, as beside a screening record, and the payment's own
// record, which has what the call told.
func (x *examiner) verifyPaid(e *envelope, record *Record) error {
	if !isPaid(record.Kind) {
		return nil
	}
	var s leafjson.Screen
	if err := s.OpenPaid(record.stored); err != nil {
		return fmt.Errorf("%w: record %d: its judgement is of no form that this program can read", ErrRelease, record.Index)
	}
	if s.Leaf != record.Index {
		return fmt.Errorf("%w: the judgement of record %d calls itself %d", ErrProof, record.Index, s.Leaf)
	}
	if err := x.verifyNamed(e, record.Index, &s.Screen); err != nil {
		return err
	}
	at := s.Paid.Said.ScreenedLeaf
	inner := e.takeObject("payment")
	switch {
	case e.err != nil:
		return fmt.Errorf("%w: record %d: %w", ErrFormat, record.Index, e.err)
	case inner == nil && at < x.First:
		return nil // It was erased before the file was made. What cannot be judged for that is told.
	case inner == nil:
		return fmt.Errorf("%w: record %d is about the payment %d, whose record is not beside it", ErrProof, record.Index, at)
	}
	if index := inner.takeNumber("index"); inner.err == nil && index != at {
		return fmt.Errorf("%w: record %d is about the payment %d, beside it stands %d", ErrProof, record.Index, at, index)
	}
	data, _, err := x.verifyBytes(inner, at)
	if err == nil {
		err = inner.refuseRest()
	}
	if err != nil {
		return fmt.Errorf("payment of record %d: %w", record.Index, err)
	}
	var of leafjson.Screen
	if leaf.FormOf(data) != leaf.FormScreen || of.Open(data) != nil || of.Leaf != at {
		return fmt.Errorf("%w: the payment beside record %d is no screening record", ErrProof, record.Index)
	}
	record.payment = data
	return nil
}
