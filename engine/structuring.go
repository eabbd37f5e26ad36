package engine

import (
	"crypto/sha256"

	"railguard/ofac"
)

// R25 (decision 43): several payments to one counterparty, each just below
// the reporting threshold. Only such amounts enter the bounded table, whose rows
// are the BandRow of one root agent and one counterparty.

// PartyKey is the counterparty of a BandRow: a hash, because the table must not
// hold names. The zero key is a counterparty that is not identified.
type PartyKey [16]byte

// ReferenceKey is a caller's paymentRef within its owner's scope: a hash, because the
// table of references must not hold texts. The zero key is "none given".
type ReferenceKey [16]byte

// BandRow keeps the newest calls of one root agent to one counterparty in the band.
type BandRow struct {
	Times [StructuringCallsMax]Time // A ring; 0 is empty.
	Next  uint8                     // Where the next call goes.
}

// Add counts one call at now and returns how many stand in the window that ends
// now, this one included. The ring holds StructuringCallsMax calls, which is the
// most a policy can ask for.
func (b *BandRow) Add(now, window Time) uint8 {
	b.Times[b.Next] = now
	b.Next = (b.Next + 1) % StructuringCallsMax
	return b.Count(now, window)
}

// Count returns how many calls stand in (now - window, now].
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

// PartyKey returns the key of the call's counterparty: the hash of the canonical
// wallet, else of the normalised name, else the zero key. Edges compute it; it
// rides in the record.
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
