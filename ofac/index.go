package ofac

import (
	"crypto/sha256"
	"encoding/hex"

	"railguard/ofac/perfect"
)

// Digest is the SHA-256 of an encoded list of entities: the list's name.
func Digest(data []byte) [32]byte { return sha256.Sum256(data) }

// SnapshotID is the id under which people know the list of a digest.
func SnapshotID(digest [32]byte) string { return "snp_" + hex.EncodeToString(digest[:8]) }

// Index is a compiled list. It is immutable and safe for any number of readers.
type Index struct {
	digest  [32]byte
	matcher uint16
	meta    Meta
	counts  Counts

	text        string // one copy, so that answers can point into it without allocating
	textOffsets []uint32
	entities    []entityRecord
	references  []uint32
	names       []nameRecord
	parts       []partRecord
	addresses   []addressRecord
	facts       []factRecord

	wallets    perfect.Multimap // canonical addresses, to rows of addresses
	forms      perfect.Multimap // forms of names, to name<<4 | form
	words      wordLayer
	beginnings []beginnings // by row of the words' postings

	entityCount, nameCount uint32
}

// Counts says how much a list holds.
type Counts struct {
	Entries     int              // Distinct listed entries.
	Lists       [SourceCount]int // Entries on each source; some are on several.
	Names       int              // Written names of any script, weak ones included.
	Wallets     int              // Distinct digital currency addresses, canonical.
	Individuals int
	Entities    int
	Vessels     int
	Aircraft    int
}

// Digest is the SHA-256 of the encoded list of entities that the tables were made of:
// the list's name, the same for every version of the matcher.
func (x *Index) Digest() [32]byte { return x.digest }

// Matcher is the version of the matcher whose tables these are.
func (x *Index) Matcher() uint16 { return x.matcher }

// Meta says where the list comes from.
func (x *Index) Meta() Meta { return x.meta }

// Counts says how much the list holds.
func (x *Index) Counts() Counts { return x.counts }

func (x *Index) entity(i uint32) entityRecord   { return x.entities[i] }
func (x *Index) name(i uint32) nameRecord       { return x.names[i] }
func (x *Index) address(i uint32) addressRecord { return x.addresses[i] }

// Size is how many bytes of memory the tables take.
func (x *Index) Size() int {
	l, total := &x.words, len(x.text)+len(x.words.letters)+8*len(x.words.tokens)
	for _, numbers := range [...][]uint32{
		x.textOffsets, x.references,
		l.ids, l.neighbourOffsets, l.neighbourRows, l.deletionOffsets, l.postingOffsets, l.postings, l.tokenOffsets,
	} {
		total += 4 * len(numbers)
	}
	total += x.wallets.Size() + x.forms.Size() + l.hash.Size()
	const entityBytes, nameBytes, partBytes, addressBytes, factBytes, wordBytes, deletionBytes = 40, 32, 8, 16, 12, 36, 8
	return total + entityBytes*len(x.entities) + nameBytes*len(x.names) + partBytes*len(x.parts) + addressBytes*len(x.addresses) +
		factBytes*len(x.facts) + wordBytes*len(l.records) + deletionBytes*len(l.deletionRows)
}

func (x *Index) textAt(i uint32) string {
	return x.text[x.textOffsets[i]:x.textOffsets[i+1]]
}

// find returns the place of the entity with that uid.
func (x *Index) find(uid uint32) (uint32, bool) {
	low, high := uint32(0), x.entityCount
	for low < high {
		middle := (low + high) / 2
		if x.entity(middle).uid < uid {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < x.entityCount && x.entity(low).uid == uid
}

// Entry is a listed party as evidence shows it.
type Entry struct {
	UID       uint32
	Type      EntityType
	Lists     Lists
	Primary   string    // The primary name.
	Sublists  []string  // Names of the sanctions lists, sorted.
	Programs  []string  // Programme codes, sorted.
	Names     []Name    // The primary name first, weak names last.
	Addresses []Address // Sorted by value.
	Facts     []Fact    // By kind, label and value.
	Digest    uint64    // See EntryDigest.
}

// Entry returns the listed party with that uid. It copies.
func (x *Index) Entry(uid uint32) (Entry, bool) {
	at, ok := x.find(uid)
	if !ok {
		return Entry{}, false
	}
	record, next := x.entity(at), x.entity(at+1)
	entry := Entry{UID: uid, Type: record.kind, Lists: record.lists, Digest: record.digest}
	for i := record.sublists; i < record.programs; i++ {
		entry.Sublists = append(entry.Sublists, x.textAt(x.references[i]))
	}
	for i := record.programs; i < next.sublists; i++ {
		entry.Programs = append(entry.Programs, x.textAt(x.references[i]))
	}
	for i := record.names; i < next.names; i++ {
		entry.Names = append(entry.Names, x.listedName(i))
	}
	for i := record.addresses; i < next.addresses; i++ {
		address := x.address(i)
		entry.Addresses = append(entry.Addresses, Address{x.textAt(address.ticker), x.textAt(address.value), address.feature})
	}
	for i := record.facts; i < next.facts; i++ {
		fact := x.facts[i]
		entry.Facts = append(entry.Facts, Fact{fact.kind, x.textAt(fact.label), x.textAt(fact.value)})
	}
	entry.Primary = entry.Names[0].Full
	return entry, true
}

// listedName rebuilds a name as Build was given it.
func (x *Index) listedName(i uint32) Name {
	record, next := x.name(i), x.name(i+1)
	name := Name{
		ID: record.id, AliasType: x.textAt(record.aliasType), Script: x.textAt(record.script), Full: x.textAt(record.full),
		Primary: record.flags&namePrimary != 0, Weak: record.flags&nameWeak != 0,
	}
	for k := record.parts; k < next.parts; k++ {
		part := x.parts[k]
		name.Parts = append(name.Parts, NamePart{x.textAt(part.kind), x.textAt(part.value)})
	}
	return name
}

// EntryDigest returns a number that changes when the entry changes in any way:
// what was cleared for the old entry is not cleared for the new one.
func (x *Index) EntryDigest(uid uint32) (uint64, bool) {
	at, ok := x.find(uid)
	if !ok {
		return 0, false
	}
	return x.entity(at).digest, true
}

// Entities returns all entries, by uid, as Build wants them. Build of them
// with the same Meta gives the same list.
func (x *Index) Entities() []Entity {
	list := make([]Entity, 0, x.entityCount)
	for i := range x.entityCount {
		entry, _ := x.Entry(x.entity(i).uid)
		list = append(list, Entity{
			UID: entry.UID, Type: entry.Type, Lists: entry.Lists, Sublists: entry.Sublists,
			Programs: entry.Programs, Names: entry.Names, Addresses: entry.Addresses, Facts: entry.Facts,
		})
	}
	return list
}
