package edge

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// This file judges what cannot change about holds, settles, releases and payment references.

// referenceMax is the length of the longest paymentRef, in bytes of printable ASCII.
const referenceMax = 128

// readHold reads the member hold of a screening call: for how many seconds a PROCEED is held. 0
// means no hold; false means that the member is not valid.
func readHold(raw []byte) (seconds uint32, ok bool) {
	if raw == nil || string(raw) == "null" {
		return 0, true
	}
	var hold map[string]*uint32 // Not decoded into a struct, which would accept its members in any letter case.
	if json.Unmarshal(raw, &hold) != nil || len(hold) != 1 || hold["ttlSeconds"] == nil {
		return 0, false
	}
	seconds = *hold["ttlSeconds"]
	length := engine.Time(seconds) * engine.Second
	return seconds, length >= engine.HoldMin && length <= engine.HoldMax
}

// SoundReference reports whether a text is a valid paymentRef.
func SoundReference(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return len(text) > 0 && len(text) <= referenceMax
}

// OwnReference reports whether a paymentRef is one of this service's own: its x402 facilitator
// alone makes payments under them, because what it finds there it takes for its own work.
func OwnReference(text string) bool {
	return len(text) >= len("x402:") && strings.EqualFold(text[:len("x402:")], "x402:")
}

// shared reports whether a paymentRef is that of a settlement by this service's facilitator. All
// owners share these: whichever merchant sends a signed payment to be settled, it is settled
// once.
func shared(reference string) bool { return strings.HasPrefix(reference, "x402:settlement:") }

// referenceKey returns the key of a paymentRef within its owner's scope: two owners may use the
// same reference.
func referenceKey(owner, text string) (key engine.ReferenceKey) {
	if text == "" {
		return key
	}
	scope := sha256.New()
	whose := "institution"
	switch {
	case shared(text):
		whose = "facilitator"
	case owner != "":
		whose = "owner " + owner
	}
	for _, part := range []string{"railguard payment reference", whose, text} {
		scope.Write([]byte(part))
		scope.Write([]byte{0})
	}
	copy(key[:], scope.Sum(nil))
	return key
}

// ScreenerOf returns the row of the API key that made a recorded call, or wire.ScreenerUnknown.
func ScreenerOf(j *Judge, l *Leaf) uint32 { return j.Terms.screenerOf(l) }

// PaymentOf returns how long a recorded call asked to hold its payment, and its payment
// reference in the scope of the call's owner.
func PaymentOf(j *Judge, l *Leaf) (seconds uint32, reference engine.ReferenceKey) {
	seconds, _ = readHold(l.Raw("_request", "hold"))
	return seconds, referenceKey(j.Terms.owners.byKey[l.Text("keyId")], l.Text("_request", "paymentRef"))
}

// ApprovedPayment is PaymentOf for an approval. The hold that the facilitator asks for lasts as long as
// one signed payment does, and the leave of an approval is for the next one: it ends as the policy says.
func ApprovedPayment(j *Judge, l *Leaf) (seconds uint32, reference engine.ReferenceKey) {
	seconds, reference = PaymentOf(j, l)
	if OwnReference(l.Text("_request", "paymentRef")) {
		seconds = 0
	}
	return seconds, reference
}

// OwnRecord loads the record of a call that the caller's owner made. Nobody else may report the
// outcome of its payment, but for the institution's settlers.
func OwnRecord(j *Judge, txnID string) (Leaf, error) {
	l, err := j.Record(txnID)
	k := j.call.Caller
	if err == nil && !j.Terms.ownCall(k, &l) && !(k.Institution() && k.Roles&wire.RoleSettler != 0) {
		return Leaf{}, unknownTransaction()
	}
	return l, err
}

// ReferencedRecord loads the record that uses a payment reference of the caller's owner. The
// facilitator finds every settlement, whoever asked for it.
func ReferencedRecord(j *Judge, reference string) (Leaf, error) {
	index, used, err := j.referenceUsed(referenceKey(j.call.Caller.Owner, reference))
	if err != nil {
		return Leaf{}, err
	}
	if !used || shared(reference) && !j.call.Facilitator {
		return Leaf{}, NotFound("no payment uses this reference")
	}
	l, err := j.LoadLeaf(index)
	if err == nil && (l.Kind() != "screen" || j.PastRetention(l.Instant("screenedAt")) || !j.MayRead(&l) && !(j.call.Facilitator && shared(reference))) {
		return Leaf{}, NotFound("no payment uses this reference")
	}
	return l, err
}

// Outcome is a caller's report of what became of a payment.
type Outcome struct {
	Op     uint8       // wire.HoldSettle or wire.HoldRelease.
	Amount *engine.USD // Of a settle: the amount paid; nil: the recorded amount.
	Said   strictjson.Members
}

// Settlement makes the record of an outcome.
func Settlement(j *Judge, l *Leaf, o *Outcome) (*wire.Hold, error) {
	common, err := j.Recorded(append(strictjson.Members(nil), o.Said...))
	if err != nil {
		return nil, err
	}
	b := &wire.Hold{
		Common: common, Op: o.Op, Leaf: l.Index, ScreenedAt: l.Instant("screenedAt"), Recorded: RecordAmount(l),
	}
	if l.Record != nil {
		b.Verdict, b.ScreenedAt = l.Record.Verdict, l.Record.At
	}
	b.Agent, _ = j.Terms.ParseAgent(l.Text("agentId"))
	b.Fleet, _ = j.Terms.ParseFleet(l.Text("fleetId"))
	b.Operator, _ = j.Terms.ParseOperator(l.Text("operatorId"))
	b.Screener = j.Terms.screenerOf(l)
	_, b.Reference = PaymentOf(j, l)
	b.Forwarded = j.call.Facilitator
	if b.Past, err = j.pastOf(l.Index); err != nil {
		return nil, err
	}
	if b.Used, err = j.LookForReference(b.Reference); err != nil {
		return nil, err
	}
	if o.Op == wire.HoldSettle {
		if b.Amount = b.Recorded; o.Amount != nil {
			b.Amount = *o.Amount
		}
	}
	return b, nil
}
