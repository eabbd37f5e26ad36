package index

import (
	"cmp"
	"slices"

	"railguard/ofac/wallet"
)

// ListDiff is what changed between two lists.
type ListDiff struct {
	Added, Removed, Changed          []uint32       // uids, ascending
	AddressesAdded, AddressesRemoved []ListedWallet // by entity and address
}

// ListedWallet is one address of one listed party.
type ListedWallet struct {
	UID     uint32
	Ticker  string
	Address string // as printed
}

// Diff compares two lists. An address printed in another case is the same address. An
// address that moves to another ticker of the same party is not a change.
func Diff(from, to *Tables) ListDiff {
	var diff ListDiff
	a, b := uint32(0), uint32(0)
	for a < from.entityCount || b < to.entityCount {
		switch {
		case b == to.entityCount || a < from.entityCount && from.EntityAt(a).UID < to.EntityAt(b).UID:
			diff.Removed = append(diff.Removed, from.EntityAt(a).UID)
			a++
		case a == from.entityCount || from.EntityAt(a).UID > to.EntityAt(b).UID:
			diff.Added = append(diff.Added, to.EntityAt(b).UID)
			b++
		default:
			if from.EntityAt(a).digest != to.EntityAt(b).digest {
				diff.Changed = append(diff.Changed, to.EntityAt(b).UID)
			}
			a, b = a+1, b+1
		}
	}
	diff.AddressesAdded = to.walletsNotIn(from)
	diff.AddressesRemoved = from.walletsNotIn(to)
	return diff
}

// walletsNotIn lists the addresses that other does not have under the same party.
func (x *Tables) walletsNotIn(other *Tables) []ListedWallet {
	var missing []ListedWallet
	known := map[string]bool{} // keys of one party of the other list; never iterated
	seen := map[string]bool{}
	for i := range x.entityCount {
		record, next := x.EntityAt(i), x.EntityAt(i+1)
		if record.addresses == next.addresses {
			continue
		}
		clear(known)
		clear(seen)
		if at, ok := other.Find(record.UID); ok {
			for k := other.EntityAt(at).addresses; k < other.EntityAt(at+1).addresses; k++ {
				known[string(wallet.AppendKey(nil, other.TextAt(other.addressAt(k).value)))] = true
			}
		}
		for k := record.addresses; k < next.addresses; k++ {
			address := x.addressAt(k)
			key := string(wallet.AppendKey(nil, x.TextAt(address.value)))
			if !known[key] && !seen[key] {
				seen[key] = true
				missing = append(missing, ListedWallet{record.UID, x.TextAt(address.ticker), x.TextAt(address.value)})
			}
		}
	}
	slices.SortFunc(missing, func(p, q ListedWallet) int {
		return cmp.Or(cmp.Compare(p.UID, q.UID), cmp.Compare(p.Address, q.Address))
	})
	return missing
}
