package ofac

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

// Diff compares two lists. An address printed in another case is the same
// address; one that moves to another ticker of the same party is not a change.
func Diff(from, to *Index) ListDiff {
	var diff ListDiff
	a, b := uint32(0), uint32(0)
	for a < from.entityCount || b < to.entityCount {
		switch {
		case b == to.entityCount || a < from.entityCount && from.entity(a).uid < to.entity(b).uid:
			diff.Removed = append(diff.Removed, from.entity(a).uid)
			a++
		case a == from.entityCount || from.entity(a).uid > to.entity(b).uid:
			diff.Added = append(diff.Added, to.entity(b).uid)
			b++
		default:
			if from.entity(a).digest != to.entity(b).digest {
				diff.Changed = append(diff.Changed, to.entity(b).uid)
			}
			a, b = a+1, b+1
		}
	}
	diff.AddressesAdded = to.walletsNotIn(from)
	diff.AddressesRemoved = from.walletsNotIn(to)
	return diff
}

// walletsNotIn lists the addresses that other does not have under the same party.
func (x *Index) walletsNotIn(other *Index) []ListedWallet {
	var missing []ListedWallet
	known := map[string]bool{} // keys of one party of the other list; never iterated
	seen := map[string]bool{}
	for i := range x.entityCount {
		record, next := x.entity(i), x.entity(i+1)
		if record.addresses == next.addresses {
			continue
		}
		clear(known)
		clear(seen)
		if at, ok := other.find(record.uid); ok {
			for k := other.entity(at).addresses; k < other.entity(at+1).addresses; k++ {
				known[string(wallet.AppendKey(nil, other.textAt(other.address(k).value)))] = true
			}
		}
		for k := record.addresses; k < next.addresses; k++ {
			address := x.address(k)
			key := string(wallet.AppendKey(nil, x.textAt(address.value)))
			if !known[key] && !seen[key] {
				seen[key] = true
				missing = append(missing, ListedWallet{record.uid, x.textAt(address.ticker), x.textAt(address.value)})
			}
		}
	}
	slices.SortFunc(missing, func(p, q ListedWallet) int {
		return cmp.Or(cmp.Compare(p.UID, q.UID), cmp.Compare(p.Address, q.Address))
	})
	return missing
}
