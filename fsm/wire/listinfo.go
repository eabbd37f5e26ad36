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
}

// ListSource describes one source of a list.
type ListSource struct {
	Name    string      `cbor:"1,keyasint"` // The name in ofac's table of sources.
	Entries uint32      `cbor:"2,keyasint"`
	AsOf    engine.Time `cbor:"3,keyasint,omitempty"` // When the source was published; 0: not known.
}

// OfSource returns a list's part from a source. It has no entries if the list has nothing
// from there.
func (l *ListInfo) OfSource(name string) ListSource {
	switch name {
	case "SDN":
		return ListSource{name, l.SDN, l.SDNAsOf}
	case "CONS":
		return ListSource{name, l.CONS, l.CONSAsOf}
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
		l.SDN, l.SDNAsOf = source.Entries, source.AsOf
	case "CONS":
		l.CONS, l.CONSAsOf = source.Entries, source.AsOf
	default:
		l.Others = append(l.Others, source)
	}
}

// ChainCount is how many distinct accounts of one chain a list has.
type ChainCount struct {
	Chain string `cbor:"1,keyasint"` // The chain of the address, not the ticker.
	Count uint32 `cbor:"2,keyasint"`
}
