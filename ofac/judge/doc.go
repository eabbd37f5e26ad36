// Package judge says whether a list may take the place of the active one.
//
// Purpose: every way a list comes in (a first import, a fetch, an upload) follows
// the same rules and gets the same messages. The package compares the log's
// descriptions of two lists; the caller passes the problems found at loading.
//
// May import: engine, fsm/wire (ListInfo), ofac (the table of sources), ofac/feed
// (findings, dates of sources).
// Never: state, clocks, network, disk.
package judge
