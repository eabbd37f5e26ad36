package text

// Bounds of what is read of a text.
const (
	QueryBytesMax = 8192 // Bytes that the exact layer reads of a query: four times what the longest name of a call has (512 runes of 4 bytes).
	tokensMax     = 384  // Words of one name that are classified; later ones are kept unclassified.
	WordBytesMax  = 30   // Letters of one word that the possible matcher compares; the rest is cut.
)

// tokenStartMax is the last place in a folded text where a classified word may begin, so
// that its end fits 16 bits.
const tokenStartMax = 0xFFFF - 4096

// ScoreOne is 1.0 in the fixed point of scores, similarities and weights: 1e-4.
const ScoreOne = 10000
