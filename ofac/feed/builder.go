package feed

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"railguard/ofac"
)

// List is one parsed list file, or one parsed CSV set.
type List struct {
	Format   Format
	Family   ofac.Lists    // ListSDN or ListCONS; 0: the content does not say.
	DataAsOf int64         // The list's own date, ns UTC; 0 where the format has none (CSV).
	Entities []ofac.Entity // Sorted by UID.

	Quarantined []Quarantined // Entities that were left out.
	Suspects    []Suspect     // Features that may be digital currency addresses.
}

// sum is the digest of the entities alone, whatever file and format they were in.
func (l *List) sum() ([]byte, error) {
	encoded, err := ofac.EncodeEntities(l.Entities, ofac.Meta{})
	if err != nil {
		return nil, newRefusal(ReasonSchema, "%v", err)
	}
	digest := ofac.Digest(encoded)
	return digest[:], nil
}

// Names is the number of names of all entities.
func (l *List) Names() int {
	n := 0
	for i := range l.Entities {
		n += len(l.Entities[i].Names)
	}
	return n
}

// Addresses is the number of digital currency addresses of all entities.
func (l *List) Addresses() int {
	n := 0
	for i := range l.Entities {
		n += len(l.Entities[i].Addresses)
	}
	return n
}

// Words of the neutral form, in which all formats are read.
const (
	aliasPrimary = "Name"
	aliasAlso    = "A.K.A."
	aliasFormer  = "F.K.A."
	aliasNow     = "N.K.A."
	scriptLatin  = "Latin"
	listSDN      = "SDN List"
	listCONS     = "Consolidated List"

	// currencyPrefix begins the text of every digital currency feature type. The parsers
	// match this text and not the ids, because OFAC adds new tickers now and then.
	currencyPrefix = "Digital Currency Address - "
)

// builder gathers entities and enforces the bounds. Both XML parsers embed it.
type builder struct {
	scanner
	labels   map[string]string // Has every distinct label once.
	names    int
	entities []ofac.Entity
	place    map[uint32]int // By UID: the index in entities.

	quarantined  []Quarantined
	firstRefusal error
	suspects     []Suspect
}

func newBuilder(s *scanner) builder {
	return builder{scanner: *s, labels: map[string]string{}, place: map[uint32]int{}}
}

// internLabel returns text as a word of a controlled vocabulary. It stores each distinct
// word once.
func (b *builder) internLabel(text []byte) string {
	text = bytes.TrimSpace(text)
	if known, ok := b.labels[string(text)]; ok {
		return known
	}
	switch {
	case len(text) == 0:
		b.keepFailuref(ReasonSchema, "an empty word")
	case len(text) > LabelBytesMax:
		b.keepFailuref(ReasonTooLarge, "a word longer than %d bytes: %s", LabelBytesMax, quoteShort(text))
	case len(b.labels) == ReferenceValuesMax:
		b.keepFailuref(ReasonTooLarge, "more than %d distinct words", ReferenceValuesMax)
	default:
		word := string(text)
		b.labels[word] = word
		return word
	}
	return ""
}

// readID reads a required numeric attribute of the element just started.
func (b *builder) readID(attribute string) uint32 {
	value, ok := b.findAttribute(attribute)
	if !ok {
		if b.failure == nil {
			b.keepFailuref(ReasonSchema, "element <%s> without its attribute %s", b.name, attribute)
		}
		return 0
	}
	n, ok := parseID(value)
	if !ok {
		b.keepFailuref(ReasonSchema, "attribute %s is %s: a number was expected", attribute, quoteShort(value))
	}
	return n
}

// parseID reads a decimal number of 32 bits, digits only.
func parseID(text []byte) (uint32, bool) {
	if len(text) == 0 || len(text) > len("4294967295") {
		return 0, false
	}
	n := uint64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return uint32(n), n <= math.MaxUint32
}

// readFlag reads an xs:boolean.
func (b *builder) readFlag(text []byte) bool {
	switch string(bytes.TrimSpace(text)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	b.keepFailuref(ReasonSchema, "%s where true or false was expected", quoteShort(text))
	return false
}

func (b *builder) addAddress(e *ofac.Entity, address ofac.Address) {
	if len(e.Addresses) == AddressesPerEntityMax {
		b.keepFailuref(ReasonTooLarge, "entity %d has more than %d digital currency addresses", e.UID, AddressesPerEntityMax)
		return
	}
	e.Addresses = append(e.Addresses, address)
}

// addLabel adds one sublist or programme to an entity.
func (b *builder) addLabel(e *ofac.Entity, labels *[]string, label string) {
	if len(*labels) == LabelsPerEntityMax {
		b.keepFailuref(ReasonTooLarge, "entity %d has more than %d lists or programmes", e.UID, LabelsPerEntityMax)
		return
	}
	*labels = append(*labels, label)
}

func (b *builder) addName(e *ofac.Entity, name ofac.Name) {
	if len(e.Names) == NamesPerEntityMax {
		b.keepFailuref(ReasonTooLarge, "entity %d has more than %d names", e.UID, NamesPerEntityMax)
		return
	}
	e.Names = append(e.Names, name)
}

// addPart adds one typed part to a name; it drops empty parts.
func (b *builder) addPart(name *ofac.Name, kind string, value []byte) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return false
	}
	if len(value) > NameBytesMax || len(name.Parts) == PartsPerNameMax {
		return b.keepFailuref(ReasonTooLarge, "name %d has a part longer than %d bytes or more than %d parts", name.ID, NameBytesMax, PartsPerNameMax)
	}
	name.Parts = append(name.Parts, ofac.NamePart{Kind: kind, Value: string(value)})
	return true
}

// beginEntity checks a new entity's id against those already read.
func (b *builder) beginEntity(uid uint32) bool {
	if b.failure != nil {
		return false
	}
	if uid == 0 {
		return b.keepFailuref(ReasonSchema, "an entity with id 0")
	}
	if _, twice := b.place[uid]; twice {
		return b.keepFailuref(ReasonSchema, "entity %d twice", uid)
	}
	if len(b.entities) == EntitiesMax {
		return b.keepFailuref(ReasonTooLarge, "more than %d entities", EntitiesMax)
	}
	return true
}

// endEntity checks a finished entity and adds it to the list.
func (b *builder) endEntity(e *ofac.Entity) bool {
	if b.failure != nil {
		return false
	}
	b.names += len(e.Names)
	if b.names > NamesMax {
		return b.keepFailuref(ReasonTooLarge, "more than %d names", NamesMax)
	}
	if err := checkEntity(e); err != nil {
		return b.keepFailuref(err.Reason, "%s", err.Detail)
	}
	b.place[e.UID] = len(b.entities)
	b.entities = append(b.entities, *e)
	return true
}

// checkEntity checks what every format must give: a type, exactly one primary name, and
// names and addresses that are not empty and within their bounds.
func checkEntity(e *ofac.Entity) *Error {
	if e.Type < ofac.Individual || e.Type > ofac.Aircraft {
		return newRefusal(ReasonSchema, "entity %d has no type", e.UID)
	}
	primary := 0
	for i := range e.Names {
		name := &e.Names[i]
		if name.Primary {
			primary++
		}
		if strings.TrimSpace(name.Full) == "" {
			return newRefusal(ReasonSchema, "entity %d has an empty name", e.UID)
		}
		if len(name.Full) > NameBytesMax {
			return newRefusal(ReasonTooLarge, "entity %d has a name longer than %d bytes", e.UID, NameBytesMax)
		}
	}
	if primary != 1 {
		return newRefusal(ReasonSchema, "entity %d has %d primary names: one was expected", e.UID, primary)
	}
	for i := range e.Addresses {
		if value := e.Addresses[i].Value; value == "" || len(value) > AddressBytesMax {
			return newRefusal(ReasonSchema, "entity %d has a digital currency address of %d bytes", e.UID, len(value))
		}
	}
	return nil
}

// sortEntities returns the entities in canonical order: by UID. In each entity the primary
// name comes first and the other names by id; sublists and programmes are sorted by their
// text, without duplicates.
func sortEntities(entities []ofac.Entity) []ofac.Entity {
	slices.SortFunc(entities, func(a, b ofac.Entity) int { return compareIDs(a.UID, b.UID) })
	for i := range entities {
		e := &entities[i]
		slices.SortStableFunc(e.Names, compareNames)
		e.Sublists = sortedOnce(e.Sublists)
		e.Programs = sortedOnce(e.Programs)
		slices.SortFunc(e.Facts, func(a, b ofac.Fact) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value))
		})
		e.Facts = slices.Compact(e.Facts)
	}
	return entities
}

func compareIDs(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareNames(a, b ofac.Name) int {
	switch {
	case a.Primary != b.Primary && a.Primary:
		return -1
	case a.Primary != b.Primary:
		return 1
	case a.ID != b.ID:
		return compareIDs(a.ID, b.ID)
	}
	return strings.Compare(a.Full, b.Full)
}

func sortedOnce(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
