package index

import (
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Rows of an Index. They hold no pointers, so that the garbage collector passes over
// them. Text is named by its index in the sorted table of distinct strings; runs of
// names, references and addresses end where those of the next row begin.

// entityRecord is one listed party. The table has one row more, whose firsts are the
// ends of the last party's runs.
type entityRecord struct {
	UID       uint32
	Kind      list.EntityType
	Lists     list.Lists
	Names     uint32 // first name, which is the primary one
	Sublists  uint32 // first reference: the sublists, then the programmes
	Programs  uint32
	addresses uint32
	Facts     uint32
	digest    uint64
}

// nameFlags tell what Name says and what the decision table needs.
type nameFlags uint8

const (
	NamePrimary nameFlags = 1 << iota
	NameWeak
)

// NameRecord is one listed name.
type NameRecord struct {
	Entity    uint32
	Full      uint32
	aliasType uint32
	script    uint32
	id        uint32
	Flags     nameFlags
	Words     uint8        // content words: legal forms aside
	Plain     uint8        // of them, words that are not generic such as "group"
	Letters   uint8        // letters of the content words, at most 255
	Forms     text.FormSet // legal forms in the name
	parts     uint32       // first part
}

// partRecord is one typed part of a name.
type partRecord struct{ kind, value uint32 }

// factRecord is one fact of an entity.
type factRecord struct {
	Kind         list.FactKind
	label, Value uint32
}

// addressRecord is one digital currency address of an entity.
type addressRecord struct {
	entity, ticker, value, feature uint32
}
