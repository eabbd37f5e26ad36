package list

// The bounds of a list. A list beyond them is refused.
const (
	entitiesMax     = 1 << 21 // Entities of one list; the list of 2025 has 18,809, and an own list up to a million.
	namesPerEntity  = 4096    // Names of one entity; 96 is the most seen.
	nameBytesMax    = 4096    // Length of one listed name. The longest that was seen has 300.
	textBytesMax    = 4096    // A sublist, programme, part, ticker, address, or the source line.
	itemsPerEntity  = 16384   // Sublists, programmes, addresses of one entity.
	addressBytesMax = 376     // Length of one listed address as printed.
)
