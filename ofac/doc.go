// Package ofac is an immutable sanctions list that can be searched, and the front of its rooms.
//
// Purpose: bring listed entities of every source into one canonical, content-addressed
// list, compile the tables of one version of the matcher from it in memory, and look up
// wallets and names in them without allocation. The same list, version and query give
// the same answer everywhere. Other packages call only the functions of ofac.go.
//
// May import: its rooms, ofac/index, ofac/list, ofac/match and ofac/text.
// Never: code of its own; clocks, randomness, disk, network, goroutines, locks.
//
// The rooms, each of which imports only those above it:
//
//	list    sources, listed parties, the bytes in the log; their SHA-256 is the list's name
//	text    reads names: characters, scripts, words, spellings; knows no list
//	index   the tables of a list: names by their forms, words by their letters, wallets
//	match   compares a query with the tables: its outcome, whom it may mean, and why
//
// How a name is found, step by step (match/screen.go, Index.Screen; files of match unless a
// room is named):
//
//  1. The name is cut to 8 KiB. If it has escapes, it is screened with and without them
//     (text/readings.go, Unescape).
//  2. The text is normalised to words: characters are folded (text/fold.go), look-alikes and
//     other scripts are read (text/normalise.go, arabic.go, syllable.go).
//  3. Exact forms (exact.go): the words are looked up as they are, sorted, joined, without
//     legal forms (text/token.go, legalform.go), without titles. No threshold silences them.
//  4. Names among other words (contained.go): every run of words is looked up, too.
//  5. One table (decide.go) decides the hits of step 3: a hit blocks, or a Sub says why it
//     is milder. Hits of step 4 are possible at most.
//  6. Cut lines (exact.go, findCutLine): a text of the length of a payment field may be the
//     beginning of a listed name.
//  7. Possible matches (possible.go): each word of the query marks the listed words close
//     to it (index/wordlayer.go; marks.go, printed.go). Names with the rarest words are looked
//     at first. Bounds skip the names that cannot reach the threshold.
//  8. Each remaining name is aligned word by word (score.go) and weighed (weigh.go, with
//     the numbers of numbers.go). A strict score decides whether it may block.
//  9. Several parties in one field are screened part by part (contained.go, screenParties).
//  10. A hit that rests only on a guess at another script does not block (guesses.go).
//  11. The best hit of each entity stays; cleared hits become evidence. Evidence and context
//     order hits with equal scores (rank.go, context.go). Ten hits become matches.
//
// explain.go explains the score of one entry. Each room's limits.go has the bounds of its
// work.
package ofac
