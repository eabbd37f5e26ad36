package engine

import (
	"crypto/sha256"

	"railguard/ofac"
)

// R25 (decision 43) finds several payments to one counterparty, each just below the reporting
// threshold. Only payments in that band enter the bounded table. Each of its rows is the
// BandRow of one root agent and one counterparty.

// PartyKey identifies the counterparty of a BandRow. It is a hash, because the table must not
// hold names. The zero key means that the counterparty is not identified.
type PartyKey [16]byte

// ReferenceKey identifies a caller's paymentRef within its owner's scope. It is a hash, because
// the table of references must not hold texts. The zero key is "none given".
type ReferenceKey [16]byte

// BandRow keeps the newest calls of one root agent to one counterparty in the band.
type BandRow struct {
	Times [StructuringCallsMax]Time // A ring; 0 is an empty place.
	Next  uint8                     // Index for the next call.
}

// Add counts one call at now and returns how many calls are in the window that ends now, this
// one included. The ring holds StructuringCallsMax calls, which is the most a policy can ask
// for.
func (b *BandRow) Add(now, window Time) uint8 {
	b.Times[b.Next] = now
	b.Next = (b.Next + 1) % StructuringCallsMax
	return b.Count(now, window)
}

// Count returns how many calls are in (now - window, now].
func (b *BandRow) Count(now, window Time) uint8 {
	count := uint8(0)
	for _, at := range b.Times {
		if at > 0 && at > now-window && at <= now {
			count++
		}
	}
	return count
}

// Newest returns the time of the newest call, 0 for an empty row. A row whose
// newest call is older than the window can be displaced.
func (b *BandRow) Newest() Time {
	return b.Times[(b.Next+StructuringCallsMax-1)%StructuringCallsMax]
}

// InBand reports whether an amount is one that R25 counts: in [low, high).
func (p *Policy) InBand(amount USD) bool {
	return amount >= p.StructuringLow && amount < p.StructuringHigh
}

// PartyKey returns the key of the call's counterparty: the hash of the canonical wallet, else
// of the normalised name, else the zero key. Edges compute it and put it into the record.
func (r *Request) PartyKey() PartyKey {
	var buffer [2 * FieldMax]byte
	form := append(buffer[:0], 'w')
	form = appendWallet(form, r.Wallet)
	if len(form) == 1 {
		form = ofac.AppendNormalised(append(buffer[:0], 'n'), r.Name)
	}
	if len(form) == 1 {
		return PartyKey{}
	}
	sum := sha256.Sum256(form)
	return PartyKey(sum[:16])
}
