package desk

import (
	"crypto/sha256"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Review is an officer's answer to a REVIEW.
type Review struct {
	disposition       uint8
	reviewedBy, notes string
	together          []string // The records that the call decides on together; nil: one.
}

// Together says that a call decides on several records, so that a person signs once for all of them.
func (r *Review) Together(txnIDs []string) { r.together = txnIDs }

// statement is what a person signs.
func (r *Review) statement(l *edge.Leaf) edge.Statement {
	var m strictjson.Members
	if r.together != nil {
		m.Texts("txnIds", r.together)
	} else {
		m.Text("txnId", l.Text("txnId"))
	}
	m.Text("disposition", leaf.DispositionWord(r.disposition))
	m.Text("notes", r.notes)
	return edge.Statement{Act: leaf.KindDispositioned, Said: m, Many: r.together != nil}
}

// ReadReview reads a disposition. The policy may require notes for every disposition but an
// approval.
func ReadReview(j *edge.Judge, f *strictjson.Fields) (Review, error) {
	review := Review{reviewedBy: f.RequiredName("reviewedBy"), notes: f.Text("notes", engine.TextMax)}
	word := f.Text("disposition", engine.FieldMax)
	disposition, known := leaf.Dispositions[word]
	if review.disposition = disposition; !known {
		return review, invalidDisposition()
	}
	if err := f.Err(); err != nil {
		return review, err
	}
	if j.Terms.Policy().ReviewNotes && disposition != wire.Approved && strings.TrimSpace(review.notes) == "" {
		return review, edge.MissingField("notes", "notes are required for "+word+" (review.requireNotes)")
	}
	return review, nil
}

// CheckReviewable refuses a record whose verdict was not REVIEW.
func CheckReviewable(l *edge.Leaf) error {
	if verdict := l.Text("verdict"); verdict != "REVIEW" {
		return edge.Refuse("not_reviewable", "the verdict was "+verdict+"; only a REVIEW can be dispositioned")
	}
	return nil
}

// Record builds the record of a disposition of l. An approval counts the amount, so the record
// names agent, fleet and amount as the reviewed leaf does, and the payment is screened again.
func (r *Review) Record(j *edge.Judge, l *edge.Leaf) (*wire.Disposition, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", r.reviewedBy)
	fragment.Text("notes", r.notes)
	fragment.Text("reviewedByKey", j.Caller().ID)
	if r.disposition == wire.Approved {
		if err := j.Recheck(&fragment, l); err != nil {
			return nil, err
		}
	}
	signed, err := j.Sign(&fragment, edge.SignedMember, r.statement(l))
	if err != nil {
		return nil, err
	}
	j.Actor(&fragment)
	common := j.Common(fragment)
	common.Signed = signed
	record := &wire.Disposition{
		Common: common, Leaf: l.Index, Disposition: r.disposition, Amount: edge.RecordAmount(l),
	}
	if l.Record != nil {
		record.Rules = l.Record.Triggered
	}
	record.Hold, record.Reference = edge.ApprovedPayment(j, l)
	if r.disposition == wire.Approved {
		var err error
		if record.Used, err = j.LookForReference(record.Reference); err != nil {
			return nil, err
		}
	}
	record.Screener = edge.ScreenerOf(j, l)
	if slot, ok := j.Terms.ParseAgent(l.Text("agentId")); ok {
		record.Agent = slot
	}
	if slot, ok := j.Terms.ParseFleet(l.Text("fleetId")); ok {
		record.Fleet = slot
	}
	if slot, ok := j.Terms.ParseOperator(l.Text("operatorId")); ok {
		record.Operator = slot
	}
	return record, nil
}

// Withdrawal takes back a disposition that was proposed and not yet confirmed.
type Withdrawal struct{ by, reason string }

// ReadWithdrawal reads who withdraws, and why.
func ReadWithdrawal(f *strictjson.Fields) (Withdrawal, error) {
	return Withdrawal{by: f.RequiredName("reviewedBy"), reason: f.Text("reason", engine.TextMax)}, f.Err()
}

// Record builds the record that withdraws the proposal for l.
func (w *Withdrawal) Record(j *edge.Judge, l *edge.Leaf) (*wire.Withdraw, error) {
	var fragment strictjson.Members
	fragment.Text("reviewedBy", w.by)
	fragment.Optional("reason", w.reason)
	fragment.Text("reviewedByKey", j.Caller().ID)
	j.Actor(&fragment)
	return &wire.Withdraw{Common: j.Common(fragment), Leaf: l.Index}, nil
}

// cutText cuts a text to the length of a field in the log, in whole characters.
func cutText(text string) string {
	if len(text) <= engine.FieldMax {
		return text
	}
	return strings.ToValidUTF8(text[:engine.FieldMax], "")
}

// ItemIdempotency returns the idempotency key of one item of a call with many decisions, made
// of the call's key and the item's id. It returns nil if the call has no key.
func ItemIdempotency(call *wire.Idem, id string) *wire.Idem {
	if call == nil {
		return nil
	}
	sum := sha256.Sum256(append(append([]byte("railguard bulk\x00"), call.Key[:]...), id...))
	return &wire.Idem{Key: [16]byte(sum[:16]), Body: call.Body}
}
