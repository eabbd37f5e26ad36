package list

import (
	"math/bits"
	"strings"
)

// A source is one list as its publisher issues it. To bring another one is a row here
// and a package that reads its files into entities.

// Source is the place of a source's row in the table. The numbers stand in encoded
// lists: never reuse one.
type Source uint8

// The sources.
const (
	SDN Source = iota
	CONS
	SourceCount
)

// Publisher issues sources, and numbers the entries of all of them in one way.
type Publisher uint8

// The publishers. The numbers stand in uids: never reuse one.
const (
	OFAC           Publisher = 0
	publisherCount Publisher = 1
)

// SourceRow says what the service has to know of a source.
type SourceRow struct {
	Name      string // As answers, records and Meta.Source name it.
	Title     string // As a warning names it.
	Publisher Publisher
	// Core is set where a possible match counts for every payer; else it counts where a
	// policy asks for it. Of several entries the one on a core source is shown first. A
	// published list without a core source is refused, without another one warned of.
	Core bool
}

var sourceRows = [SourceCount]SourceRow{
	SDN:  {Name: "SDN", Title: "SDN list", Publisher: OFAC, Core: true},
	CONS: {Name: "CONS", Title: "consolidated (non-SDN) list", Publisher: OFAC},
}

// Row returns the row of a source.
func (s Source) Row() SourceRow { return sourceRows[s] }

// String returns the source's name.
func (s Source) String() string { return sourceRows[s].Name }

// Set is the set of this source alone.
func (s Source) Set() Lists { return 1 << s }

// SourceNamed finds a source by its name.
func SourceNamed(name string) (Source, bool) {
	for source := range SourceCount {
		if sourceRows[source].Name == name {
			return source, true
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

const everySource Lists = 1<<SourceCount - 1

// Has reports whether the source is in the set.
func (l Lists) Has(source Source) bool { return l&source.Set() != 0 }

// Core reports whether one of the sources is a core one.
func (l Lists) Core() bool {
	for source := range SourceCount {
		if l.Has(source) && sourceRows[source].Core {
			return true
		}
	}
	return false
}

// publishedBy reports whether all of the sources are of that publisher.
func (l Lists) publishedBy(publisher Publisher) bool {
	for source := range SourceCount {
		if l.Has(source) && sourceRows[source].Publisher != publisher {
			return false
		}
	}
	return true
}

// First is the source under which the entity is shown: the first of the table.
func (l Lists) First() Source {
	return Source(min(bits.TrailingZeros32(uint32(l)), int(SourceCount)-1))
}

// String joins the names of the sources with a plus.
func (l Lists) String() string {
	var names []string
	for source := range SourceCount {
		if l.Has(source) {
			names = append(names, source.String())
		}
	}
	return strings.Join(names, "+")
}

// A uid names an entity whoever published it: the publisher in the highest four bits,
// below them the number that the publisher gave it. OFAC's publisher number is 0, so
// its uids are its own numbers.
const publisherShift = 28

// UID is the uid of a publisher's entry; false: the number is zero or too great.
func UID(publisher Publisher, number uint32) (uint32, bool) {
	return uint32(publisher)<<publisherShift | number, publisher < publisherCount && number > 0 && number < 1<<publisherShift
}

// publisherOf is who numbered an entity.
func publisherOf(uid uint32) Publisher { return Publisher(uid >> publisherShift) }
