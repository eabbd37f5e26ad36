package leafjson

import (
	"encoding/base64"

	"railguard/fsm/leaf"
)

// Paid is the leaf of a payment that was confirmed or redeemed, around its judgement (decision 136).
type Paid struct {
	Stored []byte // As it stands in the log.
	Said   leaf.Confirmed
	Redeem bool    // It was redeemed and not confirmed: by whoever had the permit.
	Of     *Screen // The payment's own record, once it is adopted.
}

// OpenPaid reads the judgement in the leaf of a payment that was confirmed or redeemed. The profiles,
// and the payment's own record (Adopt), are the caller's to add. Any other leaf is leaf.ErrForm.
func (x *Screen) OpenPaid(stored []byte) error {
	kind, event, err := leaf.Read(stored)
	if err != nil {
		return err
	}
	said, is := event.(leaf.Confirmed)
	if !is {
		return leaf.ErrForm
	}
	data, err := base64.StdEncoding.DecodeString(said.Judged)
	if err != nil || leaf.FormOf(data) != leaf.FormScreen {
		return leaf.ErrForm
	}
	if err := x.Open(data); err != nil {
		return err
	}
	x.Paid = &Paid{Stored: stored, Said: said, Redeem: kind == leaf.KindPaymentRedeemed}
	return nil
}

// Adopt takes over what the call had told from the payment's own record.
func (x *Screen) Adopt(payment *Screen) {
	x.Paid.Of = payment
	for _, list := range [...][]requestMember{requestMembers[:], requestExtras[:]} {
		for _, member := range list {
			x.adopt(member.tag)
		}
	}
	x.adopt(leaf.TagElsewhere)
}

func (x *Screen) adopt(t leaf.Tag) {
	if of := &x.Paid.Of.Edge; of.Has(t) {
		x.Edge.Set(t, of.Get(t))
	}
}
