package list

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A source is one list as its publisher issues it. A new source that nodes fetch by themselves
// needs a row here for its meaning, a package that reads its files, and a row in package keeper
// for how to get them. What persons import needs none of them: see Further.

// Source is the index of a source's row in the table. The numbers are stored in encoded
// lists: never reuse one.
type Source uint8

// The sources.
const (
	SDN Source = iota
	CONS
)

// SourcesMax bounds the number of sources: a set has a bit for each.
const SourcesMax = 32

// Publisher issues one or more sources and numbers their entries in one common way.
type Publisher uint8

// The publishers. The numbers are part of uids: never reuse one.
const (
	OFAC Publisher = 0
)

// SourceRow describes a source for the service.
type SourceRow struct {
	Name      string // Name in answers, records and Meta.Source.
	Title     string // Name in warnings.
	Publisher Publisher
	// Core is set if a possible match counts for every payer; otherwise it counts only
	// where a policy asks for it. Among several entries, one on a core source is shown
	// first. A published list without a core source is refused; without another source it
	// gets a warning.
	Core bool
	// Blocks is set if a payment to a listed name, account or identifier is blocked; otherwise
	// an officer reviews it.
	Blocks bool
}

var sourceRows = []SourceRow{
	SDN:  {Name: "SDN", Title: "SDN list", Publisher: OFAC, Core: true, Blocks: true},
	CONS: {Name: "CONS", Title: "consolidated (non-SDN) list", Publisher: OFAC, Blocks: true},
}

// Sets that are derived from the rows.
var (
	sources     []Source
	everySource Lists
	coreLists   Lists // The core sources.
	blockLists  Lists // The sources that block.
)

func init() { gatherRows() }

func gatherRows() {
	sources, everySource, coreLists, blockLists = nil, 0, 0, furtherBlockSets
	for i, row := range sourceRows {
		source := Source(i)
		sources, everySource = append(sources, source), everySource|source.Set()
		if row.Core {
			coreLists |= source.Set()
		}
		if row.Blocks {
			blockLists |= source.Set()
		}
	}
}

// Sources are the sources of the table, in the order of their numbers. Those of further lists are
// not among them: see Meta.Further.
func Sources() []Source { return sources }

// AddSource adds a source to the table until remove is called. Tests use it; nothing may be
// screened during it or remove, and there may be no further list of its number.
func AddSource(row SourceRow) (added Source, remove func()) {
	sourceRows = append(sourceRows, row)
	gatherRows()
	return Source(len(sourceRows) - 1), func() {
		sourceRows = sourceRows[:len(sourceRows)-1]
		gatherRows()
	}
}

// Row returns the row of a source. Only the Meta of a list knows the name of a further one.
func (s Source) Row() SourceRow {
	if int(s) < len(sourceRows) {
		return sourceRows[s]
	}
	number := (s-furtherFirst)%FurtherMax + 1
	name := "LIST" + strconv.Itoa(int(number))
	return SourceRow{Name: name, Title: "further list " + name, Publisher: Publisher(number), Blocks: furtherBlockSets.Has(s)}
}

// String returns the source's name.
func (s Source) String() string { return s.Row().Name }

// Set is the set of this source alone.
func (s Source) Set() Lists { return 1 << s }

// SourceNamed finds a source by its name.
func SourceNamed(name string) (Source, bool) {
	for source := range sourceRows {
		if sourceRows[source].Name == name {
			return Source(source), true
		}
	}
	return 0, false
}

// Lists is the set of sources that an entity stands on, a bit for each.
type Lists uint32

// OFAC's two sources, as sets.
const (
	ListSDN  Lists = 1 << SDN
	ListCONS Lists = 1 << CONS
)

// Has reports whether the source is in the set.
func (l Lists) Has(source Source) bool { return l&source.Set() != 0 }

// Core reports whether one of the sources is a core one.
func (l Lists) Core() bool { return l&coreLists != 0 }

// Block reports whether one of the sources blocks.
func (l Lists) Block() bool { return l&blockLists != 0 }

// publishedBy reports whether all of the sources are of that publisher.
func (l Lists) publishedBy(publisher Publisher) bool {
	for rest := l; rest != 0; rest &= rest - 1 {
		if rest.First().Row().Publisher != publisher {
			return false
		}
	}
	return true
}

// First is the source under which the entity is shown: the first of the table.
func (l Lists) First() Source {
	return Source(min(bits.TrailingZeros32(uint32(l)), SourcesMax-1))
}

// String joins the names of the sources with a plus.
func (l Lists) String() string {
	var names []string
	for rest := l; rest != 0; rest &= rest - 1 {
		names = append(names, rest.First().String())
	}
	return strings.Join(names, "+")
}

// A uid names an entity across publishers: the highest four bits are the publisher, the
// rest is the publisher's number for the entity. OFAC is publisher 0, so its uids are its
// own numbers.
const publisherShift = 28

// UID returns the uid of a publisher's entry. It returns false when the publisher is
// unknown or the number is zero or too great.
func UID(publisher Publisher, number uint32) (uint32, bool) {
	known := slices.ContainsFunc(sourceRows, func(row SourceRow) bool { return row.Publisher == publisher })
	return uint32(publisher)<<publisherShift | number, known && number > 0 && number < 1<<publisherShift
}

// publisherOf returns the publisher that numbered an entity.
func publisherOf(uid uint32) Publisher { return Publisher(uid >> publisherShift) }
