package index

import (
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Rows of an Index hold no pointers, so the garbage collector skips them. A text is its
// index in the sorted table of distinct strings. The names, references and addresses of a
// row end where those of the next row begin.

// entityRecord is one listed party. The table has an extra last row, which marks the ends
// of the last party's runs.
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

// nameFlags are the flags of Name that the decision table needs.
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
	Words     uint8        // content words, without legal forms
	Plain     uint8        // the content words that are not generic; "group" is generic
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
