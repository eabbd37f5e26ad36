// Package keeper keeps the cluster's sanctions list: it imports the first one,
// fetches newer ones on a schedule while its node leads, has each judged, and puts
// it into the log. feeds.go is the table of publishers.
//
// May import: engine, fsm (Settings), fsm/wire, ofac, ofac/feed, ofac/fetch,
// ofac/judge, ofac/sample. The cluster is an interface of its own.
// Never: HTTP to callers, the state machine, flags.
package keeper
