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
	Version     uint64      `cbor:"17,keyasint,omitempty"` // List version it became; set by Apply.

	SDNAsOf     engine.Time  `cbor:"18,keyasint,omitempty"` // When the source was published; 0: not known.
	CONSAsOf    engine.Time  `cbor:"19,keyasint,omitempty"`
	Chains      []ChainCount `cbor:"20,keyasint,omitempty"` // Wallets, by chain.
	Quarantined uint32       `cbor:"21,keyasint,omitempty"` // Malformed entities that were left out.
	Warnings    []string     `cbor:"22,keyasint,omitempty"` // What was noticed in its files; those entities first.
	Others      []ListSource `cbor:"23,keyasint,omitempty"` // The sources besides SDN and CONS: see OfSource.
}

// ListSource is what a list holds of one source.
type ListSource struct {
	Name    string      `cbor:"1,keyasint"` // As ofac's table of sources has it.
	Entries uint32      `cbor:"2,keyasint"`
	AsOf    engine.Time `cbor:"3,keyasint,omitempty"` // When the source was published; 0: not known.
}

// OfSource returns what the list holds of a source; without entries where it has none.
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

// AddSource notes what the list holds of a source.
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
	Chain string `cbor:"1,keyasint"` // What the address says, not its ticker.
	Count uint32 `cbor:"2,keyasint"`
}
