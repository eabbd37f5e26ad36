package text

// Bounds of what is read of a text.
const (
	QueryBytesMax = 8192 // What the exact layer reads of a query: 512 runes of 4 bytes and slack.
	tokensMax     = 384  // Words of one name that are told apart; later ones are kept but not classified.
	WordBytesMax  = 30   // Letters of one word the possible matcher compares; the rest is cut.
)

// tokenStartMax is where in a folded text the last word begins that is told apart: its end fits 16 bits.
const tokenStartMax = 0xFFFF - 4096

// ScoreOne is 1.0 in the fixed point of scores, similarities and weights: 1e-4.
const ScoreOne = 10000
