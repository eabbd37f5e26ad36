package match

// Bounds of the work for one query. What is beyond them is not read, and the answer says so.
const (
	scoredBytesMax   = 256   // What the possible matcher reads of a normalised query.
	scoredWordsMax   = 24    // Words of a query the possible matcher scores.
	candidatesMax    = 4000  // Listed names looked at for one query.
	edgesMax         = 64    // Word pairs weighed for one listed name.
	edgesPerWord     = 8     // Query words weighed for one word of a listed name.
	looseMax         = 16384 // Pairs of words compared letter by letter for one query; 2,745 is the most seen.
	repeatsMax       = 2     // Times the same word of a query is scored.
	postingsReadMax  = 40000 // Postings read for one query.
	exactPostingsMax = 4096  // Listed names sharing one form that are judged for one query form.
	clearedPairsMax  = 4096  // Cleared entries of one query that are honoured.
	matchesMax       = 10    // Matches in one result.
)

// Thresholds, 1e-4.
const (
	// ReviewDefault is the score from which a possible match is reported.
	ReviewDefault = 8750
	// BlockDefault is the strict score from which a near match blocks.
	BlockDefault = 9300
	// reviewFloor is the lowest review threshold a query may ask for.
	reviewFloor = 7500
)
