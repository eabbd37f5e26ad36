package reconcile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/ofac/identifier"
	"railguard/strictjson"
)

// screenReader reads screening records, over and over with the same memory.
type screenReader struct {
	record leafjson.Screen
	form   []byte
}

// Leaf takes the stored bytes of one leaf, in the order of the log.
func (r *Run) Leaf(index uint64, stored []byte) error {
	hash := merkle.Leaf(stored)
	r.leaves.Write(binary.BigEndian.AppendUint64(nil, index))
	r.leaves.Write(hash[:])
	var err error
	switch leaf.FormOf(stored) {
	case leaf.FormScreen:
		err = r.takeScreen(stored)
	case leaf.FormEvent:
		err = r.takeEvent(stored)
	}
	if err != nil {
		return fmt.Errorf("leaf %d: %w", index, err)
	}
	return nil
}

// takeScreen takes a screening record of the rail and of the payer.
func (r *Run) takeScreen(stored []byte) error {
	x := &r.screen.record
	if err := x.Open(stored); err != nil {
		return err
	}
	rail := x.RequestText(leaf.TagRail)
	if rail != "" && !strings.EqualFold(rail, r.settings.Rail) {
		return nil
	}
	record := Record{
		TxnID: x.TxnID(), Verdict: x.Verdict, ScreenedAt: x.At, Amount: x.Amount, Payee: r.screen.payee(), Anywhere: rail == "",
		PaymentRef: x.RequestText(leaf.TagPayment),
	}
	record.Again = x.HoldUntil == 0 && strings.HasPrefix(record.PaymentRef, claimReference)
	if payer := x.RequestText(leaf.TagPayer); payer != "" {
		record.Payer = Account(payer)
	}
	if r.payer != (key{}) && record.Payer != "" && keyOf(keyAccount, record.Payer) != r.payer {
		return nil
	}
	if !x.Judged { // Without a usable credential no amount was judged; the request's own is all that there is.
		record.Amount, _ = engine.ParseUSD(x.Edge.Get(leaf.TagAmount))
	}
	return r.addRecord(&record)
}

// claimReference begins the paymentRef of the record by which the x402 facilitator claims a payment
// for settlement. Nobody else can make such a reference. Without a hold of its own the claim judges
// again, today with the amount 0, what another record holds: it is no second leave, and is not missed.
const claimReference = "x402:settlement:"

// payee is the account that a record names: a wallet, else an IBAN or an account number among the
// identifiers; "" without one.
func (r *screenReader) payee() string {
	if to := r.record.RequestText(leaf.TagWallet); to != "" {
		return Account(to)
	}
	for _, told := range r.record.Identifiers() {
		word, value, _ := strings.Cut(told, ":")
		class, _ := identifier.ClassNamed(word)
		switch class {
		case identifier.IBAN:
			r.form = identifier.AppendForm(r.form[:0], class, value)
			return "iban:" + string(r.form)
		case identifier.Account:
			return "account:" + value
		}
	}
	return ""
}

// endings are the states of a payment that its leaves tell, and what they mean here. A state that
// is not in it leaves the record as it is: whoever was told of the payment, the rail has it or not.
var endings = map[string]struct {
	ended    bool // The leave is over and nothing counts any more.
	released bool // Somebody gave it back.
}{
	"released": {ended: true, released: true},
	"expired":  {ended: true},
}

// redeemedState is the state of a payment whose leave was taken.
const redeemedState = "redeemed"

// takeEvent changes a record by what a later leaf says of it. A release that writes further kinds
// of leaves about payments adds them here.
func (r *Run) takeEvent(stored []byte) error {
	_, event, err := leaf.Read(stored)
	if err != nil {
		return err
	}
	switch e := event.(type) {
	case leaf.Settled:
		return r.settle(&e)
	case leaf.Payment:
		return r.endPayment(&e, stored, 0)
	case leaf.HoldOver:
		return r.endPayment(&e.Payment, stored, e.ExpiredAt)
	case leaf.Confirmed:
		if row := r.rowOf(e.TxnID); row != nil && e.State == redeemedState {
			row.redeemed = true
		}
	case leaf.Dispositioned:
		if row := r.rowOf(e.TxnID); row != nil {
			row.approved = e.Disposition == leaf.WordApproved
			row.disposedAt, row.lapsesAt = e.ReviewedAt, e.PayBy
		}
	}
	return nil
}

// settle notes a settle. One that came in time takes back an end that it follows; a late one does
// not: the payment may have been made when it was not allowed any more.
func (r *Run) settle(e *leaf.Settled) error {
	at, known := r.indexOf(e.TxnID)
	if !known {
		return nil
	}
	if !e.Late {
		r.records[at].endedAt, r.records[at].releasedAt = 0, 0
	}
	r.settleRecord(at, e.Amount, e.RailRef)
	return nil
}

// endPayment notes the end of a payment that was not settled.
func (r *Run) endPayment(e *leaf.Payment, stored []byte, at engine.Time) error {
	state, ends := endings[e.State]
	row := r.rowOf(e.TxnID)
	if row == nil || !ends {
		return nil
	}
	if at == 0 {
		var err error
		if at, err = timeOf(stored); err != nil {
			return err
		}
	}
	if state.ended && row.endedAt == 0 {
		row.endedAt = at
	}
	if state.released {
		row.releasedAt = at
	}
	return nil
}

// timeOf reads when an event was written.
func timeOf(stored []byte) (engine.Time, error) {
	var document strictjson.Document
	if err := document.Read(stored, eventValues); err != nil {
		return 0, err
	}
	f := document.Fields()
	at, known := f.Instant("time")
	if !known {
		return 0, fmt.Errorf("%w: an event without its time", leaf.ErrForm)
	}
	return at, nil
}

// eventValues is more values than an event has.
const eventValues = 1 << 16

func (r *Run) indexOf(txnID string) (int32, bool) {
	txn, ok := parseTxn(txnID)
	at, known := r.byTxn[txn]
	return at, ok && known
}

func (r *Run) rowOf(txnID string) *recordRow {
	at, known := r.indexOf(txnID)
	if !known {
		return nil
	}
	return &r.records[at]
}
