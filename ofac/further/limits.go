package further

// Bounds of one file. Whatever is beyond them is refused.
const (
	rowsMax       = 1_000_000 // Rows of an own list.
	partiesMax    = 1_000_000 // Listed parties of the other formats.
	linesMax      = 8_000_000 // Lines of a FollowTheMoney file, of which most may be no listed party.
	lineBytesMax  = 8 << 20
	elementsMax   = 32 // Nesting of XML elements.
	textBytesMax  = 64 << 10
	idBytesMax    = 200
	nameBytesMax  = 1_000
	factBytesMax  = 1_024
	valuesMax     = 256 // Aliases, wallets, identifiers or countries of one row.
	namesMax      = 4_000
	itemsMax      = 4_000
	warningsMax   = 100
	walletBytes   = 256
	columnsMax    = 64
	columnBytes   = 64
	nestedMax     = 8 // Nesting of FollowTheMoney entities.
	referencesMax = 2_000_000
)
