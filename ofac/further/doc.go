// Package further reads the files of lists beside OFAC's and joins such a list into the snapshot.
//
// Purpose: read the UN Security Council's consolidated XML (un.go), FollowTheMoney entities as JSON
// lines (ftm.go) and an institution's own list as CSV or JSON (own.go) into listed parties; put them
// in the place of what the list held before, with numbers that stay the same from one file to the
// next (join.go).
//
// May import: the standard library, ofac, ofac/feed (its unpacking alone), ofac/identifier.
// Never: the network, clocks, randomness, disk, goroutines. A file that is not what it claims is
// refused as a whole, with an *Error that says where.
package further
