package ofac

import "encoding/binary"

// Fixed-size records inside the compiled bytes. Text is named by its index in
// the sorted table of distinct strings; runs of names, references and addresses
// end where those of the next entity begin.

const (
	entityBytes  = 40 // uid, type+lists, first name, first reference, first programme, first address, first fact, zero, digest; the first name is the primary one
	nameBytes    = 32 // entity, full, alias type, script, id, flags+words+letters, forms, first part
	partBytes    = 8  // kind, value
	factBytes    = 12 // kind, label, value
	addressBytes = 16 // entity, ticker, value, feature id
)

// entityRecord is one listed party. The arrays have one record more, whose
// firsts are the ends of the last party's runs.
type entityRecord struct {
	uid       uint32
	kind      EntityType
	lists     Lists
	names     uint32 // first name
	sublists  uint32 // first reference: the sublists, then the programmes
	programs  uint32
	addresses uint32
	facts     uint32
	digest    uint64
}

func (r *entityRecord) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.uid)
	dst = append(dst, byte(r.kind), byte(r.lists))
	dst = append(dst, 0, 0)
	dst = appendWords32(dst, []uint32{r.names, r.sublists, r.programs, r.addresses, r.facts, 0})
	return binary.LittleEndian.AppendUint64(dst, r.digest)
}

func readEntity(data []byte) entityRecord {
	_ = data[entityBytes-1]
	return entityRecord{
		uid: binary.LittleEndian.Uint32(data), kind: EntityType(data[4]), lists: Lists(data[5]),
		names:    binary.LittleEndian.Uint32(data[8:]),
		sublists: binary.LittleEndian.Uint32(data[12:]), programs: binary.LittleEndian.Uint32(data[16:]),
		addresses: binary.LittleEndian.Uint32(data[20:]), facts: binary.LittleEndian.Uint32(data[24:]), digest: binary.LittleEndian.Uint64(data[32:]),
	}
}

// nameFlags tell what Name says and what the decision table needs.
type nameFlags uint8

const (
	namePrimary nameFlags = 1 << iota
	nameWeak
)

// nameRecord is one listed name.
type nameRecord struct {
	entity    uint32
	full      uint32
	aliasType uint32
	script    uint32
	id        uint32
	flags     nameFlags
	words     uint8   // content words: legal forms aside
	plain     uint8   // of them, words that are not generic such as "group"
	letters   uint8   // letters of the content words, at most 255
	forms     formSet // legal forms in the name
	parts     uint32  // first part
}

func (r *nameRecord) append(dst []byte) []byte {
	dst = appendWords32(dst, []uint32{r.entity, r.full, r.aliasType, r.script, r.id})
	dst = append(dst, byte(r.flags), r.words, r.plain, r.letters)
	return appendWords32(dst, []uint32{uint32(r.forms), r.parts})
}

func readName(data []byte) nameRecord {
	_ = data[nameBytes-1]
	return nameRecord{
		entity: binary.LittleEndian.Uint32(data), full: binary.LittleEndian.Uint32(data[4:]),
		aliasType: binary.LittleEndian.Uint32(data[8:]), script: binary.LittleEndian.Uint32(data[12:]),
		id: binary.LittleEndian.Uint32(data[16:]), flags: nameFlags(data[20]), words: data[21], plain: data[22], letters: data[23],
		forms: formSet(binary.LittleEndian.Uint32(data[24:])), parts: binary.LittleEndian.Uint32(data[28:]),
	}
}

// addressRecord is one digital currency address of an entity.
type addressRecord struct {
	entity, ticker, value, feature uint32
}

func (r *addressRecord) append(dst []byte) []byte {
	return appendWords32(dst, []uint32{r.entity, r.ticker, r.value, r.feature})
}

func readAddress(data []byte) addressRecord {
	_ = data[addressBytes-1]
	return addressRecord{
		entity: binary.LittleEndian.Uint32(data), ticker: binary.LittleEndian.Uint32(data[4:]),
		value: binary.LittleEndian.Uint32(data[8:]), feature: binary.LittleEndian.Uint32(data[12:]),
	}
}
