// Package judge says whether a list may take the place of the active one.
//
// Purpose: every way a list comes in (a first import, a fetch, an upload) is held
// to the same rules and told in the same words. It compares what the log says of
// two lists; what a list's content showed at loading is handed in.
//
// May import: fsm/wire (ListInfo), ofac/feed (findings, dates of families).
// Never: state, clocks, network, disk.
package judge
