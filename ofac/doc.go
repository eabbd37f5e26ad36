// Package ofac is an immutable sanctions list that can be asked, and the front of its rooms.
//
// Purpose: bring listed entities of every source into one canonical, content-addressed
// list, compile the tables of one version of the matcher from it in memory, and look up
// wallets and names in them without allocation. The same list, version and query give
// the same answer everywhere. The rest of the house calls what stands in ofac.go.
//
// May import: its rooms, ofac/index, ofac/list, ofac/match and ofac/text.
// Never: code of its own; clocks, randomness, disk, network, goroutines, locks.
//
// The rooms, each of which imports only those above it:
//
//	list    sources, listed parties, the bytes in the log; their SHA-256 is the list's name
//	text    reads names: characters, scripts, words, spellings; knows no list
//	index   the tables of a list: names by their forms, words by their letters, wallets
//	match   a query against the tables: what it leads to, whom it may mean, and why
//
// How a name is found, step by step (match/screen.go, Index.Screen; files of match unless a
// room is named):
//
//  1. The name is cut to 8 KiB. Escapes in it are undone, and both texts are screened
//     (text/readings.go, Unescape).
//  2. The text is normalised to words: characters are folded (text/fold.go), look-alikes and
//     other scripts are read (text/normalise.go, arabic.go, syllable.go).
//  3. Exact forms (exact.go): the words are looked up as they are, sorted, joined, without
//     legal forms (text/token.go, legalform.go), without titles. No threshold silences them.
//  4. Names among other words (contained.go): every run of words is looked up, too.
//  5. What these forms found is decided by one table (decide.go): it blocks, or it is
//     possible, and a Sub says why it is no more.
//  6. Cut lines (exact.go, findCutLine): a text of the length of a payment field may be the
//     beginning of a listed name.
//  7. Possible matches (possible.go): each word of the query marks the listed words close
//     to it (index/wordlayer.go; marks.go, printed.go). Names of the rarest words are looked
//     at first. What cannot reach the threshold is passed over by bounds alone.
//  8. A name that is left is aligned word by word (score.go) and weighed (weigh.go, with
//     the numbers of tuning.go). A strict score decides whether it may block.
//  9. Several parties in one field are screened part by part (contained.go, screenParties).
//  10. Guesses are spared: what was only read through another script does not block
//     (guesses.go).
//  11. Of each entity the best hit stays; cleared ones become evidence; hits that score
//     alike are ordered by evidence and context (rank.go, context.go); ten are worded.
//
// explain.go says of one entry why its score is what it is. Each room's limits.go has the
// bounds of its work.
package ofac
