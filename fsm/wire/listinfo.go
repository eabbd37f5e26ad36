package wire

import "railguard/engine"

// ListInfo describes a list without opening it.
type ListInfo struct {
	Digest      [32]byte    `cbor:"1,keyasint"`
	Source      string      `cbor:"2,keyasint"`
	Sample      bool        `cbor:"3,keyasint,omitempty"`
	PublishedAt engine.Time `cbor:"4,keyasint"`
	Entries     uint32      `cbor:"5,keyasint"`
	SDN         uint32      `cbor:"6,keyasint"`
	CONS        uint32      `cbor:"7,keyasint"`
	Names       uint32      `cbor:"8,keyasint"`
	Wallets     uint32      `cbor:"9,keyasint"`
	Individuals uint32      `cbor:"10,keyasint"`
	Companies   uint32      `cbor:"11,keyasint"`
	Vessels     uint32      `cbor:"12,keyasint"`
	Aircraft    uint32      `cbor:"13,keyasint"`
	Size        uint32      `cbor:"14,keyasint"`
	StagedAt    engine.Time `cbor:"15,keyasint,omitempty"` // Set by Apply.
	ActivatedAt engine.Time `cbor:"16,keyasint,omitempty"`
	Version     uint64      `cbor:"17,keyasint,omitempty"` // The list version; set by Apply on activation.

	SDNAsOf     engine.Time  `cbor:"18,keyasint,omitempty"` // When the source was published; 0: not known.
	CONSAsOf    engine.Time  `cbor:"19,keyasint,omitempty"`
	Chains      []ChainCount `cbor:"20,keyasint,omitempty"` // The number of wallets on each chain.
	Quarantined uint32       `cbor:"21,keyasint,omitempty"` // Malformed entities that were left out.
	Warnings    []string     `cbor:"22,keyasint,omitempty"` // Notes on its files; those about malformed entities come first.
	Others      []ListSource `cbor:"23,keyasint,omitempty"` // Sources other than SDN and CONS; see OfSource.

	SDNSum   []byte   `cbor:"24,keyasint,omitempty"` // See ListSource.Sum.
	CONSSum  []byte   `cbor:"25,keyasint,omitempty"`
	Origin   string   `cbor:"26,keyasint,omitempty"` // Where its files came from, such as "sls"; "": not known.
	Uploaded bool     `cbor:"27,keyasint,omitempty"` // A person staged it. It stays staged until it is activated or replaced.
	Found    []string `cbor:"28,keyasint,omitempty"` // Problems of its content that were found when its files were read.

	RolledBackAt  engine.Time `cbor:"29,keyasint,omitempty"` // When a rollback replaced it; 0: none did. Set by Apply.
	ActivatedLeaf uint64      `cbor:"30,keyasint,omitempty"` // The leaf that says that it is in force. Set by Apply.
	Forced        bool        `cbor:"31,keyasint,omitempty"` // Persons put it in force despite problems. Set by Apply.

	Brings string `cbor:"32,keyasint,omitempty"` // The id of the list beside OFAC's whose content is new in it; "": OFAC's.
	// Over is the digest of the list in force that it was joined with: what it has of the other
	// lists is theirs. Empty: it has no list beside OFAC's.
	Over []byte `cbor:"33,keyasint,omitempty"`
}

// FurtherList is the description of a list beside OFAC's; see ofac's list.Further.
type FurtherList struct {
	Number    uint8       `cbor:"1,keyasint"`
	Name      string      `cbor:"2,keyasint"`
	Authority string      `cbor:"3,keyasint,omitempty"`
	Blocks    bool        `cbor:"4,keyasint,omitempty"`
	Format    string      `cbor:"5,keyasint"`
	Families  []string    `cbor:"6,keyasint,omitempty"`
	AgeMax    engine.Time `cbor:"7,keyasint,omitempty"` // 0: it is never late.
}

// ListSource describes one source of a list.
type ListSource struct {
	Name    string      `cbor:"1,keyasint"` // The name in ofac's table of sources, or the id of a list beside OFAC's.
	Entries uint32      `cbor:"2,keyasint"`
	AsOf    engine.Time `cbor:"3,keyasint,omitempty"` // When the source was published; 0: not known.
	// Sum is the SHA-256 of what the source alone says of its entities, in canonical form. Two
	// files of one publication in one format have the same sum. Empty: not known.
	Sum []byte `cbor:"4,keyasint,omitempty"`

	Further  *FurtherList `cbor:"5,keyasint,omitempty"` // Of a list beside OFAC's: this and the three behind it.
	Names    uint32       `cbor:"6,keyasint,omitempty"`
	Wallets  uint32       `cbor:"7,keyasint,omitempty"` // Entries, not distinct accounts.
	SyncedAt engine.Time  `cbor:"8,keyasint,omitempty"` // When it was last imported or found current. Set by Apply.
}

// IsLate reports whether a list beside OFAC's was not imported for longer than it may be.
func (s *ListSource) IsLate(now engine.Time) bool {
	return s.Further != nil && s.Further.AgeMax > 0 && now-s.SyncedAt > s.Further.AgeMax
}

// HasFurther reports whether there is a list beside OFAC's in it.
func (l *ListInfo) HasFurther() bool {
	for i := range l.Others {
		if l.Others[i].Further != nil {
			return true
		}
	}
	return false
}

// OfOFAC counts what is not of the lists beside OFAC's.
func (l *ListInfo) OfOFAC() (entries, names, wallets uint32) {
	entries, names, wallets = l.Entries, l.Names, l.Wallets
	for i := range l.Others {
		if other := &l.Others[i]; other.Further != nil {
			entries, names, wallets = entries-min(entries, other.Entries), names-min(names, other.Names), wallets-min(wallets, other.Wallets)
		}
	}
	return entries, names, wallets
}

// OfSource returns a list's part from a source. It has no entries if the list has nothing
// from there.
func (l *ListInfo) OfSource(name string) ListSource {
	switch name {
	case "SDN":
		return ListSource{Name: name, Entries: l.SDN, AsOf: l.SDNAsOf, Sum: l.SDNSum}
	case "CONS":
		return ListSource{Name: name, Entries: l.CONS, AsOf: l.CONSAsOf, Sum: l.CONSSum}
	}
	for _, source := range l.Others {
		if source.Name == name {
			return source
		}
	}
	return ListSource{Name: name}
}

// AddSource stores a list's part from a source.
func (l *ListInfo) AddSource(source ListSource) {
	switch source.Name {
	case "SDN":
		l.SDN, l.SDNAsOf, l.SDNSum = source.Entries, source.AsOf, source.Sum
	case "CONS":
		l.CONS, l.CONSAsOf, l.CONSSum = source.Entries, source.AsOf, source.Sum
	default:
		l.Others = append(l.Others, source)
	}
}

// ListLeft says who is no longer on a list that takes the place of another.
type ListLeft struct {
	Parties uint32   `cbor:"1,keyasint,omitempty"` // Parties that left the list.
	Names   uint32   `cbor:"2,keyasint,omitempty"` // Names that left parties which stay.
	Wallets uint32   `cbor:"3,keyasint,omitempty"` // Accounts that no party has any more.
	First   []string `cbor:"4,keyasint,omitempty"` // The first of them, for people.
}

// Any reports whether anything left the list.
func (l *ListLeft) Any() bool { return l != nil && l.Parties+l.Names+l.Wallets > 0 }

// ChainCount is how many distinct accounts of one chain a list has.
type ChainCount struct {
	Chain string `cbor:"1,keyasint"` // The chain of the address, not the ticker.
	Count uint32 `cbor:"2,keyasint"`
}
