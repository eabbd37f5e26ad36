package engine

import (
	"crypto/sha256"

	"railguard/ofac"
)

// R25 (decision 43) finds several payments to one counterparty, each just below the reporting
// threshold. Only payments in that band enter the bounded table. Each of its rows is the
// BandRow of one root agent and one counterparty.

// R25 also watches an agent and an operator whoever they pay (decision 101): the sum of their
// payments in the band, and how many stand just below the band or another limit of the policy.
// Each root agent and each operator has one NearRow, so nobody's payments displace another's.

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

// NearRow counts the payments of one root agent or operator in the last 24 hours, to anybody.
type NearRow struct {
	Block  int64              // The newest block of three hours, since 1970; 0: nothing was counted.
	Sums   [nearBlocks]USD    // Amounts in the band, by block.
	Counts [nearBlocks]uint16 // Payments in the band or just below a limit.
}

// The blocks are nine, so that the last 24 hours are always in them.
const (
	nearBlocks = 9
	nearBlock  = 3 * Hour
)

// Near is what a NearRow holds at one moment.
type Near struct {
	Sum   USD
	Count uint32
}

// Add counts a payment at now and returns what the row holds with it.
func (n *NearRow) Add(now Time, policy *Policy, amount USD) Near {
	n.advanceTo(int64(now / nearBlock))
	at := n.Block % nearBlocks
	n.Counts[at] = saturate16(n.Counts[at])
	if policy.InBand(amount) {
		n.Sums[at] = n.Sums[at].Plus(amount)
	}
	var near Near
	for i := range n.Sums {
		near.Sum = near.Sum.Plus(n.Sums[i])
		near.Count += uint32(n.Counts[i])
	}
	return near
}

// Idle reports whether every block is over by now, so that a new row would count the same.
func (n *NearRow) Idle(now Time) bool {
	return n.Block == 0 || int64(now/nearBlock)-n.Block >= nearBlocks
}

// advanceTo empties the blocks between the newest one and block. A block before the newest one
// is counted as that.
func (n *NearRow) advanceTo(block int64) {
	for at, left := n.Block+1, nearBlocks; at <= block && left > 0; at, left = at+1, left-1 {
		n.Sums[at%nearBlocks], n.Counts[at%nearBlocks] = 0, 0
	}
	n.Block = max(n.Block, block)
}

// NearLimit reports whether R25 counts an amount for an agent and its operator: it is in the
// band, or within the last tenth below the band or another limit of the policy.
func (p *Policy) NearLimit(amount USD) bool {
	if p.StructuringCount == 0 || amount <= 0 {
		return false
	}
	if p.InBand(amount) || justBelow(amount, p.StructuringLow) || justBelow(amount, p.AttestationAbove) || amount == p.AttestationAbove {
		return true
	}
	for _, limit := range p.TypeCaps {
		if limit != NoLimit && justBelow(amount, limit) {
			return true
		}
	}
	return p.FourEyes != nil && p.FourEyes.MinAmount != NoLimit && justBelow(amount, p.FourEyes.MinAmount)
}

// justBelow reports whether an amount is in the last tenth below a limit.
func justBelow(amount, limit USD) bool { return amount < limit && amount >= limit-limit/10 }

// An agent may have twice as many payments near limits in 24 hours as R25 allows to one
// counterparty, an operator ten times as many. Their sum in the band may be as large as that many
// payments at the upper end of the band.
const (
	nearOfAgent    = 2
	nearOfOperator = 10
)

// exceeds reports whether a sum or a count has reached its bound.
func (n *Near) exceeds(policy *Policy, factor int64) (sum, count bool) {
	most := factor * int64(policy.StructuringCount)
	return n.Sum >= USD(most)*policy.StructuringHigh, int64(n.Count) >= most
}
