package ofac

// The bounds of the package. Input beyond a bound is refused (Build, Compile) or
// answered without the part beyond it (Screen), never read without end.
const (
	compiledBytesMax = 64 << 20             // The tables of one list (the limits table of the rulings).
	tokenRowsMax     = 1<<holderRowBits - 1 // Words of all names of one list, joins of them included.

	entitiesMax      = 1 << 19 // Entities of one list; the list of 2025 has 18,809.
	namesMax         = 1 << 20 // Names of one list, weak ones included.
	namesPerEntity   = 4096    // Names of one entity; 96 is the most seen.
	nameBytesMax     = 4096    // One listed name; 300 is the most seen.
	textBytesMax     = 4096    // A sublist, programme, part, ticker, address, or the source line.
	itemsPerEntity   = 16384   // Sublists, programmes, addresses of one entity.
	queryBytesMax    = 8192    // What the exact layer reads of a query: 512 runes of 4 bytes and slack.
	scoredBytesMax   = 256     // What the possible matcher reads of a normalised query.
	scoredWordsMax   = 24      // Words of a query the possible matcher scores.
	wordBytesMax     = 30      // Letters of one word the possible matcher compares; the rest is cut.
	tokensMax        = 384     // Words of one name that are told apart; later ones are kept but not classified.
	matchesMax       = 10      // Matches in one result.
	walletBytesMax   = 520     // The key of a wallet: a byte and the longest text that is read.
	addressBytesMax  = 376     // One listed address as printed.
	clearedPairsMax  = 4096    // Cleared entries of one query that are honoured.
	exactPostingsMax = 4096    // Listed names sharing one form that are judged for one query form.
)

// Fixed-point scores: 1.0 is scoreOne.
const (
	scoreOne = 10000

	// ReviewDefault is the score from which a possible match is reported.
	ReviewDefault = 8750
	// BlockDefault is the strict score from which a near match blocks.
	BlockDefault = 9300
	// reviewFloor is the lowest review threshold a query may ask for.
	reviewFloor = 7500
)

// Bounds of the possible matcher's tables and of its work for one name.
const (
	vocabularyMax    = 1 << 18 // Distinct words of one list; the list of 2025 has 38,000.
	bucketProbeMax   = 64      // Words read from one bucket of the deletion table.
	neighboursMax    = 160     // Words close to one word.
	candidatesMax    = 4000    // Listed names looked at for one query.
	edgesMax         = 64      // Word pairs weighed for one listed name.
	looseMax         = 16384   // Pairs of words compared letter by letter for one query; 2,745 is the most seen.
	edgesPerWord     = 8       // Query words weighed for one word of a listed name.
	repeatsMax       = 2       // Times the same word of a query is scored.
	postingsReadMax  = 40000   // Postings read for one query.
	joinedPartsBytes = 4       // A part of a joined pair has at most so many letters.
)
