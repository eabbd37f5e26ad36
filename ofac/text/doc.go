// Package text reads names as people, forms and machines write them.
//
// Purpose: a name becomes words of small letters that can be compared, whatever script, case,
// accents, look-alike letters, escapes and spaces it was written with. The package has no
// listed names.
//
//	characters   fold.go, normalise.go    folding of characters and of words
//	scripts      arabic.go, syllable.go   transliteration, syllables of Chinese and Korean, Kana
//	             unsegmented.go           scripts without blanks
//	             unread.go                letters that no table reads
//	readings     readings.go, lossy.go    the other ways in which a name may have been meant
//	             seen.go                  the order in which people see letters that are turned round
//	words        token.go, legalform.go   words and legal forms; words that say little (wordlist.go)
//	spellings    spelling.go              how far two words are apart; letterbag.go rules out
//	                                      most pairs without comparing them
//	             respelling.go            groups of words that mean the same, numbers too
//	hashes       formhash.go              of a word, whole and with a letter left out
//
// May import: the standard library, ofac/perfect (to spread hashes).
// Never: lists and their parties; clocks, randomness, disk, network, goroutines, locks, floats.
package text
