package list

// EntityType is the kind of party that a listed entry is.
type EntityType uint8

// The entity types OFAC publishes.
const (
	Individual EntityType = 1
	Company    EntityType = 2 // OFAC's word is "Entity"
	Vessel     EntityType = 3
	Aircraft   EntityType = 4
)

// String returns OFAC's own word for the type: Individual, Entity, Vessel or Aircraft.
func (t EntityType) String() string {
	switch t {
	case Individual:
		return "Individual"
	case Company:
		return "Entity"
	case Vessel:
		return "Vessel"
	case Aircraft:
		return "Aircraft"
	}
	return "Unknown"
}

// Entity is one listed party as a feed parser read it. It is the input of a list and the
// neutral form of every published format.
type Entity struct {
	UID       uint32     // The publisher and its number for the entity: see UID.
	Type      EntityType // Individual, Company, Vessel or Aircraft.
	Lists     Lists      // The sources that list it, all of one publisher.
	Sublists  []string   // Names of the sanctions lists as published, e.g. "SDN List", "SSI List".
	Programs  []string   // Programme codes, e.g. "CYBER2".
	Names     []Name     // Every name in every script, primary first.
	Addresses []Address  // Digital currency addresses, as printed.
	Facts     []Fact     // Births, nationalities, documents, postal addresses, vessel data, remarks.

	ID    string // Its id on a further list; "" on OFAC's.
	Until int64  // From when on it matches nothing, ns UTC; 0: it does not end. Of further lists alone.
}

// Fact is one thing, other than a name, that the publisher says about a party. It helps to
// distinguish a listed person from another one of the same name. People read it, and the numbers
// and addresses among the facts are what identifiers of a call are compared with.
type Fact struct {
	Kind  FactKind
	Label string // As published, e.g. "Birthdate", "Passport", "Vessel Flag".
	Value string // As published; the parts of one fact are joined by ", ".
}

// FactKind groups facts independently of the format's own words.
type FactKind uint8

// The kinds of facts. The numbers are stored in encoded lists: never reuse one.
const (
	FactOther         FactKind = 0
	FactBirthDate     FactKind = 1
	FactBirthPlace    FactKind = 2
	FactNationality   FactKind = 3
	FactCitizenship   FactKind = 4
	FactGender        FactKind = 5
	FactDocument      FactKind = 6
	FactPostalAddress FactKind = 7
	FactVessel        FactKind = 8
	FactTitle         FactKind = 9
	FactRemark        FactKind = 10
	factKindEnd       FactKind = 11
)

// String names the kind in an officer's words.
func (k FactKind) String() string {
	if k >= factKindEnd {
		return "unknown"
	}
	return [...]string{
		"other", "date of birth", "place of birth", "nationality", "citizenship", "gender", "document", "address", "vessel", "title", "remark",
	}[k]
}

// Name is one written form of one of an entity's names.
type Name struct {
	ID        uint32     // Translation id (ENHANCED), DocumentedName id (ADVANCED), alt_num (CSV; 0 for the primary name).
	AliasType string     // "Name", "A.K.A.", "F.K.A." or "N.K.A."; or AliasID.
	Primary   bool       // The entity's primary name.
	Weak      bool       // OFAC's low-quality ("weak") alias.
	Script    string     // "Latin", "Cyrillic", "Arabic", "Chinese Simplified", ...
	Full      string     // formattedFullName: "LAST, First Middle" for individuals.
	Parts     []NamePart // Typed parts where the format has them; may be empty.
}

// NamePart is one typed part of a name.
type NamePart struct {
	Kind  string // KindLast, ..., or "Entity Name", "Vessel Name", "Aircraft Name".
	Value string
}

// Address is one digital currency address of an entity.
type Address struct {
	Ticker    string // "XBT", "ETH", "USDT", ...: it does not determine the chain.
	Value     string // As printed.
	FeatureID uint32 // OFAC's feature id; 0 where the format has none (CSV).
}

// Meta describes where a list comes from. It is part of the encoded bytes.
type Meta struct {
	Source      string // Human-readable origin, e.g. "SDN_ADVANCED 2025-11-19 + CONS_ENHANCED 2026-01-08".
	PublishedAt int64  // The newest dataAsOf of the files, ns UTC.
	Sample      bool   // True for the embedded sample only.

	// AsOf is the date of each source's files, ns UTC; 0 where there are no files or no
	// date.
	AsOf [SourcesMax]int64

	Further []Further // The lists beside OFAC's, by number.
}
