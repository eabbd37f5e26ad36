package match

// Bounds of the work for one query. The matcher does not read beyond them, and the result
// then says Truncated.
const (
	scoredBytesMax   = 256   // Bytes of a normalised query that the possible matcher reads.
	scoredWordsMax   = 24    // Words of a query that the possible matcher scores.
	candidatesMax    = 4000  // Listed names looked at for one query.
	edgesMax         = 64    // Word pairs weighed for one listed name.
	edgesPerWord     = 8     // Query words weighed for one word of a listed name.
	looseMax         = 16384 // Pairs of words compared letter by letter for one query; the most seen is 2,745.
	repeatsMax       = 2     // Times that a repeated word of a query is scored.
	postingsReadMax  = 40000 // Postings read for one query.
	exactPostingsMax = 4096  // Listed names with the same form that are judged for one form of the query.
	clearedPairsMax  = 4096  // Cleared entries of one query that are used.
	matchesMax       = 10    // Matches in one result.
)

// Thresholds, 1e-4.
const (
	// ReviewDefault is the score from which a possible match is reported.
	ReviewDefault = 8750
	// BlockDefault is the strict score from which a near match blocks.
	BlockDefault = 9300
	// maxScore is the score of equal names.
	maxScore = 10000
	// reviewFloor is the lowest review threshold that a query may set.
	reviewFloor = 7500
)
