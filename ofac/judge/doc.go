// Package judge says whether a list may take the place of the active one.
//
// Purpose: every way a list comes in (a first import, a fetch, an upload) follows
// the same rules and gets the same messages. The package compares the log's
// descriptions of lists; the caller passes the problems found at loading, and who would
// leave the list (Left).
//
// May import: engine, fsm/wire (ListInfo), ofac (the table of sources), ofac/feed
// (findings), ofac/wallet (accounts).
// Never: state, clocks, network, disk.
package judge
