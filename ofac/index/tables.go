package index

import (
	"railguard/ofac/list"
	"railguard/ofac/perfect"
)

// Tables are the compiled form of a list. They are immutable and safe for any number of
// readers.
type Tables struct {
	digest  [32]byte
	matcher uint16
	meta    list.Meta
	counts  Counts

	text        string // one copy, so that answers can point into it without allocating
	textOffsets []uint32
	entities    []entityRecord
	references  []uint32
	names       []NameRecord
	parts       []partRecord
	addresses   []addressRecord
	Facts       []factRecord

	taxes []taxRecord // By number, then party.

	further []furtherRecord // Of entities on further lists, in their order.
	ends    []int64         // When such entities end, sorted, each once.

	identifiers     []IdentifierRow  // In the order of the parties and their facts.
	identifierForms perfect.Multimap // By family and form: an IdentifierPosting.

	wallets    perfect.Multimap // By what all twins of an account share: rows of addresses, and behind them of derived.
	derived    []derivedRecord  // Accounts that are computed of listed ones.
	forms      perfect.Multimap // By form of a name: name<<4 | form.
	Words      WordLayer
	Pairs      PairFilter
	beginnings []beginnings // Beginnings of names, in the order of the words' postings.

	entityCount, NameCount uint32

	// Bytes of the longest form of a name, and of the longest one in a script without blanks.
	// No longer run of a query can be one of the forms.
	LongestForm, LongestNative int
	Natives                    NativeFilter // The beginnings of such forms.
}

// Counts says how much a list holds.
type Counts struct {
	Entries     int                  // Distinct listed entries.
	Lists       [list.SourcesMax]int // Entries on each source; some are on several.
	Names       int                  // Written names of any script, weak ones included.
	Wallets     int                  // Distinct digital currency addresses, canonical.
	Individuals int
	Entities    int
	Vessels     int
	Aircraft    int
}

// Digest is the SHA-256 of the encoded list of entities from which the tables were made. It
// names the list and does not depend on the matcher version.
func (x *Tables) Digest() [32]byte { return x.digest }

// Matcher is the matcher version of the tables.
func (x *Tables) Matcher() uint16 { return x.matcher }

// Meta says where the list comes from.
func (x *Tables) Meta() list.Meta { return x.meta }

// Counts says how much the list holds.
func (x *Tables) Counts() Counts { return x.counts }

func (x *Tables) EntityAt(i uint32) entityRecord   { return x.entities[i] }
func (x *Tables) NameAt(i uint32) NameRecord       { return x.names[i] }
func (x *Tables) addressAt(i uint32) addressRecord { return x.addresses[i] }

// Size is how many bytes of memory the tables take.
func (x *Tables) Size() int {
	l, total := &x.Words, len(x.text)+len(x.Words.letters)+8*len(x.Words.Tokens)
	for _, numbers := range [...][]uint32{
		x.textOffsets, x.references,
		l.ids, l.neighbourOffsets, l.deletionOffsets, l.postingOffsets, l.postings, l.tokenOffsets,
	} {
		total += 4 * len(numbers)
	}
	total += 4*(len(l.neighbourRows)+len(l.ordinary.offsets)+len(l.ordinary.rows)) + len(l.ordinary.slips) + x.wallets.Size() + x.forms.Size() + l.hash.Size() + x.identifierForms.Size() + 8*len(x.Pairs.blocks)
	const entityBytes, nameBytes, partBytes, addressBytes, factBytes, wordBytes, deletionBytes, taxBytes, identifierBytes, furtherBytes, derivedBytes = 40, 32, 8, 16, 12, 36, 8, 12, 12, 16, 72
	total += 8 * len(x.Natives)
	total += furtherBytes*len(x.further) + 8*len(x.ends) + derivedBytes*len(x.derived)
	return total + entityBytes*len(x.entities) + nameBytes*len(x.names) + partBytes*len(x.parts) + addressBytes*len(x.addresses) +
		factBytes*len(x.Facts) + wordBytes*len(l.records) + deletionBytes*(len(l.deletionRows)+len(l.abjadRows)) + taxBytes*len(x.taxes) + identifierBytes*len(x.identifiers)
}

func (x *Tables) TextAt(i uint32) string {
	return x.text[x.textOffsets[i]:x.textOffsets[i+1]]
}

// Find returns the index of the entity with that uid.
func (x *Tables) Find(uid uint32) (uint32, bool) {
	low, high := uint32(0), x.entityCount
	for low < high {
		middle := (low + high) / 2
		if x.EntityAt(middle).UID < uid {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < x.entityCount && x.EntityAt(low).UID == uid
}

// Entry is a listed party as evidence shows it.
type Entry struct {
	UID       uint32
	Type      list.EntityType
	Lists     list.Lists
	List      string         // The name of the list under which it is shown.
	Primary   string         // The primary name.
	Sublists  []string       // Names of the sanctions lists, sorted.
	Programs  []string       // Programme codes, sorted.
	Names     []list.Name    // The primary name first, weak names last.
	Addresses []list.Address // Sorted by value.
	Facts     []list.Fact    // Sorted by kind, label and value.
	Digest    uint64         // See EntryDigest.
	ID        string         // Its id on a further list; "" on OFAC's.
	Until     int64          // See list.Entity.Until.
}

// Entry returns a copy of the listed party with that uid.
func (x *Tables) Entry(uid uint32) (Entry, bool) {
	at, ok := x.Find(uid)
	if !ok {
		return Entry{}, false
	}
	record, next := x.EntityAt(at), x.EntityAt(at+1)
	entry := Entry{UID: uid, Type: record.Kind, Lists: record.Lists, List: x.NameOf(record.Lists), Digest: record.digest}
	for i := record.Sublists; i < record.Programs; i++ {
		entry.Sublists = append(entry.Sublists, x.TextAt(x.references[i]))
	}
	for i := record.Programs; i < next.Sublists; i++ {
		entry.Programs = append(entry.Programs, x.TextAt(x.references[i]))
	}
	for i := record.Names; i < next.Names; i++ {
		entry.Names = append(entry.Names, x.listedName(i))
	}
	for i := record.addresses; i < next.addresses; i++ {
		address := x.addressAt(i)
		entry.Addresses = append(entry.Addresses, list.Address{Ticker: x.TextAt(address.ticker), Value: x.TextAt(address.value), FeatureID: address.feature})
	}
	for i := record.Facts; i < next.Facts; i++ {
		fact := x.Facts[i]
		entry.Facts = append(entry.Facts, list.Fact{Kind: fact.Kind, Label: x.TextAt(fact.label), Value: x.TextAt(fact.Value)})
	}
	if record.Lists.IsFurther() {
		if row := x.furtherOf(at); row.id != 0 || row.until != 0 {
			entry.ID, entry.Until = x.TextAt(row.id), row.until
		}
	}
	entry.Primary = entry.Names[0].Full
	return entry, true
}

// listedName rebuilds a name in the form of the input.
func (x *Tables) listedName(i uint32) list.Name {
	record, next := x.NameAt(i), x.NameAt(i+1)
	name := list.Name{
		ID: record.id, AliasType: x.TextAt(record.aliasType), Script: x.TextAt(record.script), Full: x.TextAt(record.Full),
		Primary: record.Flags&NamePrimary != 0, Weak: record.Flags&NameWeak != 0,
	}
	for k := record.parts; k < next.parts; k++ {
		part := x.parts[k]
		name.Parts = append(name.Parts, list.NamePart{Kind: x.TextAt(part.kind), Value: x.TextAt(part.value)})
	}
	return name
}

// EntryDigest returns a number that changes when the entry changes in any way. A clearance
// for the old entry does not hold for the changed one.
func (x *Tables) EntryDigest(uid uint32) (uint64, bool) {
	at, ok := x.Find(uid)
	if !ok {
		return 0, false
	}
	return x.EntityAt(at).digest, true
}

// Entities returns all entries by uid. Compiling them with the same Meta gives the same
// list.
func (x *Tables) Entities() []list.Entity {
	items := make([]list.Entity, 0, x.entityCount)
	for i := range x.entityCount {
		entry, _ := x.Entry(x.EntityAt(i).UID)
		items = append(items, list.Entity{
			UID: entry.UID, Type: entry.Type, Lists: entry.Lists, Sublists: entry.Sublists,
			Programs: entry.Programs, Names: entry.Names, Addresses: entry.Addresses, Facts: entry.Facts,
			ID: entry.ID, Until: entry.Until,
		})
	}
	return items
}
