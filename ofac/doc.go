// Package ofac is an immutable sanctions list that can be asked.
//
// Purpose: bring listed entities of every source into one canonical, content-addressed
// list, compile the tables of one version of the matcher from it in memory, and look up
// wallets and names in them without allocation. The same list, version and query give
// the same answer everywhere.
//
// May import: the standard library, golang.org/x/text/unicode/norm, ofac/perfect (the
// hash tables), ofac/wallet.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, map
// iteration whose order can leak, any other room of the house.
//
// How a list comes to be:
//
//	sources    source.go                     the table of lists that publishers issue
//	entity     entity.go, canonical.go       a listed party, in the one order of its parts
//	encoding   entityset.go                  the bytes in the log; their SHA-256 is the list's name
//	compile    matchers.go, build.go         an Index of them: rows (record.go), texts, and three tables:
//	             wallets   wallet.go         accounts, whatever their encoding
//	             forms     exactform.go      every form in which a listed name may be written
//	             words     vocabulary.go,    every word of strong names, and the names that hold it;
//	                       deletion.go       the words close to it (wordlayer.go, wordrecord.go)
//
// How a name is found, step by step (screen.go, Index.Screen):
//
//  1. The name is cut to 8 KiB. Escapes in it are undone, and both texts are screened
//     (readings.go, unescaped).
//  2. The text is normalised to words: characters are folded (fold.go), look-alikes and
//     other scripts are read (normalise.go, arabic.go, syllable.go).
//  3. Exact forms (exact.go): the words are looked up as they are, sorted, joined, without
//     legal forms (token.go, legalform.go), without titles. No threshold silences them.
//  4. Names among other words (contained.go): every run of words is looked up, too.
//  5. What these forms found is decided by one table (decide.go): it blocks, or it is
//     possible, and a Sub says why it is no more.
//  6. Cut lines (exact.go, cutLine): a text of the length of a payment field may be the
//     beginning of a listed name.
//  7. Possible matches (possible.go): each word of the query marks the listed words close
//     to it (spelling.go, respelling.go, joined.go). Names of the rarest words are looked
//     at first. What cannot reach the threshold is passed over by bounds alone.
//  8. A name that is left is aligned word by word (score.go) and weighed (weigh.go, with
//     the numbers of tuning.go). A strict score decides whether it may block.
//  9. Several parties in one field are screened part by part (contained.go, parties).
//  10. Guesses are spared: what was only read through another script does not block (lossy.go).
//  11. Of each entity the best hit stays; cleared ones become evidence; hits that score
//     alike are ordered by evidence and context (rank.go, context.go); ten are worded.
//
// explain.go says of one entry why its score is what it is. diff.go compares two lists.
// limits.go has the bounds of all this.
package ofac
