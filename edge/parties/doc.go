// Package parties knows whom the recorded payments were for: the counterparties of this institution's
// own records, and what became of every payment.
//
// Purpose: an Index of each node, made from the leaves of its history while somebody looks at it. A
// party is a counterparty together with the listed entry or the place that its payments hit. The
// index finds a party's payments before and after any of them, by all agents, under other
// spellings too: its own counterparties are compiled as a list, and asked like one. It is bounded:
// Coverage says from when on it has everything. rank.go is the sum by which an inbox is ordered.
//
// Map: read.go a record as the index keeps it, tables.go what is held, walk.go how history is
// followed, alike.go who is like whom.
//
// May import: audit, edge/recorded, engine, fsm, fsm/leaf, fsm/leafjson, ofac.
// Never: HTTP, a write, a verdict. Nothing here decides about a payment.
package parties
