package engine

import (
	"cmp"
	"slices"
	"strings"

	"railguard/ofac"
)

// The entries of a Whitelist are in the order of compareEntries: names first, and each kind
// sorted by its normal form. So a screening call finds one of 2,000 by binary search, and no
// index has to be rebuilt after decoding. Every function here that makes a whitelist keeps that
// order. The ids keep the order in which the caller added the entries.

// NewEntry makes an entry for a wallet or a name as sent; the caller gives exactly one of the
// two. ok is false when normalising leaves nothing of it.
func NewEntry(wallet, name string) (entry WhitelistEntry, ok bool) {
	if wallet != "" {
		entry.Wallet, entry.Shown = CanonicalWallet(wallet), wallet
		return entry, entry.Wallet != "" && name == ""
	}
	entry.Name, entry.Shown = ofac.NormaliseName(name), name
	return entry, entry.Name != ""
}

// With returns a copy of the whitelist (nil: an empty one) with the entries added under new ids
// and Rev+1. It does not check WhitelistMax.
func (w *Whitelist) With(entries ...WhitelistEntry) *Whitelist {
	next := &Whitelist{}
	if w != nil {
		*next = *w
	}
	last := uint32(0)
	for i := range next.Entries {
		last = max(last, next.Entries[i].ID)
	}
	next.Entries = slices.Clone(next.Entries)
	for _, entry := range entries {
		last++
		entry.ID = last
		next.Entries = append(next.Entries, entry)
		next.Kinds |= entry.kindBit()
	}
	slices.SortFunc(next.Entries, compareEntries)
	next.Rev++
	return next
}

// Without returns a copy without the entry id and with Rev+1, or false if there is no such
// entry. Kinds stays the same: a list that lost its last name still demands listed names.
func (w *Whitelist) Without(id uint32) (*Whitelist, bool) {
	if w == nil {
		return nil, false
	}
	at := slices.IndexFunc(w.Entries, func(e WhitelistEntry) bool { return e.ID == id })
	if at < 0 {
		return nil, false
	}
	next := *w
	next.Entries = slices.Delete(slices.Clone(w.Entries), at, at+1)
	next.Rev++
	return &next, true
}

// PresentKinds returns the kinds of the entries.
func (w *Whitelist) PresentKinds() (kinds Kinds) {
	if last := len(w.Entries) - 1; last >= 0 { // Names come before wallets.
		kinds = w.Entries[0].kindBit() | w.Entries[last].kindBit()
	}
	return kinds
}

func (e *WhitelistEntry) kindBit() Kinds {
	if e.Wallet != "" {
		return KindWallet
	}
	return KindName
}

// InOrder returns the entries in the order they were added, for GET.
func (w *Whitelist) InOrder() []WhitelistEntry {
	entries := slices.Clone(w.Entries)
	slices.SortFunc(entries, func(a, b WhitelistEntry) int { return cmp.Compare(a.ID, b.ID) })
	return entries
}

func compareEntries(a, b WhitelistEntry) int {
	return cmp.Or(strings.Compare(a.Wallet, b.Wallet), strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// entryKind is one of the two things that can name a counterparty.
type entryKind uint8

const (
	byName entryKind = iota
	byWallet
)

// entriesOf returns the entries of one kind; names come before wallets.
func (w *Whitelist) entriesOf(of entryKind) []WhitelistEntry {
	low, high := 0, len(w.Entries)
	for low < high {
		middle := (low + high) / 2
		if w.Entries[middle].Wallet == "" {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if of == byName {
		return w.Entries[:low]
	}
	return w.Entries[low:]
}

func (e *WhitelistEntry) textOf(of entryKind) string {
	if of == byName {
		return e.Name
	}
	return e.Wallet
}

// listedUntil returns the instant from which on the list no longer has key; 0 means never.
// listed is false if no entry that is still good has it.
func (w *Whitelist) listedUntil(of entryKind, key []byte, now Time) (until Time, listed bool) {
	entries := w.entriesOf(of)
	low, high := 0, len(entries)
	for low < high {
		middle := (low + high) / 2
		if entries[middle].textOf(of) < string(key) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for ; low < len(entries) && entries[low].textOf(of) == string(key); low++ {
		expires := entries[low].ExpiresAt
		if expires == 0 {
			return 0, true
		}
		if expires > now {
			until, listed = max(until, expires), true
		}
	}
	return until, listed
}

// whitelists are the enforced lists for one call: those of every link of the chain, of the
// fleet and of the institution (decision 42).
type whitelists struct {
	lists [DepthMax + 3]*Whitelist
	size  int
	kinds Kinds // Kinds of all lists together.
	now   Time
	until Time // When the answers given so far may change; 0 is never.
}

func (s *whitelists) addList(list *Whitelist) {
	if list != nil && list.Enforce {
		s.lists[s.size] = list
		s.kinds |= list.Kinds | list.PresentKinds()
		s.size++
	}
}

// gatherWhitelists returns the whitelists that are in force for the call.
func (f *Facts) gatherWhitelists() whitelists {
	set := whitelists{now: f.Now}
	for i := 0; i < f.ChainSize; i++ {
		set.addList(f.Chain[i].Settings.Whitelist)
	}
	if f.Fleet != nil {
		set.addList(f.Fleet.Whitelist)
	}
	set.addList(f.Policy.Whitelist)
	return set
}

// notWhitelisted is R13. If any list in force covers a kind of entryKind, the call's
// identifier of that kind must be on all lists, and at least one identifier must be on all. So
// a further or narrower list can only let fewer calls through.
func notWhitelisted(f *Facts) Sub {
	set := f.gatherWhitelists()
	if set.size == 0 {
		return 0
	}
	var walletBuffer, nameBuffer [2 * FieldMax]byte
	wallet := appendWallet(walletBuffer[:0], f.Request.Wallet)
	name := ofac.AppendNormalised(nameBuffer[:0], f.Request.Name)
	if len(wallet) == 0 && len(name) == 0 {
		return 2
	}
	byWallets := len(wallet) > 0 && set.kinds&KindWallet != 0
	byNames := len(name) > 0 && set.kinds&KindName != 0
	walletListed := byWallets && set.allHold(byWallet, wallet)
	nameListed := byNames && set.allHold(byName, name)
	sub := Sub(0)
	switch {
	case !walletListed && !nameListed:
		sub = 1
	case byWallets && !walletListed, byNames && !nameListed:
		sub = 3
	}
	if sub == 0 { // As time passes entries expire. So a pass can become a hit, but a hit never becomes a pass.
		f.lowerValidUntil(set.until)
	}
	return sub
}

func compareWhitelist(f *Facts) []Compared { return []Compared{{"whitelistInForce", f.HasWhitelist()}} }

// HasWhitelist reports whether a whitelist is in force for the call.
func (f *Facts) HasWhitelist() bool {
	set := f.gatherWhitelists()
	return set.size > 0 || f.RecordedWhitelist
}

// allHold reports whether all lists hold the key.
func (s *whitelists) allHold(of entryKind, key []byte) bool {
	first := Time(0)
	for _, list := range s.lists[:s.size] {
		until, listed := list.listedUntil(of, key, s.now)
		if !listed {
			return false
		}
		first = earlierTime(first, until)
	}
	s.until = earlierTime(s.until, first)
	return true
}

// lowerValidUntil notes an instant at which the judgement can change; 0 means never.
func (f *Facts) lowerValidUntil(at Time) { f.ValidUntil = earlierTime(f.ValidUntil, at) }

// earlierTime returns the earlier of two instants; 0 means never.
func earlierTime(a, b Time) Time {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}
