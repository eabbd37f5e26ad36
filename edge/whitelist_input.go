package edge

import (
	"strconv"

	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/strictjson"
)

// ReadWhitelist reads {"mode":"enforce|off","entries":[...]} into the list that follows old.
// Ids of entries and the revision continue from old.
func ReadWhitelist(f *strictjson.Fields, name string, old *engine.Whitelist) *engine.Whitelist {
	inner, ok := f.Nested(name)
	if !ok {
		if f.Has(name) && f.Get(name) == nil {
			return emptyWhitelist(old)
		}
		return old
	}
	return ReadWhitelistBody(&inner, old)
}

// ReadWhitelistBody is ReadWhitelist for a body that is the object itself.
func ReadWhitelistBody(f *strictjson.Fields, old *engine.Whitelist) *engine.Whitelist {
	mode := f.OneOf("mode", "enforce", "off")
	if mode == "" && old != nil {
		mode = whitelistMode(old) // The mode changes only if the body names one.
	}
	var entries []engine.WhitelistEntry
	if mode != "off" && !f.Has("entries") { // An empty list refuses everyone, so it must be sent explicitly.
		f.Missing("entries")
	}
	f.Items("entries", engine.WhitelistMax, func(inner strictjson.Fields) {
		entries = append(entries, ReadWhitelistEntry(&inner))
	})
	kinds, said := readKinds(f)
	next := replaceEntries(old, mode != "off", entries)
	switch present := next.PresentKinds(); {
	case said && present&^kinds != 0:
		f.Invalid("kinds", "must name the kinds of all entries")
	case said:
		next.Kinds = kinds
	case next.Enforce && old != nil && old.Enforce:
		next.Kinds = old.Kinds | present // A list in force keeps its kinds if the body names none.
	default:
		next.Kinds = present
	}
	return next
}

// readKinds reads the kinds of identifier that a list covers.
func readKinds(f *strictjson.Fields) (kinds engine.Kinds, said bool) {
	words, said := f.Texts("kinds", len(kindNames), engine.FieldMax)
	for _, word := range words {
		switch word {
		case kindNames[0]:
			kinds |= engine.KindWallet
		case kindNames[1]:
			kinds |= engine.KindName
		default:
			f.Invalid("kinds", "must be of wallet, name")
		}
	}
	return kinds, said
}

// kindNames are the names of engine.Kinds, by bit.
var kindNames = [...]string{"wallet", "name"}

func kindTexts(list *engine.Whitelist) []string {
	words := []string{}
	for i, word := range kindNames {
		if list != nil && list.Kinds&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

// ReadWhitelistEntry reads one approved counterparty: a wallet or a name.
func ReadWhitelistEntry(f *strictjson.Fields) engine.WhitelistEntry {
	wallet, name := f.Text("wallet", engine.FieldMax), f.Name("name")
	hasWallet, hasName := isGiven(f, "wallet"), isGiven(f, "name")
	switch {
	case !hasWallet && !hasName:
		f.Missing("wallet")
	case hasWallet && hasName:
		f.Invalid("wallet", "and name exclude each other: one entry is one of them")
	}
	entry, ok := engine.NewEntry(wallet, name)
	if !ok && wallet != "" && !hasName || !ok && name != "" && !hasWallet {
		f.Invalid(whichOf(wallet), "has no letters or digits")
	}
	entry.Label, entry.AddedBy = f.Text("label", engine.FieldMax), f.Text("addedBy", engine.FieldMax)
	entry.ExpiresAt, _ = f.Instant("expiresAt")
	return entry
}

// isGiven reports whether a member has a value, even one that is wrong or too long.
func isGiven(f *strictjson.Fields, name string) bool {
	v := f.Get(name)
	return v != nil && (v.Type() != fastjson.TypeString || len(v.GetStringBytes()) > 0)
}

func whichOf(wallet string) string {
	if wallet != "" {
		return "wallet"
	}
	return "name"
}

// replaceEntries returns the whitelist that follows old and has exactly these entries. None of
// them gets an id that old has.
func replaceEntries(old *engine.Whitelist, enforce bool, entries []engine.WhitelistEntry) *engine.Whitelist {
	last, rev := uint32(0), uint32(0)
	if old != nil {
		rev = old.Rev
		for i := range old.Entries {
			last = max(last, old.Entries[i].ID)
		}
	}
	// With continues from the highest id, so a placeholder entry keeps that id.
	next := (&engine.Whitelist{Entries: []engine.WhitelistEntry{{ID: last}}}).With(entries...)
	next, _ = next.Without(last)
	next.Enforce, next.Rev = enforce, rev+1
	return next
}

// emptyWhitelist returns the whitelist of an agent whose list was removed. It is off and empty,
// but not nil, so that its version rises.
func emptyWhitelist(old *engine.Whitelist) *engine.Whitelist {
	if old == nil {
		return nil
	}
	return replaceEntries(old, false, nil)
}

// WhitelistVersion returns a whitelist's ETag: 1 before the first was ever set.
func WhitelistVersion(list *engine.Whitelist) uint64 {
	if list == nil {
		return 1
	}
	return uint64(list.Rev) + 1
}

func whitelistMode(list *engine.Whitelist) string {
	if list != nil && list.Enforce {
		return "enforce"
	}
	return "off"
}

// WhitelistSummary returns a whitelist without its entries.
func WhitelistSummary(list *engine.Whitelist) strictjson.Members {
	var m strictjson.Members
	m.Text("mode", whitelistMode(list))
	m.Texts("kinds", kindTexts(list))
	m.Uint("version", WhitelistVersion(list))
	count := 0
	if list != nil {
		count = len(list.Entries)
	}
	m.Int("entryCount", int64(count))
	return m
}

// WhitelistMembers returns the whole list, with the entries in the order they were added.
func WhitelistMembers(list *engine.Whitelist) strictjson.Members {
	m := WhitelistSummary(list)
	items := []strictjson.Members{}
	if list != nil {
		for _, entry := range list.InOrder() {
			items = append(items, EntryMembers(&entry))
		}
	}
	m.List("entries", items)
	return m
}

// EntryMembers returns the members of one entry.
func EntryMembers(entry *engine.WhitelistEntry) strictjson.Members {
	var m strictjson.Members
	m.Text("id", strconv.FormatUint(uint64(entry.ID), 10))
	if entry.Wallet != "" {
		m.Text("wallet", entry.Shown)
	} else {
		m.Text("name", entry.Shown)
	}
	m.Optional("label", entry.Label)
	if entry.ExpiresAt != 0 {
		m.Time("expiresAt", entry.ExpiresAt)
	}
	m.Optional("addedBy", entry.AddedBy)
	return m
}
