// Package judge says whether a list may take the place of the active one.
//
// Purpose: every way a list comes in (a first import, a fetch, an upload) is held
// to the same rules and told in the same words. It compares what the log says of
// two lists; what a list's content showed at loading is handed in.
//
// May import: engine, fsm/wire (ListInfo), ofac (the table of sources), ofac/feed
// (findings, dates of sources).
// Never: state, clocks, network, disk.
package judge
