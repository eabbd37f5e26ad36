// Package ofac is an immutable sanctions list that can be asked.
//
// Purpose: write listed entities as one canonical, content-addressed list, compile
// the tables of one matcher version from it, open such bytes without copying, and
// look up wallets and names in it without allocation. The same (list, matcher
// version, query) gives the same answer everywhere.
//
// May import: the standard library, golang.org/x/text/unicode/norm, ofac/wallet.
// Never: clocks, randomness, disk, network, goroutines, locks, floats, map
// iteration whose order can leak, any other room of the house.
package ofac
